"""Findings: what a rule says about one place. Plain frozen values, shared by rules and reports."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal


class Severity(StrEnum):
    """How bad the effect is; see the ranks in `rank`."""

    ERROR = "error"
    """A wrong result or a crash."""
    WARNING = "warning"
    """A control silently does nothing, or memory is lost."""
    CONVENTION = "convention"
    """Works, but against the profile's contract."""

    @property
    def rank(self) -> int:
        """0 for the worst; larger is milder."""
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.CONVENTION: 2}

Role = Literal["counterpart", "sibling", "definition"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A span of one file. Lines and columns count from 1; `end_column` is exclusive; columns count characters."""

    path: str
    """The path as the sources name it (absolute); reports make it relative to the working directory."""
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that the finding speaks of: the path that does it right, a sibling, a definition."""

    role: Role
    place: Place
    message: str
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect at one place."""

    code: str
    name: str
    severity: Severity
    place: Place
    message: str
    """One sentence or two: what is wrong, where the other path does it right, what to do. Never wrapped."""
    class_name: str = ""
    function: str = ""
    """Qualified name inside the file, such as `Flux.forward`."""
    parameter: str = ""
    text: str = ""
    """Source text that tells two findings of one function apart, white space folded."""
    family: str | None = None
    witness: str | None = None
    related: tuple[Related, ...] = ()
    module: str = ""
    """The file's path inside its source root, so that a fingerprint doesn't depend on the machine."""
    fingerprint: str = ""


def with_fingerprints(findings: Iterable[Finding]) -> list[Finding]:
    """Gives each finding a fingerprint that survives edits elsewhere in the file.

    It is made of code, file in its root, class, function, parameter and text, not of lines; equal ones are
    numbered in the order of their places.
    """
    seen: dict[str, int] = {}
    result = []
    for finding in sorted(findings, key=lambda f: (f.place, f.code, f.parameter, f.message)):
        key = "\0".join(  # noqa: FLY002 - six names in a row don't read
            (finding.code, finding.module, finding.class_name, finding.function, finding.parameter, finding.text)
        )
        ordinal = seen.get(key, 0)
        seen[key] = ordinal + 1
        digest = hashlib.sha256(f"{key}\0{ordinal}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        result.append(replace(finding, fingerprint=digest))
    return result
