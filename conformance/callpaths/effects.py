"""What statements change, and who sees it: a change on one of two routes only.

Two routes of a block part at a test. What either side binds, sets or changes in place is compared side by side: each
change by what it changes and what it makes of it, the block's own result standing for itself whatever its arguments.
What is left over on one side counts where the other side has nothing of its own to do with the same thing, and where
what is changed is read after the sides have met, by code that the other route reaches, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from conformance.callpaths.compare import alternatives
from conformance.callpaths.conditions import exclusive
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.machine import READABLE
from conformance.callpaths.model import Route
from conformance.callpaths.paths import CallPaths, Entry, Path
from conformance.callpaths.reads import Readers
from conformance.callpaths.trace import Effect, Literal, literals
from conformance.callpaths.values import Value, children, truth_of, walk

_SAME = frozenset({"contiguous", "clone", "detach", "cpu", "cuda", "requires_grad_", "pin_memory"})
"""Methods of a tensor whose result has the values that it had."""
_FOR_LATER = re.compile(r"cache|memo|kv", re.IGNORECASE)
"""Names of what a call leaves to the next one, which does without it where it is empty."""


@dataclass(frozen=True, slots=True)
class OneSided:
    """A change on one route that the other one lacks, though both reach what reads it."""

    effect: Effect
    path: Path
    """The path that has it."""
    other: Path
    """The path that runs in its place."""
    lacks: str
    """What the other path has instead: `nothing` at all, `other` (another value), `less` (the object as it was), or
    `input`: another value where the next block gets it."""


def one_sided(entry: Entry, calls: CallPaths) -> Iterator[OneSided]:
    """All changes of an entry that one of two routes lacks, each once."""
    if not entry.trace.effects or not entry.trace.joins:
        return
    seen: set[object] = set()
    sides = _Sides(entry, calls)
    for block in entry.blocks:
        if len({path.route for path in block.live}) < 2:
            continue
        found = [f for path in block.live for other in block.live for f in sides.compare(path, other)]
        if not found:
            continue
        pairs = {(id(path), id(other)) for path, other in alternatives(block, calls.interpreter)}
        for one in found:
            if (id(one.path), id(one.other)) in pairs and one.effect.site not in seen:
                seen.add(one.effect.site)
                yield one


@dataclass
class _Sides:
    """The changes of one entry, by the side of the test that they stand on."""

    entry: Entry
    calls: CallPaths
    effects: dict[tuple[int, Value, bool], list[Effect]] = field(init=False)
    keys: set[Value] = field(init=False)

    def __post_init__(self) -> None:
        trace = self.entry.trace
        self.effects = {}
        for effect in trace.effects:
            for key in {(c.branch, c.value, c.holds) for c in effect.conditions if c.branch in trace.joins}:
                self.effects.setdefault(key, []).append(effect)
        self.keys = {block.key for block in self.entry.blocks if len({p.route for p in block.live}) > 1}
        self._plain: dict[Value, Value] = {}
        self._readers = Readers(trace)
        self._excluded: dict[tuple[int, tuple[Literal, ...]], bool] = {}

    @property
    def interpreter(self) -> Interpreter:
        return self.calls.interpreter

    def compare(self, path: Path, other: Path) -> Iterator[OneSided]:
        """What the path changes and the other one doesn't."""
        if path.route is other.route:
            return
        test = _parting(path, other)
        if test is None or test.branch not in self.entry.trace.joins or self._asks_for_block(test.value, path):
            return
        ours = self._of(path, test, test.holds)
        if not ours:
            return
        theirs = self._of(other, test, not test.holds)
        more = Counter(self._sign(effect) for effect in ours)
        more.subtract(Counter(self._sign(effect) for effect in theirs))
        signed = {self._sign(effect) for effect in theirs}
        left = {(s[1], s[2]) for s, count in more.items() if count < 0}
        for effect in ours:
            sign = self._sign(effect)
            if more[sign] <= 0 or sign in signed or (effect.owner, effect.target) in left:
                continue
            lacks = self._lacks(effect, ours, theirs, path, other, test)
            if lacks is not None:
                yield OneSided(effect, path, other, lacks)

    def _asks_for_block(self, test: Value, path: Path) -> bool:
        """Whether a test tells one kind of block from another: then either side is a matter of its own kind."""
        parts = list(walk(test))
        flags = self.interpreter.project.profile.flags
        return path.raw.callee in parts and not any(p.op == "attr" and p.args[1] in flags for p in parts)

    def _of(self, path: Path, test: Literal, holds: bool) -> list[Effect]:
        """The changes on a path's side of a test, under no other decision than the path's."""
        against = {(c.branch, c.value, not c.holds) for c in path.raw.conditions}
        return [
            effect
            for effect in self.effects.get((test.branch, test.value, holds), ())
            if not any((c.branch, c.value, c.holds) in against for c in effect.conditions)
        ]

    def _sign(self, effect: Effect) -> tuple[object, ...]:
        return (effect.kind, effect.owner, effect.target, effect.how, self.plain(effect.value))

    def plain(self, value: Value) -> Value:
        """The value whatever the loop, and with the result of a block in place of the block's call."""
        found = self._plain.get(value)
        if found is not None:
            return found
        values = self.interpreter.values
        op, args = value.op, value.args
        if op == "state":
            result = self.plain(args[1])
        elif op == "call" and self._block_of(args[0]) is not None:
            result = values.make("result", self._block_of(args[0]))
        else:
            if op in ("mu", "elem", "index", "out", "pick"):
                args = (0, *args[1:])
            result = values.make(op, *(self._plain_part(part) for part in args))
        self._plain[value] = result
        return result

    def _plain_part(self, part: object) -> object:
        if type(part) is Value:
            return self.plain(part)
        return tuple(self._plain_part(item) for item in part) if type(part) is tuple else part

    def _block_of(self, callee: Value) -> Value | None:
        key = self.calls.normal(callee)
        if key in self.keys:
            return key
        if callee.op == "attr" and callee.args[1] in ("__call__", "forward"):
            return self._block_of(callee.args[0])
        return None

    # Who sees a change

    def _lacks(
        self, effect: Effect, ours: list[Effect], theirs: list[Effect], path: Path, other: Path, test: Literal
    ) -> str | None:
        """What the other path has instead, where both reach what reads the change. The dear questions come last."""
        extra = [c for c in effect.conditions if c.branch != test.branch]
        if _needs_no_training(extra):
            return None
        if effect.kind == "change":
            if effect.base is not None and self._is_given(effect.base):
                # The caller has it, too.
                return None if _FOR_LATER.search(effect.target) or self._excludes(other, extra) else "less"
        else:
            value = self.plain(effect.value)
            if any(self.calls.normal(raw.callee) is path.key for raw in self.entry.trace.calls[slice(*effect.calls)]):
                return None  # what becomes of the result where it is taken is told apart by its form
            if self._keeps(value) or _puts_down(effect):
                return None
        joined = self.entry.trace.joins[test.branch].joined.get((effect.owner, effect.target))
        reads = [] if joined is None else self._readers.reads(joined)
        if effect.kind != "change" and not (reads and self._lasts(effect, ours, theirs)):
            reaches = self._reaches_block(effect, value, path, other) and not self._excludes(other, extra)
            return "input" if reaches else None
        if (
            joined is None
            or self._excludes(other, extra)
            or all(self._excludes(other, read) or self._excludes(path, read) for read in reads)
        ):
            return None
        return "less" if effect.kind == "change" else "nothing" if _may_be_unbound(joined) else "other"

    def _is_given(self, value: Value) -> bool:
        """Whether an object is one that the entry got as an argument."""
        while value.op in ("merged", "union", "grown", "mu", "out"):
            value = value.args[2] if value.op in ("mu", "out") else value.args[0]
        return value.op == "param" and value.args[1] not in ("variadic", "keywords")

    def _reaches_block(self, effect: Effect, value: Value, path: Path, other: Path) -> bool:
        """Whether what is made of one block's result is what the next block gets, on this path only.

        What is made of anything else is an argument's own value.
        """
        if not _is_made_of_result(value):
            return False
        if not any(part is effect.value for argument in path.raw.arguments for part in walk(argument)):
            return False
        return not any(
            _operation(part) == _operation(effect.value) for argument in other.raw.arguments for part in walk(argument)
        )

    def _keeps(self, value: Value) -> bool:
        """Whether a value has the numbers that another one has: a clone, a detach, a move to another device."""
        if value.op != "call" or value.args[0].op != "attr":
            return False
        name = value.args[0].args[1]
        if name in _SAME:
            return True
        moved = (*value.args[1], *(v for _, v in value.args[2]))
        return name == "to" and bool(moved) and all("device" in part.text for part in moved)

    def _lasts(self, effect: Effect, ours: list[Effect], theirs: list[Effect]) -> bool:
        """Whether what a statement binds is part of what its side leaves, and that differs from the other side."""
        mine = [self.plain(e.value) for e in ours if (e.owner, e.target) == (effect.owner, effect.target)]
        others = [self.plain(e.value) for e in theirs if (e.owner, e.target) == (effect.owner, effect.target)]
        if others and others[-1] is mine[-1]:
            return False
        value = self.plain(effect.value)
        return any(part is value for part in walk(mine[-1]))

    def _excludes(self, path: Path, conditions: Sequence[Literal]) -> bool:
        """Whether a path doesn't go where these conditions hold, now or in another iteration."""
        key = (id(path), tuple(conditions))
        found = self._excluded.get(key)
        if found is None:
            found = self._excluded[key] = self._find_excludes(path, conditions)
        return found

    def _find_excludes(self, path: Path, conditions: Sequence[Literal]) -> bool:
        values = self.interpreter.values
        own = literals(path.raw.conditions)
        if path.route is not Route.EAGER:
            own += [(grad, True) for grad in self.interpreter.grad_tests]
        known = set(own)
        loops = {loop for value, _ in own for loop in value.loops}
        there = [(c.value, c.holds) for c in conditions if (c.value, c.holds) not in known]
        elsewhere = [(value, holds) for value, holds in there if not value.loops & loops]
        return bool(there) and (exclusive(values, own, there) or exclusive(values, own, elsewhere))


def _parting(path: Path, other: Path) -> Literal | None:
    """The test at which two paths part, as the first of them has it."""
    theirs = {(c.branch, c.value): c.holds for c in other.raw.conditions}
    for literal in path.raw.conditions:
        holds = theirs.get((literal.branch, literal.value))
        if holds is not None and holds is not literal.holds:
            return literal
    return None


def _is_made_of_result(value: Value) -> bool:
    """Whether a value is made of what a block has just given, not of what a loop carries."""
    stack = [value]
    while stack:
        part = stack.pop()
        if part.op == "result":
            return True
        if part.op not in ("mu", "out", "phi"):
            stack.extend(children(part))
    return False


def _operation(value: Value) -> object:
    """The operator or the method that makes a value."""
    if value.op == "call":
        return value.args[0].args[1] if value.args[0].op == "attr" else value.args[0]
    return (value.op, value.args[0]) if value.op == "op" else None


def _needs_no_training(conditions: Iterable[Literal]) -> bool:
    """Whether something is done out of training only: nothing is recomputed then."""
    return any(not c.holds and c.value.op == "attr" and c.value.args[1] == "training" for c in conditions)


def _puts_down(effect: Effect) -> bool:
    """Whether a flag is put down where it is up: a route that has no place for something switches it off."""
    return truth_of(effect.value) is False and any(
        c.holds and (c.value.text == effect.target or (c.value.op in READABLE and c.value.args[1] == effect.target))
        for c in effect.conditions
    )


def _may_be_unbound(value: Value) -> bool:
    return value.op == "phi" and any(side.op == "unbound" for side in value.args[1:])
