"""The two examples of every rule's document: the first has one finding, the second none.

Examples are parts of a model. `frames/cfNNN.txt` makes a module of them; its first line quotes where the finding
stands.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.rules import load_rules
from conformance.rules.base import Rule
from tests.rules.harness import FRAMES, Case, framed, run, say, write

QUOTE = "# finding at: "
RULES = [pytest.param(rule, id=rule.info.code) for rule in load_rules()]


def example(rule: Rule, source: str) -> str:
    """An example made a module, without the line that quotes the finding's place."""
    text = framed(rule.info.code.lower(), source)
    assert text.startswith(QUOTE)
    return text.partition("\n")[2]


@pytest.mark.parametrize("rule", RULES)
def test_bad_example(rule: Rule, tmp_path: Path) -> None:
    text = example(rule, rule.info.bad)
    write(Case("bad", {"model.py": text}), tmp_path)
    findings = run(tmp_path)
    assert [finding.code for finding in findings] == [rule.info.code], say(findings, tmp_path)
    frame = (FRAMES / f"{rule.info.code.lower()}.txt").read_text(encoding="utf-8")
    quoted = frame.partition("\n")[0].removeprefix(QUOTE)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == quoted]
    assert [finding.place.line for finding in findings] == lines
    assert findings[0].severity in rule.info.severities


@pytest.mark.parametrize("rule", RULES)
def test_good_example(rule: Rule, tmp_path: Path) -> None:
    write(Case("good", {"model.py": example(rule, rule.info.good)}), tmp_path)
    findings = run(tmp_path)
    assert findings == [], say(findings, tmp_path)
