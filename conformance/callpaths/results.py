"""What becomes of a block's result on the paths that stand for one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from conformance.callpaths.compare import alternatives, constants_of, iteration, method_of, preference
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Route
from conformance.callpaths.paths import Entry, Path
from conformance.callpaths.reads import Readers
from conformance.callpaths.sameness import KEEP
from conformance.callpaths.values import Value, truth_of, walk
from conformance.project.project import ClassDef

_MOST_PARTS = 50
"""Pairs of parts of two values that are looked at."""


class Taken(StrEnum):
    """How two paths differ."""

    FORM = "form"
    """The same name gets another part of the result, or the whole of it."""
    COUNT = "count"
    """It is unpacked to another number of names."""
    DROPPED = "dropped"
    """One path does nothing with it."""


@dataclass(frozen=True, slots=True)
class OtherResult:
    """A result that two paths of one iteration take in different ways."""

    kind: Taken
    path: Path
    """The path to change: the one that doesn't fit what the block returns; where that isn't known, the other than the
    eager one."""
    other: Path
    name: str
    """The name that gets it; empty where it isn't a name's."""
    took: Value | None
    """What is taken of `the result`, here and there."""
    instead: Value | None
    returns: int | None
    """How many items the block's result has, where it is known to be a tuple."""


def other_results(entry: Entry, interpreter: Interpreter) -> Iterator[OtherResult]:
    """The results of an entry that are taken differently, at most one for each pair of paths."""
    outcomes: list[tuple[str, Value, Value]] | None = None
    results = _Results(entry, interpreter)
    for block in entry.blocks:
        for path, other in sorted(alternatives(block, interpreter), key=lambda pair: preference(*pair)):
            if path.route is Route.EAGER or (other.route is not Route.EAGER and path.raw.site > other.raw.site):
                continue
            if path.raw.callee.op == "self" or path.key.op == "applied" or not results.of_one_kind(path, other):
                continue
            if outcomes is None:
                outcomes = list(results.outcomes())
            found = results.compare(path, other, outcomes)
            if found is not None:
                yield found


class _Results:
    """The results of the blocks of one entry."""

    def __init__(self, entry: Entry, interpreter: Interpreter) -> None:
        self._entry = entry
        self._interpreter = interpreter
        self._values = interpreter.values
        self._result = self._values.make("name", "", "the result")

    def outcomes(self) -> Iterator[tuple[str, Value, Value]]:
        """What differs by path and is read after that: a name's value, what a function or an expression gives, and what
        the next of two blocks gets."""
        trace = self._entry.trace
        readers = Readers(trace)
        returned = {part for _, value in trace.returns for part in walk(value)}
        for join in trace.joins.values():
            for (frame, name), value in join.joined.items():
                if frame and (value in returned or readers.reads(value)):
                    yield name, value, value
        for value in trace.chosen:
            yield "", value, value
        for block in self._entry.blocks:
            for path, other in alternatives(block, self._interpreter):
                for callee, bound in path.bindings.items():
                    full = other.bindings.get(callee)
                    for name, value in bound.values.items():
                        if full is not None and full.values.get(name, value) is not value:
                            yield "", value, full.values[name]

    def _left_by_loops(self, path: Path, other: Path) -> Iterator[tuple[str, Value, Value]]:
        """What the loops of two paths leave under one name, where each has a loop of its own."""
        mine, theirs = iteration(path), iteration(other)
        if mine == theirs or not mine or not theirs:
            return
        trace = self._entry.trace
        read = {value.args[:2] for value in trace.reads if value.op in ("mu", "out")}
        for (loop, name), value in trace.left.items():
            counterpart = trace.left.get((theirs[-1], name))
            if loop == mine[-1] and counterpart is not None and {(loop, name), (theirs[-1], name)} & read:
                yield name, value, counterpart

    def compare(self, path: Path, other: Path, outcomes: list[tuple[str, Value, Value]]) -> OtherResult | None:
        """How two paths take the result differently; None where they don't, or it isn't certain."""
        length = self._length(path, other)
        mine, theirs = path.raw.result, other.raw.result
        if "dropped" in (mine, theirs) and mine != theirs:
            used = theirs if mine == "dropped" else mine
            if used.partition(":")[0] in ("name", "unpack", "index", "attribute") and self._returns_something(path):
                wrong, right = (path, other) if mine == "dropped" else (other, path)
                return OtherResult(Taken.DROPPED, wrong, right, "", None, None, length)
            return None
        if mine.startswith("unpack:") and theirs.startswith("unpack:") and mine != theirs:
            wrong, right = (other, path) if mine == f"unpack:{length}" else (path, other)
            return OtherResult(Taken.COUNT, wrong, right, "", None, None, length)
        for name, outcome, counterpart in (*outcomes, *self._left_by_loops(path, other)):
            here = path.assumptions(self._interpreter).reduce(outcome)
            there = other.assumptions(self._interpreter).reduce(counterpart)
            if self._is_tested(here, there, outcome):
                continue
            for mine_part, their_part in self._parts(here, there, path, other):
                found = self._form(name, mine_part, their_part, path, other, length)
                if found is not None:
                    return found
        return None

    def _parts(self, here: Value, there: Value, path: Path, other: Path) -> Iterator[tuple[Value, Value]]:
        """Two values, or what differs in them: under one condition, or as one argument of the same module."""
        stack = [(here, there)]
        seen: set[tuple[Value, Value]] = set()
        while stack and len(seen) < _MOST_PARTS:
            mine, theirs = pair = stack.pop()
            if mine is theirs or pair in seen:
                continue
            seen.add(pair)
            yield pair
            canonical = self._values.canonical
            if mine.op == theirs.op == "phi" and canonical(mine.args[0]) is canonical(theirs.args[0]):
                stack.extend(zip(mine.args[1:], theirs.args[1:], strict=True))
            elif mine.op == theirs.op == "call" and mine.args[0] is theirs.args[0] and not self._is_call_of(mine, path):
                differing = _differing(mine, theirs)
                if len(differing) == 1 and self._interpreter.classes_of(mine.args[0]):
                    stack.extend(differing)

    def _form(
        self, name: str, here: Value, there: Value, path: Path, other: Path, length: int | None
    ) -> OtherResult | None:
        """How one value takes the results of two paths differently."""
        took, instead = self._taken(here, path), self._taken(there, other)
        if took is None or instead is None or took is instead:
            return None
        if any(v.op == "op" and p.raw.result != "other" for v, p in ((took, path), (instead, other))):
            return None  # a statement of its own has changed it since
        if not self._certainly_differ(took, instead):
            return None
        fits = instead is self._result, took is self._result
        if length is not None:
            is_wrong = fits[0]
        else:
            is_wrong = fits[1] and instead.op == "item" and self._is_single(path)
        if is_wrong:
            return OtherResult(Taken.FORM, other, path, name, instead, took, length)
        return OtherResult(Taken.FORM, path, other, name, took, instead, length)

    def _taken(self, value: Value, path: Path) -> Value | None:
        """A value with `the result` in place of the path's call; None where it isn't made of it in a simple way."""
        op = value.op
        if op == "call":
            callee = value.args[0]
            if self._is_call_of(value, path):
                return self._result
            if callee.op == "attr" and callee.args[1] in KEEP:
                return self._taken(callee.args[0], path)
            return None
        if op == "mu":
            return self._taken(value.args[2], path)  # what a loop starts with
        if op in ("item", "attr"):
            base = self._taken(value.args[0], path)
            return None if base is None else self._values.make(op, base, value.args[1])
        if op == "op" and value.args[0] in ("+", "-", "*") and len(value.args[1]) == 2:
            first, second = value.args[1]
            left, right = self._taken(first, path), self._taken(second, path)
            if (left is None) is (right is None):
                return None
            return self._values.make("op", value.args[0], (left or first, right or second))
        return None

    def _is_call_of(self, value: Value, path: Path) -> bool:
        callee, given, named = value.args
        raw = path.raw
        if given != raw.arguments or dict(named) != dict(raw.keywords):
            return False
        if callee.op == "attr" and callee.args[1] in (raw.method, "__call__", "forward"):
            return callee in (raw.callee, raw.choice) or callee.args[0] in (raw.callee, raw.choice)
        return callee in (raw.callee, raw.choice)

    def _certainly_differ(self, first: Value, second: Value) -> bool:
        """`[0]` and `.sample` of an output object are one; all else that isn't the same is not."""
        if first.op == "op" and second.op == "op":
            return False  # how the parts are computed is another question
        if "op" in (first.op, second.op):
            return self._result in (first, second)
        if any(part.op == "item" and part.args[1].op != "const" for value in (first, second) for part in walk(value)):
            return False  # a slice of the items
        while first.op in ("item", "attr") and second.op in ("item", "attr"):
            if first.op != second.op:
                return False
            if first.args[0] is second.args[0]:
                return True
            first, second = first.args[0], second.args[0]
        return True

    def _is_tested(self, *values: Value) -> bool:
        """Whether the kind of one of them is tested: then later code knows what to do with either."""
        typed = {part for value in self._entry.trace.typed for part in (value, *_sides(value))}
        return any(part in typed for value in values for part in (value, *_sides(value)))

    # What the block returns

    def of_one_kind(self, path: Path, other: Path) -> bool:
        """Whether both calls get a result of the same form, for all that is known."""
        if not path.bindings and not other.bindings:
            return True
        for callee, bound in path.bindings.items():
            full = other.bindings.get(callee)
            method = method_of(path, callee, self._interpreter)
            if full is None or method is None or bound.problem or full.problem or bound.rest or full.rest:
                return False
            mine, theirs = (constants_of(method, "", b, self._interpreter) for b in (bound, full))
            if mine != theirs:
                lengths = {self._length_of(path, callee, settings) for settings in (mine, theirs)}
                if len(lengths) > 1 or lengths == {None}:
                    return False
        return True

    def _length(self, path: Path, other: Path) -> int | None:
        """The number of items that the block's result has on both paths; None where it isn't known to be a tuple."""
        found: set[int | None] = set()
        for one in (path, other):
            for callee, bound in one.bindings.items():
                method = method_of(one, callee, self._interpreter)
                settings = {} if method is None else constants_of(method, "", bound, self._interpreter)
                found.add(self._length_of(one, callee, settings))
        return found.pop() if len(found) == 1 else None

    def _length_of(self, path: Path, callee: object, settings: dict[str, Value]) -> int | None:
        returned = self._returned(path, callee, settings)
        lengths = {len(value.args) for value in returned if value.op == "tuple"}
        is_known = all(value.op == "tuple" and all(item.op != "star" for item in value.args) for value in returned)
        return lengths.pop() if is_known and len(lengths) == 1 else None

    def _returned(self, path: Path, callee: object, settings: dict[str, Value]) -> tuple[Value, ...]:
        if not isinstance(callee, ClassDef):
            return ()
        method = method_of(path, callee, self._interpreter)
        return () if method is None else self._interpreter.returned(method, callee, settings)

    def _is_single(self, path: Path) -> bool:
        """Whether the block's result is certainly no tuple: what arithmetic gives."""
        returned = [value for callee in path.bindings for value in self._returned(path, callee, {})]
        sides = [side for value in returned for side in (value, *_sides(value)) if side.op != "phi"]
        return bool(sides) and all(side.op == "op" and side.args[0] in ("+", "-", "*", "/", "@") for side in sides)

    def _returns_something(self, path: Path) -> bool:
        """Whether a result is worth taking: none of what may be returned is None."""
        if not path.bindings:
            return bool(self._interpreter.classes_of(path.raw.callee))
        returned = [value for callee in path.bindings for value in self._returned(path, callee, {})]
        return bool(returned) and all(truth_of(value) is not False for value in returned)


def _differing(first: Value, second: Value) -> list[tuple[Value, Value]]:
    """The arguments in which two calls differ, in pairs; none where they differ in more than that."""
    (_, given, named), (_, taken, others) = first.args, second.args
    if len(given) != len(taken) or [name for name, _ in named] != [name for name, _ in others]:
        return []
    pairs = [*zip(given, taken, strict=True), *((a[1], b[1]) for a, b in zip(named, others, strict=True))]
    return [(one, other) for one, other in pairs if one is not other]


def _sides(value: Value) -> Iterator[Value]:
    """What a choice, or a part of one, can be."""
    if value.op == "phi":
        for side in value.args[1:]:
            yield side
            yield from _sides(side)
