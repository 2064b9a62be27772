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
    other: Path | None
    """The path that passes the same values to the parameters that they are meant for; None where names alone say it."""
    landings: tuple[Landing, ...]


def misplacements(block: BlockPaths, interpreter: Interpreter) -> Iterator[Misplacement]:
    """The calls of a block that misplace arguments, each with the path in its place that doesn't, if there is one."""
    seen: set[object] = set()
    for path, other in sorted(alternatives(block, interpreter), key=lambda pair: preference(*pair)):
        if path.raw.site in seen:
            continue
        for callee in path.bindings:
            found = {landing.position: landing for landing in landings(path, other, callee, interpreter)}
            if found:
                found = {**{landing.position: landing for landing in skipped(path, callee, interpreter)}, **found}
                seen.add(path.raw.site)
                yield Misplacement(callee, path, other, tuple(found[position] for position in sorted(found)))
                break
    for path in block.live:
        for callee in path.bindings:
            own = skipped(path, callee, interpreter)
            if own and path.raw.site not in seen:
                seen.add(path.raw.site)
                yield Misplacement(callee, path, None, own)


def skipped(path: Path, callee: ClassDef | FunctionDef, interpreter: Interpreter) -> tuple[Landing, ...]:
    """Positional arguments of a call whose own names say that it skips a parameter before them.

    Each lands on an optional parameter, though the callee has one of its name, which gets nothing, or the next of them.
    Where the first argument isn't in its own place either, or one ends where another begins (a swap), names say little.
    """
    bound = path.bindings[callee]
    if bound.problem:
        return ()
    optional = {p.name for p in parameters_of(path, callee, interpreter) if p.default is not None}
    names = {p.name for p in parameters_of(path, callee, interpreter) if p.kind in ("positional", "any", "keyword")}
    moved: dict[str, Landing] = {}
    for position, parameter in enumerate(positional(path, callee, bound, interpreter), 1):
        value = bound.values[parameter]
        name = name_of(value)
        if name is None or name == parameter or name not in names:
            continue
        if parameter not in optional or bound.values.get(name) is value:
            return ()
        moved[parameter] = Landing(position, parameter, name, value)
    ends = {landing.meant for landing in moved.values()}
    if not moved or len(ends) < len(moved) or (len(moved) == 1 and _are_kin(*moved.values())):
        return ()
    for name in ends - moved.keys():
        # The last of them may have pushed on one that has no name of its own.
        if name in bound.values and (len(moved) == 1 or name_of(bound.values[name]) in names):
            return ()
    for start in moved:
        name, seen = start, {start}
        while name in moved:
            name = moved[name].meant
            if name in seen:
                return ()
            seen.add(name)
    return tuple(moved.values())


def misplaced_parameters(
    path: Path, other: Path, callee: ClassDef | FunctionDef, interpreter: Interpreter
) -> frozenset[str]:
    """The parameters that differ between two paths only because one of them misplaces arguments."""
    found = [
        landing
        for one, instead in ((path, other), (other, path))
        if callee in one.bindings and callee in instead.bindings
        for landing in (*landings(one, instead, callee, interpreter), *skipped(one, callee, interpreter))
    ]
    return frozenset(name for landing in found for name in (landing.parameter, landing.meant))


def landings(path: Path, other: Path, callee: ClassDef | FunctionDef, interpreter: Interpreter) -> tuple[Landing, ...]:
    """What a path passes by position to another parameter than the path in its place does, where that one is right."""
    bound, full = path.bindings.get(callee), other.bindings.get(callee)
    if bound is None or full is None or bound.problem or full.problem:
        return ()
    if bound.values.keys() == full.values.keys() and all(full.values[n] is v for n, v in bound.values.items()):
        return ()
    mine, theirs = positional(path, callee, bound, interpreter), positional(other, callee, full, interpreter)
    sameness = compared(path, other, interpreter)
    found = []
    for position, parameter in enumerate(mine, 1):
        value = bound.values[parameter]
        if not is_telling(value) or _is_same(sameness, value, full.values.get(parameter)):
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


def compared(path: Path, other: Path, interpreter: Interpreter) -> Sameness:
    """What tells whether two values of these paths are the same."""
    mine, theirs = iteration(path), iteration(other)
    common = set(mine) & set(theirs)
    inside = [loop for loop in (*path.raw.loops, *other.raw.loops) if loop not in common]
    return Sameness(
        interpreter,
        common,
        path.assumptions(interpreter),
        other.assumptions(interpreter),
        min(inside) if inside else None,
        path.trace,
    )


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


def _are_kin(landing: Landing) -> bool:
    """`mask` passed as `attention_mask`: that may be the purpose."""
    return bool(set(landing.parameter.split("_")) & set(landing.meant.split("_")))


def is_telling(value: Value) -> bool:
    """Whether a value is one of its kind: a literal may stand for anything."""
    return value.op not in ("const", "absent", "unknown", "unbound", "star") and not (
        value.op in ("tuple", "list", "dict") and not value.args
    )


def _is_same(sameness: Sameness, value: Value, other: Value | None) -> bool:
    return other is not None and sameness.is_one(value, other)
