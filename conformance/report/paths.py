"""What `conformance paths` prints: the call paths of each block, as the checker sees them.

For people: one table of the paths of a block (route, place, result, conditions) and one of what each path gives to each
parameter. For programs: JSON as `paths_schema.json` beside this file describes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from conformance.findings import Finding, Place
from conformance.report.as_concise import headline
from conformance.report.as_json import Document, dump, finding_document, place_document
from conformance.report.base import count, in_order, location, relative
from conformance.report.terminal import Palette, columns, escape, joined, table

if TYPE_CHECKING:  # only the types: reports know findings and nothing of the engine
    from conformance.callpaths.model import Block, CallPath, ClassRef, Condition, EntryPaths

SCHEMA = 1
"""Raised when a field of the JSON document changes its meaning or goes away."""

DEFAULT = "\u2013"
UNKNOWN = "?"

_INDENT = "    "
_KEEP_WORDS: Mapping[str, Any] = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": "  "}


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
        lines += ["", f"  {_block_title(block, cwd, palette)}", *_path_lines(entry, paths, width)]
        lines += ["", *_binding_lines(paths, palette, width)]
    return lines


def _block_title(block: Block, cwd: str, palette: Palette) -> str:
    method = "" if block.method in ("forward", "__call__") else f".{block.method}"
    classes = ", ".join(_class_text(ref, cwd) for ref in block.classes) or "class unknown"
    return f"{palette.strong(escape(block.text + method))}: {escape(classes)}"


def _class_text(ref: ClassRef, cwd: str) -> str:
    return f"{ref.name} (elsewhere)" if ref.path is None else f"{ref.name} ({relative(ref.path, cwd)}:{ref.line})"


def _path_lines(entry: EntryPaths, paths: Sequence[CallPath], width: int) -> list[str]:
    """The numbered list of a block's paths; the conditions take the rest of the width."""
    rows = [("", "route", "line", "result")]
    bodies = [["when"]]
    for number, path in enumerate(paths, 1):
        rows.append((str(number), escape(path.route), escape(_where(path, entry.path)), escape(path.result)))
        body = [" and ".join(map(_conjunct, path.conditions)) or "always"]
        if path.dead:
            body.append("no present call takes this branch")
        if path.unknown is not None:
            body.append(f"unknown: {escape(path.unknown)}")
        bodies.append(body)
    return _beside(rows, bodies, width)


def _conjunct(condition: Condition) -> str:
    text = escape(str(condition))
    return f"({text})" if condition.holds and " or " in text else text


def _where(path: CallPath, entry_path: str) -> str:
    """The line of the call, with its file if that is another, and the line in the entry that leads there."""

    def line(place: Place) -> str:
        return str(place.line) if place.path == entry_path else f"{os.path.basename(place.path)}:{place.line}"

    return line(path.call) if path.call == path.outer else f"{line(path.call)} from {line(path.outer)}"


def _binding_lines(paths: Sequence[CallPath], palette: Palette, width: int) -> list[str]:
    """What each path gives to each parameter: a column for each path where that fits, else a line for each value."""
    bindings: list[Mapping[str, Any] | None] = [path.binding for path in paths]
    known = [binding for binding in bindings if binding is not None]
    parameters = dict.fromkeys(name for binding in sorted(known, key=len, reverse=True) for name in binding)
    if not parameters:
        return ["    nothing is passed" if known else "    the arguments are unknown"]

    values = {
        name: [
            UNKNOWN if binding is None else escape(binding[name].text) if name in binding else DEFAULT
            for binding in bindings
        ]
        for name in parameters
    }
    marks = {name: "*" if len(set(row) - {UNKNOWN}) > 1 else " " for name, row in values.items()}
    titles = {name: f"{marks[name]} {escape(name)}" for name in parameters}
    numbers = [str(number) for number in range(1, len(paths) + 1)]
    routes = [f"{number} {escape(path.route)}" for number, path in zip(numbers, paths, strict=True)]
    for header in (routes, numbers):
        matrix = table(
            [("  parameter", *header), *((titles[name], *row) for name, row in values.items())], indent=_INDENT
        )
        if max(map(columns, matrix)) <= width:
            return _emphasised(matrix, palette)

    rows = [("  parameter", "paths")]
    bodies = [["value"]]
    for name, row in values.items():
        same: dict[str, list[int]] = {}
        for number, value in enumerate(row, 1):
            same.setdefault(value, []).append(number)
        for value, which in same.items():
            is_first = which[0] == 1
            rows.append((titles[name] if is_first else "", "all" if len(same) == 1 else _ranges(which)))
            bodies.append([value])
    return _emphasised(_beside(rows, bodies, width), palette)


def _beside(rows: Sequence[Sequence[str]], bodies: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table whose last column is prose: each of its lines is wrapped into what the other columns leave of `width`."""
    heads = [line[:-1] for line in table([(*row, "|") for row in rows], indent=_INDENT)]
    margin = columns(heads[0])
    lines = []
    for head, body in zip(heads, bodies, strict=True):
        first, *rest = [line for text in body for line in _wrapped(text, max(width - margin, 30))]
        lines += [head + first, *(" " * margin + line for line in rest)]
    return lines


def _emphasised(lines: Sequence[str], palette: Palette) -> list[str]:
    return [palette.strong(line) if line.startswith(f"{_INDENT}*") else line for line in lines]


def _ranges(numbers: Sequence[int]) -> str:
    """`1-3, 5`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)


def _wrapped(text: str, width: int) -> list[str]:
    """The text itself if it fits, else a conjunct on each line, or as many lines as its words need."""
    if columns(text) <= width:
        return [text]
    import textwrap  # here, because only this command needs it

    conjuncts = text.replace(" and ", "\nand ").splitlines()
    return [line for part in conjuncts for line in textwrap.wrap(part, width, **_KEEP_WORDS)] or [""]
