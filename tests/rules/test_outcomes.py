"""The harness itself: the four outcomes of a rule test are told apart, and cases are read as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.harness import FRAMES, Case, Mark, cases, expectations, framed, judge, mark, outcome, run, write

DUE = Mark("model.py", 2, "CF101", "mask")
FOUND = Mark("model.py", 2, "CF101", "mask", "error")
OTHER = Mark("model.py", 1, "CF201", "block", "error")
FILES = {"model.py": "first\n    second\n"}


@pytest.mark.parametrize(
    ("expected", "found", "name", "lines"),
    [
        ([], [], "validated", []),
        ([DUE], [FOUND], "reported", []),
        ([], [OTHER], "noisy", ["noisy: model.py:1 CF201[error]: block | first"]),
        ([DUE], [], "missing", ["missing: model.py:2 CF101: mask | second"]),
        (
            [DUE],
            [OTHER],
            "noisy and missing",
            ["missing: model.py:2 CF101: mask | second", "noisy: model.py:1 CF201[error]: block | first"],
        ),
        ([DUE], [FOUND, FOUND], "noisy", ["noisy: model.py:2 CF101[error]: mask | second"]),
        ([DUE, DUE], [FOUND], "missing", ["missing: model.py:2 CF101: mask | second"]),
        (
            [DUE._replace(severity="warning")],
            [FOUND],
            "noisy and missing",
            ["missing: model.py:2 CF101[warning]: mask | second", "noisy: model.py:2 CF101[error]: mask | second"],
        ),
        ([DUE._replace(line=9)], [], "missing", ["missing: model.py:9 CF101: mask"]),
    ],
)
def test_outcomes(expected: list[Mark], found: list[Mark], name: str, lines: list[str]) -> None:
    assert outcome(expected, found) == name
    assert judge(expected, found, FILES) == lines


@pytest.mark.parametrize(
    ("swapped", "name"),
    [
        ((), "reported"),
        (("# CF101: mask", ""), "noisy"),
        (("checkpoint(block, x, use_reentrant=False)", "block(x, mask)"), "missing"),
    ],
)
def test_outcomes_of_a_run(swapped: tuple[str, str] | tuple[()], name: str, tmp_path: Path) -> None:
    snippet = (
        "if self.gradient_checkpointing:\n    checkpoint(block, x, use_reentrant=False)  # CF101: mask\n"
        "else:\n    block(x, mask)\n"
    )
    text = framed("loop", snippet)
    if swapped:
        assert swapped[0] in text
        text = text.replace(*swapped)
    case = Case("one", {"model.py": text})
    write(case, tmp_path)
    assert outcome(case.expected, [mark(finding, tmp_path) for finding in run(tmp_path)]) == name


def test_reads_expectations() -> None:
    text = "x  # CF101: mask, scale; CF108[convention]: opts\ny  # no CF101 here\nz  # CF900\n"
    assert list(expectations("a.py", text)) == [
        Mark("a.py", 1, "CF101", "mask"),
        Mark("a.py", 1, "CF101", "scale"),
        Mark("a.py", 1, "CF108", "opts", "convention"),
        Mark("a.py", 3, "CF900", ""),
    ]
    with pytest.raises(AssertionError, match="can't read the expectation"):
        list(expectations("a.py", "x  # CF101 mask\n"))


def test_reads_cases(tmp_path: Path) -> None:
    file = tmp_path / "some.md"
    file.write_text(
        "# Title\n\n## first case\nWords.\n\n```python\na = 1\n```\n\n```python parts/b.py\nb = 2\n```\n\n"
        "## second case\n<!-- no checkpointed block -->\n```python in module\nc = 3  # CF900\n```\n\n"
        "```said\nnothing\n```\n",
        encoding="utf-8",
    )
    first, second = cases(file)
    assert (first.name, dict(first.files)) == ("first case", {"model.py": "a = 1\n", "parts/b.py": "b = 2\n"})
    assert (first.said, first.sees_nothing, first.expected) == (None, False, ())
    assert (second.name, second.said, second.sees_nothing) == ("second case", "nothing\n", True)
    assert "\nc = 3  # CF900\n" in second.files["model.py"]
    assert [(found.code, found.parameter) for found in second.expected] == [("CF900", "")]


@pytest.mark.parametrize("frame", sorted(path.stem for path in FRAMES.glob("*.txt")))
def test_frames_have_one_hole(frame: str) -> None:
    compile(framed(frame, "pass"), frame, "exec")
