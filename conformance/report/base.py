"""What every report is made from, and what the reports share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.findings import Finding, Place

if TYPE_CHECKING:  # only the types: reports know findings and nothing of the engine
    from conformance.check import Statistics

SOURCE_WIDTH = 120
"""Display columns for one line of source in a code frame, where no terminal says otherwise."""


@dataclass(frozen=True, slots=True)
class Report:
    """One run, ready to be rendered."""

    findings: Sequence[Finding]
    statistics: Statistics
    read_text: Callable[[str], str | None]
    """The text of a file that a finding names, as it was checked; None when there is none."""
    cwd: str
    """Paths inside this folder are shown relative to it."""
    version: str
    color: bool = False
    width: int = SOURCE_WIDTH
    """Display columns for one line of source in a code frame."""
    summary: bool = True
    """Whether a report for people ends with a summary line."""
    with_statistics: bool = False


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """The order of every report: by place, then code, then what is said."""
    return sorted(findings, key=lambda f: (f.place, f.code, f.parameter, f.message, f.fingerprint))


def relative(path: str, cwd: str) -> str:
    """The path relative to `cwd` when it is inside, else as it is."""
    prefix = cwd.rstrip(os.sep) + os.sep
    return path[len(prefix) :] if path.startswith(prefix) and len(path) > len(prefix) else path


def location(place: Place, cwd: str) -> str:
    """`path:line:column`, not escaped."""
    return f"{relative(place.path, cwd)}:{place.line}:{place.column}"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `1,200 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
