"""The stable report for programs; `schema.json` beside this file describes it.

The document is ASCII. Lone surrogates (a path's undecodable bytes, mostly) are no legal JSON for many readers, so they
are written out as `\\xNN` or `\\uNNNN`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.findings import Finding, Place, Related
from conformance.report.base import Report, in_order, relative
from conformance.report.terminal import escape

SCHEMA = 1
"""Raised when a field changes its meaning or goes away."""

Document = dict[str, Any]

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def render(report: Report) -> str:
    statistics = report.statistics
    document: Document = {
        "schema": SCHEMA,
        "version": report.version,
        "findings": [finding_document(finding, report.cwd) for finding in in_order(report.findings)],
        "summary": {
            "files": statistics.files,
            "parsed": statistics.parsed,
            "paths": statistics.paths,
            "unknown": dict(sorted(statistics.unknown.items())),
            "errors": statistics.errors,
        },
    }
    if report.with_statistics:
        document["statistics"] = {
            "entries": statistics.entries,
            "bound": statistics.bound,
            "loops": statistics.loops,
            "unresolved_loops": [
                {**place_document(place, report.cwd), "reason": reason}
                for place, reason in sorted(statistics.unresolved_loops)
            ],
            "seconds": {stage: round(seconds, 6) for stage, seconds in statistics.seconds.items()},
        }
    return dump(document)


def dump(document: Mapping[str, Any]) -> str:
    """One JSON document as ASCII text that ends with a line end."""
    import json  # here, because most runs need no JSON

    return json.dumps(_legal(document), indent=2) + "\n"


def finding_document(finding: Finding, cwd: str) -> Document:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        **place_document(finding.place, cwd),
        "message": finding.message,
        "family": finding.family,
        "fingerprint": finding.fingerprint,
        "suppressed": None,
        "witness": finding.witness,
        "fix": None,
        "related": [_related_document(related, cwd) for related in finding.related],
    }


def place_document(place: Place, cwd: str) -> Document:
    return {
        "path": relative(place.path, cwd),
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


def _related_document(related: Related, cwd: str) -> Document:
    return {
        "role": related.role,
        **place_document(related.place, cwd),
        "message": related.message,
        "fingerprint": related.fingerprint,
    }


def _legal(value: Any) -> Any:
    match value:
        case str():
            return _SURROGATE.sub(lambda match: escape(match[0]), value)
        case Mapping():
            return {_legal(key): _legal(item) for key, item in value.items()}
        case list() | tuple():
            return [_legal(item) for item in value]
        case _:
            return value
