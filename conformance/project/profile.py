"""Profiles: the names of a project, as data.

A profile is a TOML file in `allowlists/`; `torch` is the base that every other one extends. Profiles only add names:
controls, gates and wrappers are recognised by what they do as well. `docs/profiles.md` tells every key.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

CheckpointKind = Literal["torch", "hook", "wrapper"]
ControlKind = Literal["argument", "backend", "interval", "stride", "scope", "offload"]
_Choice = TypeVar("_Choice", bound=str)


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
    positional: bool = False
    """Takes no keywords at all."""


@dataclass(frozen=True, slots=True)
class CheckpointHook:
    """A checkpoint callable without keywords that a base class stores on its models."""

    attribute: str
    bases: tuple[str, ...]
    """Dotted names of the base class, all its spellings."""
    enabler: str
    """The base's method that makes the hook; what is handed to it takes the hook's place."""
    setter: str
    """The base's method that stores it, on the model and on its submodules."""
    parameter: str
    """The setter's parameter that takes the hook."""
    switch: str
    """The class attribute without which the base refuses."""
    marker: str
    """The attribute of the submodules that get the hook, too."""


@dataclass(frozen=True, slots=True)
class Control:
    """A setting that a model stores, and that its gates use or its blocks are handed."""

    parameter: str
    """The block's parameter; empty where blocks don't take it."""
    attribute: str
    """The model's attribute."""
    kind: ControlKind = "argument"
    """What it decides on: the callable, which blocks of a chain, how much of a block; `argument` is the block's."""
    setter: str = ""
    """The model's method that stores it."""
    capability: str = ""
    """The class attribute that is true where a model has the control."""
    values: tuple[str, ...] = ()
    """A backend's values that stand for different callables; a scope's values under which no block runs whole."""
    context: str = ""
    """The context manager that an offload control turns on around attention, as imported."""


@dataclass(frozen=True, slots=True)
class GateHelper:
    """A function that decides for one block, and which of its parameters is what."""

    name: str
    """Dotted name as imported."""
    index: str
    flag: str
    interval: str = ""
    stride: str = ""


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
    hooks: tuple[CheckpointHook, ...] = ()
    flags: tuple[str, ...] = ()
    """Model attributes that turn checkpointing on."""
    inherited_flags: tuple[str, ...] = ()
    """Attributes of the libraries' base classes that tell about checkpointing."""
    flag_packages: tuple[str, ...] = ()
    """Packages whose base classes have no other such attributes."""
    grad_contexts: tuple[str, ...] = ()
    """Context managers under which grad mode is off."""
    grad_tests: tuple[str, ...] = ()
    """Functions that tell whether grad mode is on."""
    gate_helpers: tuple[GateHelper, ...] = ()
    grad_mode: bool = False
    """True where a gate has to ask for grad mode, and `training` is no substitute."""
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
    attention_functions: tuple[str, ...] = ()
    """Functions that compute attention, by dotted name; those that call one of them are found."""
    attention_modules: tuple[str, ...] = ()
    """Classes outside the tree whose call computes attention, and attributes of such classes that hold one."""
    offload_hooks: tuple[str, ...] = ()
    """Context managers that decide where tensors saved for backward are kept."""
    cache_switches: tuple[str, ...] = ()
    """Names that are false where no cache is kept."""
    exemptions: tuple[Exemption, ...] = ()

    @property
    def handed_controls(self) -> tuple[Control, ...]:
        """The controls that a model hands to its blocks as they are."""
        return tuple(control for control in self.controls if control.kind in ("argument", "offload"))

    def controls_of(self, kind: ControlKind) -> tuple[Control, ...]:
        """The controls of one kind."""
        return tuple(control for control in self.controls if control.kind == kind)


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
    reader.text("description", "")
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
    attention = reader.table("attention")
    own = checkpoint.texts("own")
    callables = tuple(
        CheckpointCallable(
            name=entry.text("name"),
            kind=entry.choice("kind", ("torch", "hook", "wrapper")),
            attribute=entry.flag("attribute"),
            own=entry.texts("own") or own,
            sequential=entry.flag("sequential"),
            positional=entry.flag("positional"),
        )
        for entry in checkpoint.tables("callables")
    )
    hooks = tuple(
        CheckpointHook(
            attribute=entry.text("attribute"),
            bases=entry.texts("bases"),
            enabler=entry.text("enabler"),
            setter=entry.text("setter"),
            parameter=entry.text("parameter"),
            switch=entry.text("switch"),
            marker=entry.text("marker"),
        )
        for entry in checkpoint.tables("hooks")
    )
    profile = Profile(
        name=reader.text("name"),
        markers=project.texts("markers"),
        checkpoints=(*callables, *base.checkpoints),
        hooks=(*hooks, *base.hooks),
        flags=(*gate.texts("flags"), *base.flags),
        inherited_flags=(*gate.texts("inherited"), *base.inherited_flags),
        flag_packages=(*gate.texts("packages"), *base.flag_packages),
        grad_contexts=(*gate.texts("grad_off"), *base.grad_contexts),
        grad_tests=(*gate.texts("grad_tests"), *base.grad_tests),
        gate_helpers=(
            *(
                GateHelper(
                    name=entry.text("name"),
                    index=entry.text("index"),
                    flag=entry.text("flag"),
                    interval=entry.text("interval", ""),
                    stride=entry.text("stride", ""),
                )
                for entry in gate.tables("helpers")
            ),
            *base.gate_helpers,
        ),
        grad_mode=gate.flag("grad_mode") or base.grad_mode,
        controls=(*map(_control, reader.tables("control")), *base.controls),
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
        attention_functions=(*attention.texts("functions"), *base.attention_functions),
        attention_modules=(*attention.texts("modules"), *base.attention_modules),
        offload_hooks=(*attention.texts("offload_hooks"), *base.offload_hooks),
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
    reader.finish()
    return profile


def _control(entry: _Reader) -> Control:
    kind: ControlKind = entry.choice(
        "kind", ("argument", "backend", "interval", "stride", "scope", "offload"), "argument"
    )
    return Control(
        parameter=entry.text("parameter", None if kind == "argument" else ""),
        attribute=entry.text("attribute"),
        kind=kind,
        setter=entry.text("setter", ""),
        capability=entry.text("capability", ""),
        values=entry.texts("values"),
        context=entry.text("context", ""),
    )


class _Reader:
    """Typed access to one table, with errors that name the file and the key."""

    def __init__(self, path: Path, data: Mapping[str, Any], prefix: str = "") -> None:
        self._path = path
        self._data = data
        self._prefix = prefix
        self._asked: set[str] = set()
        self._inner: list[_Reader] = []

    def finish(self) -> None:
        """Fails on the first key, here or in a table inside, that nothing has asked for: it would have no effect."""
        for key in self._data:
            if key not in self._asked:
                close = difflib.get_close_matches(key, self._asked, 1)
                hint = f" (did you mean `{close[0]}`?)" if close else f" (known: {', '.join(sorted(self._asked))})"
                raise ProfileError(f"{self._path}: unknown key `{self._prefix}{key}`{hint}")
        for reader in self._inner:
            reader.finish()

    def _get(self, key: str, default: Any) -> Any:
        self._asked.add(key)
        return self._data.get(key, default)

    def _wrong(self, key: str, wanted: str) -> ProfileError:
        return ProfileError(f"{self._path}: `{self._prefix}{key}` must be {wanted}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "text")
        return value

    def flag(self, key: str) -> bool:
        value = self._get(key, False)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def choice(self, key: str, choices: Sequence[_Choice], default: str | None = None) -> _Choice:
        value = self.text(key, default)
        for choice in choices:
            if value == choice:
                return choice
        raise self._wrong(key, f"one of {', '.join(choices)}")

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, "a list of texts")
        return tuple(value)

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        table = self.table(key)
        return {name: table.texts(name) for name in table._data}

    def table(self, key: str) -> _Reader:
        value = self._get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, "a table")
        return self._open(value, f"{self._prefix}{key}.")

    def tables(self, key: str) -> list[_Reader]:
        value = self._get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self._wrong(key, "a list of tables")
        return [self._open(item, f"{self._prefix}{key}[{index}].") for index, item in enumerate(value)]

    def _open(self, data: Mapping[str, Any], prefix: str) -> _Reader:
        inner = _Reader(self._path, data, prefix)
        self._inner.append(inner)
        return inner
