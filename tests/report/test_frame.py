"""Code frames: alignment under odd characters, cuts around the span, spans over lines, stale places."""

from __future__ import annotations

import re

import pytest

from conformance.findings import Place
from conformance.report.frame import MOST_LINES, frame, split_lines
from conformance.report.terminal import columns


def plain(text: str) -> str:
    return text


def framed(text: str, line: int, column: int, end_line: int, end_column: int, *, width: int = 80) -> list[str]:
    place = Place("x.py", line, column, end_line, end_column)
    lines = split_lines(text)
    return frame(place, lines, gutter=2, width=width, mark="^", paint_mark=plain, paint_gutter=plain)


def underlined(frame_lines: list[str]) -> str:
    """What the marks stand under, by display columns."""
    source, marks = frame_lines[0], frame_lines[1]
    start, end = marks.index("^"), marks.rindex("^") + 1
    result, column = "", 0
    for character in source:
        size = columns(character)
        if start <= column < end or (size == 0 and result and column <= end):
            result += character
        column += size
    return result


def test_one_line() -> None:
    assert framed("a = 1\nresult = call(x)\n", 2, 10, 2, 17) == [
        " 2 | result = call(x)",
        "   |          ^^^^^^^",
    ]


@pytest.mark.parametrize(
    "before",
    [
        "",
        "    ",
        "\t",
        "\t\t  ",
        " \t",
        '"漢字", ',
        '"e\u0301", ',
        '"\u200d\ufe0f", ',
        '"\x1b[31m", ',
        '"\u202e", ',
        "\x0c",
    ],
)
@pytest.mark.parametrize("target", ["call(x)", '"漢字"', "e\u0301te\u0301()"])
def test_underline_is_aligned(before: str, target: str) -> None:
    text = f"{before}{target} + 1"
    lines = framed(text, 1, len(before) + 1, 1, len(before) + len(target) + 1)
    assert underlined(lines) == target
    assert not re.search(r"[\x00-\x1f\x7f\u202e]", "".join(lines))


def test_empty_span_gets_one_mark() -> None:
    assert framed("abc", 1, 2, 1, 2) == [" 1 | abc", "   |  ^"]
    assert framed("abc", 1, 4, 1, 4) == [" 1 | abc", "   |    ^"]


@pytest.mark.parametrize("position", [0, 1, 30, 78, 79, 80, 150, 395])
@pytest.mark.parametrize("size", [1, 5, 60])
def test_long_line_is_cut_around_the_span(position: int, size: int) -> None:
    size = min(size, 400 - position)
    text = "a" * position + "b" * size + "c" * (400 - position - size)
    lines = framed(text, 1, position + 1, 1, position + size + 1)
    shown = lines[0].removeprefix(" 1 | ")
    assert len(shown) == 80
    assert underlined(lines) == "b" * size
    assert shown.startswith("…") == ("a" * position not in shown)
    assert shown.endswith("…") == ("c" * (400 - position - size) not in shown)


def test_span_longer_than_the_width_is_cut_at_its_end() -> None:
    lines = framed("x = " + "b" * 500 + "; y", 1, 5, 1, 505)
    shown = lines[0].removeprefix(" 1 | ")
    assert len(shown) == 80
    assert shown.endswith("b…")
    assert underlined(lines).rstrip("…") == shown[shown.index("b") :].rstrip("…")


def test_cut_never_splits_a_wide_character() -> None:
    lines = framed("漢" * 100 + "call()" + "字" * 100, 1, 101, 1, 107, width=41)
    shown = lines[0].removeprefix(" 1 | ")
    assert underlined(lines) == "call()"
    assert 40 <= columns(shown) <= 41


def test_span_over_lines_shows_them_all() -> None:
    assert framed("y = f(\n\tx,\n)\nz", 1, 5, 3, 2) == [
        " 1 | y = f(",
        "   |     ^^",
        " 2 |     x,",
        " 3 | )",
    ]


def test_end_before_the_first_column_takes_no_line() -> None:
    assert framed("f(\n)\nz\n", 1, 1, 3, 1)[-1] == " 2 | )"


def test_long_span_is_elided() -> None:
    text = "f(\n" + "".join(f"    a{number},\n" for number in range(50)) + ")\n"
    lines = framed(text, 1, 1, 52, 2)
    assert len(lines) == MOST_LINES + len(["the marks", "the dots"])
    assert lines[2] == " 2 |     a0,"
    assert lines[-2:] == ["...", "52 | )"]


def test_blank_lines_have_no_trailing_space() -> None:
    assert framed("f(\n\n)", 1, 1, 3, 2)[2] == " 2 |"


def test_place_before_the_code_marks_the_line() -> None:
    assert framed("    call(x)  ", 1, 1, 1, 1) == [" 1 |     call(x)", "   |     ^^^^^^^"]
    assert framed("    call(x)", 1, 1, 1, 5) == [" 1 |     call(x)", "   |     ^^^^^^^"]
    assert framed("    call(x)", 1, 1, 1, 6) == [" 1 |     call(x)", "   | ^^^^^"]


@pytest.mark.parametrize(("text", "line"), [("", 1), ("a\n", 7), ("a\n\nb", 2), ("a", 0)])
def test_no_frame_without_such_a_line(text: str, line: int) -> None:
    assert framed(text, line, 1, line, 5) == []


def test_stale_places_are_clamped() -> None:
    assert framed("ab", 1, 50, 9, 60) == [" 1 | ab", "   |   ^"]
    assert framed("ab", 1, 2, 1, 90) == [" 1 | ab", "   |  ^"]


def test_lines_are_split_as_python_counts_them() -> None:
    assert split_lines("a\r\nb\rc\nd\x0be\x0cf\x1cg\u2028h\x85i") == ["a", "b", "c", "d\x0be\x0cf\x1cg\u2028h\x85i"]
