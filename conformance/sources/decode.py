"""From bytes to text by the rules of the language: byte order mark, then coding comment (PEP 263), then UTF-8."""

from __future__ import annotations

import codecs
import re

from conformance.sources.problems import Unreadable

_FOREIGN_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def decode(data: bytes) -> str:
    """The text of a Python source, without its byte order mark and with its line ends as they are.

    Raises `Unreadable` for text that Python couldn't read either: unknown or contradicting encodings, bytes that
    the encoding doesn't have, NUL.
    """
    encoding = _encoding(data)
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n|\r|\n", data[: error.start])) + 1
        raise Unreadable(f"byte 0x{data[error.start]:02x} is not {encoding}", line) from error
    except (LookupError, UnicodeError) as error:
        raise Unreadable(f"{encoding} is not an encoding of text") from error
    nul = text.find("\0")
    if nul >= 0:
        raise Unreadable("a NUL byte in the source", len(_LINE_END.findall(text, 0, nul)) + 1)
    if encoding != "utf-8":
        # Some encodings can spell lone surrogates, which no parser takes.
        try:
            text.encode()
        except UnicodeEncodeError as error:
            line = len(_LINE_END.findall(text, 0, error.start)) + 1
            raise Unreadable("a lone surrogate in the source", line) from error
    return text


def split_lines(text: str) -> list[str]:
    """The lines as the parser counts them, without line ends; `str.splitlines` also splits at form feeds and others."""
    return _LINE_END.split(text)


_LINE_END = re.compile(r"\r\n|\r|\n")


def _encoding(data: bytes) -> str:
    for mark, name in _FOREIGN_MARKS:
        if data.startswith(mark):
            raise Unreadable(f"the byte order mark of {name}, which is not an encoding of Python sources", 1)
    declared, line = _declared(data.removeprefix(codecs.BOM_UTF8))
    if declared is None:
        return "utf-8"
    try:
        encoding = codecs.lookup(declared).name
    except LookupError as error:
        raise Unreadable(f"unknown encoding {declared}", line) from error
    if encoding != "utf-8" and data.startswith(codecs.BOM_UTF8):
        raise Unreadable(f"the byte order mark says UTF-8, the coding comment {declared}", line)
    return encoding


def _declared(data: bytes) -> tuple[str | None, int]:
    """The encoding that a comment in one of the first two lines names, and that line."""
    end = data.find(b"\n", data.find(b"\n") + 1)
    head = data[: len(data) if end < 0 else end]
    if b"coding" in head:
        for line, text in enumerate(head.splitlines()[:2], 1):
            if found := _COOKIE.match(text):
                return found[1].decode(), line
            if not _BLANK.match(text):
                break
    return None, 0


_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK = re.compile(rb"[ \t\f]*(?:#|$)")
