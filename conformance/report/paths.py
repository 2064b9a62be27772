"""What `conformance paths` prints: the call paths of each block, as the checker sees them.

For people: one table of the paths of a block (route, place, result, conditions) and one of what each path gives to each
parameter. For programs: JSON as `paths_schema.json` beside this file describes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.findings import Finding, Place
from conformance.report.as_concise import headline
from conformance.report.as_json import Document, dump, finding_document, place_document
from conformance.report.base import count, in_order, location, relative
from conformance.report.terminal import Palette, clip, columns, escape, joined, table

if TYPE_CHECKING:  # only the types: reports know findings and nothing of the engine
    from conformance.callpaths.model import Block, CallPath, ClassRef, Condition, EntryPaths
    from conformance.callpaths.values import Value

SCHEMA = 1
"""Raised when a field of the JSON document changes its meaning or goes away."""

DEFAULT = "\u2013"
UNKNOWN = "?"
ALL = "all: "

_INDENT = "    "
_DEEP = "         "


def render_json(
    target: str, entries: Iterable[EntryPaths], problems: Sequence[Finding], *, cwd: str, version: str
) -> str:
    return dump(
        {
            "schema": SCHEMA,
            "version": version,
            "target": target,
            "entries": [_entry_document(entry, cwd) for entry in entries],
            "problems": [finding_document(problem, cwd) for problem in in_order(problems)],
        }
    )


def _entry_document(entry: EntryPaths, cwd: str) -> Document:
    return {
        "path": relative(entry.path, cwd),
        "class": entry.class_name,
        "function": entry.function,
        "line": entry.line,
        "loops": entry.loops,
        "unresolved_loops": [place_document(place, cwd) for place in entry.unresolved_loops],
        "paths": [_path_document(path, cwd) for path in entry.paths],
    }


def _path_document(path: CallPath, cwd: str) -> Document:
    binding: Mapping[str, Any] | None = path.binding
    return {
        "block": {
            "text": path.block.text,
            "classes": [
                {
                    "name": ref.name,
                    "path": None if ref.path is None else relative(ref.path, cwd),
                    "line": None if ref.path is None else ref.line,
                }
                for ref in path.block.classes
            ],
            "method": path.block.method,
            "is_element": path.block.is_element,
        },
        "route": path.route,
        "conditions": [{"text": condition.value.text, "holds": condition.holds} for condition in path.conditions],
        "binding": None if binding is None else {name: value.text for name, value in binding.items()},
        "call": place_document(path.call, cwd),
        "outer": place_document(path.outer, cwd),
        "function": path.function,
        "result": path.result,
        "dead": path.dead,
        "unknown": path.unknown,
    }


def render_text(
    entries: Iterable[EntryPaths],
    problems: Sequence[Finding],
    *,
    cwd: str,
    color: bool = False,
    width: int = 100,
) -> str:
    """The tables; `width` is the number of display columns to aim at. Functions that call no block are left out."""
    palette = Palette(color)
    lines: list[str] = []
    for entry in entries:
        if entry.paths or entry.loops:
            lines += [*_entry_lines(entry, cwd, palette, width), ""]
    if lines:
        lines.append(palette.faint(f"{DEFAULT} left to its default   {UNKNOWN} unknown   * not the same on all paths"))
    lines += [headline(problem, cwd, palette) for problem in in_order(problems)]
    return joined(lines)


def _entry_lines(entry: EntryPaths, cwd: str, palette: Palette, width: int) -> list[str]:
    name = entry.function
    if entry.class_name and not name.startswith(f"{entry.class_name}."):
        name = f"{entry.class_name}.{name}"
    blocks: dict[Block, list[CallPath]] = {}
    for path in entry.paths:
        blocks.setdefault(path.block, []).append(path)
    resolved = entry.loops - len(entry.unresolved_loops)
    facts = [count(len(blocks), "block"), count(len(entry.paths), "path")]
    if entry.loops:
        facts.append(f"{resolved} of {count(entry.loops, 'loop')} over blocks resolved")
    where = f"{relative(entry.path, cwd)}:{entry.line}"
    lines = [f"{palette.strong(f'{escape(where)}: {escape(name)}')}  ({', '.join(facts)})"]
    lines += [
        f"  {escape(location(place, cwd))}: the class of this loop's blocks is unknown"
        for place in entry.unresolved_loops
    ]
    for block, paths in blocks.items():
        lines += ["", f"  {_block_title(block, entry.path, cwd, palette)}", *_path_lines(entry, paths, width)]
        lines += ["", *_binding_lines(paths, palette, width)]
    return lines


def _block_title(block: Block, entry_path: str, cwd: str, palette: Palette) -> str:
    method = "" if block.method in ("forward", "__call__") else f".{block.method}"
    classes = ", ".join(_class_text(ref, entry_path, cwd) for ref in block.classes) or "class unknown"
    return f"{palette.strong(escape(block.text + method))}: {escape(classes)}"


def _class_text(ref: ClassRef, entry_path: str, cwd: str) -> str:
    if ref.path is None:
        return f"{ref.name} (elsewhere)"
    where = f"line {ref.line}" if ref.path == entry_path else f"{relative(ref.path, cwd)}:{ref.line}"
    return f"{ref.name} ({where})"


def _path_lines(entry: EntryPaths, paths: Sequence[CallPath], width: int) -> list[str]:
    """The numbered list of a block's paths, each with its conditions; those of all paths come first and only once."""
    conditions = [list(dict.fromkeys(map(_conjunct, path.conditions))) for path in paths]
    shared = [text for text in conditions[0] if len(paths) > 1 and all(text in others for others in conditions)]
    heads = table(
        [
            ("", "route", "line", "result"),
            *(
                (str(number), escape(path.route), escape(_where(path, entry.path)), escape(path.result))
                for number, path in enumerate(paths, 1)
            ),
        ],
        indent=_INDENT,
    )
    lines = _conjunction("every path: ", shared, _INDENT, width) + heads[:1]
    for head, path, texts in zip(heads[1:], paths, conditions, strict=True):
        lines.append(head)
        own = [text for text in texts if text not in shared]
        lines += _conjunction("when ", own, _DEEP, width)
        if not texts:
            lines.append(f"{_DEEP}always")
        if path.dead:
            lines.append(f"{_DEEP}no present call takes this branch")
        if path.unknown is not None:
            lines += _wrapped(f"unknown: {escape(path.unknown)}", _DEEP, width)
    return lines


def _conjunction(title: str, texts: Sequence[str], indent: str, width: int) -> list[str]:
    """The conditions on one line where they fit, else each on its own."""
    if not texts:
        return []
    whole = f"{indent}{title}{' and '.join(texts)}"
    if columns(whole) <= width:
        return [whole]
    first, *rest = texts
    lines = _wrapped(f"{title}{first}", indent, width)
    for text in rest:
        lines += _wrapped(f"and {text}", f"{indent}  ", width)
    return lines


def _conjunct(condition: Condition) -> str:
    """The condition as a part of a conjunction, with no more parentheses than it needs."""
    text = _without_parentheses(escape(condition.value.text))
    if condition.holds:
        return f"({text})" if " or " in text or " if " in text else text
    return f"not ({text})" if " " in text else f"not {text}"


def _without_parentheses(text: str) -> str:
    """The text without a pair that encloses all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if index == len(text) - 1 else text
    return text


def _where(path: CallPath, entry_path: str) -> str:
    """The line of the call, with its file if that is another, and the line in the entry that leads there."""

    def line(place: Place) -> str:
        return str(place.line) if place.path == entry_path else f"{os.path.basename(place.path)}:{place.line}"

    return line(path.call) if path.call == path.outer else f"{line(path.call)} from {line(path.outer)}"


def _binding_lines(paths: Sequence[CallPath], palette: Palette, width: int) -> list[str]:
    """What each path gives to each parameter: a column for each path where that fits, else a line for each value."""
    known = [path.binding for path in paths if path.binding is not None]
    parameters = dict.fromkeys(name for binding in sorted(known, key=len, reverse=True) for name in binding)
    if not parameters:
        return [f"{_INDENT}nothing is passed" if known else f"{_INDENT}the arguments are unknown"]

    rows = [_Row.of(name, paths) for name in parameters]
    numbers = [str(number) for number in range(1, len(paths) + 1)]
    routes = [f"{number} {escape(path.route)}" for number, path in zip(numbers, paths, strict=True)]
    for header in (routes, numbers):
        lines = _matrix(header, rows, width)
        if max(map(columns, lines)) <= width:
            break
    else:
        lines = _value_lines(rows, width)
    return [palette.strong(line) if line.startswith(f"{_INDENT}*") else line for line in lines]


@dataclass(frozen=True, slots=True)
class _Row:
    """One parameter: what each path gives to it."""

    title: str
    cells: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    """The numbers of the paths that give the same value, for each value. Two values may look the same."""

    @property
    def is_same(self) -> bool:
        return len(self.groups) == 1

    @classmethod
    def of(cls, name: str, paths: Sequence[CallPath]) -> _Row:
        cells: list[str] = []
        groups: dict[Value | str, list[int]] = {}
        for number, path in enumerate(paths, 1):
            value = UNKNOWN if path.binding is None else path.binding.get(name, DEFAULT)
            cells.append(value if isinstance(value, str) else escape(value.text))
            groups.setdefault(value, []).append(number)
        mark = "*" if len(groups) - (UNKNOWN in groups) > 1 else " "
        return cls(f"{mark} {escape(name)}", tuple(cells), tuple(map(tuple, groups.values())))


def _matrix(header: Sequence[str], rows: Sequence[_Row], width: int) -> list[str]:
    """A column for each path. A long value that is the same on all paths stands across the columns."""
    sizes = [
        max(map(columns, column))
        for column in zip(header, *(row.cells for row in rows if not row.is_same), strict=True)
    ]
    across = {
        index: row.cells[0]
        for index, row in enumerate(rows, 1)
        if row.is_same and len(header) > 1 and any(columns(row.cells[0]) > size for size in sizes)
    }
    blank = [""] * len(header)
    grid = [("  parameter", *header), *((row.title, *row.cells) for row in rows)]
    lines = table([(row[0], *blank) if index in across else row for index, row in enumerate(grid)], indent=_INDENT)
    margin = len(_INDENT) + max(columns(row[0]) for row in grid) + 2
    for index, value in across.items():
        head = lines[index] + " " * (margin - columns(lines[index]))
        lines[index] = f"{head}{ALL}{clip(value, max(width - margin - len(ALL), 30))}"
    return lines


def _value_lines(rows: Sequence[_Row], width: int) -> list[str]:
    """A line, or more if it is long, for each value of each parameter."""
    grid = [("  parameter", "paths", "value")]
    for row in rows:
        for group in row.groups:
            title = row.title if group[0] == 1 else ""
            grid.append((title, "all" if row.is_same else _ranges(group), row.cells[group[0] - 1]))
    # The head of each row, without its value, which is wrapped into what the head leaves of the width.
    heads = [line[:-1] for line in table([(*row[:2], "|") for row in grid], indent=_INDENT)]
    margin = columns(heads[0])
    lines = []
    for head, (_, which, value) in zip(heads, grid, strict=True):
        if which == "all":  # one line is enough for what is the same everywhere
            lines.append(head + clip(value, max(width - margin, 30)))
        else:
            first, *rest = _wrapped(value, " " * margin, width)
            lines += [head + first[margin:], *rest]
    return lines


def _ranges(numbers: Sequence[int]) -> str:
    """`1-3, 5`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    """The text in lines of at most `width`, the following ones indented a little more. Words are never broken."""
    if columns(indent + text) <= width:
        return [indent + text]
    import textwrap  # here, because only this command needs it

    return textwrap.wrap(
        text,
        max(width, len(indent) + 30),
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
