"""Ignore files as git reads them, one entry of a folder at a time.

A walk asks about every folder before it enters it, so a pattern must match the entry itself: what lies in an ignored
folder is never asked about, and a pattern that takes a folder back says nothing about the files in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class _Rule(NamedTuple):
    regex: str
    ignores: bool
    """False for a pattern that takes back what an earlier one ignored."""
    folders_only: bool
    by_name: bool
    """True for a pattern without a slash, which matches at every depth."""


class IgnoreFile:
    """The rules of one ignore file."""

    __slots__ = ("_files", "_folders")

    def __init__(self, lines: Iterable[str]) -> None:
        rules = [rule for line in lines if (rule := _rule(line)) is not None]
        self._files = [_Union(rules, by_name, False) for by_name in (True, False)]
        self._folders = [_Union(rules, by_name, True) for by_name in (True, False)]

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        """True where the last rule that matches ignores the entry, False where it takes it back, None without one.

        `path` is relative to the ignore file's folder, with slashes.
        """
        names, paths = self._folders if is_dir else self._files
        return max(names.last(path[path.rfind("/") + 1 :]), paths.last(path))[1]


class _Union:
    """Some of the rules as one regular expression, for a file has dozens and a tree thousands of entries."""

    __slots__ = ("_regex", "_verdicts")

    def __init__(self, rules: list[_Rule], by_name: bool, is_dir: bool) -> None:
        chosen = [
            (index, rule)
            for index, rule in enumerate(rules)
            if rule.by_name == by_name and (is_dir or not rule.folders_only)
        ][::-1]  # of several alternatives that match, the first is taken: the last rule
        self._regex = re.compile("|".join(f"({rule.regex})" for _, rule in chosen), re.DOTALL) if chosen else None
        self._verdicts = [(index, rule.ignores) for index, rule in chosen]

    def last(self, text: str) -> tuple[int, bool | None]:
        """The index of the last rule that matches, and what it says."""
        match = self._regex.fullmatch(text) if self._regex is not None else None
        return (-1, None) if match is None or match.lastindex is None else self._verdicts[match.lastindex - 1]


def parse_ignore_file(data: bytes) -> IgnoreFile:
    """The rules in an ignore file's bytes; names on the disk are decoded in the same way."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return IgnoreFile(line.removesuffix("\r") for line in text.split("\n"))


def _rule(line: str) -> _Rule | None:
    kept = _WITHOUT_TRAILING_SPACES.match(line)
    pattern = kept[0] if kept else ""
    if not pattern or pattern.startswith("#"):
        return None
    ignores = not pattern.startswith("!")
    pattern = pattern.removeprefix("!")
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    by_name = "/" not in pattern
    regex = _translate(pattern.removeprefix("/"))
    return None if regex is None else _Rule(regex, ignores, folders_only, by_name)


_WITHOUT_TRAILING_SPACES = re.compile(r"(?: *(?:\\.|\\$|[^ \\]))*")


def _translate(pattern: str) -> str | None:
    """A glob as a regular expression for the whole path; None for one that can match nothing."""
    regex = ""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            start = at
            while pattern.startswith("*", at):
                at += 1
            # Two or more stars cross folders only where they stand alone between slashes.
            alone = at - start > 1 and (start == 0 or pattern[start - 1] == "/")
            if alone and at == len(pattern):
                regex += ".*"
            elif alone and pattern[at] == "/":
                regex += "(?:.*/)?"
                at += 1
            else:
                regex += "[^/]*"
        elif char == "?":
            regex += "[^/]"
            at += 1
        elif char == "[":
            found = _character_class(pattern, at + 1)
            if found is None:
                return None
            text, at = found
            regex += text
        else:
            if char == "\\":
                at += 1
                if at == len(pattern):
                    return None
            regex += re.escape(pattern[at])
            at += 1
    return regex


def _character_class(pattern: str, at: int) -> tuple[str, int] | None:
    """The class whose inside starts at `at`, as a regular expression, and the index after its bracket."""
    negated = pattern[at : at + 1] in ("!", "^")
    start = at = at + negated
    members = ""
    while at < len(pattern):
        char = pattern[at]
        if char == "]" and at > start:
            inner = f"[{members}]" if members else "(?!)"
            return f"(?!{inner})[^/]" if negated else f"(?!/){inner}", at + 1
        if pattern.startswith("[:", at) and (end := pattern.find(":]", at + 2)) >= 0 and "]" not in pattern[at:end]:
            if (known := _POSIX.get(pattern[at + 2 : end])) is None:
                return None
            members += known
            at = end + 2
            continue
        low, at = _member(pattern, at)
        high = low
        if pattern.startswith("-", at) and pattern[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(pattern, at + 1)
        if not low or not high:
            return None
        members += f"{re.escape(low)}-{re.escape(high)}" if low <= high else re.escape(low)
    return None


def _member(pattern: str, at: int) -> tuple[str, int]:
    """One character of a class, which a backslash may quote, and the index after it."""
    at += pattern[at] == "\\"
    return pattern[at : at + 1], at + 1


_POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r"\ \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": r"\ -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "a-fA-F0-9",
}
