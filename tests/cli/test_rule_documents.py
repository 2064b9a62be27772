"""Every rule is documented in the fixed shape, and rules are selected by code, prefix and name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import conformance.rules
from conformance.findings import Finding, Severity
from conformance.rules import SelectionError, find_rule, load_rules, select
from conformance.rules.base import HEADINGS, Rule, RuleDocumentError, parse_document, rule_from_module

DOCUMENT = """CF150 bound-twice: An argument is bound twice.

Severity: warning, convention
Stage: preview
Repair: bind-once

## What it does
Looks.

## Why is this bad
It hurts.

## Example
Before:

```python
f(1, x=1)
```

## Use instead
```python
f(1)
```

## What it does not see
- Anything [else].
"""


def check_nothing(project: object) -> Iterable[Finding]:
    return ()


def make_rule(code: str, name: str, *, preview: bool = False, engine: bool = False) -> Rule:
    text = DOCUMENT.replace("CF150 bound-twice", f"{code} {name}")
    if not preview:
        text = text.replace("Stage: preview", "Stage: stable")
    return Rule(parse_document(text), None if engine else check_nothing)


RULES = (
    make_rule("CF101", "argument-dropped"),
    make_rule("CF108", "control-not-forwarded"),
    make_rule("CF201", "late-bound-capture"),
    make_rule("CF605", "lone-tolerance", preview=True),
    make_rule("CF900", "unreadable-source", engine=True),
)


def codes(**selection: Any) -> list[str]:
    return [rule.info.code for rule in select(RULES, **selection)]


def test_document_is_read_whole() -> None:
    info = parse_document(DOCUMENT)
    assert (info.code, info.name, info.summary) == ("CF150", "bound-twice", "An argument is bound twice.")
    assert info.severities == (Severity.WARNING, Severity.CONVENTION)
    assert info.severity is Severity.WARNING
    assert info.preview
    assert info.repair == "bind-once"
    assert info.fixable
    assert [heading for heading, _ in info.sections] == list(HEADINGS)
    assert dict(info.sections)["What it does not see"] == "- Anything [else]."
    assert info.bad == "f(1, x=1)\n"
    assert info.good == "f(1)\n"


@pytest.mark.parametrize("heading", HEADINGS)
def test_missing_heading_fails(heading: str) -> None:
    with pytest.raises(RuleDocumentError, match="the headings must be"):
        parse_document(DOCUMENT.replace(f"## {heading}\n", ""))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("CF150 ", "CF15 ", "the first line"),
        ("twice.\n", "twice\n", "the first line"),
        ("Stage: preview\n", "", "'Stage: …' is missing"),
        ("Stage: preview", "Stage: maybe", "stable or preview"),
        ("Severity: warning, convention", "Severity: fatal", "'fatal' is not a valid Severity"),
        ("Repair: bind-once", "Repair:", "expected one line each"),
        ("Repair: bind-once", "Repair: a\nRepair: b", "expected one line each"),
        ("Looks.", "", "'What it does' is empty"),
        ("f(1)\n", "f(1\n", "is no Python"),
        ("```python\nf(1)\n```", "f(1)", "must hold one"),
        ("## Why", "## Extra\nText.\n\n## Why", "the headings must be"),
    ],
)
def test_malformed_document_fails(old: str, new: str, message: str) -> None:
    assert old in DOCUMENT
    with pytest.raises(RuleDocumentError, match=message):
        parse_document(DOCUMENT.replace(old, new))


def test_module_is_named_after_its_code() -> None:
    with pytest.raises(RuleDocumentError, match="cf151: the docstring speaks of CF150"):
        rule_from_module(ModuleType("somewhere.cf151", DOCUMENT))
    with pytest.raises(RuleDocumentError, match="no docstring"):
        rule_from_module(ModuleType("somewhere.cf150"))
    module = ModuleType("somewhere.cf150", DOCUMENT)
    assert rule_from_module(module).check is None
    module.check = check_nothing  # type: ignore[attr-defined]
    assert rule_from_module(module).check is check_nothing


def test_every_rule_in_the_folder_is_documented() -> None:
    rules = load_rules()
    files = sorted(path.stem for path in Path(conformance.rules.__file__).parent.glob("cf*.py"))
    assert [rule.info.code.lower() for rule in rules] == files
    assert "cf900" in files
    assert len({rule.info.name for rule in rules}) == len(rules)


def test_selects_by_code_prefix_and_name() -> None:
    assert codes() == ["CF101", "CF108", "CF201", "CF900"]
    assert codes(select=["cf1"]) == ["CF101", "CF108", "CF900"]
    assert codes(select=["late-bound-capture", "CF108"]) == ["CF108", "CF201", "CF900"]
    assert codes(ignore=["CF1", "unreadable-source"]) == ["CF201"]
    assert codes(preview=True) == ["CF101", "CF108", "CF201", "CF605", "CF900"]


def test_most_specific_selector_decides() -> None:
    assert codes(select=["CF101"], ignore=["CF1"]) == ["CF101", "CF900"]
    assert codes(select=["CF1"], ignore=["CF101"]) == ["CF108", "CF900"]
    with pytest.raises(SelectionError, match="no rule is left"):
        codes(select=["CF101"], ignore=["CF101"])


def test_preview_rule_by_itself_needs_preview() -> None:
    with pytest.raises(SelectionError, match="CF605 lone-tolerance is a preview rule") as caught:
        codes(select=["lone-tolerance"])
    assert caught.value.hint == "add --preview to turn preview rules on"
    assert codes(select=["lone-tolerance"], preview=True) == ["CF605", "CF900"]


@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        ("argument-droped", "did you mean argument-dropped?"),
        ("CF802", "did you mean CF"),
        ("", "see `conformance rules`"),
        ("C", "see `conformance rules`"),
        ("zzz", "see `conformance rules`"),
    ],
)
def test_unknown_selector_is_named(selector: str, hint: str) -> None:
    for selection in ({"select": [selector]}, {"ignore": [selector]}):
        with pytest.raises(SelectionError, match="there is no rule") as caught:
            codes(**selection)
        assert (caught.value.hint or "").startswith(hint)


def test_finds_one_rule() -> None:
    assert find_rule(RULES, "cf201").info.name == "late-bound-capture"
    assert find_rule(RULES, "late-bound-capture").info.code == "CF201"
    with pytest.raises(SelectionError, match="'CF2'"):
        find_rule(RULES, "CF2")
