"""Edits of published model files that put one known defect in, for every place where the same edit is possible."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MODELS = "simpletuner/helpers/models"
CONTROL = "offload_attention"
"""The keyword by which a block hears of attention offload."""
STORED = "self.gradient_checkpointing_offload_attention"
"""Where the models keep it."""
FLAG = "self.gradient_checkpointing"
GATE = "should_checkpoint_block"

Replacement = tuple[int, int, str]
"""Start and end offset in the text, and what comes in between."""


@dataclass(frozen=True)
class Edit:
    """One edit of one file."""

    path: str
    """The file, relative to the wheel's root."""
    line: int
    """The line of the edited place in the text before."""
    text: str
    """The file's new text."""
    first: int
    """The lines of the new text among which the finding has to stand."""
    last: int

    @property
    def name(self) -> str:
        """For the test's id: the file inside the models folder, and the line."""
        return f"{self.path.removeprefix(MODELS + '/')}:{self.line}"


class Text:
    """A file's text with its tree, each node knowing its parent."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = ast.parse(text)
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        """The offset of a place as `ast` gives it."""
        start = self.starts[line - 1]
        encoded = self.text[start : self.starts[line]].encode()
        return start + len(encoded[:column].decode())

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """Where the node begins."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """Where the node ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def source(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        """The node's own text."""
        return self.text[self.start(node) : self.end(node)]

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def functions(self, node: ast.AST) -> list[ast.FunctionDef]:
        """The functions around a node, nearest first."""
        return [outer for outer in self.enclosing(node) if isinstance(outer, ast.FunctionDef)]

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that holds an expression."""
        return next(outer for outer in self.enclosing(node) if isinstance(outer, ast.stmt))

    def edited(self, replacements: Iterable[Replacement]) -> str:
        """The text with some parts replaced; the parts don't overlap."""
        text = self.text
        for start, end, new in sorted(replacements, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def edit(self, line: int, replacements: Sequence[Replacement], at: Replacement, length: int) -> Edit:
        """An edit whose finding stands in the first `length` characters of what `at`, one of the replacements, put."""
        text = self.edited(replacements)
        before = sum(len(new) - (end - start) for start, end, new in replacements if start < at[0])
        start = at[0] + before
        first = text.count("\n", 0, start) + 1
        return Edit(self.path, line, text, first, first + text.count("\n", start, start + length))


def model_files(root: Path) -> Iterator[Text]:
    """Every model file of an unpacked wheel that has one of the words that the edits look for."""
    for path in sorted((root / MODELS).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if CONTROL in text or GATE in text:
            yield Text(path.relative_to(root).as_posix(), text)


def control_calls(text: Text) -> Iterator[tuple[ast.Call, ast.keyword]]:
    """Calls that hand the stored control on, with the keyword that does it."""
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == CONTROL and ast.unparse(keyword.value) == STORED:
                    yield node, keyword


def without(text: Text, call: ast.Call, keyword: ast.keyword) -> Replacement:
    """The removal of a keyword with the comma that goes with it."""
    start, end = text.start(keyword), text.end(keyword)
    rest = text.text[end:]
    blank = len(rest) - len(rest.lstrip())
    if rest[blank:].startswith(","):
        after = end + blank + 1
        return start, after + len(text.text[after:]) - len(text.text[after:].lstrip()), ""
    before = text.text[:start].rstrip()
    assert before.endswith((",", "("))
    return len(before) - before.endswith(","), end, ""


def dropped_control(text: Text) -> Iterator[Edit]:
    """Removes the control from one call."""
    for call, keyword in control_calls(text):
        removed = without(text, call, keyword)
        start = text.start(call)
        new = text.edited([removed])[start : text.end(call) - (removed[1] - removed[0])]
        whole = (start, text.end(call), new)
        yield text.edit(call.lineno, [whole], whole, len(new))


def parameters(function: ast.FunctionDef) -> set[str]:
    """The function's parameters by name."""
    arguments = function.args
    return {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def loop_names(function: ast.FunctionDef) -> set[str]:
    """The names that the function's loops bind."""
    targets = [node.target for node in ast.walk(function) if isinstance(node, ast.For)]
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def forgetful_branch(text: Text) -> Iterator[Edit]:
    """Gives a wrapper another branch, that passes `return_dict` and forgets the control.

    A wrapper is a function inside another, which hands the control to a callable that it got: as a parameter, as a
    default, from the factory around it, or as the loop's block. The new parameter goes to the factory where there is
    one, and no present call passes it.
    """
    for call, keyword in control_calls(text):
        functions = text.functions(call)
        if len(functions) < 2 or not isinstance(call.func, ast.Name):
            continue
        wrapper, *outer = functions
        factory = next((f for f in outer[:-1] if call.func.id in parameters(f)), None)
        if not (factory or call.func.id in parameters(wrapper) | loop_names(outer[-1])):
            continue
        owner = factory or wrapper
        statement = text.statement(call)
        removed = without(text, call, keyword)
        # The branch's own call: the same arguments without the control, and the new keyword.
        start = text.start(call)
        body = text.edited([removed])[start : text.end(call) - (removed[1] - removed[0])]
        closing = body.rindex(")")
        kept = body[:closing].rstrip()
        comma = "" if kept.endswith((",", "(")) else ","
        own = f"{kept}{comma} return_dict=return_dict)"
        margin = " " * statement.col_offset
        opening = "if return_dict is not None:\n" + f"{margin}    return "
        branch = f"{opening}{own}\n{margin}"
        place = text.start(statement)
        inserted = (place, place, branch)
        replacements = [inserted, new_parameter(text, owner)]
        edit = text.edit(call.lineno, replacements, inserted, len(opening) + len(own))
        lines = opening.count("\n")
        yield Edit(edit.path, edit.line, edit.text, edit.first + lines, edit.last)


def new_parameter(text: Text, function: ast.FunctionDef) -> Replacement:
    """Adds `return_dict=None` as the last parameter."""
    arguments = function.args
    assert arguments.kwarg is None
    every: list[ast.arg | ast.expr] = [*arguments.args, *arguments.kwonlyargs, *arguments.defaults]
    every += [default for default in arguments.kw_defaults if default]
    every += [arguments.vararg] if arguments.vararg else []
    last = max(every, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
    assert last.end_lineno is not None
    assert last.end_col_offset is not None
    end = text.offset(last.end_lineno, last.end_col_offset)
    return end, end, ", return_dict=None"


def literal_gate(text: Text) -> Iterator[Edit]:
    """Puts `True` in place of the flag that the gate helper gets."""
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == GATE:
            flag = node.args[1]
            if FLAG in ast.unparse(flag):
                new = (text.start(flag), text.end(flag), "True")
                edit = text.edit(node.lineno, [new], new, len("True"))
                # The finding may stand at the call or at the argument.
                yield Edit(edit.path, edit.line, edit.text, node.lineno, edit.last)
