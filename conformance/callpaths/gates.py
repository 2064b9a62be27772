"""Gates: which stored settings decide how a block is run, and whether each path heeds them.

A *rhythm* says which blocks of a chain are checkpointed: an interval, a stride. It is what a remainder of the loop's
index is taken by. A *backend* says which callable does it: a stored setting that a choice of callables tests. Both are
known by that, or by their names in the profile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.callpaths.controls import is_setting, setter_of
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Route
from conformance.callpaths.paths import Entry, Path
from conformance.callpaths.settings import Fails, Setting, can_run
from conformance.callpaths.trace import GateCall, Modulo, RawCall, Site, literals
from conformance.callpaths.values import Value, children, truth_of, walk
from conformance.project.project import ClassDef, FunctionDef

DEEP = 400
"""Parts of a value that are looked at."""
_REACHES_OUT = re.compile(r"\bfor\b|\bwhile\b|\bglobal\b|(?<!self)\.\w+\s*=(?!=)|(?<![\w.])([\w.]+)\(")
"""What may set more than attributes of the setter's own object; a call, by its name."""
_SAID_ONLY = re.compile(r"\"\"\".*?\"\"\"|\'\'\'.*?\'\'\'|#[^\n]*", re.DOTALL)
_HARMLESS = re.compile(
    r"(?:bool|int|str|float|max|min|abs|len|isinstance|type|repr|getattr|hasattr|\w*(?:Error|Exception|Warning)"
    r"|(?:.*\.)?(?:lower|upper|strip|startswith|endswith|removesuffix|removeprefix|format|join)"
    r"|(?:\w*log\w*|warnings)\.\w+|if|in|not|and|or|is|raise|return|else|elif)"
)
_CONNECTIVES = frozenset({"not", "and", "or", "phi", "const"})
_CARRIED = frozenset({"mu", "out", "state"})
_SWITCHES = frozenset({"and", "or", "not", "cmp", "call"})
_RHYTHM = {"interval": 3, "stride": 5}
"""A setting that tells an interval and a stride from each other and from none at all."""


def by_class(entries: Iterable[Entry]) -> list[list[Entry]]:
    """The entries of each class; those of no class have no settings."""
    found: dict[ClassDef, list[Entry]] = {}
    for entry in entries:
        if entry.owner is not None:
            found.setdefault(entry.owner, []).append(entry)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Stored:
    """A setting that a model stores, with all attributes that its setter makes of it."""

    kind: str
    attribute: str
    setter: str
    carriers: frozenset[str]
    values: tuple[object, ...] = ()
    """A backend's values under which something is told apart."""


def attribute_of(value: Value) -> str | None:
    """The name, where a value is an attribute of the model."""
    return value.args[1] if value.op == "attr" and value.args[0].op == "self" else None


def model_attribute(entry: Entry, name: str, interpreter: Interpreter) -> Value:
    """`self.name` in an entry."""
    assert entry.owner is not None
    return interpreter.values.make("attr", interpreter.values.make("self", entry.owner, "self"), name)


def stored(owner: ClassDef, kind: str, attribute: str, setter: str, interpreter: Interpreter) -> Stored | None:
    """The setting behind an attribute; None where nothing sets it, or where its setter hands it on to others."""
    if interpreter.attribute_value(owner, attribute) is None:
        return None
    name = setter_of(owner, attribute, interpreter)
    method = interpreter.project.method(owner, setter or name or "")
    if method is None:
        return None
    after = interpreter.attributes_after(owner, method)
    if attribute not in after or _reaches_out(_body(interpreter, method)):
        return None
    return Stored(kind, attribute, method.facts.name, frozenset(after))


def _reaches_out(source: str) -> bool:
    """Whether a setter may do more than set attributes of its own object: tell its blocks, change what is global."""
    return any(not found[1] or not _HARMLESS.fullmatch(found[1]) for found in _REACHES_OUT.finditer(source))


def _body(interpreter: Interpreter, method: FunctionDef) -> str:
    """The source of a method without its first line, its docstring and its comments."""
    source = interpreter.project.source_of(method)
    return _SAID_ONLY.sub("", source.partition(":\n")[2] or source)


# Rhythm


def rhythms(entries: Sequence[Entry], interpreter: Interpreter) -> tuple[Stored, ...]:
    """The intervals and strides that a class stores, from all its entries."""
    owner = entries[0].owner
    if owner is None:
        return ()
    found: dict[str, Stored | None] = {}
    for kind in ("interval", "stride"):
        for control in interpreter.project.profile.controls:
            if control.kind == kind and control.attribute not in found:
                found[control.attribute] = stored(owner, kind, control.attribute, control.setter, interpreter)
    for entry in entries:
        for kind, name in _taken_by_remainders(entry, owner, interpreter):
            if name not in found:
                found[name] = stored(owner, kind, name, "", interpreter)
    return tuple(rhythm for rhythm in found.values() if rhythm is not None)


def _taken_by_remainders(entry: Entry, owner: ClassDef, interpreter: Interpreter) -> Iterator[tuple[str, str]]:
    """What remainders of an index are taken by in the gates of an entry, helpers included."""
    for gate in entry.gates:
        kinds = helper_roles(gate.helper, interpreter)
        for parameter, value in passed(gate.helper, gate.gate).items():
            name = attribute_of(value)
            if parameter in kinds and name is not None and is_setting(value, owner, interpreter):
                yield kinds[parameter], name
    for block in entry.blocks:
        for path in block.live:
            if path.route is Route.EAGER:
                continue
            for literal in path.raw.conditions:
                for part in walk(literal.value, DEEP):
                    if part.op == "op" and part.args[0] == "%" and part.args[1][0].loops:
                        for inner in walk(part.args[1][1], DEEP):
                            name = attribute_of(inner)
                            if name is not None and is_setting(inner, owner, interpreter):
                                yield "interval", name


def passed(helper: FunctionDef, gate: Value) -> dict[str, Value]:
    """What a gate call passes, by the helper's parameters."""
    _, arguments, keywords = gate.args
    names = [p.name for p in helper.facts.parameters if p.kind in ("positional", "any")]
    return {**dict(zip(names, arguments, strict=False)), **{n: v for n, v in keywords if n is not None}}


def helper_roles(helper: FunctionDef, interpreter: Interpreter) -> dict[str, str]:
    """Which parameters of a gate helper are an interval or a stride, by what they do.

    `index % stride < interval` has both; in any other remainder the divisor is the interval.
    """
    result = interpreter.gate_result(helper)
    roles: dict[str, str] = {}
    if result is None:
        return roles
    for part in walk(result, DEEP):
        if part.op == "cmp" and part.args[0] == "<" and _is_remainder(part.args[1]):
            for inner in _parameters(part.args[1].args[1][1]):
                roles[inner] = "stride"
            for inner in _parameters(part.args[2]):
                roles[inner] = "interval"
    for part in walk(result, DEEP):
        if _is_remainder(part):
            for inner in _parameters(part.args[1][1]):
                roles.setdefault(inner, "interval")
    return roles


def _is_remainder(value: Value) -> bool:
    return value.op == "op" and value.args[0] == "%" and len(value.args[1]) == 2


def _parameters(value: Value) -> list[str]:
    return [part.args[2] for part in walk(value, DEEP) if part.op == "param"]


def ignored_rhythms(entry: Entry, path: Path, known: Sequence[Stored], interpreter: Interpreter) -> tuple[Stored, ...]:
    """The rhythms that a path could heed and doesn't: it runs the same blocks whatever they are set to."""
    if path.raw.dead or path.route is Route.EAGER or not _is_in_chain(path):
        return ()
    given = {
        model_attribute(entry, rhythm.attribute, interpreter): interpreter.values.const(_RHYTHM[rhythm.kind])
        for rhythm in known
    }
    setting = Setting(interpreter.values, given)
    return tuple(rhythm for rhythm in known if _ignores(entry, path, rhythm, setting, interpreter))


def _ignores(entry: Entry, path: Path, rhythm: Stored, setting: Setting, interpreter: Interpreter) -> bool:
    uses: dict[Value, bool] = {}

    def is_use(value: Value) -> bool:
        found = uses.get(value)
        if found is None:
            found = uses[value] = _is_use(value, rhythm, entry, interpreter)
        return found

    if _is_segment(path) and _bounds_segments(entry, path, rhythm):
        return False
    if path.route is Route.SCOPED:
        raw = path.raw
        switches = [v for v in (*raw.arguments, *(v for _, v in raw.keywords)) if v.op in _SWITCHES]
        if any(is_use(part) for switch in switches for part in _said(switch)):
            return False  # the block is told whether to checkpoint a part of itself
    return can_run(interpreter.values, literals(path.raw.conditions), setting, is_use)


def _is_use(value: Value, rhythm: Stored, entry: Entry, interpreter: Interpreter) -> bool:
    """Whether a test decides by the rhythm for one block of many, or may do so out of sight."""
    if value.op in _CONNECTIVES or not value.loops:
        return False
    for part in _said(value):
        if attribute_of(part) in rhythm.carriers:
            return True
        if part.op == "bound" and rhythm.attribute in interpreter.project.source_of(part.args[1]):
            return True
        if part.op == "call" and any(argument.op == "self" for argument in part.args[1]):
            return True
    return False


def _said(value: Value) -> Iterator[Value]:
    """The parts of a test, without what went into the names that a loop carries."""
    stack, seen = [value], {value}
    while stack and len(seen) < DEEP:
        current = stack.pop()
        yield current
        if current.op not in _CARRIED:
            for part in children(current):
                if part not in seen:
                    seen.add(part)
                    stack.append(part)


def _is_segment(path: Path) -> bool:
    """Whether a loop over blocks stands inside what a checkpoint runs."""
    raw = path.raw
    return raw.checkpoint is not None and any(loop > raw.checkpoint.start for loop in raw.loops)


def _bounds_segments(entry: Entry, path: Path, rhythm: Stored) -> bool:
    """Whether a segment's bounds, or the loop over the segments, are made of the rhythm."""
    raw = path.raw
    seen = {loop.serial: loop.iterable for loop in entry.trace.loops}
    if any(loop not in seen for loop in raw.loops):
        return True  # a `while`: it isn't told what it counts by
    parts = [raw.callee, *(seen[loop] for loop in raw.loops), *(c.value for c in raw.conditions if c.value.loops)]
    return any(attribute_of(part) in rhythm.carriers for value in parts for part in _said(value))


def _is_in_chain(path: Path) -> bool:
    """Whether a path runs one block after the other, each on what the one before has made."""
    raw = path.raw
    if _is_segment(path):
        return True
    if not raw.callee.loops or not raw.loops:
        return False
    # A list that a comprehension has made brings that one's loop along.
    loops = raw.callee.loops.intersection(raw.loops) or {raw.loops[-1]}
    handed = (*raw.arguments, *(value for _, value in raw.keywords))
    return any(part.op == "mu" and part.args[0] in loops for value in handed for part in walk(value, DEEP))


# Places


def place_of(entry: Entry, raw: RawCall, interpreter: Interpreter) -> Site:
    """Where a path chooses: its checkpoint call, or the call of a block that checkpoints a part of itself.

    Where a helper outside the class makes the checkpoint call, it is the call in the model that leads there.
    """
    if raw.checkpoint is None:
        return raw.site
    return own_site(entry, raw.checkpoint.site, raw.outer, interpreter)


def own_site(entry: Entry, site: Site, outer: Site, interpreter: Interpreter) -> Site:
    """A place in the class's own methods, or the call that leads there."""
    bases = interpreter.project.mro(entry.owner) if entry.owner is not None else ()
    own = {(b.module.path, b.facts.qualname) for b in bases if isinstance(b, ClassDef)}
    return site if (site.path, site.class_name) in own else outer


# Remainders that are written out


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """A gate that takes the remainder itself although there is a helper for it."""

    interval: Stored
    modulo: Modulo
    path: Path
    helper: str
    used: Site | None
    """Where the helper is used, if it is."""
    differences: tuple[str, ...] | None
    """Settings under which the helper decides otherwise, in words; None when that can't be told."""


def written_out(
    entries: Sequence[Entry], known: Sequence[Stored], helpers: Sequence[GateCall], interpreter: Interpreter
) -> Iterator[WrittenOut]:
    """The gates of a class that take a remainder of the index by a stored interval.

    `helpers` are the calls of gate helpers in the class's file.
    """
    seen: set[Site] = set()
    for entry in entries:
        remainders = {modulo.value: modulo for modulo in entry.trace.modulos}
        for path in (path for block in entry.blocks for path in block.live if remainders):
            if path.route not in (Route.CHECKPOINTED, Route.SCOPED):
                continue
            for test, remainder, rhythm in _own_remainders(path, known):
                modulo = remainders.get(remainder)
                opened = _opened(entry, test, remainder, rhythm, None, interpreter)
                if modulo is None or modulo.site in seen or opened(3) not in _EVERY_THIRD:
                    continue
                helper = _helper_for(entry, helpers, interpreter)
                if helper is not None:
                    seen.add(modulo.site)
                    name, function, used = helper
                    differences = _differences(entry, test, remainder, rhythm, known, function, interpreter)
                    yield WrittenOut(rhythm, modulo, path, name, used, differences)


_BLOCKS = 6
_EVERY_THIRD = {tuple(index % 3 == first for index in range(_BLOCKS)) for first in range(3)}
"""What a gate with an interval of three opens for, whichever block is the first."""


def _own_remainders(path: Path, known: Sequence[Stored]) -> Iterator[tuple[Value, Value, Stored]]:
    """Tests of a path that take a remainder of the index by an interval and by nothing else."""
    for literal in path.raw.conditions:
        for part in _said(literal.value):
            if not (_is_remainder(part) and part.args[1][0].loops):
                continue
            names = {attribute_of(inner) for inner in _said(part.args[1][1])}
            taken = [rhythm for rhythm in known if rhythm.attribute in names]
            if len(taken) == 1 and taken[0].kind == "interval" and literal.holds:
                yield literal.value, part, taken[0]


_Opened = Callable[[object], tuple[bool | None, ...] | None]


def _opened(
    entry: Entry,
    test: Value,
    remainder: Value,
    rhythm: Stored,
    stride: tuple[Stored, int] | None,
    interpreter: Interpreter,
) -> _Opened:
    """For an interval: which of the first blocks a test opens for; None where it fails."""
    values = interpreter.values

    def opened(interval: object) -> tuple[bool | None, ...] | None:
        result = []
        for index in range(_BLOCKS):
            given = {model_attribute(entry, rhythm.attribute, interpreter): values.const(interval)}
            given |= {part: values.const(index) for part in _said(remainder.args[1][0]) if _is_index(part)}
            if stride is not None:
                given[model_attribute(entry, stride[0].attribute, interpreter)] = values.const(stride[1])
            try:
                result.append(truth_of(Setting(values, given, strict=True).value(test)))
            except Fails:
                return None
        return tuple(result)

    return opened


def _is_index(value: Value) -> bool:
    return value.op == "index" or (value.op in _CARRIED and bool(value.loops))


def _helper_for(
    entry: Entry, helpers: Sequence[GateCall], interpreter: Interpreter
) -> tuple[str, FunctionDef | None, Site | None] | None:
    """The helper to use: one of the file, or the profile's."""
    for gate in helpers:
        return gate.helper.facts.name, gate.helper, gate.site
    for helper in interpreter.project.profile.gate_helpers:
        module, _, name = helper.name.rpartition(".")
        path = interpreter.project.resolve_module(module, 0, entry.module.path)
        facts = None if path is None else interpreter.project.module(path)
        if facts is not None and name in facts.functions:
            return name, interpreter.project.function_def(facts, facts.functions[name]), None
    return None


def _differences(
    entry: Entry,
    test: Value,
    remainder: Value,
    rhythm: Stored,
    known: Sequence[Stored],
    helper: FunctionDef | None,
    interpreter: Interpreter,
) -> tuple[str, ...] | None:
    """Under which settings a helper decides otherwise than a test."""
    decided = None if helper is None else _decided(helper, interpreter)
    if decided is None or helper is None:
        return None
    ours = _opened(entry, test, remainder, rhythm, None, interpreter)
    found: list[str] = []
    for interval in (None, 0, 1, 3):
        here, there = ours(interval), decided(interval, None)
        if there is None or None in there:
            continue  # the helper refuses it, too, or it can't be told
        if here is None:
            found.append(f"it fails when the interval is {interval}")
        elif None not in here and here != there:
            found.append(f"it opens for other blocks when the interval is {interval}")
    if "stride" in helper_roles(helper, interpreter).values() and decided(2, 4) != decided(2, None):
        stride = next((rhythm for rhythm in known if rhythm.kind == "stride"), None)
        heeded = _opened(entry, test, remainder, rhythm, None if stride is None else (stride, 4), interpreter)
        if heeded(2) != decided(2, 4):
            found.append("it knows no stride" if stride is None else f"it ignores `self.{stride.attribute}`")
    return tuple(found)


def _decided(
    helper: FunctionDef, interpreter: Interpreter
) -> Callable[[object, object], tuple[bool | None, ...] | None] | None:
    """For an interval and a stride: which of the first blocks a helper opens for."""
    result, flag = interpreter.gate_result(helper), interpreter.gate_flag(helper)
    if result is None or flag is None:
        return None
    roles = helper_roles(helper, interpreter)
    indices = interpreter.gate_indices(helper)
    values = interpreter.values
    symbols = {part.args[2]: part for part in walk(result, DEEP) if part.op == "param"}

    def decided(interval: object, stride: object) -> tuple[bool | None, ...] | None:
        opened = []
        for index in range(_BLOCKS):
            told: dict[str, object] = {flag: True} | dict.fromkeys(indices, index)
            told |= {name: interval if role == "interval" else stride for name, role in roles.items()}
            given = {symbols[name]: values.const(value) for name, value in told.items() if name in symbols}
            try:
                opened.append(truth_of(Setting(values, given, strict=True).value(result)))
            except Fails:
                return None
        return tuple(opened)

    return decided
