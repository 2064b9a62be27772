"""Backends: which checkpoint callable each place of a class uses, under which values of a stored setting.

A backend is a stored setting that a choice of callables tests, or that the profile names. Some of its values may ask
for a part of each block to be checkpointed in place of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.callpaths.compare import method_of
from conformance.callpaths.controls import is_setting
from conformance.callpaths.gates import DEEP, Stored, attribute_of, model_attribute, own_site, stored
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Route
from conformance.callpaths.paths import Entry, Path
from conformance.callpaths.settings import Setting, can_run
from conformance.callpaths.trace import Literal, Site, literals
from conformance.callpaths.values import Value, walk
from conformance.facts.ir import Const
from conformance.project.project import ClassDef, FunctionDef


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A place where a checkpoint callable runs a block, or is handed to one."""

    entry: Entry
    callee: Value
    conditions: tuple[Literal, ...]
    site: Site
    is_part: bool
    """True where the block is handed the callable for a part of itself."""


def runs(entries: Iterable[Entry], interpreter: Interpreter) -> list[Run]:
    """All places of these entries where a callable is used."""
    found: list[Run] = []
    for entry in entries:
        for call in entry.trace.checkpoints:
            if not call.dead and not call.inside:
                site = own_site(entry, call.site, call.outer, interpreter)
                found.append(Run(entry, call.callee, call.conditions, site, False))
        for raw in entry.trace.calls:
            if not raw.scoped or raw.dead:
                continue
            for value in (*raw.arguments, *(v for _, v in raw.keywords)):
                if value.op != "param" and interpreter.is_checkpoint(value):
                    found.append(Run(entry, value, raw.conditions, raw.site, True))
    return found


def backends(entries: Sequence[Entry], places: Sequence[Run], interpreter: Interpreter) -> tuple[Stored, ...]:
    """The backends that a class stores, each with the values that its own tests or the profile tell apart."""
    owner = entries[0].owner
    if owner is None:
        return ()
    found: dict[str, Stored | None] = {}
    profile = interpreter.project.profile
    for control in profile.controls_of("backend"):
        one = stored(owner, "backend", control.attribute, control.setter, interpreter)
        values: list[object] = list(control.values)
        for scope in profile.controls_of("scope"):
            if scope.attribute == control.attribute and has_capability(owner, scope.capability, interpreter):
                values.extend(scope.values)
        if one is not None:
            found[control.attribute] = _with_values(one, tuple(values))
    for name, values in _tested(places, owner, interpreter).items():
        if name not in found:
            one = stored(owner, "backend", name, "", interpreter)
            found[name] = None if one is None else _with_values(one, tuple(values))
    return tuple(backend for backend in found.values() if backend is not None)


def _with_values(found: Stored, values: tuple[object, ...]) -> Stored:
    return Stored(found.kind, found.attribute, found.setter, found.carriers, values)


def has_capability(owner: ClassDef, capability: str, interpreter: Interpreter) -> bool:
    """Whether a class has a true class attribute of this name."""
    found = interpreter.project.class_attribute(owner, capability) if capability else None
    return found is not None and isinstance(found[1], Const) and bool(found[1].value)


def _tested(places: Sequence[Run], owner: ClassDef, interpreter: Interpreter) -> dict[str, list[object]]:
    """Settings that a choice of callables tests, with the values that the tests tell apart."""
    heads: dict[str, list[str]] = {}
    tails: dict[str, list[str]] = {}
    result: dict[str, list[object]] = {}
    for run in places:
        tests = [part.args[0] for part in walk(run.callee, DEEP) if part.op == "phi"]
        for test in (*tests, *(literal.value for literal in run.conditions)):
            for part in walk(test, DEEP):
                named, values, way = _comparison(part)
                if named is None or not is_setting(named, owner, interpreter):
                    continue
                name: str = named.args[1]
                initial = interpreter.attribute_value(owner, name)
                assert initial is not None  # it is a setting
                if named is part and not isinstance(initial.args[1], bool):
                    continue
                known = result.setdefault(name, [initial.args[1]])
                if way == "startswith":
                    heads.setdefault(name, []).extend(map(str, values))
                elif way == "endswith":
                    tails.setdefault(name, []).extend(map(str, values))
                else:
                    known.extend(values)
    for name, known in result.items():
        # The start of a value is a value of its own only where none is known that starts so.
        known.extend([head for head in heads.get(name, ()) if not _any(known, str.startswith, head)])
        for tail in tails.get(name, ()):
            if not _any(known, str.endswith, tail):
                known.extend([f"{head}{tail}" for head in known if isinstance(head, str)])
        result[name] = list(dict.fromkeys(known))[:_MOST_VALUES]
    return {name: known for name, known in result.items() if len(known) > 1}


def _any(known: Sequence[object], test: Callable[[str, str], bool], part: str) -> bool:
    return any(isinstance(value, str) and test(value, part) for value in known)


_MOST_VALUES = 8


def _comparison(value: Value) -> tuple[Value | None, list[object], str]:
    """The setting that a test compares with literals, these, and how; a switch is a test itself."""
    if attribute_of(value):
        return value, [True, False], "is"
    if value.op == "cmp" and value.args[0] in ("==", "in"):
        _, left, right = value.args
        items = right.args if right.op in ("tuple", "list") else (right,)
        if attribute_of(left) and all(item.op == "const" and isinstance(item.args[1], str) for item in items):
            return left, [item.args[1] for item in items], value.args[0]
    if value.op == "call" and value.args[0].op == "attr" and value.args[0].args[1] in ("startswith", "endswith"):
        subject, arguments = value.args[0].args[0], value.args[1]
        if attribute_of(subject) and len(arguments) == 1 and arguments[0].op == "const":
            return subject, [arguments[0].args[1]], value.args[0].args[1]
    return None, [], ""


@dataclass(frozen=True, slots=True)
class OneCallable:
    """A place that uses one callable under two values of the backend that stand for different ones."""

    run: Run
    backend: Stored
    values: tuple[object, object]
    counterpart: Run | None
    """Where the backend decides."""


def one_callable(places: Sequence[Run], backend: Stored, interpreter: Interpreter) -> Iterator[OneCallable]:
    """The places that don't heed a backend."""
    known = [_under(run, backend, interpreter) for run in places]
    named = {control.attribute: control.values for control in interpreter.project.profile.controls_of("backend")}
    bases = named.get(backend.attribute, ())
    for run, under in zip(places, known, strict=True):
        if under is None:
            continue
        for pair in _pairs([value for value, chosen in under.items() if chosen is not None]):
            if under[pair[0]] != under[pair[1]]:
                continue
            counterpart = _telling(places, known, pair)
            if counterpart is None and not _are_different(pair, bases):
                continue
            yield OneCallable(run, backend, pair, counterpart)
            break


def _pairs(values: Sequence[object]) -> Iterator[tuple[object, object]]:
    for index, first in enumerate(values):
        for second in values[index + 1 :]:
            yield first, second


def _are_different(pair: tuple[object, object], bases: Sequence[str]) -> bool:
    """Whether the profile says that two values stand for different callables."""
    starts = [max((b for b in bases if str(value).startswith(b)), key=len, default="") for value in pair]
    return "" not in starts and starts[0] != starts[1]


_Under = dict[object, frozenset[Value] | None]


def _telling(places: Sequence[Run], known: Sequence[_Under | None], pair: tuple[object, object]) -> Run | None:
    """A place, or one of two, that uses different callables under the two values."""
    first, second = pair
    for run, under in zip(places, known, strict=True):
        if under is None:
            continue
        ours, theirs = under.get(first), under.get(second)
        if ours and theirs and not ours & theirs:
            return run
        if not ours or theirs:
            continue
        for other in known:
            if other is None or other.get(first) is not None:
                continue
            others = other.get(second)
            if others and not ours & others:
                return run
    return None


def _under(run: Run, backend: Stored, interpreter: Interpreter) -> _Under | None:
    """The callables that a place uses under each value, None where it doesn't run; None when that isn't known."""
    values = interpreter.values
    own = model_attribute(run.entry, backend.attribute, interpreter)
    for value in (run.callee, *(literal.value for literal in run.conditions)):
        for part in walk(value, DEEP):
            name = attribute_of(part)
            if name is not None and name != backend.attribute and name in backend.carriers:
                return None
    result: _Under = {}
    for given in backend.values:
        setting = Setting(values, {own: values.const(given)})
        chosen = _leaves(setting.value(run.callee))
        if not all(_is_plain(leaf, run, interpreter) for leaf in chosen):
            return None
        used = frozenset(leaf for leaf in chosen if not _is_none(leaf))
        result[given] = used if used and can_run(values, literals(run.conditions), setting) else None
    return result


def _leaves(callee: Value) -> frozenset[Value]:
    if callee.op == "phi":
        return _leaves(callee.args[1]) | _leaves(callee.args[2])
    if callee.op == "partial":
        return _leaves(callee.args[0])
    return frozenset((callee,))


def _is_none(callee: Value) -> bool:
    """No callable at all."""
    return callee.op in ("unbound", "absent") or (callee.op == "const" and callee.args[1] is None)


def _is_plain(callee: Value, run: Run, interpreter: Interpreter) -> bool:
    """Whether a callable is the same whatever is set: it, or what puts it into an attribute, looks at nothing."""
    if callee.op == "ref":
        return True
    if _is_none(callee):
        return True
    if callee.op == "function":
        return "global " not in interpreter.project.source_of(callee.args[0])
    name = attribute_of(callee)
    kind = interpreter.checkpoint_kind(callee)
    if name is None or kind is None or kind.kind != "hook" or run.entry.owner is None:
        return False
    return not _sets_hook(run.entry.owner, name, interpreter)


def _sets_hook(owner: ClassDef, hook: str, interpreter: Interpreter) -> bool:
    """Whether a class fills its hook itself, or tells its base what to fill it with."""
    for base in interpreter.project.mro(owner):
        if not isinstance(base, ClassDef):
            continue
        for function in (*interpreter.stores(base).get(hook, ()), *_initialisers(base, interpreter)):
            value = interpreter.attributes_after(owner, function).get(hook)
            if value is not None and not all(_is_given(leaf, hook) for leaf in _leaves(value)):
                return True
        enabling = base.facts.methods.get("enable_gradient_checkpointing")
        if enabling is not None:
            source = interpreter.project.source_of(interpreter.project.function_def(base.module, enabling, base))
            if "func" in source.partition(":\n")[2]:
                return True
    return False


def _is_given(value: Value, hook: str) -> bool:
    """Whether a hook comes from outside, or stays what it was."""
    return value.op in ("param", "const", "unbound", "absent") or attribute_of(value) == hook


def _initialisers(cls: ClassDef, interpreter: Interpreter) -> list[FunctionDef]:
    facts = cls.facts.methods.get("__init__")
    return [] if facts is None else [interpreter.project.function_def(cls.module, facts, cls)]


# Scope


@dataclass(frozen=True, slots=True)
class WholeBlock:
    """A path that checkpoints whole blocks under a value that asks for a part of each."""

    entry: Entry
    path: Path
    attribute: str
    value: object
    part: Path | None
    """A path that checkpoints a part of the block."""


def whole_blocks(entries: Sequence[Entry], known: Sequence[Stored], interpreter: Interpreter) -> Iterator[WholeBlock]:
    """The paths that run whole blocks though a part of each is asked for, and the block can do that."""
    owner = entries[0].owner
    if owner is None:
        return
    parts = [path for entry in entries for block in entry.blocks for path in block.live if path.route is Route.SCOPED]
    for backend in known:
        asked, parameters = _scope(owner, backend, parts, entries, interpreter)
        for entry in entries if asked else ():
            own = model_attribute(entry, backend.attribute, interpreter)
            for block in entry.blocks:
                for path in block.live:
                    if path.route not in (Route.CHECKPOINTED, Route.SEGMENTED):
                        continue
                    if not _takes(path, parameters, interpreter):
                        continue
                    for value in asked:
                        setting = Setting(interpreter.values, {own: interpreter.values.const(value)})
                        if can_run(interpreter.values, literals(path.raw.conditions), setting):
                            part = next((p for p in parts if set(p.bindings) & set(path.bindings)), None)
                            yield WholeBlock(entry, path, backend.attribute, value, part)
                            break


def _scope(
    owner: ClassDef, backend: Stored, parts: Sequence[Path], entries: Sequence[Entry], interpreter: Interpreter
) -> tuple[list[object], set[str]]:
    """The values that ask for a part of each block, and the parameters by which a block is asked."""
    values = interpreter.values
    for control in interpreter.project.profile.controls_of("scope"):
        if control.attribute == backend.attribute:
            can = has_capability(owner, control.capability, interpreter)
            return (list(control.values), {control.parameter}) if can else ([], set())
    initial = interpreter.attribute_value(owner, backend.attribute)
    asked: list[object] = []
    if initial is None or initial.op != "const":
        return [], set()
    own = values.make("attr", values.make("self", owner, "self"), backend.attribute)
    for value in backend.values:
        here = Setting(values, {own: values.const(value)})
        usual = Setting(values, {own: initial})
        for path in parts:
            conditions = literals(path.raw.conditions)
            if can_run(values, conditions, here) and not can_run(values, conditions, usual):
                asked.append(value)
                break
    parameters = {
        name
        for path in parts
        for bound in path.bindings.values()
        for name, value in bound.values.items()
        if interpreter.is_checkpoint(value)
    }
    return asked, parameters


def _takes(path: Path, parameters: set[str], interpreter: Interpreter) -> bool:
    """Whether the block of a path can be asked to checkpoint a part of itself."""
    for cls in path.bindings:
        method = method_of(path, cls, interpreter)
        if method is None or not parameters & {p.name for p in method.facts.parameters}:
            return False
    return bool(path.bindings)
