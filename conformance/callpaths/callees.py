"""Paths that stand for one another and run different things: a container for its element, another element, a method."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from conformance.callpaths.compare import alternatives, iteration, parting
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Route
from conformance.callpaths.paths import BlockPaths, Entry, Path
from conformance.callpaths.placement import compared
from conformance.callpaths.values import Value, walk
from conformance.project.project import ClassDef

_GATE = re.compile(r"checkpoint|ckpt|recompute", re.IGNORECASE)


class Kind(StrEnum):
    """How the callees differ."""

    CONTAINER = "container"
    """The container in place of its element, or the reverse."""
    ELEMENT = "element"
    """Another element of the container."""
    METHOD = "method"
    """Another method of the same block."""
    BLOCK = "block"
    """Another block, with the same arguments."""


@dataclass(frozen=True, slots=True)
class OtherCallee:
    """Two paths of one iteration that part at one test and run different things."""

    kind: Kind
    path: Path
    """The one that isn't eager, or the one that runs a container inside a loop over it."""
    other: Path | None
    """None where no path runs the element."""


def other_callees(entry: Entry, interpreter: Interpreter) -> Iterator[OtherCallee]:
    """The wrong callees of an entry, by the path that isn't eager."""
    for block in entry.blocks:
        for path, other in alternatives(block, interpreter):
            if path.route is not Route.EAGER and other.route is Route.EAGER and _runs_another(path, other, interpreter):
                yield OtherCallee(Kind.ELEMENT, path, other)
    groups = [group for group in (*entry.blocks, *entry.rest) if group.key.op != "applied"]
    looped = {path: other for group in groups for path, other in _inside_loops(group, groups, entry, interpreter)}
    for path, counterpart in looped.items():
        yield OtherCallee(Kind.CONTAINER, path, counterpart)
    alone = [path for block in entry.blocks for path in block.live if _is_alone(path, block, interpreter)]
    if not alone:
        return
    eager = [(path, group) for group in groups for path in group.live if path.route is Route.EAGER]
    for path in alone:
        if path.raw.direct is not None or path.key.op == "applied" or path in looped:
            continue
        partners = [
            (other, kind)
            for other, group in eager
            if other not in looped
            if group.key is not path.key or group.method != path.raw.method
            if iteration(path) == iteration(other)
            if _has_no_partner(other, group, path.route, interpreter)
            for kind in (_kind(path, other, interpreter),)
            if kind is not None and parting(path, other, interpreter, True) is not None
        ]
        # What runs beside it, on either side, may be its counterpart as well.
        if len(partners) == 1 and sum(_same_branch(path, rival) for rival in alone) == 1:
            yield OtherCallee(partners[0][1], path, partners[0][0])


def _inside_loops(
    group: BlockPaths, groups: list[BlockPaths], entry: Entry, interpreter: Interpreter
) -> Iterator[tuple[Path, Path | None]]:
    """Calls of a container inside a loop over it: every iteration runs all of it."""
    if group.key.op not in ("attr", "item") or group.method != "forward":
        return
    over = {loop.serial for loop in entry.trace.loops if any(_is_over(loop.iterable, path) for path in group.paths)}
    for path in group.live:
        if over.isdisjoint(path.raw.loops) or not interpreter.elements_of(path.raw.callee):
            continue
        elements = [
            other
            for another in groups
            if another.key.op in ("elem", "item") and group.key in another.key.args
            for other in another.live
        ]
        elements.sort(key=lambda other: (other.route is path.route, other.raw.site.span.line))
        yield path, elements[0] if elements else None


def _is_over(iterable: Value, path: Path) -> bool:
    """Whether a loop runs over the very thing that a path calls."""
    if iterable is path.raw.callee:
        return True
    return iterable.op in ("enumerate", "zip") and any(_is_over(part, path) for part in iterable.args)


def _runs_another(path: Path, other: Path, interpreter: Interpreter) -> bool:
    """Whether two paths of one block run different elements of it in one iteration."""
    return iteration(path) == iteration(other) and _differ(path, other, interpreter)


def _differ(path: Path, other: Path, interpreter: Interpreter) -> bool:
    first, second = path.raw.callee, other.raw.callee
    if first.op == "elem" and second.op == "item":
        first, second = second, first
    if first.op != "item" or second.op not in ("item", "elem"):
        return False
    container = second.args[0] if second.op == "item" else second.args[1]
    sameness = compared(path, other, interpreter)
    if sameness.same(first.args[0], container) is not True:
        return False
    index = first.args[1]
    if second.op == "item":
        return _is_shifted(index, second.args[1]) or sameness.same(index, second.args[1]) is False
    return index.op == "const" or (_is_shifted(index, None) and second.args[0] in index.loops)


def _is_shifted(index: Value, other: Value | None) -> bool:
    """`i + 1` against `i`, or against the element of the iteration."""
    for one, another in ((index, other), (other, index)):
        if one is None or one.op != "op" or one.args[0] not in ("+", "-") or len(one.args[1]) != 2:
            continue
        base, by = one.args[1]
        if by.op == "const" and by.args[1] and (base is another or (another is None and base.op == "index")):
            return True
    return False


def _is_alone(path: Path, block: BlockPaths, interpreter: Interpreter) -> bool:
    """Whether a path under a whole checkpoint has no eager call of the same block in its place."""
    return path.route is Route.CHECKPOINTED and _has_no_partner(path, block, Route.EAGER, interpreter)


def _has_no_partner(path: Path, block: BlockPaths, route: Route, interpreter: Interpreter) -> bool:
    return not any(first is path and second.route is route for first, second in alternatives(block, interpreter))


def _same_branch(path: Path, other: Path) -> bool:
    return path is other or (path.raw.conditions == other.raw.conditions and iteration(path) == iteration(other))


def _kind(path: Path, other: Path, interpreter: Interpreter) -> Kind | None:
    """How two calls of different things are related; None where they may well be two steps of their own."""
    mine, theirs = path.key, other.key
    if path.raw.choice is not None or other.raw.choice is not None or other.raw.direct is not None:
        return None
    if mine is theirs:
        return Kind.METHOD if _are_different_methods(path, other, interpreter) else None
    for whole, part in ((mine, theirs), (theirs, mine)):
        if part.op == "elem" and part.args[1] is whole:
            return Kind.CONTAINER
        if part.op == "item" and part.args[0] is whole and path.raw.loops:
            return Kind.CONTAINER
    if not _same_call(path, other, interpreter):
        return None
    for one, another in ((mine, theirs), (theirs, mine)):
        if one.op == "item" and another.op in ("elem", "item"):
            container = another.args[1] if another.op == "elem" else another.args[0]
            if one.args[0] is container:
                return Kind.ELEMENT
    if not _part_at_gate(path, other, interpreter):
        return None
    classes = interpreter.classes_of(path.raw.callee), interpreter.classes_of(other.raw.callee)
    return Kind.BLOCK if classes[0] and set(classes[0]) == set(classes[1]) else None


def _part_at_gate(path: Path, other: Path, interpreter: Interpreter) -> bool:
    """Whether what decides between two paths speaks of checkpointing: else each may serve another kind of input."""
    names = interpreter.project.profile.flags
    theirs = other.assumptions(interpreter)
    return any(
        theirs.truth(literal.value) is (not literal.holds)
        and any(
            part.op in ("attr", "param", "function") and (_GATE.search(part.text) or part.args[-1] in names)
            for part in walk(literal.value, 200)
        )
        for literal in path.raw.conditions
    )


def _same_call(path: Path, other: Path, interpreter: Interpreter) -> bool:
    """Whether two calls pass the same: then one block was written where the other was meant."""
    if path.raw.method != other.raw.method or len(path.raw.arguments) != len(other.raw.arguments):
        return False
    mine, theirs = dict(path.raw.keywords), dict(other.raw.keywords)
    if mine.keys() != theirs.keys() or not path.raw.arguments:
        return False
    sameness = compared(path, other, interpreter)
    pairs = [*zip(path.raw.arguments, other.raw.arguments, strict=True), *((mine[n], theirs[n]) for n in mine)]
    return all(sameness.same(*pair) is True for pair in pairs)


def _are_different_methods(path: Path, other: Path, interpreter: Interpreter) -> bool:
    """Whether two methods of one block differ: neither hands on to the other."""
    project = interpreter.project
    classes = interpreter.classes_of(path.raw.callee)
    for cls in classes:
        if not isinstance(cls, ClassDef):
            return False
        first, second = (project.method(cls, name) for name in (path.raw.method, other.raw.method))
        if first is None or second is None or first is second:
            return False
        for one, another in ((first, second), (second, first)):
            if re.search(rf"\b{re.escape(another.facts.name)}\b", project.source_of(one).partition(":")[2]):
                return False
    return bool(classes)
