'''What a rule is: a module with a docstring in a fixed shape and a function `check`.

One rule is one file `conformance/rules/cfNNN.py`. Nothing is registered anywhere: `conformance.rules.load_rules` reads
the folder. Everything that `explain`, `rules`, the documentation and the selection need comes from the module's
docstring, which has exactly this shape (a missing or unknown heading fails the build):

    """CF101 argument-dropped: A block gets an argument on one path and not on another.

    Severity: error
    Stage: stable
    Repair: none

    ## What it does
    Prose in Markdown, one paragraph or more.

    ## Why is this bad
    Prose: what goes wrong at run time, and for whom.

    ## Example
    ```python
    the shortest source with the defect
    ```

    ## Use instead
    ```python
    the same source without it
    ```

    ## What it does not see
    Prose or a list: the limits, stated honestly.
    """

    def check(context): ...

- The first line is code, name and a one-line summary that ends with a period; the file is named after the code.
- `Severity` lists one or more of error, warning and convention, separated by commas; the first is the default.
- `Stage` is `stable`, or `preview`: off unless `--preview`.
- `Repair` is the name of the codemod that repairs the finding, or `none`.
- The two code sections hold exactly one ```` ```python ```` block, with prose around it if needed; it must parse.

A module without `check` documents a finding that the engine makes by itself, such as CF900.
'''

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from conformance.findings import Finding, Severity

CheckFunction = Callable[..., Iterable[Finding]]
"""A rule's question to the project; it yields findings without fingerprints, in any order."""

HEADINGS = ("What it does", "Why is this bad", "Example", "Use instead", "What it does not see")
"""The sections of a rule's docstring, in this order."""

_TITLE = re.compile(r"(?P<code>CF\d{3}) (?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*): (?P<summary>\S.*\.)")
_FIELDS = ("Severity", "Stage", "Repair")
_CODE_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class RuleDocumentError(ValueError):
    """A rule's docstring doesn't have the fixed shape."""


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """What a rule's docstring says. Sections are Markdown; examples are Python source."""

    code: str
    name: str
    summary: str
    severities: tuple[Severity, ...]
    preview: bool
    repair: str | None
    """The codemod that repairs the rule's findings, if there is one."""
    sections: tuple[tuple[str, str], ...]
    """Heading and text, in the order of `HEADINGS`."""
    bad: str
    """The example with the defect."""
    good: str
    """The example without it."""

    @property
    def severity(self) -> Severity:
        """The severity that a finding has unless the docstring says when it is another."""
        return self.severities[0]

    @property
    def fixable(self) -> bool:
        return self.repair is not None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its document and its question. `check` is None where the engine itself makes the finding."""

    info: RuleInfo
    check: CheckFunction | None


def parse_document(text: str) -> RuleInfo:
    """Reads a rule's docstring.

    Raises:
        RuleDocumentError: the first thing that is missing, unknown or out of order.
    """
    head, *parts = re.split(r"^## +", inspect.cleandoc(text), flags=re.MULTILINE)
    title, _, field_lines = head.partition("\n")
    match = _TITLE.fullmatch(title.strip())
    if match is None:
        raise RuleDocumentError(f"the first line must be 'CFNNN the-name: Summary.', not {title!r}")
    code = match["code"]
    sections = tuple((heading.strip(), body.strip()) for heading, _, body in (part.partition("\n") for part in parts))
    found = tuple(heading for heading, _ in sections)
    if found != HEADINGS:
        raise RuleDocumentError(
            f"{code}: the headings must be {', '.join(HEADINGS)}; found {', '.join(found) or 'none'}"
        )
    fields = _parse_fields(code, field_lines)
    for heading, body in sections:
        if not body:
            raise RuleDocumentError(f"{code}: the section {heading!r} is empty")
    if fields["Stage"] not in ("stable", "preview"):
        raise RuleDocumentError(f"{code}: Stage must be stable or preview, not {fields['Stage']!r}")
    try:
        severities = tuple(Severity(word.strip()) for word in fields["Severity"].split(","))
    except ValueError as error:
        raise RuleDocumentError(f"{code}: Severity: {error}") from None
    return RuleInfo(
        code=code,
        name=match["name"],
        summary=match["summary"],
        severities=severities,
        preview=fields["Stage"] == "preview",
        repair=None if fields["Repair"] == "none" else fields["Repair"],
        sections=sections,
        bad=_parse_example(code, *sections[HEADINGS.index("Example")]),
        good=_parse_example(code, *sections[HEADINGS.index("Use instead")]),
    )


def _parse_fields(code: str, text: str) -> dict[str, str]:
    fields = {}
    for line in filter(str.strip, text.splitlines()):
        key, colon, value = line.partition(":")
        if not colon or key not in _FIELDS or key in fields or not value.strip():
            raise RuleDocumentError(f"{code}: expected one line each of {', '.join(_FIELDS)}; found {line!r}")
        fields[key] = value.strip()
    for key in _FIELDS:
        if key not in fields:
            raise RuleDocumentError(f"{code}: the line '{key}: …' is missing")
    return fields


def _parse_example(code: str, heading: str, body: str) -> str:
    blocks = _CODE_BLOCK.findall(body)
    if len(blocks) != 1:
        raise RuleDocumentError(f"{code}: the section {heading!r} must hold one ```python block, not {len(blocks)}")
    source: str = blocks[0]
    try:
        ast.parse(source)
    except SyntaxError as error:
        raise RuleDocumentError(f"{code}: the code in {heading!r} is no Python: {error}") from None
    return source


def rule_from_module(module: Any) -> Rule:
    """The rule that a module is.

    Raises:
        RuleDocumentError: the docstring is missing or malformed, or the code isn't the one in the file's name.
    """
    stem = module.__name__.rpartition(".")[2]
    if not module.__doc__:
        raise RuleDocumentError(f"{stem}: the module has no docstring")
    info = parse_document(module.__doc__)
    if info.code.lower() != stem:
        raise RuleDocumentError(f"{stem}: the docstring speaks of {info.code}")
    return Rule(info, getattr(module, "check", None))
