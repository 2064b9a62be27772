"""Which paths of a block stand for one another, and what one of them lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.callpaths.binding import Bound
from conformance.callpaths.conditions import Assumptions, exclusive
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Route
from conformance.callpaths.paths import BlockPaths, Path
from conformance.callpaths.trace import Literal, literals
from conformance.callpaths.values import Value, truth_of, walk
from conformance.facts.ir import Const, Name, Parameter
from conformance.project.project import ClassDef, FunctionDef

_MOST_PATHS = 64
"""Paths of one block that are still compared with each other; real models have up to about twenty."""


def alternatives(block: BlockPaths, interpreter: Interpreter) -> Iterator[tuple[Path, Path]]:
    """Ordered pairs of live paths on different routes of which one runs in place of the other.

    One test decides between them, and apart from it their conditions can hold together. Where there are several
    candidates, those count that part from the path last, in the same iteration; a path that has none there (a segment
    runner before the loop, a loop on either side of the gate) is compared with the other loops.
    """
    paths = block.live
    if len(paths) > _MOST_PATHS:
        return
    pairs: dict[tuple[int, int], tuple[Path, Path]] = {}
    for path in paths:
        own: dict[Route, list[tuple[int, Path]]] = {}
        outside: dict[Route, list[tuple[int, Path]]] = {}
        for other in paths:
            if other.route is path.route or not _same_choice(path, other, interpreter):
                continue
            same = _iteration(path) == _iteration(other)
            depth = _parting(path, other, interpreter, same)
            if depth is not None:
                group = own if same else outside
                group.setdefault(other.route, []).append((depth, other))
        for candidates in (own or outside).values():
            deepest = max(depth for depth, _ in candidates)
            nearest = [other for depth, other in candidates if depth == deepest]
            for other in nearest:
                if _same_turn(path, other, paths):
                    pairs[(id(path), id(other))] = (path, other)
                    pairs[(id(other), id(path))] = (other, path)
    yield from pairs.values()


def _same_turn(path: Path, other: Path, paths: list[Path]) -> bool:
    """Whether both are the n-th call of the block under their conditions: what runs twice is compared in turn."""
    ours = [p for p in paths if p.route is path.route and p.raw.conditions == path.raw.conditions]
    theirs = [p for p in paths if p.route is other.route and p.raw.conditions == other.raw.conditions]
    return len(ours) == len(theirs) and ours.index(path) == theirs.index(other)


def _same_choice(path: Path, other: Path, interpreter: Interpreter) -> bool:
    """Whether both callees are plain, or both are one of the same choice.

    Where one loop runs over two lists, a condition on the index can decide which list's element is called; so such a
    path says nothing about a loop over one of the lists.
    """
    first, second = path.raw.choice, other.raw.choice
    if first is None or second is None:
        return first is second
    return interpreter.values.canonical(first) is interpreter.values.canonical(second)


def _iteration(path: Path) -> tuple[int, ...]:
    """The loops that a path runs in, those of the checkpointed function left out."""
    raw = path.raw
    if raw.checkpoint is None:
        return raw.loops
    return tuple(loop for loop in raw.loops if loop < raw.checkpoint.start)


def _parting(first: Path, second: Path, interpreter: Interpreter, same_iteration: bool) -> int | None:
    """How late the paths part, or None when they are no alternatives: nothing, or more than one test, parts them."""
    values = interpreter.values
    if same_iteration:
        ours, theirs = first.raw.conditions, second.raw.conditions
        assumptions = first.assumptions(interpreter)
    else:
        ours, theirs = (
            tuple(Literal(values.canonical(c.value), c.holds, c.branch) for c in path.raw.conditions)
            for path in (first, second)
        )
        assumptions = Assumptions(values, literals(ours))
    for index, literal in enumerate(theirs):
        if assumptions.truth(literal.value) is not (not literal.holds):
            continue
        branches = {literal.branch}
        kept = []
        same_statement = False
        for own in ours:
            if own.branch == literal.branch or Assumptions(values, [(own.value, own.holds)]).truth(literal.value) is (
                not literal.holds
            ):
                branches.add(own.branch)
                same_statement = same_statement or own.branch == literal.branch
            else:
                kept.append(own)
        # Grad mode is no choice between routes: where both sides tell it, they must tell the same.
        ours_left = [c for c in (*kept, *ours) if c.branch not in branches or c.value in interpreter.grad_tests]
        theirs_left = [c for c in theirs if c.branch not in branches or c.value in interpreter.grad_tests]
        if not exclusive(values, literals(ours_left), literals(theirs_left)):
            common = 0
            for a, b in zip(ours, theirs, strict=False):
                if a is not b and a != b:
                    break
                common += 1
            return 2 * min(common, index) + same_statement
    return None


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
    pairs = sorted(alternatives(block, interpreter), key=lambda pair: _preference(*pair))
    for path, other in pairs:
        for cls in path.bindings:
            bound, full = path.bindings[cls], other.bindings.get(cls)
            if full is None or bound.problem or full.problem or path.unknown or other.unknown:
                continue
            for parameter in _missing(path, bound, full, cls, interpreter):
                key = (path.raw.site.span, parameter.name, path.raw.dead)
                if parameter.name in selectors or key in seen:
                    continue
                value = full.values[parameter.name]
                if _is_misplaced(path, other, bound, full, cls, parameter, interpreter):
                    continue
                if not _matters(path, other, bound, cls, parameter, value, interpreter):
                    continue
                seen.add(key)
                yield Omission(cls, parameter, path, other, value)


def _preference(path: Path, other: Path) -> tuple[int, int]:
    """Eager counterparts first, then the order of the source."""
    return (0 if other.route is Route.EAGER else 1, other.raw.site.span.line)


def parameters_of(path: Path, callee: ClassDef | FunctionDef, interpreter: Interpreter) -> tuple[Parameter, ...]:
    """The signature that the path's call is bound to, without `self`."""
    method = method_of(path, callee, interpreter)
    return () if method is None else method.facts.parameters


def method_of(path: Path, cls: ClassDef | FunctionDef, interpreter: Interpreter) -> FunctionDef | None:
    """The method that the path runs."""
    if path.raw.direct is not None:
        return path.raw.direct
    if isinstance(cls, FunctionDef):
        return cls
    return interpreter.project.method(cls, path.raw.method)


def _missing(
    path: Path, bound: Bound, full: Bound, cls: ClassDef | FunctionDef, interpreter: Interpreter
) -> Iterator[Parameter]:
    for parameter in parameters_of(path, cls, interpreter):
        if parameter.name in full.values and parameter.name not in bound.values:
            yield parameter


def _is_misplaced(
    path: Path,
    other: Path,
    bound: Bound,
    full: Bound,
    callee: ClassDef | FunctionDef,
    parameter: Parameter,
    interpreter: Interpreter,
) -> bool:
    """Whether the value only lands on another parameter: then it is misplaced, not dropped.

    Either this path passes the same value to another parameter, or the other path passes by position what is named
    after another parameter.
    """
    values = interpreter.values
    value = values.canonical(full.values[parameter.name])
    if value.op == "const":
        return False
    for name, passed in bound.values.items():
        elsewhere = full.values.get(name)
        if values.canonical(passed) is value and (elsewhere is None or values.canonical(elsewhere) is not value):
            return True
    names = [p.name for p in parameters_of(path, callee, interpreter) if p.kind in ("positional", "any")]
    if path.raw.direct is None or path.raw.callee.op == "self":
        names = names[1:]
    if parameter.name in names[: len(other.raw.arguments)] and value.op in ("param", "attr"):
        return value.args[-1] != parameter.name and value.args[-1] in names
    return False


def selector_parameters(block: BlockPaths, interpreter: Interpreter) -> set[str]:
    """Parameters that only say how a block is to be run: a checkpoint callable, and the switch that goes with it."""
    found: set[str] = set()
    for path in block.paths:
        for callee, bound in path.bindings.items():
            callables = [n for n, v in bound.values.items() if interpreter.is_checkpoint(v)]
            found.update(callables)
            for name, value in bound.values.items():
                decides = value is interpreter.values.true or _is_gate(value, path)
                if decides and any(_switches(path, callee, name, run, interpreter) for run in callables):
                    found.add(name)
    return found


def _switches(path: Path, callee: ClassDef | FunctionDef, name: str, run: str, interpreter: Interpreter) -> bool:
    """Whether the callee doesn't use a callable where a parameter is false: then that one is its switch."""
    method = method_of(path, callee, interpreter)
    owner = callee if isinstance(callee, ClassDef) else None
    return method is None or not interpreter.reads(method, owner, run, {name: interpreter.values.false})


def _is_gate(value: Value, path: Path) -> bool:
    """Whether a value is the decision to checkpoint."""
    if value.op not in ("and", "or", "not", "cmp", "call", "phi", "attr"):
        return False
    return any("checkpoint" in part.text for part in walk(value, 200) if part.op in ("attr", "function"))


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
    if _is_excluded_cache(path, parameter, interpreter) or _is_judged(path, passed, interpreter):
        return False
    if default is values.none and passed.op == "phi" and _only_none(passed, values.none):
        return False
    method = callee_method
    results = {p.raw.result.replace("unpack:1", "index:0").partition(":")[0] for p in (path, other)}
    if (
        method is not None
        and results <= {"index", "attribute"}
        and interpreter.only_selects_return(method, parameter.name)
    ):
        return False  # a tuple and an output object give the same item
    owner = cls if isinstance(cls, ClassDef) else None
    return method is None or is_used(method, owner, parameter.name, bound, interpreter)


def _are_equal_numbers(first: Value, second: Value | None) -> bool:
    """1 and 1.0, but not True."""
    if second is None or first.op != "const" or second.op != "const":
        return False
    numbers = (first.args[1], second.args[1])
    return all(type(number) in (int, float) for number in numbers) and numbers[0] == numbers[1]


def _is_judged(path: Path, passed: Value, interpreter: Interpreter) -> bool:
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


def _is_excluded_cache(path: Path, parameter: Parameter, interpreter: Interpreter) -> bool:
    """Whether the parameter is a cache that the path has switched off (`use_cache = False`)."""
    if parameter.name not in interpreter.project.profile.caches:
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


def default_value(parameter: Parameter, interpreter: Interpreter, method: FunctionDef | None = None) -> Value | None:
    """The value of a default when it is a literal, or a constant of the module that defines the method."""
    if isinstance(parameter.default, Name) and method is not None:
        named = interpreter.module_value(method.module, parameter.default.id)
        return named if named.op == "const" else None
    if isinstance(parameter.default, Const):
        return interpreter.values.const(parameter.default.value)
    return None


def is_used(method: FunctionDef, cls: ClassDef | None, name: str, bound: Bound, interpreter: Interpreter) -> bool:
    """Whether the callee reads a parameter where the others are as the call binds them.

    Parameters that the call leaves out have their defaults, so a use under a guard that is then false doesn't count.
    """
    settings: dict[str, Value] = {}
    for parameter in method.facts.parameters:
        if parameter.name in bound.values:
            value = bound.values[parameter.name]
            if value.op == "const":
                settings[parameter.name] = value
        elif parameter.name != name:
            default = default_value(parameter, interpreter)
            if default is not None:
                settings[parameter.name] = default
    return interpreter.reads(method, cls, name, settings)
