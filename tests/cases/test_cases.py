"""Small cases kept beside the checkout: a defect in each `before.py`, none in `after.py` nor in what only looks wrong.

They belong to no project, so controls, gates and wrappers have to be known by what they are.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.check import Options, check
from conformance.findings import Finding

CASES = Path(__file__).parents[2].parent / "shared" / "cases"
if not CASES.is_dir():
    pytest.skip("no cases beside this checkout", allow_module_level=True)

KINDS = {
    "arg_differs",
    "backend_ignored",
    "gate_interval",
    "arg_dropped",
    "arg_extra",
    "arg_misplaced",
    "branch_statement",
    "closure_branches_differ",
    "gate_literal",
    "kwargs_lost_in_wrapper",
    "kwargs_to_checkpoint",
    "late_binding",
    "missing_use_reentrant",
    "result_unpack",
    "state_mutated",
    "wrong_callee",
}
"""The kinds of defect that the present rules are about."""
CODES = {f"CF{number}" for number in (101, 102, 103, 105, 106, 107, 108, 201, 202, 203, 204, 205, 301, 306, 307)}

EXPECTED = {path.parent: json.loads(path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*/expect.json"))}
WRONG = [folder for folder, expected in EXPECTED.items() if expected["kind"] in KINDS]
RIGHT = [folder / "after.py" for folder in EXPECTED] + sorted(CASES.glob("ok_*/ok.py"))


def findings(path: Path) -> list[Finding]:
    """What the default check says of one file."""
    return list(check(Options(paths=(str(path),), cwd=str(path.parent))).findings)


@pytest.mark.parametrize("folder", WRONG, ids=lambda folder: folder.name)
def test_defect_is_found(folder: Path) -> None:
    expected = EXPECTED[folder]
    lines = {expected["line"], *expected.get("lines_ok", ())}
    found = findings(folder / "before.py")
    assert [finding for finding in found if finding.code in CODES and finding.place.line in lines], found


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_nothing_is_wrong(path: Path) -> None:
    assert findings(path) == []


def test_every_kind_has_a_case() -> None:
    assert {EXPECTED[folder]["kind"] for folder in WRONG} == KINDS
