"""Edits of the calls of one block: what one path passes, takes back, runs, and does besides."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.seeds.sites import Block, BlockCall, Route, blocks
from tests.seeds.text import Edit, Node, Replacement, Text, names_bound

CONTROL = "offload_attention"
"""The keyword by which a block hears of attention offload."""
RECOMPUTED = (Route.CHECKPOINTED, Route.SEGMENTED)
UNCHECKPOINTED = (Route.EAGER,)
SCOPED = (Route.SCOPED,)


def edit(text: Text, call: BlockCall, node: Node, what: str, parts: Sequence[Replacement]) -> Edit:
    """An edit of a call of a block."""
    return Edit(text, tuple(parts), node, what, call.due)


def passed(call: BlockCall) -> list[tuple[str, ast.expr]]:
    """The values that a call passes, each with the name of its parameter or its number."""
    numbered = [(str(number), value) for number, value in enumerate(call.positional)]
    named = [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg not in (None, CONTROL)]
    return [*numbered, *((name, value) for name, value in named if name is not None)]


def calls(text: Text, routes: tuple[Route, ...]) -> Iterator[tuple[Block, BlockCall]]:
    """All calls on some routes."""
    for block in blocks(text):
        for call in block.on(*routes):
            yield block, call


def dropped(text: Text, *routes: Route) -> Iterator[Edit]:
    """Takes an argument away: any keyword, and the last positional one of a call that hands them on as they are."""
    for _, call in calls(text, routes):
        for keyword in call.keywords:
            if keyword.arg != CONTROL:
                yield edit(text, call, keyword.value, f"{keyword.arg}", [text.removed(keyword)])
        if call.positional and not call.is_starred:
            last = call.positional[-1]
            yield edit(text, call, last, f"{len(call.positional) - 1}", [text.removed(last)])


def swapped(text: Text, *routes: Route) -> Iterator[Edit]:
    """Swaps two arguments that stand side by side."""
    for _, call in calls(text, routes):
        for values in (call.positional, [k.value for k in call.keywords if k.arg != CONTROL]):
            for one, other in pairwise(values):
                if not _are_equal(one, other) and not _are_constant(one, other):
                    what = f"{text.source(one)} {text.source(other)}"
                    yield edit(text, call, one, what, text.swapped(one, other))


def renamed(text: Text, *routes: Route) -> Iterator[Edit]:
    """Gives a keyword a name of former days."""
    for _, call in calls(text, routes):
        for keyword in call.keywords:
            name = keyword.arg
            if name is not None and name != CONTROL:
                new = name.split("_", 1)[1] if "_" in name[1:] and not name.startswith("_") else f"{name}s"
                if new not in {other.arg for other in call.keywords}:
                    start = text.start(keyword)
                    part = Replacement(start, start + len(name), new)
                    yield edit(text, call, keyword, f"{name} {new}", [part])


def nothing(text: Text, *routes: Route) -> Iterator[Edit]:
    """Puts `None` in place of an argument."""
    for _, call in calls(text, routes):
        for name, value in passed(call):
            if not isinstance(value, ast.Constant):
                yield edit(text, call, value, name, [text.replaced(value, "None")])


def repeated(text: Text, *routes: Route) -> Iterator[Edit]:
    """Puts the argument before it in place of an argument."""
    for _, call in calls(text, routes):
        for (_, before), (name, value) in pairwise(passed(call)):
            if not _are_equal(before, value) and not _are_constant(before):
                yield edit(text, call, value, name, [text.replaced(value, text.source(before))])


def _are_equal(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)


def _are_constant(*values: ast.expr) -> bool:
    return all(isinstance(value, ast.Constant) for value in values)


def unpacked_wrongly(text: Text, *routes: Route) -> Iterator[Edit]:
    """Takes the result apart, or leaves it whole, where the other path does the reverse."""
    for _, call in calls(text, routes):
        if call.also is not None and call.call is not call.run:
            continue  # the two calls of a factory's wrapper run once
        parent = text.parents[call.run]
        if isinstance(parent, ast.Subscript):
            part = Replacement(text.end(call.run), text.end(parent), "")
            yield Edit(text, (part,), call.run, "no index", (text.statement(call.run), call.run))
        elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
            target = parent.targets[0]
            if isinstance(target, ast.Name):
                new = f"{target.id}, _"
            elif isinstance(target, ast.Tuple) and len(target.elts) > 1 and isinstance(target.elts[0], ast.Name):
                new = text.source(target.elts[0])
            else:
                continue
            yield Edit(text, (text.replaced(target, new),), call.run, new, (parent, call.run))


def other_callee(text: Text) -> Iterator[Edit]:
    """Hands the container over in place of its element."""
    for block, call in calls(text, (Route.CHECKPOINTED,)):
        loops = [outer for outer in text.enclosing(call.run) if isinstance(outer, ast.For)]
        loop = next((outer for outer in loops if block.name in names_bound(outer.target)), None)
        if loop is None or call.skip == 0:
            continue
        container = _container(loop.iter)
        target = call.run.args[0]
        while isinstance(target, ast.Attribute):
            target = target.value
        if isinstance(target, ast.Call):
            target = target.args[0]
        if container is not None and isinstance(target, ast.Name):
            yield edit(text, call, target, container, [text.replaced(target, container)])


def _container(iterated: ast.expr) -> str | None:
    """What a loop runs over, without `enumerate` and its like."""
    while isinstance(iterated, ast.Call) and len(iterated.args) == 1:
        iterated = iterated.args[0]
    return ast.unparse(iterated) if isinstance(iterated, ast.Attribute | ast.Name) else None


def branch_only(text: Text) -> Iterator[Edit]:
    """Puts a statement into one branch only: what follows both, or a change of the result."""
    for block, call in calls(text, (Route.CHECKPOINTED, Route.EAGER)):
        if call.also is not None and call.call is not call.run:
            continue
        statement = text.statement(call.run)
        branch = text.parents[statement]
        if not isinstance(branch, ast.If) or not isinstance(statement, ast.Assign):
            continue
        siblings = _body_of(text, branch)
        after = siblings[siblings.index(branch) + 1 :][:1]
        if after and isinstance(after[0], ast.Assign | ast.AugAssign) and _is_other_branch(text, block, call, branch):
            moved = text.source(after[0])
            parts = [
                text.appended(statement, *moved.split("\n")),
                Replacement(text.end(branch), text.end(after[0]), ""),
            ]
            yield Edit(text, tuple(parts), statement, "moved", (branch,))
        target = statement.targets[0]
        name = target.elts[0] if isinstance(target, ast.Tuple) else target
        if isinstance(name, ast.Name):
            part = text.appended(statement, f"{name.id} = {name.id} * 0.5")
            yield Edit(text, (part,), statement, "scaled", (branch,))


def _is_other_branch(text: Text, block: Block, call: BlockCall, branch: ast.If) -> bool:
    """Whether the other side of a branching runs the block too."""
    return any(
        other is not call and other.route is not call.route and branch in text.enclosing(other.run)
        for other in block.calls
    )


def _body_of(text: Text, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements in which one stands."""
    for name in ("body", "orelse", "finalbody"):
        found = getattr(text.parents[statement], name, None)
        if isinstance(found, list) and statement in found:
            return found
    return [statement]


def control_dropped(text: Text) -> Iterator[Edit]:
    """Doesn't hand the stored control on."""
    for call, keyword in control_calls(text):
        yield Edit(text, (text.removed(keyword),), call, CONTROL, (call,))


def control_calls(text: Text) -> Iterator[tuple[ast.Call, ast.keyword]]:
    """Calls that hand the stored control on, with the keyword that does it."""
    for call in text.calls:
        for keyword in call.keywords:
            if keyword.arg == CONTROL and ast.unparse(keyword.value) == f"self.gradient_checkpointing_{CONTROL}":
                yield call, keyword
