"""Frames and closures: one run of one function, with what it has bound."""

from __future__ import annotations

from typing import NamedTuple

from conformance.callpaths.trace import Capture, Literal, Rebinding, Site
from conformance.callpaths.values import Value
from conformance.facts.ir import Function
from conformance.facts.module import ModuleFacts
from conformance.project.project import ClassDef


class Closure:
    """A nested function with the frame it was made in; free names are read from there when it runs."""

    __slots__ = ("defaults", "frame", "function", "name")

    def __init__(self, function: Function, frame: Frame, defaults: dict[str, Value]) -> None:
        self.function = function
        self.frame = frame
        self.defaults = defaults
        self.name = function.name


class Left(NamedTuple):
    """What a `continue` leaves to the next iteration."""

    conditions: tuple[Literal, ...]
    env: dict[str, Value]
    heap: dict[tuple[Value, str], Value]
    called: int
    """How many calls were noted by then."""
    outside: dict[tuple[Frame, str], Value | None]
    """What names of other frames are by then."""
    is_last: bool
    """True for a `break`: the loop's own symbols say what its names are then."""


class Frame:
    """One run of one function, or of a comprehension's scope."""

    __slots__ = (
        "aliases",
        "bindings",
        "captured",
        "captures",
        "condition_mark",
        "continues",
        "copies",
        "env",
        "failures",
        "function",
        "leaving",
        "line",
        "locals",
        "loops",
        "module",
        "nested",
        "outside",
        "outside_mark",
        "owner",
        "parent",
        "returned",
        "returns",
        "serial",
        "states",
        "usage",
        "written",
        "yields",
    )

    def __init__(
        self,
        module: ModuleFacts,
        function: Function | None,
        parent: Frame | None,
        owner: ClassDef | None,
        serial: int,
    ) -> None:
        self.module = module
        self.function = function
        self.parent = parent
        self.owner = owner
        self.serial = serial
        self.env: dict[str, Value] = {}
        self.locals: frozenset[str] = function.locals if function else frozenset()
        self.captured: frozenset[str] = function.captured if function else frozenset()
        self.outside: frozenset[str] = function.globals | function.nonlocals if function else frozenset()
        self.loops: list[int] = []
        self.bindings: list[Rebinding] = []
        self.captures: list[Capture] = []
        self.returns: list[tuple[tuple[Literal, ...], Value]] = []
        self.returned: list[dict[tuple[Frame, str], Value | None]] = []
        """For each return: what names of other frames are by then."""
        self.outside_mark = 0
        """How many changes of other frames' names there were when the function began."""
        self.yields: list[Value] = []
        self.continues: list[list[Left]] = []
        """For each open loop: how iterations that a `continue` ends leave things."""
        self.copies: set[str] = set()
        """Names of what a call has given: `list(x)` is no other name of `x`, though it holds the same."""
        self.states: dict[str, int] = {}
        """Lengths of the tuples that a loop carries: they keep them."""
        self.aliases: dict[str, set[str]] = {}
        """Names that stand for one dict or list."""
        self.leaving = False
        """True while the value of a `return` is computed: no further iteration follows."""
        self.failures: list[Value] = []
        """For each open `try`: that its body fails."""
        self.condition_mark = 0
        self.line = 0
        """Of the statement that runs."""
        self.usage = "other"
        self.nested = parent is not None
        self.written: Site | None = None
        """Where the arguments that its `*` and `**` parameters collect are written; None for an entry."""


class TooLarge(Exception):
    """The entry needs more steps than `_MAX_STEPS`."""
