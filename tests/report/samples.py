"""Findings, statistics and sources that the tests of the reports share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

from conformance.findings import Finding, Place, Related, Severity, with_fingerprints
from conformance.report.base import Report

ROOT = "/tree"
MODEL = f"{ROOT}/models/model.py"
SOURCE = """\
class Model:
    def forward(self, x, rope):
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(
                    block,
                    x,
                )
            else:
                x = block(x, rope=rope[0])
"""

HOSTILE = "mod\x1b[31m\r\n\u202e\udcff漢\té.py"
"""A file name with a terminal escape, line ends, a direction mark, an undecodable byte, and legal odd characters."""


def place(line: int, column: int, end_column: int, *, path: str = MODEL, end_line: int | None = None) -> Place:
    return Place(path, line, column, line if end_line is None else end_line, end_column)


DROPPED = Finding(
    code="CF101",
    name="argument-dropped",
    severity=Severity.ERROR,
    place=place(5, 21, 18, end_line=8),
    message="`rope` [bold]is not passed[/] on the checkpointed path.",
    family="flux",
    witness="`gradient_checkpointing` on: TypeError",
    related=(Related("counterpart", place(10, 21, 43), "the eager path passes `rope[0]`"),),
)
GATE = Finding(
    code="CF301",
    name="literal-gate",
    severity=Severity.CONVENTION,
    place=place(4, 16, 43),
    message="the gate is a literal.",
)


def statistics(**changes: Any) -> Any:
    values: dict[str, Any] = {
        "files": 409,
        "parsed": 96,
        "paths": 1204,
        "bound": 1150,
        "unknown": {},
        "loops": 0,
        "unresolved_loops": (),
        "errors": 0,
        "entries": 99,
        "seconds": {},
    }
    return SimpleNamespace(**{**values, **changes})


def report(
    findings: Iterable[Finding] = (),
    texts: Mapping[str, str] = MappingProxyType({MODEL: SOURCE}),
    **changes: Any,
) -> Report:
    values: dict[str, Any] = {"statistics": statistics(), "cwd": ROOT, "version": "0.0.1"}
    return Report(findings=with_fingerprints(findings), read_text=texts.get, **{**values, **changes})
