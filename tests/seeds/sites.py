"""Where blocks are called: the eager and the checkpointed calls of one block, found by how they are written."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tests.seeds.text import Function, Text, defaults, names_bound, parameters

CHECKPOINT = re.compile(r"(?:.*\.)?(?:(?:\w+_)?(?:torch|offloaded|simpletuner)_)?(?:checkpoint|_?checkpoint_fn)")
HOOK = re.compile(r"(?:.*\.)?_gradient_checkpointing_func")
SEGMENTS = re.compile(r"(?:.*\.)?checkpoint_sequential_state")
OWN = {"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug"}
"""Keywords that are for the checkpoint itself."""
SELECTORS = {"checkpoint_ffn", "checkpoint_fn"}
"""Keywords by which a block is told to checkpoint only a part of itself."""


class Route(StrEnum):
    """How a call runs the block."""

    EAGER = "eager"
    CHECKPOINTED = "checkpointed"
    SEGMENTED = "segmented"
    SCOPED = "scoped"


@dataclass(frozen=True)
class BlockCall:
    """One call whose arguments reach a block."""

    call: ast.Call
    skip: int
    """How many positional arguments aren't the block's."""
    route: Route
    run: ast.Call
    """The call that runs it all: the same one, or the checkpoint's."""
    wrapper: Function | None = None
    """The function that the checkpoint is handed, where the call stands in it or in what a factory makes."""
    also: ast.Call | None = None
    """The call inside a wrapper that hands these arguments on, or outside it those that it hands on."""

    @property
    def positional(self) -> list[ast.expr]:
        """The block's positional arguments; none behind a sequence of unknown length."""
        arguments = self.call.args[self.skip :]
        starred = [isinstance(argument, ast.Starred) for argument in arguments]
        return arguments[: starred.index(True)] if True in starred else arguments

    @property
    def is_starred(self) -> bool:
        return any(isinstance(argument, ast.Starred) for argument in self.call.args)

    @property
    def keywords(self) -> list[ast.keyword]:
        """The block's keywords."""
        return [k for k in self.call.keywords if k.arg is not None and k.arg not in OWN | SELECTORS]

    @property
    def due(self) -> tuple[ast.Call, ...]:
        """Where a finding about the call may stand."""
        return (self.call, self.run) if self.also is None else (self.call, self.run, self.also)


@dataclass
class Block:
    """A block, and all its calls in one loop or function."""

    scope: ast.AST
    name: str
    calls: list[BlockCall] = field(default_factory=list)

    def on(self, *routes: Route) -> list[BlockCall]:
        return [call for call in self.calls if call.route in routes]


def is_checkpoint(call: ast.Call) -> bool:
    """Whether a call hands something to a checkpoint."""
    name = ast.unparse(call.func)
    return bool(call.args) and bool(CHECKPOINT.fullmatch(name) or HOOK.fullmatch(name))


@functools.cache
def checkpoint_calls(text: Text) -> tuple[ast.Call, ...]:
    """Calls that hand something to a checkpoint."""
    return tuple(call for call in text.calls if is_checkpoint(call) and text.functions(call))


@functools.cache
def blocks(text: Text) -> list[Block]:
    """Blocks that one loop, or one function, calls both eagerly and with a checkpoint."""
    found: dict[tuple[ast.AST, str], Block] = {}
    inner: set[ast.Call] = set()
    for call in text.calls:
        function = text.top_function(call)
        if function is None:
            continue
        for name, made in [*handed(text, call), *segments(text, call)]:
            scope = function if made.route is Route.SEGMENTED else scope_of(text, call, name)
            found.setdefault((scope, name), Block(scope, name)).calls.append(made)
            inner |= {made.call, made.run}
    for call in text.calls:
        name = callee(call.func)
        if call in inner or text.top_function(call) is None:
            continue
        block = found.get((scope_of(text, call, name), name))
        if block is not None:
            selected = SELECTORS & {keyword.arg for keyword in call.keywords}
            block.calls.append(BlockCall(call, 0, Route.SCOPED if selected else Route.EAGER, call))
    return [block for block in found.values() if len({call.route for call in block.calls}) > 1 or _segmented(block)]


def _segmented(block: Block) -> bool:
    return bool(block.on(Route.SEGMENTED))


def callee(func: ast.expr) -> str:
    """What a call runs; `x.__call__` is `x`."""
    return ast.unparse(func).removesuffix(".__call__")


def scope_of(text: Text, node: ast.AST, name: str) -> ast.AST:
    """The loop or the function that binds a name, else the outermost function."""
    root = re.split(r"[.\[(]", name)[0]
    outer: ast.AST = node
    for outer in text.enclosing(node):
        if isinstance(outer, ast.For) and root in names_bound(outer.target):
            return _with_twin(text, outer)
        if isinstance(outer, ast.FunctionDef) and root != "self" and root in {p.arg for p in parameters(outer)}:
            return outer
    return text.top_function(node) or outer


def _with_twin(text: Text, loop: ast.For) -> ast.AST:
    """The branching whose other branch loops over the same, where there is one, else the loop."""
    for outer in text.enclosing(loop):
        if isinstance(outer, ast.If) and all(
            any(_are_twins(node, loop) for statement in branch for node in ast.walk(statement))
            for branch in (outer.body, outer.orelse)
        ):
            return outer
        if isinstance(outer, ast.FunctionDef):
            break
    return loop


def _are_twins(node: ast.AST, loop: ast.For) -> bool:
    return (
        isinstance(node, ast.For)
        and ast.unparse(node.iter) == ast.unparse(loop.iter)
        and ast.unparse(node.target) == ast.unparse(loop.target)
    )


def handed(text: Text, call: ast.Call) -> Iterator[tuple[str, BlockCall]]:
    """The block that a checkpoint call runs, with the calls whose arguments reach it."""
    if not is_checkpoint(call):
        return
    target = call.args[0]
    function: Function | None = function_named(text, call, target.id) if isinstance(target, ast.Name) else None
    if isinstance(target, ast.Lambda):
        function = target
    if function is not None:
        early = {parameter.arg: ast.unparse(default) for parameter, default in defaults(function.args)}
        for made in _calls_in(function):
            root = _root(made.func)
            if root is not None and root in early:
                name = callee(made.func).replace(root, early[root], 1)
                yield name, BlockCall(made, 0, Route.CHECKPOINTED, call, function)
            elif root is not None and root not in {p.arg for p in parameters(function)}:
                yield callee(made.func), BlockCall(made, 0, Route.CHECKPOINTED, call, function)
    elif isinstance(target, ast.Call) and target.args and isinstance(target.func, ast.Name):
        factory = function_named(text, call, target.func.id)
        wrapper = _made_by(factory) if factory is not None else None
        if factory is None or wrapper is None:
            return
        name = callee(target.args[0])
        first = parameters(factory)[0].arg
        for made in _calls_in(wrapper):
            if isinstance(made.func, ast.Name) and made.func.id == first:
                yield name, BlockCall(made, 0, Route.CHECKPOINTED, call, wrapper, call)
                yield name, BlockCall(call, 1, Route.CHECKPOINTED, call, wrapper, made)
                return
    elif isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        yield callee(target), BlockCall(call, 1, Route.CHECKPOINTED, call)


def segments(text: Text, call: ast.Call) -> Iterator[tuple[str, BlockCall]]:
    """The block that a runner of segments runs."""
    if not SEGMENTS.fullmatch(ast.unparse(call.func)) or len(call.args) < 4:
        return
    target = call.args[3]
    runner = function_named(text, call, target.id) if isinstance(target, ast.Name) else None
    if runner is None or len(runner.args.args) < 2:
        return
    block = runner.args.args[1].arg
    for made in _calls_in(runner):
        if isinstance(made.func, ast.Name) and made.func.id == block:
            selected = SELECTORS & {keyword.arg for keyword in made.keywords}
            if not selected:
                yield ast.unparse(call.args[0]), BlockCall(made, 0, Route.SEGMENTED, call, runner)


def function_named(text: Text, call: ast.Call, name: str) -> ast.FunctionDef | None:
    """The nested function that a name stands for at a call: the last one before it."""
    top = text.top_function(call)
    if top is None:
        return None
    found = [
        node
        for node in ast.walk(top)
        if isinstance(node, ast.FunctionDef) and node is not top and node.name == name and node.lineno < call.lineno
    ]
    around = text.functions(call)
    return max((f for f in found if f not in around), key=lambda node: node.lineno, default=None)


def _made_by(factory: ast.FunctionDef) -> Function | None:
    """What a factory returns."""
    inner = {node.name: node for node in factory.body if isinstance(node, ast.FunctionDef)}
    for node in factory.body:
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
            return inner.get(node.value.id)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Lambda):
            return node.value
    return None


def _calls_in(function: Function) -> list[ast.Call]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Call)]


def _root(func: ast.expr) -> str | None:
    """The name that a callee starts with, unless it is the model itself."""
    while isinstance(func, ast.Attribute):
        func = func.value
    return func.id if isinstance(func, ast.Name) and func.id != "self" else None
