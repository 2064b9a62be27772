"""State that a checkpointed function changes: what its second run finds there, and whether it then does the same.

The function is run once on symbols, with the literals that the checkpointed path passes. A change of something that
outlives the call is then put in the place of what was there before: where the result is another one, the second run
computes something else. A list that grows has its entries twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.callpaths.compare import default_value, method_of
from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.machine import METADATA, as_value
from conformance.callpaths.model import Route
from conformance.callpaths.paths import CallPaths, Entry, Path
from conformance.callpaths.trace import Effect, Literal, Trace, literals
from conformance.callpaths.values import Value, Values, children, truth_of, walk
from conformance.project.project import ClassDef, FunctionDef

_DEEPEST = 4
"""How many modules inside modules are looked into."""
_WRITES = re.compile(
    r"\bself(?:\.\w+)+(?:\[[^\]\n]*\])*\s*(?:[-+*/|&@]|//|\*\*)?=(?!=)"
    r"|\bself(?:\.\w+)*\.[a-z]\w*_\("
    r"|^[ \t]*(?P<item>[\w.]+)\[[^\n]*\]\s*(?:[-+*/])?=(?!=)"
    r"|(?P<name>[\w.]+)\.(?:append|appendleft|extend|insert|update|setdefault)\(",
    re.MULTILINE,
)
"""What a function that changes something may look like."""
_MADE = re.compile(r"\b([A-Z]\w*)\s*\(")
_GROWS = frozenset({"append", "appendleft", "extend", "insert"})
_ACCUMULATES = frozenset(
    {"add_", "sub_", "mul_", "div_", "lerp_", "addcmul_", "addcdiv_", "index_add_", "scatter_add_"}
)
_CASTS = frozenset(
    {
        "to",
        "type",
        "type_as",
        "contiguous",
        "detach",
        "clone",
        "cuda",
        "cpu",
        "float",
        "half",
        "bfloat16",
        "eval",
        "train",
    }
)
_PASSIVE = re.compile(r"__(?!call__)\w+__$|(set|enable|disable|_set|from|load|save|_?reset|_?init\w*|fuse|unfuse)_")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change that a checkpointed function makes to something that outlives its call."""

    effect: Effect
    path: Path
    """The checkpointed path that runs it."""
    differs: bool
    """True where the second run computes something else; else it only does the change twice."""


def mutations(entry: Entry, calls: CallPaths) -> Iterator[Mutation]:
    """What the checkpointed functions of an entry change, each place once."""
    seen: set[object] = set()
    looked: set[object] = set()
    for block in entry.blocks:
        for path in block.live:
            if path.route not in (Route.CHECKPOINTED, Route.SEGMENTED) or path.unknown is not None:
                continue
            for callee, bound in path.bindings.items():
                method = method_of(path, callee, calls.interpreter)
                if method is None or bound.problem is not None:
                    continue
                owner = callee if isinstance(callee, ClassDef) else None
                for effect, differs in _Recompute(calls).of_call(method, owner, path, looked):
                    if effect.site not in seen:
                        seen.add(effect.site)
                        yield Mutation(effect, path, differs)

    for effect, path in _counted(entry, calls):
        if effect.site not in seen:
            seen.add(effect.site)
            yield Mutation(effect, path, False)


def _counted(entry: Entry, calls: CallPaths) -> Iterator[tuple[Effect, Path]]:
    """What a nested function makes of an attribute of the model out of what it was, while a checkpoint runs it."""
    live = [path for block in entry.blocks for path in block.live]
    ran = {path.raw.checkpoint.site: path for path in live if path.raw.checkpoint is not None}
    for effect in entry.trace.effects:
        path = None if effect.checkpoint is None else ran.get(effect.checkpoint.site)
        if path is None or entry.owner is None or effect.kind != "set" or effect.base is None:
            continue
        recompute = _Recompute(calls)
        own = tuple(literal for literal in effect.conditions if literal not in path.raw.conditions)
        is_own = effect.base.op == "self" and not recompute.is_off(own, entry.owner)
        if is_own and _grows(effect.value, _attribute(effect, calls.interpreter.values)):
            yield effect, path


class _Recompute:
    """Looks into one checkpointed call."""

    def __init__(self, calls: CallPaths) -> None:
        self._calls = calls
        self._interpreter: Interpreter = calls.interpreter

    def of_call(
        self, method: FunctionDef, owner: ClassDef | None, path: Path, looked: set[object]
    ) -> Iterator[tuple[Effect, bool]]:
        if owner is None or not self._may_write(owner):
            return
        bound = path.bindings[owner]
        assumptions = path.assumptions(self._interpreter)
        given = {name: assumptions.reduce(value) for name, value in bound.values.items()}
        handed = path.raw.checkpoint is not None and path.raw.checkpoint.site == path.raw.site
        outliving = frozenset(name for name, value in given.items() if handed or _is_rooted(value))
        yield from self._of(method, owner, given, outliving, 0, looked)

    def _of(
        self,
        method: FunctionDef,
        owner: ClassDef,
        given: Mapping[str, Value],
        outliving: frozenset[str],
        depth: int,
        looked: set[object],
    ) -> Iterator[tuple[Effect, bool]]:
        settings = self._settings(method, given)
        key = (method, owner, tuple(sorted((n, id(v)) for n, v in settings.items())), outliving)
        if key in looked:
            return
        looked.add(key)
        trace = self._interpreter.run(method, owner, settings, thorough=True)
        if trace is None or trace.problems:
            return
        for index, effect in enumerate(trace.effects):
            if any(_overrides(later, effect) for later in trace.effects[index + 1 :]):
                continue
            differs = self._judge(effect, trace, owner, outliving)
            if differs is not None:
                yield effect, differs
        if depth >= _DEEPEST:
            return
        for raw in trace.calls:
            if raw.direct is not None or raw.dead:
                continue
            classes = [c for c in self._interpreter.classes_of(raw.callee) if isinstance(c, ClassDef)]
            for cls in filter(self._may_write, classes):
                if self.is_off(raw.conditions, owner):
                    break
                called = self._calls.signature(cls, raw.method)
                if called is None:
                    continue
                bound = self._calls.bind(called, raw)
                if bound.problem is None:
                    passed = frozenset(n for n, v in bound.values.items() if _outlives(v, outliving))
                    yield from self._of(called, cls, bound.values, passed, depth + 1, looked)

    def _settings(self, method: FunctionDef, given: Mapping[str, Value]) -> dict[str, Value]:
        """Parameters that are literals on this path."""
        settings: dict[str, Value] = {}
        for parameter in method.facts.parameters:
            value = given.get(parameter.name)
            if value is None and parameter.default is not None:
                value = default_value(parameter, self._interpreter, method)
            if value is not None and value.op == "const":
                settings[parameter.name] = value
        return settings

    # Which functions are worth a look

    def _may_write(self, cls: ClassDef) -> bool:
        """Whether a class, or one that it is made of, may change something while it runs."""
        found = self._calls.may_write.get(cls)
        if found is None:
            self._calls.may_write[cls] = False  # while it leads back to itself
            found = self._calls.may_write[cls] = self._find_writes(cls)
        return found

    def _find_writes(self, cls: ClassDef) -> bool:
        project = self._calls.project
        parts: list[ClassDef] = []
        for base in project.mro(cls):
            if not isinstance(base, ClassDef):
                continue
            for facts in base.facts.methods.values():
                source = project.source_of(project.function_def(base.module, facts, base))
                if _PASSIVE.match(facts.name) is None:
                    if _looks_like_writing(source):
                        return True
                elif facts.name == "__init__":
                    for name in dict.fromkeys(_MADE.findall(source)):
                        made = project.lookup(base.module, name)
                        if isinstance(made, ClassDef):
                            parts.append(made)
        return any(self._may_write(part) for part in parts)

    # What a change does

    def _judge(self, effect: Effect, trace: Trace, owner: ClassDef, outliving: frozenset[str]) -> bool | None:
        """Whether the second run computes something else; None where nothing is wrong, or nothing is certain."""
        if effect.base is None or not (_outlives(effect.base, outliving) or effect.owner == -1):
            return None
        if self.is_off(effect.conditions, owner):
            return None
        values = self._interpreter.values
        if effect.kind == "set":
            return self._set_again(effect, _attribute(effect, values), trace)
        if effect.kind != "change":
            return None
        if effect.how in _GROWS:
            return self._is_read(_plain(effect.base), trace)
        if effect.how in _ACCUMULATES and effect.base.op == "attr":
            return self._is_read(effect.base, trace)
        if effect.how == "[]":
            key, value = effect.value.args
            if key.op == "const" or (key.op != "slice" and _root(effect.base).op == "self"):
                return self._stored_again(effect, _plain(effect.base), key, value, trace)
        return None

    def is_off(self, conditions: tuple[Literal, ...], owner: ClassDef) -> bool:
        """Whether something isn't done under a checkpoint: out of training, without grad mode, or on demand."""
        for literal in conditions:
            value = literal.value
            if value.op == "raises" and literal.holds:
                return True  # what failed once isn't tried again
            if not literal.holds and (value in self._interpreter.grad_tests or _is_own(value, "training")):
                return True
            if literal.holds and value.op == "attr" and value.args[0].op == "self":
                initial = self._interpreter.attribute_value(owner, value.args[1])
                if initial is None or truth_of(initial) is False:
                    return True
        return Assumptions(self._interpreter.values, literals(conditions)).contradictory

    def _set_again(self, effect: Effect, before: Value, trace: Trace) -> bool | None:
        if not _changes(effect.value, before):
            return None
        grows = _grows(effect.value, before)
        differs = self._differs(effect, before, effect.value, trace, grows)
        return True if differs else False if grows else None

    def _stored_again(self, effect: Effect, container: Value, key: Value, value: Value, trace: Trace) -> bool | None:
        stored = self._interpreter.values.make("merged", container, ((key, value),))
        held = self._interpreter.item(container, key)
        if not _changes(value, held):
            return None
        grows = _grows(value, held)
        differs = self._differs(effect, container, stored, trace, grows)
        return True if differs else False if grows else None

    def _is_read(self, before: Value, trace: Trace) -> bool:
        """Whether what is returned depends on what the container or the tensor holds."""
        return before in set(walk(self._result(trace)))

    def _result(self, trace: Trace) -> Value:
        """All that a function returns, as one choice."""
        values = self._interpreter.values
        result = values.none
        for conditions, value in reversed(trace.returns):
            result = values.phi(values.all_of(as_value(values, c) for c in conditions), value, result)
        return result

    def _differs(self, effect: Effect, before: Value, after: Value, trace: Trace, grows: bool) -> bool:
        """Whether the result is another one for certain where the change has been made.

        A test that isn't decided leaves that open, but where what it asks for is another one each time.
        """
        result = self._result(trace)
        if before not in set(walk(result)):
            return False
        done = literals(effect.conditions)
        return any(
            self._differs_where(effect, before, made, [*done, *way], result, trace, grows)
            for way, made in _ways(after, before)
        )

    def _differs_where(
        self,
        effect: Effect,
        before: Value,
        after: Value,
        done: list[tuple[Value, bool]],
        result: Value,
        trace: Trace,
        grows: bool,
    ) -> bool:
        values = self._interpreter.values
        once = _Rebuild(self._interpreter, Assumptions(values, done), {})
        changed = {before: once.of(after)}
        for other in trace.effects:
            if other.kind == "set" and other is not effect and set(other.conditions) <= set(effect.conditions):
                # What is changed along with it, such as the key that a memory was made for.
                changed.setdefault(_attribute(other, values), once.of(other.value))
        plain = _Rebuild(self._interpreter, Assumptions(values, []), changed)
        still = [(value, holds) for value, holds in done if plain.of(value) is value]
        again = _Rebuild(self._interpreter, Assumptions(values, still), changed)
        then = again.of(result)
        return once.of(result) is not then and (grows or not _is_open(then, again.of(before)))


class _Rebuild:
    """Makes values anew under assumptions, with some parts replaced."""

    def __init__(self, interpreter: Interpreter, assumptions: Assumptions, replaced: Mapping[Value, Value]) -> None:
        self._interpreter = interpreter
        self._assumptions = assumptions
        self._made = dict(replaced)

    def of(self, value: Value) -> Value:
        found = self._made.get(value)
        if found is None:
            self._made[value] = value
            found = self._made[value] = self._make(value)
        return found

    def _make(self, value: Value) -> Value:
        values = self._interpreter.values
        if value.op == "phi":
            test, body, orelse = value.args
            known = self._assumptions.truth(test)
            if known is not None:
                return self.of(body if known else orelse)
            return values.phi(self.of(test), self.of(body), self.of(orelse))
        if value.op in ("const", "param", "self", "ref", "name", "function", "class", "closure", "bound"):
            return value
        parts: tuple[Any, ...] = tuple(self._part(part) for part in value.args)
        if all(a is b for a, b in zip(parts, value.args, strict=True)):
            return value
        if value.op == "cmp":
            return self._compared(*parts)
        if value.op == "item":
            return self._interpreter.item(*parts)
        if value.op == "merged":
            return self._merged(*parts)
        if value.op == "not":
            return values.negate(*parts)
        if value.op == "and":
            return values.all_of(parts)
        if value.op == "or":
            return values.any_of(parts)
        return values.make(value.op, *parts)

    def _compared(self, kind: str, left: Value, right: Value) -> Value:
        values = self._interpreter.values
        if kind == "in" and right.op == "merged" and any(key is left for key, _ in right.args[1]):
            return values.true
        if kind == "==" and left is right:
            return values.true
        if kind == "is" and right is values.none and _is_computed(left):
            return values.false
        return values.compare(kind, left, right)

    def _merged(self, base: Value, pairs: tuple[tuple[Value, Value], ...]) -> Value:
        """A container with entries: what is stored again replaces what was stored."""
        keys = {key for key, _ in pairs}
        if base.op == "merged" and {key for key, _ in base.args[1]} <= keys:
            base = base.args[0]
        return self._interpreter.values.make("merged", base, pairs)

    def _part(self, part: Any) -> Any:
        if type(part) is Value:
            return self.of(part)
        if type(part) is tuple:
            made = tuple(self._part(item) for item in part)
            return part if all(a is b for a, b in zip(made, part, strict=True)) else made
        return part


def _looks_like_writing(source: str) -> bool:
    """Whether the text of a function has a change of anything but what it has made itself."""
    for match in _WRITES.finditer(source):
        name = match["item"] or match["name"]
        if name is None or "." in name:
            return True
        if not re.search(rf"\b{name}\s*(?::[^=\n]+)?=\s*(?:\[|\{{|\(|[a-z]+\(|torch\.)", source):
            return True
    return False


def _is_computed(value: Value) -> bool:
    """Whether a value is a tensor for certain, not None."""
    if value.op == "call":
        called = value.args[0]
        return (called.op == "ref" and str(called.args[0]).startswith("torch.")) or (
            called.op == "attr" and called.args[1] in _CASTS
        )
    return value.op == "op"


def _overrides(later: Effect, effect: Effect) -> bool:
    """Whether a later change leaves nothing of one, wherever that one happens."""
    same = later.kind == effect.kind == "set" and later.base is effect.base and later.target == effect.target
    return same and set(later.conditions) <= set(effect.conditions)


def _is_open(value: Value, after: Value) -> bool:
    """Whether a test that isn't decided depends on what was stored: then nothing is certain."""
    return any(part.op == "phi" and _asks(part.args[0], after) for part in walk(value))


def _asks(test: Value, after: Value) -> bool:
    """Whether a test depends on more of a value than its shape, type and place."""
    stack = [test]
    while stack:
        part = stack.pop()
        if part is after:
            return True
        if part.op != "attr" or part.args[1] not in METADATA:
            stack.extend(children(part))
    return False


def _attribute(effect: Effect, values: Values) -> Value:
    """What an attribute was before it is set."""
    return values.make("attr", effect.base, effect.target.rpartition(".")[2])


def _ways(value: Value, before: Value) -> Iterator[tuple[list[tuple[Value, bool]], Value]]:
    """The alternatives of what is stored, each with what decides on it, but the one that leaves all as it was."""
    if value.op == "phi" and any(leaf is before for leaf in _leaves(value)):
        for side, holds in ((value.args[1], True), (value.args[2], False)):
            for way, made in _ways(side, before):
                yield [(value.args[0], holds), *way], made
    elif any(leaf is not before for leaf in _leaves(value)):
        yield [], value


def _leaves(value: Value) -> Iterator[Value]:
    """The alternatives of a choice, casts and moves left out."""
    if value.op == "phi":
        yield from _leaves(value.args[1])
        yield from _leaves(value.args[2])
    elif value.op == "call" and value.args[0].op == "attr" and value.args[0].args[1] in _CASTS:
        yield from _leaves(value.args[0].args[0])
    else:
        yield value


def _changes(value: Value, before: Value) -> bool:
    """Whether what is stored is anything but what was there, cast or moved."""
    return any(leaf is not before for leaf in _leaves(value))


def _grows(value: Value, before: Value) -> bool:
    """Whether what is stored is made of what was there."""
    return any(leaf is not before and before in set(walk(leaf)) for leaf in _leaves(value))


def _plain(value: Value) -> Value:
    """The container that was there before, without what the function has put in."""
    while value.op in ("merged", "union", "grown", "escaped"):
        value = value.args[0]
    return value


def _root(value: Value) -> Value:
    """What a value is reached from by attributes, items and iteration."""
    while True:
        if value.op == "elem":
            value = value.args[1]
        elif value.op in ("attr", "item", "merged", "union", "grown", "escaped"):
            value = value.args[0]
        elif value.op in ("mu", "out") and type(value.args[2]) is Value:
            value = value.args[2]
        else:
            return value


def _is_rooted(value: Value) -> bool:
    return _root(value).op in ("self", "param", "name")


def _outlives(value: Value, outliving: frozenset[str]) -> bool:
    """Whether an object was there before the call and is there after it."""
    if value.op == "phi":
        return all(_outlives(side, outliving) for side in value.args[1:])
    root = _root(value)
    return root.op in ("self", "name") or (root.op == "param" and root.args[2] in outliving)


def _is_own(value: Value, name: str) -> bool:
    return value.op == "attr" and value.args[1] == name and value.args[0].op == "self"
