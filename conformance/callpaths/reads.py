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
        self._holders: dict[tuple[Value, Value], bool] = {}
        self._read: dict[Value, list[tuple[Literal, ...]]] = {}

    def reads(self, joined: Value) -> list[tuple[Literal, ...]]:
        """The conditions under which a choice is read, as it is or as part of what is made of it later."""
        found = self._read.get(joined)
        if found is None:
            reads = self._trace.reads.items()
            found = [c for value, conditions in reads if self._holds(value, joined) for c in conditions]
            self._read[joined] = found
        return found

    def _holds(self, value: Value, joined: Value, depth: int = 0) -> bool:
        """Whether a choice, or what a loop carries, can be another choice."""
        if value is joined:
            return True
        key = (value, joined)
        found = self._holders.get(key)
        if found is None:
            self._holders[key] = found = False
            if depth > _DEEPEST:
                return False
            if value.op == "phi":
                found = any(self._holds(side, joined, depth + 1) for side in value.args[1:])
            elif value.op in ("mu", "out"):
                after = self._trace.carried.get((value.args[0], value.args[1]))
                found = after is not None and self._holds(after, joined, depth + 1)
                if not found and type(value.args[2]) is Value:
                    found = self._holds(value.args[2], joined, depth + 1)
            elif value.op == "state":
                found = self._holds(value.args[1], joined, depth + 1)
            self._holders[key] = found
        return found
