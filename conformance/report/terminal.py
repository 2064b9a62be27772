"""Text for terminals: what a character looks like there, how wide it is, and colours.

Nothing that comes from a checked tree may act on the terminal: control characters, escape sequences, direction marks
and undecodable bytes are written as `\\xNN` or `\\uNNNN`.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

TAB = 4
"""Display columns from one tab stop to the next."""

Cell = tuple[str, int]
"""What is shown for one character, and how many display columns it takes."""

_JOINERS = "\u200c\u200d"
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def _cell(character: str) -> Cell:
    if " " <= character <= "~":
        return character, 1
    category = unicodedata.category(character)
    if character in _JOINERS or category in ("Mn", "Me"):
        return character, 0
    if category in _ESCAPED:
        code = ord(character)
        if 0xDC80 <= code <= 0xDCFF:  # a byte that couldn't be decoded
            code -= 0xDC00
        shown = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        return shown, len(shown)
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cells(text: str) -> list[Cell]:
    """One cell for each character; tabs reach to the next tab stop."""
    result: list[Cell] = []
    column = 0
    for character in text:
        if character == "\t":
            size = TAB - column % TAB
            cell = (" " * size, size)
        else:
            cell = _cell(character)
        result.append(cell)
        column += cell[1]
    return result


def escape(text: str) -> str:
    """The text as one printable line; tabs and line ends are escaped too."""
    return text if text.isprintable() else "".join(_cell(character)[0] for character in text)


def columns(text: str) -> int:
    """The display width of printable text."""
    return len(text) if text.isascii() else sum(_cell(character)[1] for character in text)


def clip(text: str, limit: int) -> str:
    """Printable text of at most `limit` display columns, with `…` for what was cut off."""
    if columns(text) <= limit:
        return text
    ends = accumulate(size for _, size in cells(text))
    return text[: bisect_right(list(ends), limit - 1)] + "…"


def table(rows: Sequence[Sequence[str]], indent: str = "", right: Collection[int] = ()) -> list[str]:
    """Lines with aligned columns, those in `right` to the right. The cells must be printable."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = []
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - columns(cell))
            padded.append(space + cell if index in right else cell + space)
        lines.append((indent + "  ".join(padded)).rstrip())
    return lines


class Palette:
    """Colours by meaning; without colour every method returns its text as it is."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def _paint(self, text: str, codes: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.enabled and text else text

    def strong(self, text: str) -> str:
        return self._paint(text, "1")

    def faint(self, text: str) -> str:
        return self._paint(text, "2")

    def frame(self, text: str) -> str:
        return self._paint(text, "1;34")

    def good(self, text: str) -> str:
        return self._paint(text, "1;32")

    def severity(self, text: str, severity: str) -> str:
        return self._paint(text, {"error": "1;31", "warning": "1;33"}.get(severity, "1;36"))


def joined(lines: Iterable[str]) -> str:
    """The lines as one text that ends with a line end; empty without lines."""
    return "".join(f"{line}\n" for line in lines)
