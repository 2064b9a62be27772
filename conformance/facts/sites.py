"""Calls of one function in short, so that a call can be held against a signature without its syntax.

Only calls whose callee is written as a dotted name are noted: what else is called can't be resolved by a link. One
quick walk over the body; types, contexts and operators are not entered.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Container, Iterator
from typing import Any, NamedTuple

from conformance.facts.ir import Imported, Span
from conformance.facts.lower import FunctionNode, import_bindings


class CallSite(NamedTuple):
    """One call, as it stands in the source."""

    callee: str
    """`name`, `module.name`, `self.method`, `self.part.method`, `super().method`, `Class().method`."""
    positionals: int
    """Positional arguments, those with a star left out."""
    starred: bool
    keywords: tuple[str, ...]
    splat: bool
    """Whether there is a `**mapping`."""
    span: Span


class FunctionSites(NamedTuple):
    """The calls of a function and of the functions inside it."""

    calls: tuple[CallSite, ...]
    imports: dict[str, Imported]
    """What the function imports by itself."""
    stores: tuple[tuple[str, str | None], ...]
    """What is assigned to attributes of the first parameter: the callee of a call, "" for `None`, None for all else."""


_FOREIGN = sys.stdlib_module_names | {"numpy", "torch"}
_SKIPPED = frozenset(
    {
        *("ctx", "op", "ops", "annotation", "returns", "type_comment", "type_params", "simple", "names", "pattern"),
        *("format_spec", "attr", "arg", "name", "id"),
    }
)
"""Fields that hold no expression with a call."""
_CHILDREN: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _SKIPPED)
    for kind in vars(ast).values()
    if (
        isinstance(kind, type)
        and issubclass(kind, ast.expr | ast.stmt | ast.comprehension | ast.keyword | ast.ExceptHandler | ast.withitem)
    )
    or kind in (ast.match_case, ast.arguments)
}
_LEAVES = frozenset(
    {ast.Name, ast.Constant, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue, type(None)}
)
"""Nodes that hold none, and classes inside functions, whose methods have a `self` of their own."""


def is_foreign(imported: Imported) -> bool:
    """Whether an import is of a package that is hardly a part of the tree: the standard library, numpy, torch."""
    return not imported.level and imported.module.partition(".")[0] in _FOREIGN


def function_sites(node: FunctionNode, known: Container[str]) -> FunctionSites:
    """The calls in a function's body whose callee begins with a known name, in no particular order.

    Known are besides: the first parameter, `super()`, and what the function imports.
    """
    found: list[tuple[str, ast.Call]] = []
    assigned: list[Any] = []
    imports: dict[str, Imported] = {}
    stack: list[Any] = list(node.body)
    pop, push, extend = stack.pop, stack.append, stack.extend
    children, leaves = _CHILDREN, _LEAVES
    while stack:
        current = pop()
        kind = type(current)
        while kind is ast.Attribute:
            current = current.value
            kind = type(current)
        if kind in leaves:
            continue
        if kind is ast.Call:
            head = current.func
            while type(head) is ast.Attribute:
                head = head.value
            if type(head) is ast.Name:
                found.append((head.id, current))
            else:
                if type(head) is ast.Call and type(head.func) is ast.Name:
                    found.append((head.func.id, current))
                push(head)
            for value in current.args:
                if type(value) not in leaves:
                    push(value)
            for value in current.keywords:
                value = value.value
                if type(value) not in leaves:
                    push(value)
            continue
        if kind is ast.Import or kind is ast.ImportFrom:
            imports.update(import_bindings(current))
            continue
        if kind is ast.Assign or kind is ast.AnnAssign or kind is ast.AugAssign:
            assigned.append(current)
        for name in children.get(kind, ()):
            value = getattr(current, name)
            if type(value) is list:
                extend(value)
            elif type(value) not in leaves:
                push(value)
    arguments = node.args
    first = next((a.arg for a in (*arguments.posonlyargs, *arguments.args)), "super")
    sites = [
        site
        for head, call in found
        if (head in known or head == first or head == "super" or head in imports) and (site := _site(call)) is not None
    ]
    return FunctionSites(tuple(sites), imports, tuple(_stores(assigned, first)))


def _stores(assigned: list[Any], first: str) -> Iterator[tuple[str, str | None]]:
    target: Any
    for node in assigned:
        for target in node.targets if type(node) is ast.Assign else (node.target,):
            plain = type(target) is ast.Attribute and type(target.value) is ast.Name
            if plain and target.value.id == first and node.value is not None:
                for value in _alternatives(node.value):
                    yield target.attr, None if type(node) is ast.AugAssign else _made_by(value)
            elif not plain and type(target) is not ast.Name:
                for name in _reached(target, first):
                    yield name, None


def _reached(target: ast.expr, first: str) -> Iterator[str]:
    """The attributes of the first parameter that a target which is no plain name changes, in part or as a whole."""
    if type(target) is ast.Tuple or type(target) is ast.List:
        for item in target.elts:
            yield from _reached(item, first)
    elif type(target) is ast.Starred or type(target) is ast.Subscript:
        yield from _reached(target.value, first)
    elif type(target) is ast.Attribute:
        if type(target.value) is ast.Name:
            if target.value.id == first:
                yield target.attr
        else:
            yield from _reached(target.value, first)


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    if type(node) is ast.IfExp:
        yield from _alternatives(node.body)
        yield from _alternatives(node.orelse)
    else:
        yield node


def _made_by(node: ast.expr) -> str | None:
    if type(node) is ast.Call:
        return _dotted(node.func)
    return "" if type(node) is ast.Constant and node.value is None else None


def _site(node: ast.Call) -> CallSite | None:
    callee = _dotted(node.func)
    if callee is None:
        return None
    arguments, keywords = node.args, node.keywords
    starred = sum([type(argument) is ast.Starred for argument in arguments])
    names = tuple([keyword.arg for keyword in keywords if keyword.arg is not None])
    return CallSite(
        callee,
        len(arguments) - starred,
        starred > 0,
        names,
        len(names) < len(keywords),
        Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
    )


def _dotted(node: ast.expr) -> str | None:
    """A callee as text where it is a dotted name, or a method of `super()` or of a new instance."""
    names: list[str] = []
    while type(node) is ast.Attribute:
        names.append(node.attr)
        node = node.value
    if type(node) is ast.Name:
        names.append(node.id)
    elif type(node) is ast.Call and type(node.func) is ast.Name and len(names) == 1:
        if node.func.id == "super" and (node.args or node.keywords):
            return None
        names.append(f"{node.func.id}()")
    else:
        return None
    if len(names) == 1:
        return names[0]
    names.reverse()
    return ".".join(names)
