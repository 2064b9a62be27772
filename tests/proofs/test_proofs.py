"""Each proof shows its finding in the published source, nothing in the repaired one, and the checker agrees on both."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.check import Options, check
from tests.proofs.proving import RIGHT
from tests.proofs.published import Edit, edited
from tests.triage.test_triage import DATA, Key, key_of
from tests.wheels import Tree

if not all(importlib.util.find_spec(name) for name in ("torch", "diffusers")):
    pytest.skip("the proofs run models with torch and diffusers", allow_module_level=True)

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROJECTS = sorted(project for project in DATA if (HERE / project).is_dir())
LIMIT = 300
"""Seconds for all proofs on one project; they need some ten."""


def named() -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of `tests/triage` that name a proof, with their project."""
    for project, data in sorted(DATA.items()):
        for entry in data["finding"]:
            if ": " in entry.get("proof", ""):
                yield project, entry


@functools.cache
def results(project: str) -> dict[str, Any]:
    """What the proofs on a project saw, by their names."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.proofs.proving", project],
        cwd=ROOT,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(("project", "entry"), list(named()), ids=[entry["proof"] for _, entry in named()])
def test_published_code_shows_the_finding(
    project: str, entry: dict[str, Any], wheel: Callable[[str, str], Path], tmp_path: Path
) -> None:
    seen = results(project)[entry["proof"]]
    assert re.match(seen["shows"], seen["published"]), seen["published"]
    assert seen["repaired"] == RIGHT

    version = DATA[project]["releases"][0]
    part = DATA[project]["part"]
    assert version in entry.get("releases", [version]), "a proof runs on the newest release"
    root = wheel(project, version)
    tree = Tree(root, tmp_path, part)
    relative = f"{part}/{entry['path']}"
    assert seen["source"] == tree.text(relative), "another version is installed than the one that was checked"
    assert _key(entry) in published(root / relative, root / part)
    with tree.edited({relative: edited(seen["source"], [Edit(*edit) for edit in seen["edits"]])}):
        assert _key(entry) not in _found(tmp_path / relative, tmp_path / part)


@pytest.mark.parametrize("project", PROJECTS)
def test_proofs_and_entries_name_each_other(project: str) -> None:
    entries = {
        (entry["proof"], project, *(entry[name] for name in ("code", "path", "function", "parameter")))
        for of, entry in named()
        if of == project
    }
    assert {(name, *finding) for name, seen in results(project).items() for finding in seen["findings"]} == entries


def _key(entry: dict[str, Any]) -> Key:
    return Key(*(entry[name] for name in Key._fields))


@functools.cache
def published(path: Path, part: Path) -> set[Key]:
    """The findings of a file that stays as it is."""
    return _found(path, part)


def _found(path: Path, part: Path) -> set[Key]:
    return {key_of(finding, part) for finding in check(Options(paths=(str(path),), cwd=str(part))).findings}
