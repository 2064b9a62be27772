"""The document for maintainers has every defect, with its lines."""

from __future__ import annotations

import re

import pytest

from tests.triage.__main__ import corpus
from tests.triage.test_triage import DATA


@pytest.mark.parametrize("project", sorted(DATA))
def test_document_has_every_defect(project: str) -> None:
    release = DATA[project]["releases"][0]
    text = "\n".join(corpus(project, release))
    due = [
        entry["path"]
        for entry in DATA[project]["finding"]
        if entry["verdict"] == "defect" and release in entry.get("releases", [release])
    ]
    assert sorted(re.findall(r"^- Where: `(.+)`, lines \d", text, re.MULTILINE)) == sorted(due)
