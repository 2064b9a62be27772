"""The rules as text, Markdown and JSON, all from a rule's own document."""

from __future__ import annotations

import json
from dataclasses import replace

from conformance.report.rules import explain_json, explain_markdown, explain_text, rules_json, rules_text
from conformance.rules.base import HEADINGS, parse_document
from tests.cli.test_rule_documents import DOCUMENT

RULE = parse_document(DOCUMENT)


def test_text_shows_every_section() -> None:
    assert explain_text(RULE).splitlines() == [
        "CF150 bound-twice: An argument is bound twice.",
        "",
        "Severity: warning, convention",
        "Stage: preview (off unless --preview)",
        "Repair: bind-once",
        "",
        "What it does",
        "",
        "Looks.",
        "",
        "Why is this bad",
        "",
        "It hurts.",
        "",
        "Example",
        "",
        "Before:",
        "",
        "    f(1, x=1)",
        "",
        "Use instead",
        "",
        "    f(1)",
        "",
        "What it does not see",
        "",
        "- Anything [else].",
    ]


def test_markdown_can_stand_as_a_page() -> None:
    page = explain_markdown(RULE)
    assert page.startswith("# CF150 bound-twice\n\nAn argument is bound twice.\n\n- Severity: warning, convention\n")
    assert "- Repair: `bind-once`\n" in page
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == list(HEADINGS)
    assert "```python\nf(1)\n```\n" in page


def test_json_holds_the_examples() -> None:
    document = json.loads(explain_json(RULE))
    assert document["example"] == {"bad": "f(1, x=1)\n", "good": "f(1)\n"}
    assert document["severities"] == ["warning", "convention"]
    assert (document["severity"], document["preview"], document["fixable"]) == ("warning", True, True)
    assert json.loads(rules_json([RULE, RULE], "1.0")) == {"schema": 1, "version": "1.0", "rules": [document] * 2}


def test_table() -> None:
    stable = replace(RULE, code="CF151", name="other", preview=False, repair=None)
    assert rules_text([RULE, stable]) == (
        "code   name         severity            fix  preview  summary\n"
        "CF150  bound-twice  warning/convention  yes  yes      An argument is bound twice.\n"
        "CF151  other        warning/convention                An argument is bound twice.\n"
    )
