"""A source with its tree and offsets, and edits of it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

Node: TypeAlias = ast.expr | ast.stmt | ast.keyword | ast.arg
"""What has a place."""
Function: TypeAlias = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Replacement:
    """What comes in place of a part of a text."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Edit:
    """One edit of one file: one defect."""

    text: Text
    replacements: tuple[Replacement, ...]
    node: Node
    """What is edited."""
    what: str
    """Tells the edits of one place apart."""
    due: tuple[Node, ...]
    """The finding has to stand at one of these calls, statements or functions."""
    codes: tuple[str, ...] = ()
    """What may be said, where that is less than what the kind allows."""

    @property
    def place(self) -> str:
        """File and line, and what is edited there."""
        return f"{self.text.name}:{self.node.lineno} {self.what}"

    @property
    def new(self) -> str:
        """The text with the defect."""
        return self.text.edited(self.replacements)

    @cached_property
    def lines(self) -> tuple[tuple[int, int], ...]:
        """The first and the last line of each part of the new text at which the finding may stand."""
        new = self.new
        return tuple(
            (
                new.count("\n", 0, self._moved(self.text.start(node), after=False)) + 1,
                new.count("\n", 0, self._moved(self.text.end(node), after=True)) + 1,
            )
            for node in self.due
        )

    def _moved(self, offset: int, after: bool) -> int:
        """The offset in the new text of one in the old; what is inserted there comes before it or after it."""
        moved = offset
        for part in self.replacements:
            if part.end < offset or (part.end == offset and after):
                moved += len(part.new) - (part.end - part.start)
            elif part.start < offset:
                moved += part.start - offset + (len(part.new) if after else 0)
        return moved


class Text:
    """A file's text with its tree, each node knowing its parent."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = str(path)
        self.name = name
        """The file as people call it: project and path in it."""
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes in the order of the source."""
        return tuple(walk(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        return tuple(node for node in self.nodes if isinstance(node, ast.Call))

    @cached_property
    def _starts(self) -> list[int]:
        # As `ast` counts: a form feed and its like end no line.
        return [0, *accumulate(len(line) for line in self.text.split("\n") for line in (f"{line}\n",))]

    def offset(self, line: int, column: int) -> int:
        """The offset of a place as `ast` gives it."""
        start = self._starts[line - 1]
        encoded = self.text[start : self._starts[line]].encode()
        return start + len(encoded[:column].decode())

    def start(self, node: Node) -> int:
        """Where the node begins; its decorators don't count."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: Node) -> int:
        """Where the node ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def source(self, node: Node) -> str:
        """The node's own text."""
        return self.text[self.start(node) : self.end(node)]

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that holds an expression."""
        return next(outer for outer in self.enclosing(node) if isinstance(outer, ast.stmt))

    def functions(self, node: ast.AST) -> list[ast.FunctionDef]:
        """The functions around a node, nearest first."""
        return [outer for outer in self.enclosing(node) if isinstance(outer, ast.FunctionDef)]

    def top_function(self, node: ast.AST) -> ast.FunctionDef | None:
        """The outermost function around a node."""
        functions = self.functions(node)
        return functions[-1] if functions else None

    def edited(self, replacements: Iterable[Replacement]) -> str:
        """The text with some parts replaced; the parts don't overlap."""
        text = self.text
        for part in sorted(replacements, key=lambda part: (part.start, part.end), reverse=True):
            text = text[: part.start] + part.new + text[part.end :]
        return text

    # Replacements

    def replaced(self, node: Node, new: str) -> Replacement:
        """Other text in place of a node."""
        return Replacement(self.start(node), self.end(node), new)

    def removed(self, node: Node) -> Replacement:
        """The removal of an argument, an item or a parameter, with the comma that goes with it."""
        start, end = self.start(node), self.end(node)
        if isinstance(self.parents[node], ast.arguments):
            end = max([end, *(self.end(default) for default in self._default_of(node))])
        rest = self.text[end:]
        blank = len(rest) - len(rest.lstrip())
        if rest[blank:].startswith(","):
            after = end + blank + 1
            return Replacement(start, after + len(self.text[after:]) - len(self.text[after:].lstrip()), "")
        before = self.text[:start].rstrip()
        return Replacement(len(before) - before.endswith(","), end, "")

    def _default_of(self, node: Node) -> list[ast.expr]:
        arguments = self.parents[node]
        assert isinstance(arguments, ast.arguments)
        return [default for parameter, default in defaults(arguments) if parameter is node]

    def swapped(self, one: Node, other: Node) -> list[Replacement]:
        """Two nodes in each other's place."""
        return [self.replaced(one, self.source(other)), self.replaced(other, self.source(one))]

    def unwrapped(self, statement: ast.stmt, body: Sequence[ast.stmt]) -> Replacement:
        """A body of a statement in the statement's place."""
        start, margin = self.start(statement), " " * statement.col_offset
        first = self.start(body[0])
        lines = " " * body[0].col_offset + self.text[first : self.end(body[-1])]
        moved = textwrap.indent(textwrap.dedent(lines), margin)
        return Replacement(start, self.end(statement), moved.removeprefix(margin))

    def inserted(self, statement: ast.stmt, *lines: str) -> Replacement:
        """Lines before a statement, with its indentation."""
        margin = " " * statement.col_offset
        start = self.start(statement)
        return Replacement(start, start, "".join(f"{line}\n{margin}" for line in lines))

    def appended(self, statement: ast.stmt, *lines: str) -> Replacement:
        """Lines after a statement, with its indentation."""
        margin = " " * statement.col_offset
        end = self.end(statement)
        return Replacement(end, end, "".join(f"\n{margin}{line}" for line in lines))


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, in the order of the source."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from walk(child)


def defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """Parameters that have a default."""
    plain = [*arguments.posonlyargs, *arguments.args]
    yield from zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True)
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield parameter, default


def parameters(function: Function) -> list[ast.arg]:
    """The function's named parameters."""
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def names_bound(target: ast.AST) -> set[str]:
    """The names that a target, or any target below a node, binds."""
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
