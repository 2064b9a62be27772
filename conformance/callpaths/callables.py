"""Which checkpoint callable a call runs, and what that one takes: decided by the definitions that reach it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from conformance.callpaths.binding import bind
from conformance.callpaths.checkpoints import TORCH_OWN
from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.trace import CheckpointCall, Literal, RawCall, Site, literals
from conformance.callpaths.values import Value, alternatives, walk
from conformance.facts.ir import Parameter
from conformance.project.profile import CheckpointHook
from conformance.project.project import ClassDef, External, FunctionDef

_MAX_LINKS = 8
"""Longest chain of aliases, attributes and wrappers from a call to the callable."""
_REENTRANT_REJECTS = ("context_fn", "debug")
"""Keywords of torch's own checkpoint that its re-entrant mode rejects."""
_SEQUENTIAL = ("functions", "segments", "input", "use_reentrant", "preserve_rng_state")


_IS_NEWER = {">=": True, ">": True, "!=": True, "==": False, "<": False, "<=": False}
"""Whether a release since 2 compares so to an older one."""
_MAX_PARTS = 200
"""Parts of a condition that are looked at for a test of torch's version."""


class Kind(StrEnum):
    """What a checkpoint callable is."""

    TORCH = "torch"
    SEQUENTIAL = "sequential"
    """`checkpoint_sequential`."""
    POSITIONAL = "positional"
    """A function outside the tree that takes no keywords, such as the hook that a model's base class stores."""
    WRAPPER = "wrapper"
    """A function of the tree: its own signature and body tell."""
    UNKNOWN = "unknown"


class Mode(StrEnum):
    """How a call of torch's checkpoint recomputes."""

    REENTRANT = "re-entrant"
    DEFAULT = "default"
    """Nothing is said, so that torch's default holds, which is re-entrant in every release that has one."""
    NON_REENTRANT = "non-re-entrant"
    UNKNOWN = "unknown"


Facts = tuple[tuple[Value, bool], ...]


class Callable(NamedTuple):
    """One of the callables that a value can be."""

    value: Value
    kind: Kind
    bound: tuple[tuple[str | None, Value], ...]
    """Keywords that a `partial` binds."""
    conditions: Facts
    """When it is this one, apart from the conditions of the call."""
    hook: CheckpointHook | None = None

    @property
    def text(self) -> str:
        """What it is, for a reader who sees the source."""
        if self.hook is not None:
            return f"`{self.hook.attribute}` of {self.hook.bases[0].rsplit('.', 1)[-1]}"
        return f"`{self.value.text}`"


class Use(NamedTuple):
    """One callable that one checkpoint call can run, with what it is passed then."""

    call: CheckpointCall
    """The call as it stands in the source: where a keyword is to be added or taken away."""
    callable: Callable
    through: tuple[Callable, ...]
    """The wrappers of the tree between the call and the callable, outermost first."""
    arguments: tuple[Value, ...]
    """What the callable gets by position, the function included."""
    keywords: tuple[tuple[str, Value], ...]
    """What it gets by keyword, those for the checkpoint itself included."""
    mode: Mode
    rejected: tuple[str, ...]
    """Keywords of the call that the callable doesn't take."""
    lost: tuple[tuple[Value, str], ...]
    """Wrappers, and the keywords of the call that they take and don't hand on."""
    conditions: Facts
    given: RawCall | None
    """The call that hands the callable to the block which calls it."""
    place: Site
    """Where `use_reentrant` is to be passed: the call, or the one inside a wrapper that takes no such keyword."""

    @property
    def setting(self) -> tuple[Literal, ...]:
        """The conditions of the call, and of the one that hands the callable over."""
        return (*(self.given.conditions if self.given is not None else ()), *self.call.conditions)


class _Way(NamedTuple):
    """How a call is followed: the call, and what has been met on the way from it."""

    origin: CheckpointCall
    through: tuple[Callable, ...]
    conditions: Facts
    given: RawCall | None
    place: Site
    lost: tuple[tuple[Value, str], ...]


class Callables:
    """Checkpoint callables of one project."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._values = interpreter.values
        self.models: list[ClassDef] = []
        """The models among which those that hold a module are looked for."""
        self._held: dict[ClassDef, CheckpointHook] | None = None
        self._versions: dict[Value, dict[Value, bool]] = {}
        """For each value, the tests of torch's version in it."""

    def of(self, value: Value, conditions: Iterable[tuple[Value, bool]] = ()) -> tuple[Callable, ...]:
        """What a value can be under conditions; an alternative that isn't known is there as such."""
        known = tuple(conditions)
        found: list[Callable] = []
        for callable_ in self._spread(value, known, (), 0):
            if callable_ not in found:
                found.append(callable_._replace(conditions=callable_.conditions[len(known) :]))
        return tuple(found)

    def _spread(
        self, value: Value, conditions: Facts, bound: tuple[tuple[str | None, Value], ...], depth: int
    ) -> Iterator[Callable]:
        op = value.op
        if depth > _MAX_LINKS:
            yield Callable(value, Kind.UNKNOWN, bound, conditions)
        elif op == "phi":
            test, body, orelse = value.args
            truth = Assumptions(self._values, conditions).truth(test)
            for part, holds in ((body, True), (orelse, False)):
                if truth is not (not holds):
                    yield from self._spread(part, (*conditions, (test, holds)), bound, depth + 1)
        elif op in ("or", "pick"):
            for part in value.args if op == "or" else value.args[1]:
                yield from self._spread(part, conditions, bound, depth + 1)
        elif op == "partial":
            names = {name for name, _ in bound}
            own = tuple(pair for pair in value.args[2] if pair[0] is None or pair[0] not in names)
            yield from self._spread(value.args[0], conditions, (*own, *bound), depth + 1)
        elif op == "attr" and self._owners(value):
            yield from self._stored(value, conditions, bound, depth)
        elif op in ("unbound", "absent") or value is self._values.none:
            return
        else:
            yield Callable(value, self._kind(value), bound, conditions)

    def _kind(self, value: Value) -> Kind:
        kind = self._interpreter.checkpoint_kind(value)
        if kind is None:
            return Kind.UNKNOWN
        if value.op == "ref":
            if kind.kind == "torch":
                return Kind.SEQUENTIAL if kind.sequential else Kind.TORCH
            return Kind.POSITIONAL if kind.positional else Kind.UNKNOWN
        return Kind.WRAPPER if value.op in ("function", "bound") else Kind.UNKNOWN

    def _owners(self, value: Value) -> tuple[ClassDef, ...]:
        base = value.args[0]
        if base.op == "self":
            return (base.args[0],)
        classes = self._interpreter.classes_of(base)
        known = tuple(cls for cls in classes if isinstance(cls, ClassDef))
        return known if len(known) == len(classes) else ()

    def _stored(
        self, value: Value, conditions: Facts, bound: tuple[tuple[str | None, Value], ...], depth: int
    ) -> Iterator[Callable]:
        """What an attribute holds: what the class's methods store in it, and what its base outside the tree stores."""
        name: str = value.args[1]
        for owner in self._owners(value):
            stored = self._interpreter.all_stored(owner, name)
            for part in stored:
                if part is not value:
                    yield from self._spread(part, conditions, bound, depth + 1)
            hook = self._hook(owner, name)
            if hook is not None:
                yield Callable(value, Kind.POSITIONAL, bound, conditions, hook)
            elif not stored:
                yield Callable(value, Kind.UNKNOWN, bound, conditions)

    def _hook(self, cls: ClassDef, attribute: str) -> CheckpointHook | None:
        """The hook that a base class stores under this name, where nothing in the tree decides otherwise."""
        project = self._interpreter.project
        for hook in project.profile.hooks:
            if hook.attribute != attribute:
                continue
            base = next((b for b in project.mro(cls) if _is_named(b, hook.bases)), None)
            switch = project.class_attribute(cls, hook.switch)
            if base is None or switch is None or getattr(switch[1], "value", None) is not True:
                continue
            if self._enables(cls, base, hook) and self._sets(cls, base, hook):
                return hook
        return None

    def _enables(self, cls: ClassDef, base: ClassDef | External, hook: CheckpointHook) -> bool:
        """Whether the base makes the hook: its method isn't overridden, or the override only hands on what it gets."""
        project = self._interpreter.project
        method = project.method(cls, hook.enabler)
        if method is None or method.owner is base:
            return True
        call = re.search(rf"super\(.*\)\.{hook.enabler}\(\s*(?:\w+=)?(\w*)\s*\)", project.source_of(method))
        return call is not None and (not call[1] or call[1] in {p.name for p in method.facts.parameters[1:]})

    def _sets(self, cls: ClassDef, base: ClassDef | External, hook: CheckpointHook) -> bool:
        """Whether the hook is stored: the base's method isn't overridden, or the override stores what it gets."""
        method = self._interpreter.project.method(cls, hook.setter)
        if method is None or method.owner is base:
            return True
        stored = self._interpreter.value_after(cls, method, hook.attribute)
        return stored is not None and any(p.op == "param" and p.args[2] == hook.parameter for p in alternatives(stored))

    def _held_hook(self, cls: ClassDef, attribute: str) -> CheckpointHook | None:
        """The hook that a model which holds modules of this class stores on them."""
        if self._held is None:
            self._held = {}
            for model in self.models:
                for hook in self._interpreter.project.profile.hooks:
                    if self._hook(model, hook.attribute) is hook:
                        self._note_held(model, hook, self._held, set())
        found = self._held.get(cls)
        if found is None or found.attribute != attribute or found.marker not in self._interpreter.attributes(cls):
            return None
        return found

    def _note_held(
        self, cls: ClassDef, hook: CheckpointHook, held: dict[ClassDef, CheckpointHook], seen: set[ClassDef]
    ) -> None:
        """Notes the classes of all modules below one."""
        if cls in seen:
            return
        seen.add(cls)
        interpreter = self._interpreter
        for value in interpreter.attributes(cls).values():
            for inner in (*interpreter.classes_of(value), *interpreter.elements_of(value)):
                if isinstance(inner, ClassDef):
                    held.setdefault(inner, hook)
                    self._note_held(inner, hook, held, seen)

    # Calls

    def uses_of(self, call: CheckpointCall, before: Facts = (), given: RawCall | None = None) -> Iterator[Use]:
        """What one call runs, alternative by alternative; nothing for those that aren't known.

        `before` are the conditions of the call `given`, which hands the callable over.
        """
        conditions = self._with_versions((*before, *literals(call.conditions)), call)
        if Assumptions(self._values, conditions).contradictory:
            return
        way = _Way(call, (), conditions, given, call.site, ())
        for callable_ in self.of(call.callee, conditions):
            yield from self._followed(way, call, callable_)

    def _with_versions(self, conditions: Facts, call: CheckpointCall) -> Facts:
        """The conditions with what tests of torch's version say: releases before 2 have other defaults and keywords."""
        tests: dict[Value, bool] = {}
        for value in (*(value for value, _ in conditions), *(value for _, value in call.keywords)):
            found = self._versions.get(value)
            if found is None:
                parts = ((part, _asks_version(part)) for part in walk(value, _MAX_PARTS))
                found = self._versions[value] = {part: known for part, known in parts if known is not None}
            tests.update(found)
        return (*tests.items(), *conditions) if tests else conditions

    def _followed(self, way: _Way, call: CheckpointCall, callable_: Callable) -> Iterator[Use]:
        """What a call does with one callable; `call` is the way's own, or stands in the last of its wrappers."""
        way = way._replace(conditions=(*way.conditions, *callable_.conditions))
        if callable_.kind is Kind.UNKNOWN and call.keywords:
            callable_ = self._with_held(callable_)
        assumptions = Assumptions(self._values, way.conditions)
        if callable_.kind is Kind.UNKNOWN or assumptions.contradictory or len(way.through) > _MAX_LINKS:
            return
        opened = any(name is None for name, _ in (*call.keywords, *callable_.bound))
        keywords = {
            name: reduced
            for name, value in dict([*callable_.bound, *call.keywords]).items()
            if name is not None and (reduced := assumptions.reduce(value)) is not self._values.absent
        }
        mode = Mode.UNKNOWN
        rejected: Iterable[str] = ()
        if callable_.kind is Kind.WRAPPER:
            parameters = _parameters(callable_.value)
            rejected = [name for name in keywords if bind(parameters, (), ((name, self._values.none),)).problem]
            if not rejected:
                yield from self._inside(way, call, callable_, keywords, opened)
                return
        elif callable_.kind is Kind.POSITIONAL:
            rejected = keywords
        else:
            mode = self._mode(keywords, opened)
            if callable_.kind is Kind.SEQUENTIAL:
                rejected = (name for name in keywords if name not in _SEQUENTIAL)
            elif mode in (Mode.REENTRANT, Mode.DEFAULT):
                rejected = (name for name in keywords if name not in TORCH_OWN or name in _REENTRANT_REJECTS)
        own = {name for name, _ in (*way.origin.keywords, *callable_.bound)}
        yield Use(
            call=way.origin,
            callable=callable_,
            through=way.through,
            arguments=call.arguments,
            keywords=tuple(keywords.items()),
            mode=mode,
            rejected=tuple(name for name in rejected if name in own),
            lost=way.lost,
            conditions=way.conditions,
            given=way.given,
            place=way.place,
        )

    def _with_held(self, callable_: Callable) -> Callable:
        """A hook that nothing but a model around stores. Only what passes keywords has to know."""
        value = callable_.value
        for owner in self._owners(value) if value.op == "attr" else ():
            hook = self._held_hook(owner, value.args[1])
            if hook is not None:
                return callable_._replace(kind=Kind.POSITIONAL, hook=hook)
        return callable_

    def _inside(
        self, way: _Way, call: CheckpointCall, wrapper: Callable, keywords: dict[str, Value], opened: bool
    ) -> Iterator[Use]:
        """The checkpoints that a wrapper of the tree calls with what it is passed."""
        passed: list[tuple[str | None, Value]] = list(keywords.items())
        if opened:
            passed.extend(pair for pair in (*wrapper.bound, *call.keywords) if pair[0] is None)
        trace = self._interpreter.follow(wrapper.value, call.arguments, passed, call.site.span)
        function: FunctionDef = wrapper.value.args[-1]
        own = [wrapped for wrapped in trace.wrapped if wrapped.function.qualname == function.facts.qualname]
        lost = [(wrapper.value, name) for wrapped in own for name in wrapped.unread]
        settable = self._forwards(wrapper.value, call, passed)
        for inner in trace.checkpoints:
            conditions = self._with_versions((*way.conditions, *literals(inner.conditions)), inner)
            if inner.dead or inner.inside or Assumptions(self._values, conditions).contradictory:
                continue
            further = way._replace(
                through=(*way.through, wrapper),
                conditions=conditions,
                place=way.place if inner.site in settable else inner.site,
                lost=(*way.lost, *lost),
            )
            for callable_ in self.of(inner.callee, conditions):
                yield from self._followed(further, inner, callable_)

    def _forwards(self, wrapper: Value, call: CheckpointCall, passed: list[tuple[str | None, Value]]) -> set[Site]:
        """The checkpoint calls inside a wrapper that get the `use_reentrant` which the wrapper is given."""
        added = ("use_reentrant", self._values.false)
        if added[0] in dict(passed) or bind(_parameters(wrapper), (), (added,)).problem is not None:
            return set()
        trace = self._interpreter.follow(wrapper, call.arguments, [*passed, added], call.site.span)
        return {inner.site for inner in trace.checkpoints if dict(inner.keywords).get(added[0]) is added[1]}

    def _mode(self, keywords: dict[str, Value], opened: bool) -> Mode:
        value = keywords.get("use_reentrant")
        if value is None:
            return Mode.UNKNOWN if opened else Mode.DEFAULT
        leaves = set(alternatives(value))
        if leaves <= {self._values.none, self._values.absent}:
            return Mode.UNKNOWN if opened else Mode.DEFAULT
        if leaves == {self._values.true}:
            return Mode.REENTRANT
        return Mode.NON_REENTRANT if leaves == {self._values.false} else Mode.UNKNOWN


def _parameters(wrapper: Value) -> tuple[Parameter, ...]:
    """The signature that a call of a function or a bound method is bound to."""
    parameters: tuple[Parameter, ...] = wrapper.args[-1].facts.parameters
    return parameters[1:] if wrapper.op == "bound" else parameters


def _asks_version(value: Value) -> bool | None:
    """What `is_torch_version(">=", "1.11")` and its like say of every release of torch since 2."""
    if value.op != "call" or len(value.args[1]) != 2 or "torch" not in value.args[0].text:
        return None
    kind, version = (part.args[1] if part.op == "const" else None for part in value.args[1])
    if not (isinstance(kind, str) and isinstance(version, str)):
        return None
    match = re.match(r"[01]\.\d+", version)
    return None if match is None or kind not in _IS_NEWER else _IS_NEWER[kind]


def _is_named(base: ClassDef | External, names: tuple[str, ...]) -> bool:
    """Whether a class has one of these dotted names, in the tree or outside."""
    if isinstance(base, External):
        return base.name in names
    path = base.module.path.removesuffix(".py").replace(os.sep, ".")
    return any(f"{path}.{base.facts.qualname}".endswith(f".{name}") for name in names)
