"""Every finding on published releases has been read in the code, and the verdicts are kept.

A finding without a verdict is untriaged, a verdict without its finding is missing; both fail. Lines don't count, since
they move from release to release.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conformance.check import Options, check
from conformance.findings import Finding

DATA = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in Path(__file__).parent.glob("*.toml")}
VERDICTS = {"defect", "convention"}


class Key(NamedTuple):
    """What makes a finding the same one in two releases."""

    code: str
    severity: str
    path: str
    function: str
    parameter: str


def releases() -> Iterator[tuple[str, str]]:
    """Project and version."""
    for project, data in sorted(DATA.items()):
        for version in data["releases"]:
            yield project, version


def expected(project: str, version: str) -> Counter[Key]:
    """The findings that have a verdict."""
    found: Counter[Key] = Counter()
    for entry in DATA[project]["finding"]:
        if version in entry.get("releases", DATA[project]["releases"]):
            found[Key(*(entry[name] for name in Key._fields))] += entry.get("count", 1)
    return found


def actual(part: Path) -> Counter[Key]:
    """The findings of the stable rules."""
    return Counter(key_of(finding, part) for finding in check(Options(paths=(str(part),), cwd=str(part))).findings)


def key_of(finding: Finding, part: Path) -> Key:
    """What makes this finding the same one in two releases; its path is taken relative to `part`."""
    path = Path(finding.place.path).relative_to(part).as_posix()
    return Key(finding.code, finding.severity.value, path, finding.function, finding.parameter)


def differences(due: Counter[Key], found: Counter[Key]) -> list[str]:
    """What is untriaged and what is missing, a line each."""
    lines = [f"untriaged: {count} x {' '.join(key)}" for key, count in (found - due).items()]
    lines += [f"missing: {count} x {' '.join(key)}" for key, count in (due - found).items()]
    return sorted(lines)


@pytest.mark.parametrize(("project", "version"), list(releases()))
def test_findings_are_triaged(project: str, version: str, wheel: Callable[[str, str], Path]) -> None:
    part = wheel(project, version) / DATA[project]["part"]
    wrong = differences(expected(project, version), actual(part))
    assert not wrong, "\n".join(wrong)


def test_differences_are_told_apart() -> None:
    one = Key("CF101", "error", "a.py", "A.forward", "mask")
    other = one._replace(parameter="scale")
    assert differences(Counter({one: 2}), Counter({one: 2})) == []
    assert differences(Counter({one: 1}), Counter({one: 2})) == ["untriaged: 1 x CF101 error a.py A.forward mask"]
    assert differences(Counter({one: 1, other: 1}), Counter({other: 1})) == [
        "missing: 1 x CF101 error a.py A.forward mask"
    ]


@pytest.mark.parametrize("project", sorted(DATA))
def test_verdicts_are_whole(project: str) -> None:
    """Each is of a kind, with its reason. A defect says when it shows, an error what to do and how it was proven."""
    fields = {*Key._fields, "verdict", "reason", "witness"}
    for entry in DATA[project]["finding"]:
        name = f"{entry['code']} {entry['path']} {entry['parameter']}"
        assert fields <= entry.keys() <= fields | {"count", "releases", "repair", "proof"}, name
        assert entry["verdict"] in VERDICTS, name
        assert (entry["verdict"] == "convention") == (entry["severity"] == "convention"), name
        assert bool(entry["witness"]) == (entry["verdict"] == "defect"), name
        assert _is_sentence(entry["reason"]), name
        assert not entry["witness"] or _is_sentence(entry["witness"]), name
        assert entry["severity"] != "error" or {"repair", "proof"} <= entry.keys(), name
        assert "repair" not in entry or _is_sentence(entry["repair"]), name
        assert entry.get("proof", "reading") == "reading" or ": " in entry["proof"], name
        assert set(entry.get("releases", [])) <= set(DATA[project]["releases"]), name


def _is_sentence(text: Any) -> bool:
    return isinstance(text, str) and text[:1].isupper() and text.endswith(".") and "\n" not in text


def test_the_severe_one_is_known() -> None:
    """Silent wrong gradients in a current release: a late-bound block."""
    newest = DATA["simpletuner"]["releases"][0]
    late = {key.parameter: key.path for key in expected("simpletuner", newest) if key.code == "CF201"}
    assert late["block"] == "ltxvideo2/transformer.py"
    assert late["attention_mask"] == "chroma/transformer.py"
