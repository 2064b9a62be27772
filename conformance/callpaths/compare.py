"""Which paths of a block stand for one another, and what the callee makes of its parameters."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.binding import Bound
from conformance.callpaths.conditions import Assumptions, exclusive
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Route
from conformance.callpaths.paths import BlockPaths, Path, without_self
from conformance.callpaths.trace import Literal, literals
from conformance.callpaths.values import Value, walk
from conformance.facts.ir import Const, Name, Parameter
from conformance.project.project import ClassDef, FunctionDef

_MOST_PATHS = 64
"""Paths of one block that are still compared with each other; real models have up to about twenty."""


def alternatives(block: BlockPaths, interpreter: Interpreter) -> list[tuple[Path, Path]]:
    """Ordered pairs of live paths on different routes of which one runs in place of the other.

    One test decides between them, and apart from it their conditions can hold together. Where there are several
    candidates, those count that part from the path last, in the same iteration; a path that has none there (a segment
    runner before the loop, a loop on either side of the gate) is compared with the other loops.
    """
    if block.pairs is None:
        block.pairs = list(_pairs(block.live, interpreter))
    return block.pairs


def _pairs(paths: list[Path], interpreter: Interpreter) -> Iterator[tuple[Path, Path]]:
    if len(paths) > _MOST_PATHS:
        return
    pairs: dict[tuple[int, int], tuple[Path, Path]] = {}
    found = {path: list(_candidates(path, paths, interpreter)) for path in paths}
    settled = {
        (path, other.route)
        for path, candidates in found.items()
        for depth, same, other in candidates
        if same and _is_same_statement(depth)
    }
    for path, candidates in found.items():
        own: dict[Route, list[tuple[int, Path]]] = {}
        outside: dict[Route, list[tuple[int, Path]]] = {}
        for depth, same, other in candidates:
            if same and not _is_same_statement(depth) and (other, path.route) in settled:
                continue  # it stands for the other side of its own statement
            group = own if same else outside
            group.setdefault(other.route, []).append((depth, other))
        for chosen in (own or outside).values():
            deepest = max(depth for depth, _ in chosen)
            nearest = [other for depth, other in chosen if depth == deepest]
            for other in nearest:
                if _same_turn(path, other, paths):
                    pairs[(id(path), id(other))] = (path, other)
                    pairs[(id(other), id(path))] = (other, path)
    yield from pairs.values()


def _candidates(path: Path, paths: list[Path], interpreter: Interpreter) -> Iterator[tuple[int, bool, Path]]:
    """Paths on other routes that may stand for one: how late they part, and whether in the same iteration."""
    for other in paths:
        if other.route is not path.route and _same_choice(path, other, interpreter):
            same = iteration(path) == iteration(other)
            depth = parting(path, other, interpreter, same)
            if depth is not None:
                yield depth, same, other


def _is_same_statement(depth: int) -> bool:
    """Whether two paths part at one statement, of which each is a side."""
    return depth % 2 == 1


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


def iteration(path: Path) -> tuple[int, ...]:
    """The loops that a path runs in, those of the checkpointed function left out."""
    raw = path.raw
    if raw.checkpoint is None:
        return raw.loops
    return tuple(loop for loop in raw.loops if loop < raw.checkpoint.start)


def parting(first: Path, second: Path, interpreter: Interpreter, same_iteration: bool) -> int | None:
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


def preference(path: Path, other: Path) -> tuple[int, int]:
    """Eager counterparts first, then the order of the source."""
    return (0 if other.route is Route.EAGER else 1, other.raw.site.span.line)


def parameters_of(path: Path, callee: ClassDef | FunctionDef, interpreter: Interpreter) -> tuple[Parameter, ...]:
    """The signature that the path's call is bound to, without `self`."""
    method = method_of(path, callee, interpreter)
    if method is None:
        return ()
    is_function = path.raw.direct is not None and path.raw.callee.op != "self"
    return method.facts.parameters if is_function else without_self(method)


def method_of(path: Path, cls: ClassDef | FunctionDef, interpreter: Interpreter) -> FunctionDef | None:
    """The method that the path runs."""
    if path.raw.direct is not None:
        return path.raw.direct
    if isinstance(cls, FunctionDef):
        return cls
    return interpreter.project.method(cls, path.raw.method)


def selector_parameters(block: BlockPaths, interpreter: Interpreter) -> set[str]:
    """Parameters that only say how a block is to be run: a checkpoint callable, and the switch that goes with it."""
    found: set[str] = set()
    for path in block.paths:
        for callee, bound in path.bindings.items():
            callables = [n for n, v in bound.values.items() if interpreter.is_checkpoint(v)]
            found.update(callables)
            if not callables:
                continue
            for name, value in bound.values.items():
                decides = value is interpreter.values.true or is_gate(value)
                if decides and any(_switches(path, callee, name, run, interpreter) for run in callables):
                    found.add(name)
    return found


def _switches(path: Path, callee: ClassDef | FunctionDef, name: str, run: str, interpreter: Interpreter) -> bool:
    """Whether the callee doesn't use a callable where a parameter is false: then that one is its switch."""
    method = method_of(path, callee, interpreter)
    owner = callee if isinstance(callee, ClassDef) else None
    return method is None or not interpreter.reads(method, owner, run, {name: interpreter.values.false})


def is_gate(value: Value) -> bool:
    """Whether a value is the decision to checkpoint."""
    if value.op not in ("and", "or", "not", "cmp", "call", "phi", "attr"):
        return False
    return any("checkpoint" in part.text for part in walk(value, 200) if part.op in ("attr", "function"))


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
    return interpreter.reads(method, cls, name, constants_of(method, name, bound, interpreter))


def constants_of(method: FunctionDef, name: str, bound: Bound, interpreter: Interpreter) -> dict[str, Value]:
    """The parameters, but the one of this name, that a call gives a literal or leaves to a default that is one."""
    settings: dict[str, Value] = {}
    for parameter in method.facts.parameters:
        if parameter.name == name:
            continue
        if parameter.name in bound.values:
            value = bound.values[parameter.name]
            if value.op == "const":
                settings[parameter.name] = value
        else:
            default = default_value(parameter, interpreter)
            if default is not None:
                settings[parameter.name] = default
    return settings
