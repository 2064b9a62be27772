"""Other spellings of real models have the same call paths.

Each change below keeps what a program does: negated tests with swapped branches, other names for locals, keywords in
another order, `enumerate` around an iterable. The paths of the changed file are those of the file.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from conformance.callpaths.model import CallPath
from conformance.callpaths.values import Value
from conformance.check import call_paths
from conformance.sources.overlay import DiskOverlay, EditedOverlay

MODELS = [
    "flux/transformer",
    "chroma/transformer",
    ("sd3/transformer"),
    "auraflow/transformer",
    "hidream/transformer",
    "ltxvideo/transformer",
    "wan/transformer",
    "qwen_image/transformer",
    "sana/transformer",
    "pixart/transformer",
]

Row = tuple[str, ...]


class Negated(ast.NodeTransformer):
    """`if a: b else: c` becomes `if not a: c else: b`; so do conditional expressions."""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if not node.orelse:
            return node
        return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)


class Flipped(ast.NodeTransformer):
    """`a is not None` becomes `not a is None`, `a > b` becomes `b < a`."""

    NEGATED: ClassVar = {ast.IsNot: ast.Is, ast.NotEq: ast.Eq, ast.NotIn: ast.In}
    SWAPPED: ClassVar = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        (op,), (right,) = node.ops, node.comparators
        if negated := self.NEGATED.get(type(op)):
            return ast.UnaryOp(ast.Not(), ast.Compare(node.left, [negated()], [right]))
        if swapped := self.SWAPPED.get(type(op)):
            return ast.Compare(right, [swapped()], [node.left])
        return node


class Reordered(ast.NodeTransformer):
    """The keywords of every call in reverse."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if all(keyword.arg for keyword in node.keywords):
            node.keywords.reverse()
        return node


class Counted(ast.NodeTransformer):
    """`for x in xs` becomes `for _n, x in enumerate(xs)`."""

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.target = ast.Tuple([ast.Name("_n", ast.Store()), node.target], ast.Store())
        node.iter = ast.Call(ast.Name("enumerate", ast.Load()), [node.iter], [])
        return node


class Wrapped(ast.NodeTransformer):
    """The body of every function in `if True:`, after the documentation."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        start = 1 if ast.get_docstring(node) is not None else 0
        if node.body[start:]:
            node.body[start:] = [ast.If(ast.Constant(True), node.body[start:], [])]
        return node


class Guarded(ast.NodeTransformer):
    """An `if` that ends in `return`, `continue` or `break` gets what follows it as its `else`."""

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        for index, node in enumerate(body[:-1]):
            if not isinstance(node, ast.If) or node.orelse:
                continue
            if isinstance(node.body[-1], ast.Return | ast.Continue | ast.Break):
                node.orelse = self._block(body[index + 1 :])
                return body[: index + 1]
        return body

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and not isinstance(node, ast.Module | ast.ClassDef):
                setattr(node, name, self._block(body))
        return node


class Renamed(ast.NodeTransformer):
    """Every name that a function only binds by plain assignment or as the target of a loop gets another one.

    Other letters, one for one, so that a text that is cut at a length is cut at the same place.
    """

    THERE = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщ")
    BACK: ClassVar = {new: old for old, new in THERE.items()}

    def __init__(self) -> None:
        self._names: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self._names:  # a nested function shares the names of the outer one
            self.generic_visit(node)
            return node
        self._names = _plain_locals(node)
        self.generic_visit(node)
        self._names = set()
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(node.id.translate(self.THERE), node.ctx) if node.id in self._names else node


def _plain_locals(function: ast.FunctionDef) -> set[str]:
    """Names that are nothing but plain variables anywhere in the function."""
    bound: set[str] = set()
    other: set[str] = {function.name}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            other.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            other.add(node.name)
        elif isinstance(node, ast.alias):
            other.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Global | ast.Nonlocal):
            other.update(node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            other.add(node.name)
    return bound - other


class Splatted(ast.NodeTransformer):
    """`f(a, b=c)` becomes `f(*(a,), **{"b": c})`, but for methods of lists and dicts, which nobody calls so."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and hasattr({}, node.func.attr) | hasattr([], node.func.attr):
            return node
        plain = not any(isinstance(a, ast.Starred | ast.GeneratorExp) for a in node.args)
        if node.args and plain:
            node.args = [ast.Starred(ast.Tuple(node.args, ast.Load()), ast.Load())]
        if node.keywords and all(keyword.arg for keyword in node.keywords):
            keys: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in node.keywords]
            node.keywords = [ast.keyword(None, ast.Dict(keys, [keyword.value for keyword in node.keywords]))]
        return node


class Hoisted(ast.NodeTransformer):
    """The arguments of a call that is a whole statement, or all of its value, get names before it."""

    def __init__(self) -> None:
        self._count = 0

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        call = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.Expr | ast.Return) or not isinstance(call, ast.Call):
            return [node]
        if isinstance(call.func, ast.Name) and call.func.id == "super":
            return [node]
        before: list[ast.stmt] = []
        for index, argument in enumerate(call.args):
            if not isinstance(argument, ast.Starred):
                call.args[index] = self._named(argument, before)
        for keyword in call.keywords:
            if keyword.arg:
                keyword.value = self._named(keyword.value, before)
        return [*before, node]

    def _named(self, value: ast.expr, before: list[ast.stmt]) -> ast.expr:
        if isinstance(value, ast.Constant):
            return value
        self._count += 1
        name = f"_argument_{self._count}"
        before.append(ast.Assign([ast.Name(name, ast.Store())], value))
        return ast.Name(name, ast.Load())

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and not isinstance(node, ast.Module | ast.ClassDef):
                setattr(node, name, [statement for old in body for statement in self._statement(old)])
        return node


class Unchanged(ast.NodeTransformer):
    """Nothing but the layout."""


CHANGES = [Unchanged, Negated, Flipped, Reordered, Counted, Wrapped, Guarded, Renamed, Splatted, Hoisted]


def row(class_name: str | None, path: CallPath) -> Row:
    """What a path says, lines left out."""

    def plain(value: Value) -> str:
        return value.text.translate(Renamed.BACK)

    return (
        f"{class_name}: {path.route} {path.block.text.translate(Renamed.BACK)}.{path.block.method}",
        "|".join(sorted(ref.name for ref in path.block.classes)),
        *(["?"] if path.binding is None else sorted(f"{name}={plain(value)}" for name, value in path.binding.items())),
        *sorted(f"{'if' if condition.holds else 'unless'} {plain(condition.value)}" for condition in path.conditions),
        f"{'' if path.result in ('name', 'other') else path.result} {path.dead} {path.unknown}".translate(Renamed.BACK),
    )


@functools.cache
def rows(path: Path, text: str | None = None) -> Counter[Row]:
    """The paths of a file, with another text if one is given."""
    base = DiskOverlay()
    overlay = base if text is None else EditedOverlay(base, {str(path): text.encode()})
    result = call_paths(str(path), cwd=str(path.parent), overlay=overlay)
    assert not result.problems
    return Counter(row(entry.class_name, found) for entry in result.entries for found in entry.paths)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_paths_are_the_same(name: str, change: Callable[[], ast.NodeTransformer], simpletuner: Path) -> None:
    path = simpletuner / "simpletuner" / "helpers" / "models" / f"{name}.py"
    before = rows(path)
    assert before
    tree = ast.fix_missing_locations(change().visit(ast.parse(path.read_text(encoding="utf-8"))))
    after = rows(path, ast.unparse(tree))
    assert after == before


def test_changes_change_something() -> None:
    source = """
def f(self, x, y):
    if x is not None:
        z = g(a=x, b=y)
    else:
        z = y
    for item in z:
        if x > y:
            continue
        z = item
    return z
"""
    plain = ast.unparse(ast.parse(source))
    for change in CHANGES[1:]:
        changed = ast.unparse(ast.fix_missing_locations(change().visit(ast.parse(source))))
        assert changed != plain, change
        assert re.search(r"def f\(self, x, y\)", changed)
