"""Every case below `cases/`: a new case is a new heading or a new file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.harness import HERE, Case, cases, judge, mark, outcome, run, say, sees_a_checkpointed_block, write

FILES = sorted((HERE / "cases").rglob("*.md"))
ALL = [
    pytest.param(case, id=f"{file.relative_to(HERE / 'cases').with_suffix('').as_posix()}: {case.name}")
    for file in FILES
    for case in cases(file)
]


@pytest.mark.parametrize("case", ALL)
def test_case(case: Case, tmp_path: Path) -> None:
    write(case, tmp_path)
    findings = run(tmp_path)
    found = [mark(finding, tmp_path) for finding in findings]
    wrong = judge(case.expected, found, case.files)
    assert not wrong, "\n".join([f"{outcome(case.expected, found)}:", *wrong, say(findings, tmp_path)])
    if case.said is not None:
        assert say(findings, tmp_path) == case.said
    if not case.expected:
        assert sees_a_checkpointed_block(tmp_path) is not case.sees_nothing
