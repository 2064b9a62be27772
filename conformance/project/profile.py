"""Profiles: the names of a project, as data.

A profile is a TOML file in `allowlists/`; `torch` is the base that every other one extends. Profiles only add names:
controls, gates and wrappers are recognised by what they do as well.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

CheckpointKind = Literal["torch", "hook", "wrapper"]


class ProfileError(Exception):
    """A profile that can't be used; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class CheckpointCallable:
    """A function that runs its first argument now and again during backward."""

    name: str
    """Dotted name as imported, or the name of an attribute for `attribute = true`."""
    kind: CheckpointKind
    attribute: bool = False
    own: tuple[str, ...] = ()
    """Keywords that are for the callable itself, not for the function."""
    sequential: bool = False
    """`checkpoint_sequential(functions, segments, input)`: runs the elements of its first argument in turn."""


@dataclass(frozen=True, slots=True)
class Control:
    """A setting that a model stores and hands to its blocks."""

    parameter: str
    """The block's parameter."""
    attribute: str
    """The model's attribute."""


@dataclass(frozen=True, slots=True)
class Registry:
    """How families are registered: `callable(name, Class)`; the class names its network in an attribute."""

    callable: str
    network: str


@dataclass(frozen=True, slots=True)
class Exemption:
    """Findings that a maintainer would call intended, with the reason."""

    code: str
    path: str
    reason: str
    function: str = ""
    parameter: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """Immutable input of a run."""

    name: str
    markers: tuple[str, ...] = ()
    """Folders or files that tell that a tree is this project, relative to its source root."""
    checkpoints: tuple[CheckpointCallable, ...] = ()
    flags: tuple[str, ...] = ()
    """Model attributes that turn checkpointing on."""
    grad_contexts: tuple[str, ...] = ()
    """Context managers under which grad mode is off."""
    grad_tests: tuple[str, ...] = ()
    """Functions that tell whether grad mode is on."""
    controls: tuple[Control, ...] = ()
    registries: tuple[Registry, ...] = ()
    families_folder: str = ""
    """The folder, relative to the source root, whose sub-folders are families."""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    module_bases: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    """Classes that hold submodules in order."""
    mappings: tuple[str, ...] = ()
    """Classes that hold submodules by key."""
    caches: tuple[str, ...] = ()
    """Parameters of a block that take a cache."""
    cache_switches: tuple[str, ...] = ()
    """Names that are false where no cache is kept."""
    exemptions: tuple[Exemption, ...] = ()


_KEYS = {
    "name",
    "extends",
    "description",
    "project",
    "checkpoint",
    "gate",
    "control",
    "families",
    "module",
    "cache",
    "exempt",
}


def load_profile(path: Path, folder: Path) -> Profile:
    """Reads one profile and what it extends (by name, in `folder`).

    Raises `ProfileError` with the file and the key.
    """
    return _load(path, folder, ())


def _load(path: Path, folder: Path, seen: tuple[Path, ...]) -> Profile:
    if path in seen:
        raise ProfileError(f"{path}: profiles extend each other in a circle")
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProfileError(f"{path}: {error}") from None
    reader = _Reader(path, data)
    reader.only(_KEYS)
    base = Profile(name="")
    extends = reader.text("extends", "")
    if extends:
        base = _load(folder / f"{extends}.toml", folder, (*seen, path))
    project = reader.table("project")
    checkpoint = reader.table("checkpoint")
    gate = reader.table("gate")
    families = reader.table("families")
    module = reader.table("module")
    cache = reader.table("cache")
    own = checkpoint.texts("own")
    callables = tuple(
        CheckpointCallable(
            name=entry.text("name"),
            kind=entry.choice("kind", ("torch", "hook", "wrapper")),
            attribute=entry.flag("attribute"),
            own=entry.texts("own") or own,
            sequential=entry.flag("sequential"),
        )
        for entry in checkpoint.tables("callables")
    )
    return Profile(
        name=reader.text("name"),
        markers=project.texts("markers"),
        checkpoints=(*callables, *base.checkpoints),
        flags=(*gate.texts("flags"), *base.flags),
        grad_contexts=(*gate.texts("grad_off"), *base.grad_contexts),
        grad_tests=(*gate.texts("grad_tests"), *base.grad_tests),
        controls=(
            *(Control(entry.text("parameter"), entry.text("attribute")) for entry in reader.tables("control")),
            *base.controls,
        ),
        registries=(
            *(Registry(entry.text("callable"), entry.text("network")) for entry in families.tables("registry")),
            *base.registries,
        ),
        families_folder=families.text("folder", base.families_folder),
        aliases={**base.aliases, **families.lists("aliases")},
        module_bases=(*module.texts("bases"), *base.module_bases),
        containers=(*module.texts("containers"), *base.containers),
        mappings=(*module.texts("mappings"), *base.mappings),
        caches=(*cache.texts("parameters"), *base.caches),
        cache_switches=(*cache.texts("switches"), *base.cache_switches),
        exemptions=(
            *(
                Exemption(
                    code=entry.text("code"),
                    path=entry.text("path"),
                    reason=entry.text("reason"),
                    function=entry.text("function", ""),
                    parameter=entry.text("parameter", ""),
                    version=entry.text("version", ""),
                )
                for entry in reader.tables("exempt")
            ),
            *base.exemptions,
        ),
    )


class _Reader:
    """Typed access to one table, with errors that name the file and the key."""

    def __init__(self, path: Path, data: Mapping[str, Any], prefix: str = "") -> None:
        self._path = path
        self._data = data
        self._prefix = prefix

    def only(self, keys: set[str]) -> None:
        for key in self._data:
            if key not in keys:
                raise ProfileError(f"{self._path}: unknown key `{self._prefix}{key}`")

    def _wrong(self, key: str, wanted: str) -> ProfileError:
        return ProfileError(f"{self._path}: `{self._prefix}{key}` must be {wanted}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self._data.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "text")
        return value

    def flag(self, key: str) -> bool:
        value = self._data.get(key, False)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def choice(self, key: str, choices: Sequence[CheckpointKind]) -> CheckpointKind:
        value = self.text(key)
        for choice in choices:
            if value == choice:
                return choice
        raise self._wrong(key, f"one of {', '.join(choices)}")

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, "a list of texts")
        return tuple(value)

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        table = self.table(key)
        return {name: table.texts(name) for name in table._data}

    def table(self, key: str) -> _Reader:
        value = self._data.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, "a table")
        return _Reader(self._path, value, f"{self._prefix}{key}.")

    def tables(self, key: str) -> list[_Reader]:
        value = self._data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self._wrong(key, "a list of tables")
        return [_Reader(self._path, item, f"{self._prefix}{key}[{index}].") for index, item in enumerate(value)]
