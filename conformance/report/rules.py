"""The rules, from their own documents: one in full (`explain`), or a list of all (`rules`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from conformance.report.as_json import Document, dump
from conformance.report.terminal import Palette, joined, table

if TYPE_CHECKING:  # only the type: a report needs no rule to be loaded
    from conformance.rules.base import RuleInfo


def explain_text(rule: RuleInfo, color: bool = False) -> str:
    """The document for a terminal: code blocks indented, headings without marks."""
    palette = Palette(color)
    severities = ", ".join(palette.severity(severity, severity) for severity in rule.severities)
    lines = [
        f"{palette.strong(f'{rule.code} {rule.name}')}: {rule.summary}",
        "",
        f"Severity: {severities}",
        f"Stage: {_stage(rule)}",
        f"Repair: {rule.repair or 'none'}",
    ]
    for heading, body in rule.sections:
        lines += ["", palette.strong(heading), ""]
        in_code = False
        for line in body.splitlines():
            if line.startswith("```"):
                in_code = not in_code
            else:
                lines.append(f"    {line}".rstrip() if in_code else line)
    return joined(lines)


def explain_markdown(rule: RuleInfo) -> str:
    lines = [
        f"# {rule.code} {rule.name}",
        "",
        rule.summary,
        "",
        f"- Severity: {', '.join(rule.severities)}",
        f"- Stage: {_stage(rule)}",
        f"- Repair: {f'`{rule.repair}`' if rule.repair else 'none'}",
    ]
    for heading, body in rule.sections:
        lines += ["", f"## {heading}", "", body]
    return joined(lines)


def explain_json(rule: RuleInfo) -> str:
    return dump(rule_document(rule))


def rules_json(rules: Iterable[RuleInfo], version: str) -> str:
    return dump({"schema": 1, "version": version, "rules": [rule_document(rule) for rule in rules]})


def rule_document(rule: RuleInfo) -> Document:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "severity": rule.severity,
        "severities": list(rule.severities),
        "preview": rule.preview,
        "fixable": rule.fixable,
        "repair": rule.repair,
        "sections": dict(rule.sections),
        "example": {"bad": rule.bad, "good": rule.good},
    }


def rules_text(rules: Iterable[RuleInfo], color: bool = False) -> str:
    rows = [
        (
            rule.code,
            rule.name,
            "/".join(rule.severities),
            "yes" if rule.fixable else "",
            "yes" if rule.preview else "",
            rule.summary,
        )
        for rule in rules
    ]
    head, *body = table([("code", "name", "severity", "fix", "preview", "summary"), *rows])
    return joined([Palette(color).strong(head), *body])


def _stage(rule: RuleInfo) -> str:
    return "preview (off unless --preview)" if rule.preview else "stable"
