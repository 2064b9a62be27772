from __future__ import annotations

import ast
import codecs
import pickle

import pytest

from conformance.sources.decode import decode, split_lines
from conformance.sources.problems import Unreadable

READABLE = {
    "utf-8": ("é = 'ü'\n".encode(), "é = 'ü'\n"),
    "utf-8 mark": (codecs.BOM_UTF8 + "é = 1\n".encode(), "é = 1\n"),
    "utf-8 mark and comment": (codecs.BOM_UTF8 + b"# coding: utf-8\nx = 1\n", "# coding: utf-8\nx = 1\n"),
    "utf8 mark and comment": (codecs.BOM_UTF8 + b"# coding: utf8\nx = 1\n", "# coding: utf8\nx = 1\n"),
    "latin-1": ("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"), "# -*- coding: latin-1 -*-\nx = 'é'\n"),
    "second line": ("#!/bin/sh é\n# coding=cp1252\n".encode("cp1252"), "#!/bin/sh é\n# coding=cp1252\n"),
    "blank first line": ("\f \n# coding=koi8-r\nx = 'я'\n".encode("koi8-r"), "\f \n# coding=koi8-r\nx = 'я'\n"),
    "third line is too late": ("\n\n# coding: latin-1\né = 1\n".encode(), "\n\n# coding: latin-1\né = 1\n"),
    "not after code": ("x = 1\n# coding: latin-1\né = 1\n".encode(), "x = 1\n# coding: latin-1\né = 1\n"),
    "not in a string": (b"x = 'coding: latin-1'\n", "x = 'coding: latin-1'\n"),
    "line ends stay": (b"a = 1\r\nb = 2\rc = 3\n", "a = 1\r\nb = 2\rc = 3\n"),
    "carriage returns alone": ("#\r# coding: latin-1\rx = 'é'\r".encode("latin-1"), "#\r# coding: latin-1\rx = 'é'\r"),
    "empty": (b"", ""),
    "mark alone": (codecs.BOM_UTF8, ""),
}
MORE_THAN_THE_LANGUAGE = {"carriage returns alone", "utf8 mark and comment"}


@pytest.mark.parametrize("name", READABLE)
def test_readable(name: str) -> None:
    data, text = READABLE[name]
    assert decode(data) == text
    ast.parse(text)


@pytest.mark.parametrize("name", sorted(READABLE.keys() - MORE_THAN_THE_LANGUAGE))
def test_readable_for_the_language_too(name: str) -> None:
    """The parser, given the bytes, sees the same program."""
    data, text = READABLE[name]
    assert ast.dump(ast.parse(data)) == ast.dump(ast.parse(text))


UNREADABLE = {
    "bad byte": (b"x = 1\ny = '\xe9'\n", "byte 0xe9 is not utf-8", 2),
    "bad byte after carriage returns": (b"x = 1\r\ry = '\xe9'\r", "byte 0xe9 is not utf-8", 3),
    "cut short": (b"x = 1\ny\xe2\x82", "byte 0xe2 is not utf-8", 2),
    "bad byte after a mark": (codecs.BOM_UTF8 + b"\n\xff\n", "byte 0xff is not utf-8", 2),
    "not of the declared encoding": (b"# coding: ascii\n\n'\xe9'\n", "byte 0xe9 is not ascii", 3),
    "unknown encoding": (b"#!/usr/bin/python\n# coding: martian\n", "unknown encoding martian", 2),
    "not of text": (b"# coding: hex\n", "hex is not an encoding of text", None),
    "undefined": (b"# coding: undefined\n", "undefined is not an encoding of text", None),
    "contradiction": (
        codecs.BOM_UTF8 + b"# coding: latin-1\n",
        "the byte order mark says UTF-8, the coding comment latin-1",
        1,
    ),
    "utf-16": ("x = 1\n".encode("utf-16"), "the byte order mark of UTF-16", 1),
    "utf-32": ("x = 1\n".encode("utf-32"), "the byte order mark of UTF-32", 1),
    "utf-16 without mark": ("x = 1\n".encode("utf-16-le"), "a NUL byte in the source", 1),
    "nul": (b"x = 1\r\ny = 2\n\n'\0'\n", "a NUL byte in the source", 4),
    "nul by another spelling": (b"# coding: utf-7\n'+AAA-'\n", "a NUL byte in the source", 2),
    "surrogate": (b"# coding: raw_unicode_escape\n\n'\\ud800'\n", "a lone surrogate in the source", 3),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable(name: str) -> None:
    data, reason, line = UNREADABLE[name]
    with pytest.raises(Unreadable) as caught:
        decode(data)
    assert caught.value.reason.startswith(reason)
    assert caught.value.line == line


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_for_the_language_too(name: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        compile(UNREADABLE[name][0], name, "exec")


def test_unreadable_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(Unreadable("a reason", 3)))
    assert (copy.reason, copy.line, str(copy)) == ("a reason", 3, "a reason (line 3)")


def test_lines_are_those_of_the_parser() -> None:
    text = "a = '\f\x1c\u2028'\r\nb = 2\rc = 3\nd = 4"
    assert split_lines(text) == ["a = '\f\x1c\u2028'", "b = 2", "c = 3", "d = 4"]
    assert [statement.lineno for statement in ast.parse(text).body] == [1, 2, 3, 4]
