"""The reports for people, and what they have in common."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from conformance.findings import Related, Severity
from conformance.report import FORMATS
from conformance.report.base import relative
from tests.report.samples import DROPPED, GATE, HOSTILE, MODEL, ROOT, SOURCE, place, report, statistics

TEXT = """\
models/model.py:4:16: convention[CF301] literal-gate: the gate is a literal.
  |
4 |             if self.gradient_checkpointing:
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^

models/model.py:5:21: error[CF101] argument-dropped (flux): `rope` [bold]is not passed[/] on the checkpointed path.
   |
 5 |                 x = checkpoint(
   |                     ^^^^^^^^^^^
 6 |                     block,
 7 |                     x,
 8 |                 )
   |
  ::: models/model.py:10:21: the eager path passes `rope[0]`
   |
10 |                 x = block(x, rope=rope[0])
   |                     ----------------------
   |
   = shows when: `gradient_checkpointing` on: TypeError

Found 2 findings (1 error, 1 convention) in 1 of 409 files.
"""


def test_text() -> None:
    assert FORMATS["text"](report([DROPPED, GATE])) == TEXT


def test_siblings_take_one_line() -> None:
    siblings = tuple(Related("sibling", place(line, 16, 20), "the same defect", "0" * 16) for line in (9, 10))
    text = FORMATS["text"](report([replace(DROPPED, related=(*DROPPED.related, *siblings))], summary=False))
    assert text.splitlines()[-2:] == [
        "   = shows when: `gradient_checkpointing` on: TypeError",
        "   = the same at: models/model.py:9:16, models/model.py:10:16",
    ]
    assert "the same defect" not in text
    bare = FORMATS["text"](report([replace(GATE, related=siblings)], summary=False))
    assert bare.splitlines()[-3:] == [
        "  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "  |",
        "  = the same at: models/model.py:9:16, models/model.py:10:16",
    ]
    twice = FORMATS["text"](report([replace(GATE, related=(*siblings, *siblings))], summary=False))
    assert twice == bare
    assert FORMATS["concise"](report([replace(GATE, related=siblings)])) == FORMATS["concise"](report([GATE]))


def test_concise() -> None:
    assert FORMATS["concise"](report([DROPPED, GATE])).splitlines() == [
        line for line in TEXT.splitlines() if line.startswith("models/")
    ]


def test_clean() -> None:
    assert FORMATS["text"](report()) == "All clear: no findings in 409 files.\n"
    assert FORMATS["text"](report(statistics=statistics(files=1))) == "All clear: no findings in 1 file.\n"
    assert FORMATS["text"](report(summary=False)) == ""
    assert FORMATS["concise"](report()) == ""


def test_summary_owns_up_to_what_is_unknown() -> None:
    unsure = statistics(unknown={"starred arguments": 4, "no class": 50})
    assert FORMATS["text"](report(statistics=unsure)).endswith("409 files. 54 of 1,204 call paths unknown.\n")


def test_without_summary_nothing_follows_the_findings() -> None:
    assert FORMATS["text"](report([GATE], summary=False)) == TEXT[: TEXT.index("\n\n") + 1]


@pytest.mark.parametrize("name", FORMATS)
def test_order_of_findings_does_not_matter(name: str) -> None:
    findings = [replace(GATE, place=place(line, 1, 5), code=code) for line in (1, 2, 3) for code in ("CF301", "CF101")]
    expected = FORMATS[name](report(findings))
    shuffled = list(report(findings).findings)
    random.Random(1).shuffle(shuffled)
    assert FORMATS[name](replace(report(), findings=shuffled)) == expected


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_hostile_gets_through(name: str) -> None:
    path = f"{ROOT}/{HOSTILE}"
    hostile = replace(
        DROPPED,
        place=place(1, 1, 9, path=path),
        message=f"{HOSTILE}\nsecond line",
        family=HOSTILE,
        witness=HOSTILE,
        related=(
            Related("counterpart", place(1, 1, 9, path=path), HOSTILE),
            Related("sibling", place(1, 1, 9, path=path), HOSTILE, "0" * 16),
        ),
    )
    text = FORMATS[name](
        report(
            [hostile],
            {path: f'x = "{HOSTILE}"\n'},
            statistics=statistics(
                unknown={HOSTILE: 1}, loops=1, unresolved_loops=((place(1, 1, 2, path=path), HOSTILE),)
            ),
            with_statistics=True,
        )
    )
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text)
    assert text.encode("utf-8")
    if name == "concise":
        assert text.startswith(r"mod\x1b[31m\x0d\x0a\u202e\xff漢\x09é.py:1:1: error[CF101]")
        assert text.splitlines()[1] == "Statistics"


def test_messages_are_never_wrapped() -> None:
    message = "word " * 100 + "[end]"
    assert f": {message}\n" in FORMATS["text"](report([replace(GATE, message=message)], width=40))


def test_source_lines_are_cut_to_the_width() -> None:
    text = FORMATS["text"](
        report([GATE], {MODEL: SOURCE.replace("checkpointing:", "checkpointing and " + "x" * 300)}, width=60)
    )
    assert max(len(line) for line in text.splitlines() if line.startswith("4 |")) == len("4 | ") + 60


def test_a_file_without_text_has_no_frame() -> None:
    lines = FORMATS["text"](report([DROPPED], {})).splitlines()
    assert [line.strip().split(" ")[0] for line in lines[:3]] == ["models/model.py:5:21:", ":::", "="]


def test_stale_text_has_no_frame() -> None:
    lines = FORMATS["text"](report([GATE], {MODEL: "only one line"})).splitlines()
    assert lines[1] == ""


def test_each_file_is_read_once() -> None:
    reads: list[str] = []

    def read_text(path: str) -> str:
        reads.append(path)
        return SOURCE

    FORMATS["text"](replace(report([DROPPED, GATE]), read_text=read_text))
    assert reads == [MODEL]


def test_color_marks_severities_and_changes_no_text() -> None:
    warning = replace(GATE, severity=Severity.WARNING, place=place(3, 1, 2))
    colored = FORMATS["text"](report([DROPPED, GATE, warning], color=True))
    assert "\x1b[1;31merror[CF101]\x1b[0m" in colored
    assert "\x1b[1;33mwarning[CF301]\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == FORMATS["text"](report([DROPPED, GATE, warning]))
    assert "\x1b" not in FORMATS["json"](report([DROPPED], color=True))


def test_statistics_block() -> None:
    numbers = statistics(
        unknown={"no class": 9, "starred arguments": 45, "a rare one": 9},
        loops=200,
        unresolved_loops=((place(10, 5, 9), "built elsewhere"), (place(3, 9, 20), "a [list]")),
        seconds={"read": 0.11, "facts": 0.5},
        errors=2,
    )
    block = """\
Statistics
  files               409  96 parsed, 2 unreadable
  entries              99
  block-call paths  1,204  1,150 fully bound (95.5 %)
  block loops         200  198 resolved to their class (99.0 %)
  CPU seconds        0.61  read 0.11, facts 0.50
Unknown call paths, by reason
  45  starred arguments
   9  a rare one
   9  no class
Unresolved block loops
  models/model.py:3:9   a [list]
  models/model.py:10:5  built elsewhere
"""
    assert FORMATS["concise"](report(statistics=numbers, with_statistics=True)) == block
    assert FORMATS["text"](report(statistics=numbers, with_statistics=True)).startswith(f"{block}\nAll clear")


def test_statistics_of_nothing() -> None:
    empty = statistics(files=1, parsed=0, paths=0, bound=0, entries=0)
    text = FORMATS["concise"](report(statistics=empty, with_statistics=True))
    assert "%" not in text
    assert "Unresolved" not in text


def test_relative_paths() -> None:
    assert relative("/a/b/c.py", "/a/b") == "c.py"
    assert relative("/a/b/c.py", "/a/b/") == "c.py"
    assert relative("/a/bc/c.py", "/a/b") == "/a/bc/c.py"
    assert relative("/a/c.py", "/a/b") == "/a/c.py"
    assert relative("/a/c.py", "/") == "a/c.py"
    assert relative("/a", "/a") == "/a"
