"""What one path of a block leaves out though the path in its place passes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.callpaths.binding import Bound
from conformance.callpaths.compare import (
    alternatives,
    constants_of,
    default_value,
    is_used,
    method_of,
    parameters_of,
    preference,
    selector_parameters,
)
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.paths import BlockPaths, Path
from conformance.callpaths.placement import misplaced_parameters
from conformance.callpaths.values import Value, truth_of, walk
from conformance.facts.ir import Parameter
from conformance.project.project import ClassDef, FunctionDef


@dataclass(frozen=True, slots=True)
class Omission:
    """A parameter that one path passes and another doesn't, where that can make a difference."""

    callee: ClassDef | FunctionDef
    """The block's class, or the function or method that is called."""
    parameter: Parameter
    path: Path
    """The path that leaves it out."""
    other: Path
    """The path that passes it."""
    value: Value
    """What the other path passes."""


def omissions(block: BlockPaths, interpreter: Interpreter) -> Iterator[Omission]:
    """All omissions of a block, each with its best counterpart; what makes no difference is left out."""
    selectors = selector_parameters(block, interpreter)
    seen: set[tuple[object, str, bool]] = set()
    pairs = sorted(alternatives(block, interpreter), key=lambda pair: preference(*pair))
    for path, other in pairs:
        for cls in path.bindings:
            bound, full = path.bindings[cls], other.bindings.get(cls)
            misplaced: frozenset[str] | None = None
            if full is None or bound.problem or full.problem or path.unknown or other.unknown:
                continue
            for parameter in _missing(path, bound, full, cls, interpreter):
                key = (path.raw.site.span, parameter.name, path.raw.dead)
                if parameter.name in selectors or key in seen:
                    continue
                value = full.values[parameter.name]
                if misplaced is None:
                    misplaced = misplaced_parameters(path, other, cls, interpreter)
                if parameter.name in misplaced:
                    continue
                if not _matters(path, other, bound, cls, parameter, value, interpreter):
                    continue
                seen.add(key)
                yield Omission(cls, parameter, path, other, value)


def _missing(
    path: Path, bound: Bound, full: Bound, cls: ClassDef | FunctionDef, interpreter: Interpreter
) -> Iterator[Parameter]:
    for parameter in parameters_of(path, cls, interpreter):
        if parameter.name in full.values and parameter.name not in bound.values:
            yield parameter


def _matters(
    path: Path,
    other: Path,
    bound: Bound,
    cls: ClassDef | FunctionDef,
    parameter: Parameter,
    value: Value,
    interpreter: Interpreter,
) -> bool:
    """Whether leaving the parameter out can change what the block computes."""
    values = interpreter.values
    callee_method = method_of(path, cls, interpreter)
    default = default_value(parameter, interpreter, callee_method)
    assumptions = path.assumptions(interpreter)
    if assumptions.contradictory or other.assumptions(interpreter).contradictory:
        return False
    passed = _without_absent(assumptions.reduce(value), values.absent)
    if passed is None or passed is default or _are_equal_numbers(passed, default):
        return False
    if passed.op == "unknown" or passed.op == "unbound":
        return False
    if default is not None and truth_of(default) is False and assumptions.truth(passed) is False:
        return False  # what is false either way is told apart by nothing but its type
    if is_excluded_cache(path, parameter.name, interpreter) or is_judged(path, passed, interpreter):
        return False
    if default is values.none and passed.op == "phi" and _only_none(passed, values.none):
        return False
    method = callee_method
    if method is None:
        return True
    if only_shapes_result(path, other, method, parameter.name, interpreter):
        return False
    owner = cls if isinstance(cls, ClassDef) else None
    if not is_used(method, owner, parameter.name, bound, interpreter):
        return False
    if default is None:
        return True
    settings = constants_of(method, parameter.name, bound, interpreter)
    return not interpreter.same_effect(method, owner, parameter.name, (default, passed), settings)


def only_shapes_result(path: Path, other: Path, method: FunctionDef, name: str, interpreter: Interpreter) -> bool:
    """Whether a parameter decides on the form of the result only, and both paths take the same item of it."""
    results = {p.raw.result.replace("unpack:1", "index:0").partition(":")[0] for p in (path, other)}
    return results <= {"index", "attribute"} and interpreter.only_selects_return(method, name)


def _are_equal_numbers(first: Value, second: Value | None) -> bool:
    """1 and 1.0, but not True."""
    if second is None or first.op != "const" or second.op != "const":
        return False
    numbers = (first.args[1], second.args[1])
    return all(type(number) in (int, float) for number in numbers) and numbers[0] == numbers[1]


def is_judged(path: Path, passed: Value, interpreter: Interpreter) -> bool:
    """Whether a function that isn't looked into has judged the very value on the way: `if not has(mask)`."""
    if passed.op in ("index", "const"):
        return False
    for literal in path.raw.conditions:
        for part in walk(literal.value, 100):
            if part.op != "call" or part.args[0].op not in ("function", "bound", "ref"):
                continue
            function = part.args[0]
            if function.op == "function" and interpreter.gate_flag(function.args[0]) is not None:
                continue
            if passed in part.args[1] or passed in dict(part.args[2]).values():
                return True
    return False


def is_excluded_cache(path: Path, name: str, interpreter: Interpreter) -> bool:
    """Whether the parameter is a cache that the path has switched off (`use_cache = False`)."""
    if name not in interpreter.project.profile.caches:
        return False
    assumptions = path.assumptions(interpreter)
    return any(assumptions.truth(value) is False for value in path.raw.switches)


def _without_absent(value: Value, absent: Value) -> Value | None:
    """The value where it is passed at all; None when it never is."""
    if value is absent:
        return None
    if value.op == "phi" and absent in value.args:
        found: Value = value.args[1] if value.args[2] is absent else value.args[2]
        return found
    return value


def _only_none(value: Value, none: Value) -> bool:
    if value.op == "phi":
        return _only_none(value.args[1], none) and _only_none(value.args[2], none)
    return value is none
