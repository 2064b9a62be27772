"""Why a source can't be read: an exception where one file is asked for, a value where many are collected."""

from __future__ import annotations

from dataclasses import dataclass


class Unreadable(Exception):
    """One source can't be read. `reason` is a phrase without a path; `line` counts from 1 where a line is to blame."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason, line)
        self.reason = reason
        self.line = line

    def __str__(self) -> str:
        return self.reason if self.line is None else f"{self.reason} (line {self.line})"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A file or folder that was asked for and can't be read."""

    path: str
    reason: str
    line: int | None = None


def os_reason(error: OSError) -> str:
    """The system's words for an error, without the path: `Permission denied`."""
    return error.strerror or type(error).__name__
