"""The JSON documents are what their schemas say, whatever the checked tree holds."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conformance.findings import Related, Severity
from conformance.report import FORMATS
from tests.report.samples import DROPPED, GATE, HOSTILE, ROOT, place, report, statistics


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((files("conformance.report") / name).read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


SCHEMA = validator("schema.json")


def document(*findings: Any, **changes: Any) -> Any:
    text = FORMATS["json"](report(findings, **changes))
    assert text.isascii()
    assert text.endswith("}\n")
    result = json.loads(text)
    SCHEMA.validate(result)
    return result


def test_empty_run() -> None:
    assert document() == {
        "schema": 1,
        "version": "0.0.1",
        "findings": [],
        "summary": {"files": 409, "parsed": 96, "paths": 1204, "unknown": {}, "errors": 0},
    }


def test_finding_in_full() -> None:
    assert document(DROPPED)["findings"] == [
        {
            "code": "CF101",
            "name": "argument-dropped",
            "severity": "error",
            "path": "models/model.py",
            "line": 5,
            "column": 21,
            "end_line": 8,
            "end_column": 18,
            "message": "`rope` [bold]is not passed[/] on the checkpointed path.",
            "family": "flux",
            "fingerprint": report([DROPPED]).findings[0].fingerprint,
            "suppressed": None,
            "witness": "`gradient_checkpointing` on: TypeError",
            "fix": None,
            "related": [
                {
                    "role": "counterpart",
                    "path": "models/model.py",
                    "line": 10,
                    "column": 21,
                    "end_line": 10,
                    "end_column": 43,
                    "message": "the eager path passes `rope[0]`",
                    "fingerprint": None,
                }
            ],
        }
    ]


def test_findings_are_sorted() -> None:
    findings = [replace(GATE, place=place(line, column, 50)) for line in (12, 3) for column in (7, 2)]
    found = document(*findings)["findings"]
    assert [(finding["line"], finding["column"]) for finding in found] == [(3, 2), (3, 7), (12, 2), (12, 7)]
    assert len({finding["fingerprint"] for finding in found}) == 4


def test_statistics_only_when_asked() -> None:
    numbers = statistics(
        unknown={"b": 2, "a": 1}, loops=3, unresolved_loops=((place(3, 9, 20), "why"),), seconds={"facts": 0.1234567}
    )
    assert "statistics" not in document(statistics=numbers)
    full = document(statistics=numbers, with_statistics=True)
    assert list(full["summary"]["unknown"]) == ["a", "b"]
    assert full["statistics"] == {
        "entries": 99,
        "bound": 1150,
        "loops": 3,
        "unresolved_loops": [
            {"path": "models/model.py", "line": 3, "column": 9, "end_line": 3, "end_column": 20, "reason": "why"}
        ],
        "seconds": {"facts": 0.123457},
    }


def test_hostile_names() -> None:
    path = f"{ROOT}/{HOSTILE}"
    hostile = replace(
        DROPPED,
        severity=Severity.WARNING,
        place=place(1, 1, 9, path=path),
        message=HOSTILE,
        family=HOSTILE,
        witness=HOSTILE,
        related=(Related("sibling", place(1, 1, 9, path=path), HOSTILE, "0" * 16),),
    )
    found = document(
        hostile,
        statistics=statistics(unknown={HOSTILE: 1}, unresolved_loops=((place(1, 1, 2, path=path), HOSTILE),)),
        with_statistics=True,
    )
    legal = HOSTILE.replace("\udcff", r"\xff")
    finding = found["findings"][0]
    assert finding["path"] == finding["message"] == finding["family"] == finding["witness"] == legal
    assert finding["related"][0]["path"] == legal
    assert found["summary"]["unknown"] == {legal: 1}
    assert found["statistics"]["unresolved_loops"][0]["path"] == legal


@pytest.mark.parametrize(
    "change",
    [
        {"severity": "fatal"},
        {"code": "X1"},
        {"line": 0},
        {"extra": 1},
        {"suppressed": {"kind": "whim", "reason": ""}},
        {"fix": {"title": "t"}},
        {"fingerprint": ""},
        {"related": [{"role": "counterpart"}]},
    ],
)
def test_schema_refuses_what_is_wrong(change: dict[str, Any]) -> None:
    good = document(DROPPED)
    assert SCHEMA.is_valid(good)
    good["findings"][0].update(change)
    assert not SCHEMA.is_valid(good)


def test_schema_allows_what_is_to_come() -> None:
    later = document(DROPPED)
    later["findings"][0]["suppressed"] = {"kind": "comment", "reason": "upstream does it so"}
    later["findings"][0]["fix"] = {"title": "pass `rope`", "applicability": "safe", "edits": []}
    SCHEMA.validate(later)
