"""What a character looks like on a terminal."""

from __future__ import annotations

import pytest

from conformance.report.terminal import Palette, cells, clip, columns, escape, table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [text] `code`", "plain [text] `code`"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\r\nb\tc", r"a\x0d\x0ab\x09c"),
        ("\x9b31m\x7f\u2028", r"\x9b31m\x7f\u2028"),
        ("\u202egnp", r"\u202egnp"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\udcff\ud800", r"\xff\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("漢字 e\u0301 é 👩\u200d👩", "漢字 e\u0301 é 👩\u200d👩"),
    ],
)
def test_escape(text: str, shown: str) -> None:
    assert escape(text) == shown
    assert escape(shown) == shown


def test_columns() -> None:
    assert columns("abc") == 3
    assert columns("漢字") == 4
    assert columns("e\u0301") == 1


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("漢字", 4, "漢字"),
        ("漢字漢", 4, "漢…"),
        ("e\u0301e\u0301e", 2, "e\u0301…"),
    ],
)
def test_clip(text: str, limit: int, shown: str) -> None:
    assert clip(text, limit) == shown


def test_tabs_reach_the_next_stop() -> None:
    assert [size for _, size in cells("\ta\t漢\t")] == [4, 1, 3, 2, 2]


def test_table_aligns_by_display_width() -> None:
    assert table([("漢", "x", "1"), ("abc", "", "10")], indent=" ", right={2}) == [" 漢   x   1", " abc     10"]


def test_no_color_means_no_escape() -> None:
    palette = Palette(False)
    assert palette.strong("a") + palette.severity("b", "error") == "ab"
    assert Palette(True).severity("b", "error") == "\x1b[1;31mb\x1b[0m"
