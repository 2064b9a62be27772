"""Loads one module of a published package, as it is or with its defect repaired.

An installed package is imported as usual. From an unpacked wheel, packages are entered without running their
`__init__`, so that only what the module itself imports is needed, not all that its project depends on.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Collection, Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tests.wheels import unpacked


class Edit(NamedTuple):
    """A text that occurs so often in a source, and what takes its place."""

    old: str
    new: str
    count: int = 1


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text after the edits."""
    for old, new, count in edits:
        assert text.count(old) == count, f"{text.count(old)} x {old!r}"
        text = text.replace(old, new)
    return text


class Wheel:
    """A finder of the packages of an unpacked wheel that runs the `__init__` of the named ones only."""

    def __init__(self, root: Path, package: str, run: Collection[str] = ()):
        self.root = root
        self.package = package
        self.run = run

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """A package without code, where one is asked for."""
        parts = name.split(".")
        folder = self.root.joinpath(*parts)
        if parts[0] != self.package or name in self.run or not folder.is_dir():
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec


def source(name: str) -> str:
    """The source that Python finds by this name."""
    spec = importlib.util.find_spec(name)
    assert spec is not None, name
    assert spec.origin is not None, name
    return Path(spec.origin).read_text(encoding="utf-8")


def load(name: str, edits: Iterable[Edit] = ()) -> ModuleType:
    """A fresh module of that source; it takes the place of an earlier one."""
    sys.modules.pop(name, None)
    spec = importlib.util.find_spec(name)
    assert spec is not None, name
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(edited(source(name), edits), str(spec.origin), "exec"), module.__dict__)
    return module


def enter(project: str, version: str, run: Iterable[str] = ()) -> None:
    """Makes an unpacked wheel importable: its packages without their `__init__`, but for those named in `run`."""
    root = unpacked(project, version)
    sys.path.append(str(root))
    sys.meta_path.insert(0, Wheel(root, project, frozenset(run)))
