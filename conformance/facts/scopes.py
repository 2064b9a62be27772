"""What the syntax around one call, and the bindings of one file, leave open. Asked for a few calls only.

Facts keep the last binding of a name and no syntax. Before a call is said to be wrong, the file is parsed again, and
everything that could make the name stand for something else, or the failure be intended, is looked for.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.facts.ir import Span
from conformance.facts.lower import FunctionNode, import_bindings

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_ALL = frozenset({"Exception", "BaseException"})
_OTHERS = frozenset(
    {
        *("ArithmeticError", "AssertionError", "EOFError", "FileNotFoundError", "IOError", "ImportError", "IndexError"),
        *("KeyError", "KeyboardInterrupt", "LookupError", "MemoryError", "ModuleNotFoundError", "NameError"),
        *("NotImplementedError", "OSError", "OverflowError", "PermissionError", "RecursionError", "RuntimeError"),
        *("StopIteration", "SyntaxError", "TimeoutError", "UnicodeDecodeError", "UnicodeError", "ValueError"),
        "ZeroDivisionError",
    }
)
"""Errors that a call which can't bind doesn't raise. A handler of an error of another name is taken to mean it."""
_EXPECTS = re.compile(r"raises|suppress|warns|expect|xfail|skip", re.IGNORECASE)
"""Names of what takes a failure for granted: contexts, functions that are handed a lambda, decorators of tests."""
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(slots=True)
class ModuleScopes:
    """How often each name of a file is bound."""

    names: Counter[str] = field(default_factory=Counter)
    """At module level; a fallback to None in an `except` doesn't count."""
    members: Counter[tuple[str, str]] = field(default_factory=Counter)
    """In a class body, by the class's qualified name; overloads don't count."""
    rebound: set[str] = field(default_factory=set)
    """Names that a function declares global."""
    is_dynamic: bool = False
    """Whether names are bound by text: `globals()[name] = ...`, `exec`."""


def module_scopes(tree: ast.Module) -> ModuleScopes:
    """The bindings of one file."""
    result = ModuleScopes()
    _bindings_at(tree.body, "", result)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            result.rebound.update(node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("globals", "exec"):
            result.is_dynamic = True
    return result


def _bindings_at(body: list[ast.stmt], owner: str, result: ModuleScopes) -> None:
    for name, fallback in _bound_by(body, False):
        if fallback:
            continue
        if owner:
            result.members[owner, name] += 1
        else:
            result.names[name] += 1
    for cls in _classes(body):
        _bindings_at(cls.body, f"{owner}.{cls.name}" if owner else cls.name, result)


def _classes(body: list[ast.stmt]) -> Iterator[ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node
        elif not isinstance(node, FunctionNode):
            for part in _blocks(node):
                yield from _classes(part)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The statement lists of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        part = getattr(node, name, None)
        if isinstance(part, list):
            yield part
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield inner.body


def _bound_by(body: list[ast.stmt], handler: bool) -> Iterator[tuple[str, bool]]:
    """Names bound in one scope, and whether each is only a fallback to None."""
    for node in body:
        if isinstance(node, FunctionNode):
            decorators = {_last_name(d) for d in node.decorator_list}
            if not decorators & {"overload", "setter", "deleter", "getter", "register"}:
                yield node.name, False
            continue
        if isinstance(node, ast.ClassDef):
            yield node.name, False
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, _ in import_bindings(node):
                yield name, False
            continue
        none = (
            handler and isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and not node.value.value
        )
        for part in _own_expressions(node):
            for inner in ast.walk(part):
                if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
                    yield inner.id, none
                elif isinstance(inner, ast.MatchAs | ast.MatchStar) and inner.name:
                    yield inner.name, False
                elif isinstance(inner, ast.MatchMapping) and inner.rest:
                    yield inner.rest, False
        for name in ("body", "orelse", "finalbody"):
            yield from _bound_by(getattr(node, name, None) or [], handler)
        for inner_block in getattr(node, "cases", ()):
            yield from _bound_by(inner_block.body, handler)
        for inner_block in getattr(node, "handlers", ()):
            if inner_block.name:
                yield inner_block.name, False
            yield from _bound_by(inner_block.body, True)


def _own_expressions(node: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that are no statements."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.match_case):
            yield child.pattern
        elif not isinstance(child, ast.stmt | ast.ExceptHandler):
            yield child


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around one call."""

    conditions: tuple[str, ...]
    """Enclosing tests as text, negated where the call stands on the other side."""
    is_expected: bool
    """Whether a handler that names the error, or a context that expects errors, may take the failure."""
    is_swallowed: bool
    """Whether a handler of all errors takes it."""
    is_unreachable: bool
    bound: Counter[str]
    """How often each name is bound in the outermost function that holds the call, all its scopes taken together."""
    source: str
    """The text of that function."""


def surroundings(tree: ast.Module, text_lines: list[str], span: Span) -> Surroundings | None:
    """What stands around the call at a span; None where there is no call."""
    path = _path_to(tree, span)
    if path is None:
        return None
    conditions: list[str] = []
    expected = swallowed = unreachable = False
    outermost: ast.AST | None = None
    for node, child in itertools.pairwise(path):
        if isinstance(node, FunctionNode):
            outermost = outermost or node
            if child in node.decorator_list or child is node.args or child is node.returns:
                outermost = None
        if isinstance(node, ast.Call) and child is not node.func:
            expected = expected or _EXPECTS.search(_last_name(node.func) or "") is not None
        elif isinstance(node, FunctionNode | ast.ClassDef):
            decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
            expected = expected or _EXPECTS.search(decorators) is not None
        if isinstance(node, _SCOPES):
            conditions = []  # a function may run when the tests around it no longer hold
        test = getattr(node, "test", None)
        if isinstance(node, ast.If | ast.IfExp | ast.While) and child is not test:
            holds = child is node.body if isinstance(node, ast.IfExp) else child in node.body
            if isinstance(test, ast.Constant) and bool(test.value) is not holds:
                unreachable = True
            if not isinstance(node, ast.While):
                conditions.append(_test(node.test, holds))
        elif isinstance(node, ast.BoolOp):
            holds = isinstance(node.op, ast.And)
            conditions += [_test(value, holds) for value in _before(child, node.values)]
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            if child in node.body:  # type: ignore[attr-defined]
                kinds = {kind for handler in node.handlers for kind in _caught(handler)}  # type: ignore[attr-defined]
                expected = expected or not kinds <= _OTHERS | _ALL
                swallowed = swallowed or bool(kinds & _ALL)
        elif isinstance(node, ast.With | ast.AsyncWith) and child in node.body:
            expected = expected or any(_EXPECTS.search(ast.unparse(item.context_expr)) for item in node.items)
        for block in _blocks(node):
            if child in block:
                unreachable = unreachable or any(isinstance(other, _LEAVES) for other in _before(child, block))
    if outermost is None:
        return None
    return Surroundings(
        tuple(conditions),
        expected,
        swallowed,
        unreachable,
        _all_bound(outermost),
        "".join(text_lines[outermost.lineno - 1 : outermost.end_lineno]),  # type: ignore[attr-defined]
    )


_Node = TypeVar("_Node", bound=ast.AST)


def _before(child: ast.AST, nodes: list[_Node]) -> list[_Node]:
    return list(itertools.takewhile(lambda node: node is not child, nodes))


def _path_to(tree: ast.Module, span: Span) -> list[ast.AST] | None:
    """The nodes from the module to the call at a span."""
    path: list[ast.AST] = [tree]
    start, end = (span.line, span.column), (span.end_line, span.end_column)
    while True:
        node = path[-1]
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == span:
            return path
        for child in _positioned(node):
            first, last = _extent(child)
            if first <= start and end <= last:
                path.append(child)
                break
        else:
            return None


def _positioned(node: ast.AST) -> Iterator[Any]:
    """Child nodes that have a place; those without one are looked through."""
    for child in ast.iter_child_nodes(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _positioned(child)


def _extent(node: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    first = (node.lineno, node.col_offset)
    for decorator in getattr(node, "decorator_list", ()):
        first = min(first, (decorator.lineno, decorator.col_offset))
    return first, (node.end_lineno, node.end_col_offset)


def _test(node: ast.expr, holds: bool) -> str:
    text = ast.unparse(node)
    return text if holds else f"not ({text})"


def _caught(handler: ast.ExceptHandler) -> set[str]:
    """The names of what a handler catches; `Exception` where it names nothing."""
    if handler.type is None:
        return {"Exception"}
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {_last_name(kind) or "" for kind in kinds}


def _all_bound(function: ast.AST) -> Counter[str]:
    result: Counter[str] = Counter()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                result[node.id] += 1
        elif isinstance(node, ast.arg):
            result[node.arg] += 1
        elif isinstance(node, FunctionNode | ast.ClassDef):
            if node is not function:
                result[node.name] += 1
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for name, _ in import_bindings(node):
                result[name] += 1
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            result[node.name] += 1
        elif isinstance(node, ast.MatchMapping) and node.rest:
            result[node.rest] += 1
        elif isinstance(node, ast.Global | ast.Nonlocal):
            result.update(node.names)
    return result


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
