"""Positional arguments that land on another parameter than they are meant for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.callpaths.binding import Bound
from conformance.callpaths.compare import alternatives, iteration, parameters_of, preference
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Route
from conformance.callpaths.paths import BlockPaths, Path
from conformance.callpaths.sameness import Sameness
from conformance.callpaths.values import Value
from conformance.project.project import ClassDef, FunctionDef


@dataclass(frozen=True, slots=True)
class Landing:
    """A value that a call passes by position."""

    position: int
    """Counted from 1."""
    parameter: str
    """On which it lands."""
    meant: str
    """For which it is meant."""
    value: Value


@dataclass(frozen=True, slots=True)
class Misplacement:
    """A call of which some positional arguments land on other parameters than they are meant for."""

    callee: ClassDef | FunctionDef
    path: Path
    other: Path
    """The path that passes the same values to the parameters that they are meant for."""
    landings: tuple[Landing, ...]


def misplacements(block: BlockPaths, interpreter: Interpreter) -> Iterator[Misplacement]:
    """The calls of a block that misplace arguments, each with the path in its place that doesn't."""
    seen: set[object] = set()
    for path, other in sorted(alternatives(block, interpreter), key=lambda pair: preference(*pair)):
        if path.raw.site in seen:
            continue
        for callee in path.bindings:
            found = landings(path, other, callee, interpreter)
            if found:
                seen.add(path.raw.site)
                yield Misplacement(callee, path, other, found)
                break


def misplaced_parameters(
    path: Path, other: Path, callee: ClassDef | FunctionDef, interpreter: Interpreter
) -> frozenset[str]:
    """The parameters that differ between two paths only because one of them misplaces arguments."""
    found = (*landings(path, other, callee, interpreter), *landings(other, path, callee, interpreter))
    if not found:
        return frozenset()
    # What follows the first of them by position has moved with it.
    touched = {name for landing in found for name in (landing.parameter, landing.meant)}
    return frozenset(touched)


def landings(path: Path, other: Path, callee: ClassDef | FunctionDef, interpreter: Interpreter) -> tuple[Landing, ...]:
    """What a path passes by position to another parameter than the path in its place does, where that one is right."""
    bound, full = path.bindings.get(callee), other.bindings.get(callee)
    if bound is None or full is None or bound.problem or full.problem:
        return ()
    if bound.values.keys() == full.values.keys() and all(full.values[n] is v for n, v in bound.values.items()):
        return ()
    mine, theirs = positional(path, callee, bound, interpreter), positional(other, callee, full, interpreter)
    loops = set(iteration(path)) & set(iteration(other))
    sameness = Sameness(interpreter, loops, path.assumptions(interpreter), other.assumptions(interpreter))
    found = []
    for position, parameter in enumerate(mine, 1):
        value = bound.values[parameter]
        if not _is_telling(value) or _is_same(sameness, value, full.values.get(parameter)):
            continue
        elsewhere = [name for name, passed in full.values.items() if _is_same(sameness, value, passed)]
        if len(elsewhere) != 1 or _is_same(sameness, value, bound.values.get(elsewhere[0])):
            continue
        meant = elsewhere[0]
        if sum(_is_same(sameness, value, passed) for passed in bound.values.values()) > 1 or meant.startswith("**"):
            continue
        if _is_at_fault(path, other, value, parameter, meant, meant in theirs):
            found.append(Landing(position, parameter, meant, value))
    return tuple(found)


def _is_at_fault(path: Path, other: Path, value: Value, lands: str, meant: str, both_by_position: bool) -> bool:
    """Which of the two is wrong: a name given to the value says so, else a keyword is right, else the eager call."""
    name = name_of(value)
    if name == meant:
        return True
    if name == lands:
        return False
    if not both_by_position:
        return True
    return other.route is Route.EAGER or (path.route is not Route.EAGER and path.raw.site > other.raw.site)


def positional(path: Path, callee: ClassDef | FunctionDef, bound: Bound, interpreter: Interpreter) -> tuple[str, ...]:
    """The parameters that a call binds by position, in their order."""
    plain = [p.name for p in parameters_of(path, callee, interpreter) if p.kind in ("positional", "any")]
    count = next((i for i, a in enumerate(path.raw.arguments) if a.op == "star"), len(path.raw.arguments))
    return tuple(name for name in plain[:count] if name in bound.values)


def name_of(value: Value) -> str | None:
    """The name that the source gives a value, where it is a parameter, a carried name or an attribute."""
    if value.op in ("param", "attr"):
        return str(value.args[-1])
    return str(value.args[1]) if value.op in ("mu", "out") else None


def _is_telling(value: Value) -> bool:
    """Whether a value is one of its kind: a literal may stand for anything."""
    return value.op not in ("const", "absent", "unknown", "unbound", "star") and not (
        value.op in ("tuple", "list", "dict") and not value.args
    )


def _is_same(sameness: Sameness, value: Value, other: Value | None) -> bool:
    return other is not None and sameness.same(value, other) is True
