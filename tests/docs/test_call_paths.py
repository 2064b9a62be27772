"""The page on call paths says what the random models show."""

from __future__ import annotations

import re
from pathlib import Path

from tests.differential.shapes import GROUPS, INCOMPLETE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "call-paths.md"


def test_page_lists_the_complete_shapes() -> None:
    rows = dict(re.findall(r"^\| \*\*([\w-]+)\*\*: [^|]+ \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    assert {group: re.findall(r"`([^`]+)`", names) for group, names in rows.items()} == {
        group: names.split() for group, (_, names) in GROUPS.items()
    }


def test_page_claims_completeness_only_while_it_holds() -> None:
    claims = "so for code made of these shapes the set of paths\nis complete and exact" in PAGE.read_text("utf-8")
    assert claims is not bool(INCOMPLETE)
