"""Edits of what decides whether a block is checkpointed, how, and by what."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.seeds.sites import SEGMENTS, SELECTORS, checkpoint_calls, is_checkpoint
from tests.seeds.text import Edit, Node, Replacement, Text

GATE = "should_checkpoint_block"
FLAG = "self.gradient_checkpointing"


def gate_calls(text: Text) -> Iterator[ast.Call]:
    """Calls of the gate helper."""
    return (call for call in text.calls if ast.unparse(call.func) == GATE and len(call.args) > 1)


def literal_gate(text: Text) -> Iterator[Edit]:
    """Puts `True` in place of the flag that the gate helper gets."""
    for call in gate_calls(text):
        flag = call.args[1]
        if FLAG in ast.unparse(flag):
            yield Edit(text, (text.replaced(flag, "True"),), call, "flag", (call,))


def wrong_flag(text: Text) -> Iterator[Edit]:
    """Tests an attribute that nothing sets."""
    seen: set[ast.AST] = set()
    for call in [*checkpoint_calls(text), *gate_calls(text)]:
        function = text.top_function(call)
        for node in ast.walk(function or call):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == FLAG and node not in seen:
                seen.add(node)
                if isinstance(node.ctx, ast.Load):
                    new = "self.use_gradient_checkpoint"
                    yield Edit(text, (text.replaced(node, new),), node, "flag", opened_by(text, node))


def opened_by(text: Text, node: ast.expr) -> tuple[Node, ...]:
    """Where a finding about a condition may stand: there, and at the checkpoints of the same function."""
    return (_head(text.statement(node)), *_checkpoints_near(text, node))


def _head(statement: ast.stmt) -> ast.stmt | ast.expr:
    """The condition of a branching or a loop; any other statement whole."""
    return statement.test if isinstance(statement, ast.If | ast.While) else statement


def interval_ignored(text: Text) -> Iterator[Edit]:
    """Takes the stride, or the interval, from one gate."""
    for call in gate_calls(text):
        if len(call.args) > 3:
            yield Edit(text, (text.removed(call.args[3]),), call, "stride", opened_by(text, call))
        if len(call.args) > 2:
            end = text.end(call.args[-1])
            start = text.end(call.args[1])
            yield Edit(text, (Replacement(start, end, ""),), call, "interval", opened_by(text, call))
    for call in text.calls:
        if SEGMENTS.fullmatch(ast.unparse(call.func)):
            for keyword in call.keywords:
                if keyword.arg == "segment_stride":
                    yield Edit(text, (text.removed(keyword),), call, "stride", (call,))
    for node in text.nodes:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for number, part in enumerate(node.values):
                written = ast.unparse(part)
                if "%" in written and "checkpointing_interval" in written:
                    yield Edit(text, (_without_operand(text, node, number),), node, "modulo", opened_by(text, node))


def _without_operand(text: Text, node: ast.BoolOp, number: int) -> Replacement:
    """The removal of one operand with its operator."""
    values = node.values
    if number:
        # Parentheses of an operand are no part of its node.
        return Replacement(text.end(values[number - 1]), _closing(text, values[number]), "")
    return Replacement(text.start(values[0]), text.start(values[1]), "")


def _closing(text: Text, value: ast.expr) -> int:
    """The end of an operand with the parentheses that open right before it."""
    start, end = text.start(value), text.end(value)
    before = text.text[:start].rstrip()
    while before.endswith("("):
        rest = text.text[end:]
        blank = len(rest) - len(rest.lstrip())
        if not rest[blank:].startswith(")") or before[:-1].rstrip().endswith(("(", "=", "if", "while")):
            break
        end += blank + 1
        before = before[:-1].rstrip()
    return end


def hand_rolled(text: Text) -> Iterator[Edit]:
    """Writes the modulo of the interval out in place of the gate helper, and so forgets the stride."""
    for call in gate_calls(text):
        if len(call.args) > 2:
            index, flag, interval = (text.source(argument) for argument in call.args[:3])
            new = f"({flag} and ({interval} is None or {index} % {interval} == 0))"
            yield Edit(text, (text.replaced(call, new),), call, "modulo", opened_by(text, call))


def no_scope_guard(text: Text) -> Iterator[Edit]:
    """Doesn't ask whether only the feed-forward is to be checkpointed."""
    for node in text.nodes:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            if isinstance(text.parents[node], ast.keyword):
                continue  # what a block swap is told
            for number, part in enumerate(node.values):
                if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) and _is_scope(part.operand):
                    due = _checkpoints_near(text, node)
                    yield Edit(
                        text, (_without_operand(text, node, number),), node, "guard", (text.statement(node), *due)
                    )
        elif (
            isinstance(node, ast.If)
            and node.orelse
            and (_is_scope(node.test) or ast.unparse(node.test) == "checkpoint_ffn")
        ):
            due = [call for statement in node.orelse for call in _calls(statement) if is_checkpoint(call)]
            if due:
                yield Edit(text, (text.unwrapped(node, node.orelse),), node, "branch", (node, *due))


def _is_scope(node: ast.expr) -> bool:
    return ast.unparse(node).endswith("backend.endswith('-ffn')")


def _calls(node: ast.AST) -> list[ast.Call]:
    return [call for call in ast.walk(node) if isinstance(call, ast.Call)]


def _checkpoints_near(text: Text, node: ast.AST) -> list[ast.Call]:
    """The calls of the same class that checkpoint something, or tell a block to."""
    owner = next((outer for outer in text.enclosing(node) if isinstance(outer, ast.ClassDef)), None)
    return [
        call
        for call in _calls(owner or text.top_function(node) or node)
        if is_checkpoint(call)
        or SEGMENTS.fullmatch(ast.unparse(call.func))
        or SELECTORS & {keyword.arg for keyword in call.keywords}
    ]


def backend_ignored(text: Text) -> Iterator[Edit]:
    """Uses one callable, whatever the stored backend."""
    for node in text.nodes:
        if isinstance(node, ast.If) and len(node.orelse) > 0 and "backend" in ast.unparse(node.test):
            bound = {ast.unparse(s.targets[0]) for s in node.body if isinstance(s, ast.Assign)}
            other = {ast.unparse(s.targets[0]) for s in node.orelse if isinstance(s, ast.Assign)}
            if bound & other and "checkpoint" in " ".join(bound & other) and text.functions(node):
                due = _checkpoints_near(text, node)
                yield Edit(text, (text.unwrapped(node, node.orelse),), node, "branch", (node, *due))


def flag_changed(text: Text) -> Iterator[Edit]:
    """Turns the flag off on the way."""
    seen: set[ast.AST] = set()
    for call in checkpoint_calls(text):
        function = text.top_function(call)
        loops = [outer for outer in text.enclosing(call) if isinstance(outer, ast.For)]
        if function is None or function in seen or not loops or FLAG not in text.source(function):
            continue
        seen.add(function)
        loop = loops[-1]
        part = text.inserted(loop, "if not self.training:", f"    {FLAG} = False")
        yield Edit(text, (part,), loop, "off", (loop,))
