"""Code frames: the lines of a span with a gutter of line numbers and an underline."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from conformance.findings import Place
from conformance.report.terminal import Cell, cells

MOST_LINES = 10
"""A longer span is shown by its first lines and its last."""

_LINE_END = re.compile(r"\r\n|\r|\n")  # what Python's tokenizer takes for a line end, and nothing else


def split_lines(text: str) -> list[str]:
    """The lines as Python counts them, without their ends."""
    return _LINE_END.split(text)


def last_line(place: Place, lines: Sequence[str]) -> int:
    """The number of the last line that a frame of the place shows; 0 when there is nothing to show."""
    if not 1 <= place.line <= len(lines) or not lines[place.line - 1].strip():
        return 0
    end = place.end_line - (place.end_column <= 1)  # an end before the first column takes nothing of its line
    return max(place.line, min(end, len(lines)))


def frame(
    place: Place,
    lines: Sequence[str],
    *,
    gutter: int,
    width: int,
    mark: str,
    paint_mark: Callable[[str], str],
    paint_gutter: Callable[[str], str],
) -> list[str]:
    """The frame's lines, bare bars above and below left out; empty when the text has no such line any more.

    `gutter` is the width of the line numbers, `width` that of the source, both in display columns.
    """
    last = last_line(place, lines)
    if not last:
        return []

    def numbered(number: int, text: str) -> str:
        return f"{paint_gutter(f'{number:>{gutter}} |')} {text}".rstrip()

    def whole(number: int) -> str:
        return numbered(number, _window(cells(lines[number - 1]), 0, width)[0])

    first_cells = cells(lines[place.line - 1])
    single = place.end_line <= place.line
    shown, underline = _underlined(first_cells, place.column, place.end_column if single else None, width, mark)
    indent, marks = underline
    bar = paint_gutter(f"{'':{gutter}} |")
    result = [numbered(place.line, shown), f"{bar} {' ' * indent}{paint_mark(marks)}"]

    rest = range(place.line + 1, last + 1)
    if len(rest) >= MOST_LINES:
        return [*result, *map(whole, rest[: MOST_LINES - 2]), paint_gutter("..."), whole(last)]
    return [*result, *map(whole, rest)]


def _underlined(
    line: list[Cell], column: int, end_column: int | None, width: int, mark: str
) -> tuple[str, tuple[int, str]]:
    """The first line of a span, cut around the span, and its underline: indentation and marks."""
    used = len(line)
    while used and not line[used - 1][0].strip():
        used -= 1
    line = line[:used]
    stops = _stops(line)
    first = min(max(column - 1, 0), used)
    end = used if end_column is None else min(end_column - 1, used)
    indent = next(index for index, (shown, _) in enumerate(line) if shown.strip())
    if first < indent and end <= indent:  # only the line is known: mark all that stands in it
        first, end = indent, used
    start_stop = stops[first]
    end_stop = max(stops[max(end, first)], start_stop + 1)

    left = 0
    if stops[-1] > width and end_stop > width - 1:
        # The span doesn't fit into the beginning of the line: keep some of what stands before it, more for a short one.
        before = width // 4 if end_stop - start_stop <= width // 2 else width // 10
        left = max(0, min(start_stop - before, stops[-1] - width))
    shown, shift = _window(line, left, width)
    margin = start_stop - shift
    return shown, (margin, mark * max(min(end_stop - shift, width) - margin, 1))


def _stops(line: list[Cell]) -> list[int]:
    """The display column at which each character starts, and the one after the last."""
    return [0, *accumulate(size for _, size in line)]


def _window(line: list[Cell], left: int, width: int) -> tuple[str, int]:
    """The line from display column `left` on, at most `width` columns, with `…` in the place of what was cut.

    Returns also by how many columns the text stands further left than in the whole line.
    """
    stops = _stops(line)
    first = bisect_left(stops, left + 1) if left else 0
    room = width - 1 if left else width
    end, tail = len(line), ""
    if stops[-1] - stops[first] > room:
        end, tail = bisect_right(stops, stops[first] + room - 1) - 1, "…"
    body = "".join(shown for shown, _ in line[first:end])
    return ("…" if left else "") + body + tail, stops[first] - 1 if left else 0
