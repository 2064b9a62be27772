"""Where a choice is read: as it is, or as what a loop carries on."""

from __future__ import annotations

from conformance.callpaths.trace import Literal, Trace
from conformance.callpaths.values import Value

_DEEPEST = 60
"""Longest chain of choices that is followed from a read to what is read."""


class Readers:
    """The reads of one entry."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._read: dict[Value, list[tuple[Literal, ...]]] | None = None

    def reads(self, joined: Value) -> list[tuple[Literal, ...]]:
        """The conditions under which a choice is read, as it is or as part of what is made of it later."""
        if self._read is None:
            self._read = {}
            for value, conditions in self._trace.reads.items():
                for held in self._held(value):
                    self._read.setdefault(held, []).extend(conditions)
        return self._read.get(joined, [])

    def _held(self, value: Value) -> set[Value]:
        """What a choice, or what a loop carries, can be."""
        found: set[Value] = set()
        level = [value]
        for _ in range(_DEEPEST):
            following: list[Value] = []
            for current in level:
                if current in found:
                    continue
                found.add(current)
                if current.op == "phi":
                    following.extend(current.args[1:])
                elif current.op in ("mu", "out"):
                    after = self._trace.carried.get((current.args[0], current.args[1]))
                    if after is not None:
                        following.append(after)
                    if type(current.args[2]) is Value:
                        following.append(current.args[2])
                elif current.op == "state":
                    following.append(current.args[1])
            level = following
        return found
