"""What the paths of a block pass for one parameter, where it isn't the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.callpaths.binding import Bound
from conformance.callpaths.compare import (
    alternatives,
    constants_of,
    is_gate,
    is_used,
    method_of,
    preference,
    selector_parameters,
)
from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Route
from conformance.callpaths.omissions import is_excluded_cache, is_judged, only_shapes_result
from conformance.callpaths.paths import BlockPaths, Path
from conformance.callpaths.placement import compared, is_telling, misplaced_parameters
from conformance.callpaths.sameness import Sameness
from conformance.callpaths.values import Value
from conformance.project.project import ClassDef, FunctionDef


@dataclass(frozen=True, slots=True)
class Difference:
    """A parameter that two paths of one iteration give different values."""

    callee: ClassDef | FunctionDef | None
    """None where the block's class isn't known: then arguments are compared by position and keyword."""
    parameter: str
    """A name, or the position counted from 1 where the signature isn't known."""
    path: Path
    """The path to change: the one that passes a literal, else the one that isn't eager."""
    other: Path
    value: Value
    """What `path` passes."""
    instead: Value
    """What `other` passes."""


def differences(block: BlockPaths, interpreter: Interpreter) -> Iterator[Difference]:
    """All differences of a block; what makes none for the callee is left out."""
    selectors = selector_parameters(block, interpreter)
    seen: set[tuple[object, str]] = set()
    for path, other in sorted(alternatives(block, interpreter), key=lambda pair: preference(*pair)):
        for callee, bound, full in _bindings(path, other):
            if bound.problem or full.problem:
                continue
            names = [n for n, v in bound.values.items() if n not in selectors and full.values.get(n, v) is not v]
            if not names:
                continue
            assumptions = path.assumptions(interpreter), other.assumptions(interpreter)
            if any(a.contradictory for a in assumptions):
                continue
            sameness = compared(path, other, interpreter)
            misplaced: frozenset[str] | None = None
            for name in names:
                sites = (path.raw.site, name), (other.raw.site, name)
                if seen.intersection(sites):
                    continue
                value, instead = bound.values[name], full.values[name]
                if not _is_at_fault(path, other, value, instead, assumptions):
                    continue
                answer = sameness.same(value, instead)
                if answer is True or (answer is None and not _is_repeated(bound, full, name, sameness)):
                    continue
                if misplaced is None and callee is not None:
                    misplaced = misplaced_parameters(path, other, callee, interpreter)
                if misplaced and name in misplaced:
                    continue
                if _matters(path, other, bound, full, callee, name, interpreter):
                    seen.update(sites)
                    yield Difference(callee, name, path, other, value, instead)


def _is_repeated(bound: Bound, full: Bound, name: str, sameness: Sameness) -> bool:
    """Whether one path gives a parameter what both paths give another one: its own value has been forgotten."""
    return any(
        is_telling(one.values[name])
        and one.values[other] is one.values[name]
        and other in instead.values
        and sameness.same(instead.values[other], one.values[name]) is True
        for one, instead in ((bound, full), (full, bound))
        for other in one.values
        if other != name
    )


def _bindings(path: Path, other: Path) -> Iterator[tuple[ClassDef | FunctionDef | None, Bound, Bound]]:
    """The two calls bound to each signature in common; as they stand where none is known."""
    for callee, bound in path.bindings.items():
        full = other.bindings.get(callee)
        if full is not None:
            yield callee, bound, full
    if not path.bindings and not other.bindings:
        bounds = [_as_it_stands(p) for p in (path, other)]
        if bounds[0] is not None and bounds[1] is not None and bounds[0].values.keys() == bounds[1].values.keys():
            yield None, bounds[0], bounds[1]


def _as_it_stands(path: Path) -> Bound | None:
    """A call whose signature isn't known: positions and keywords."""
    raw = path.raw
    if any(a.op == "star" for a in raw.arguments) or any(name is None for name, _ in raw.keywords):
        return None
    values = {str(position): value for position, value in enumerate(raw.arguments, 1)}
    values.update({name: value for name, value in raw.keywords if name is not None})
    return Bound(values)


def _is_at_fault(
    path: Path, other: Path, value: Value, instead: Value, assumptions: tuple[Assumptions, Assumptions]
) -> bool:
    """Which of the two to report: a literal where the other passes something, else the path that isn't eager."""
    is_literal = _is_literal(assumptions[0].reduce(value))
    if is_literal is not _is_literal(assumptions[1].reduce(instead)):
        return is_literal
    return other.route is Route.EAGER or (path.route is not Route.EAGER and path.raw.site > other.raw.site)


def _is_literal(value: Value) -> bool:
    return value.op == "const" or (value.op in ("tuple", "list", "dict") and not any(value.args))


def _matters(
    path: Path,
    other: Path,
    bound: Bound,
    full: Bound,
    callee: ClassDef | FunctionDef | None,
    name: str,
    interpreter: Interpreter,
) -> bool:
    """Whether a difference can change what the block computes."""
    value, instead = bound.values[name], full.values[name]
    mine, theirs = path.assumptions(interpreter), other.assumptions(interpreter)
    for here, there in ((mine, mine), (theirs, theirs), (mine, theirs)):
        truth = here.truth(value)
        if truth is False and there.truth(instead) is False:
            return False  # what is false either way is told apart by nothing but its type
        if truth is True and there.truth(instead) is True and interpreter.values.true in (value, instead):
            return False  # a switch that the conditions say is on
    if name in interpreter.project.profile.cache_switches and mine.truth(value) is False:
        return False  # nothing is cached under a checkpoint
    if any(is_gate(passed) for passed in (value, instead)):
        return False  # how the block is to be run
    for one, passed in ((path, instead), (other, value)):
        if is_excluded_cache(one, name, interpreter) or is_judged(one, passed, interpreter):
            return False
    if callee is None:
        return True
    method = method_of(path, callee, interpreter)
    if method is None:
        return True
    if only_shapes_result(path, other, method, name, interpreter):
        return False
    owner = callee if isinstance(callee, ClassDef) else None
    if not is_used(method, owner, name, bound, interpreter) and not is_used(method, owner, name, full, interpreter):
        return False
    options = mine.reduce(value), theirs.reduce(instead)
    settings = constants_of(method, name, bound, interpreter)
    return not interpreter.same_effect(method, owner, name, options, settings)
