"""Names for each finding its siblings: the same defect in another loop of the function, or in a copy of the model.

Only findings that are shown anyway are named, so nothing of a file that wasn't given comes in by this way.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from conformance.findings import Finding, Related

MOST = 5
"""Siblings that a finding names, the nearest first."""
_KIND = re.compile(r"(?:Transformer|Control|UNet|Single|Double|Joint|Dual|Model|Block|Encoder|Decoder|\d+D)")
"""Where the name of a model ends in the name of a class: `FluxTransformer2DModel`, `FluxControlNetModel`."""


def with_siblings(findings: Sequence[Finding]) -> list[Finding]:
    """The findings in their order, each with its siblings behind its other related places."""
    kinds: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        if finding.function or finding.class_name or finding.parameter:
            kinds.setdefault((finding.code, finding.severity, finding.parameter), []).append(finding)
    named: dict[str, list[Finding]] = {}
    for group in kinds.values():
        if len(group) > 1:
            _pair(group, named)
    return [
        replace(finding, related=_joined(finding, map(_related(finding), named[finding.fingerprint])))
        if finding.fingerprint in named
        else finding
        for finding in findings
    ]


def _pair(group: Sequence[Finding], named: dict[str, list[Finding]]) -> None:
    """Pairs findings of one code, severity and parameter that have something in common, from the closest on."""
    by_trait: list[dict[Hashable, list[Finding]]] = []
    for trait in _TRAITS:
        table: dict[Hashable, list[Finding]] = {}
        for finding in group:
            key = trait(finding)
            if key is not None:
                table.setdefault(key, []).append(finding)
        by_trait.append(table)
    for finding in group:
        found: dict[str, Finding] = {}
        for trait, table in zip(_TRAITS, by_trait, strict=True):
            if len(found) >= MOST:
                break
            key = trait(finding)
            others = table[key] if key is not None else []
            for other in sorted(others, key=lambda o: _distance(finding, o)) if len(others) > 1 else ():
                if other.place != finding.place and len(found) < MOST:
                    found.setdefault(other.fingerprint, other)
        if found:
            named[finding.fingerprint] = list(found.values())


def _distance(finding: Finding, other: Finding) -> tuple[int, int, Hashable]:
    """Files by how far up their common folder is, places of one file by lines."""
    if finding.place.path == other.place.path:
        return (0, abs(finding.place.line - other.place.line), other.place)
    folders = finding.place.path.split(os.sep)
    pairs = zip(folders, other.place.path.split(os.sep), strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return (len(folders) - common, 0, other.place)


def _same_function(finding: Finding) -> Hashable:
    return (finding.place.path, finding.class_name, finding.function) if finding.function else None


def _same_file(finding: Finding) -> Hashable:
    return (finding.place.path, _shape(finding))


def _same_family(finding: Finding) -> Hashable:
    return (finding.family, _shape(finding)) if finding.family else None


def _same_model(finding: Finding) -> Hashable:
    """Classes whose names begin with that of one model: transformer and controlnet."""
    name = finding.class_name or finding.function
    match = _KIND.search(name)
    model = name[: match.start()] if match else ""
    return (model, _shape(finding)) if model else None


def _same_text(finding: Finding) -> Hashable:
    """A copy, whatever its file and class are called."""
    return (finding.text, _method(finding)) if finding.text else None


def _same_method(finding: Finding) -> Hashable:
    """A copy that was changed since."""
    return (finding.parameter, _method(finding)) if finding.parameter and finding.function else None


def _method(finding: Finding) -> str:
    return finding.function.rpartition(".")[2]


def _shape(finding: Finding) -> str:
    """What must be equal beside the code: the parameter, or the text where there is none."""
    return finding.parameter or finding.text


_TRAITS: tuple[Callable[[Finding], Hashable], ...] = (
    _same_function,
    _same_file,
    _same_family,
    _same_model,
    _same_text,
    _same_method,
)


def _joined(finding: Finding, siblings: Iterable[Related]) -> tuple[Related, ...]:
    """What the rule has related, and these siblings, each place once: a rule's own words stay."""
    new = {sibling.place: sibling for sibling in siblings}
    own = [
        replace(related, fingerprint=new.pop(related.place).fingerprint)
        if related.role == "sibling" and related.place in new
        else related
        for related in finding.related
    ]
    return (*own, *new.values())


def _related(finding: Finding) -> Callable[[Finding], Related]:
    def related(sibling: Finding) -> Related:
        is_same = _same_function(sibling) == _same_function(finding) is not None
        message = "the same defect" if is_same or not sibling.function else f"the same defect in `{sibling.function}`"
        return Related("sibling", sibling.place, message, sibling.fingerprint)

    return related
