"""What the interpreter notes while it runs a function: block calls, gate calls, late reads. Raw, not yet bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from conformance.callpaths.values import Value
from conformance.facts.ir import Function, Span
from conformance.facts.module import ModuleFacts
from conformance.project.profile import CheckpointCallable
from conformance.project.project import ClassDef, FunctionDef


class Literal(NamedTuple):
    """One condition of a path; `branch` is the statement that tests it, so that its two sides are known as such."""

    value: Value
    holds: bool
    branch: int
    guard: bool = False
    """True where the other side only raises: a fact, but nothing that sends a path here or there."""


class Site(NamedTuple):
    """A call and the function that holds it."""

    path: str
    function: str
    class_name: str
    span: Span


@dataclass(slots=True)
class Checkpoint:
    """A checkpoint call that is being run."""

    site: Site
    start: int
    """Serial at its start: frames and loops with a greater one belong to the recomputed function."""
    kind: str


class RawCall(NamedTuple):
    """A call of a module, an element of a container, a method under checkpoint, or a parameter."""

    callee: Value
    method: str
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str | None, Value], ...]
    conditions: tuple[Literal, ...]
    checkpoint: Checkpoint | None
    scoped: bool
    site: Site
    outer: Site
    loops: tuple[int, ...]
    """Serials of the open loops of all frames."""
    result: str
    dead: bool
    wrapper: bool
    """True when the call stands in a nested function or lambda."""
    switches: tuple[Value, ...]
    """What the cache switches that the profile names are at the call."""
    written: Site | None
    """Where the arguments are written when the call forwards the `*` or `**` parameter of a wrapper: what is missing
    is missing there."""
    choice: Value | None
    """The choice that the callee is one of, such as the elements of two lists in one loop; None for a plain callee."""
    direct: FunctionDef | None
    """The method itself, when the callee is a method of the model."""


class CheckpointCall(NamedTuple):
    """A call of a checkpoint callable, as it stands in the source."""

    callee: Value
    """The callable with all definitions that reach it: a `phi` where several do."""
    kind: CheckpointCallable
    """What the first of them is."""
    function: Value | None
    """What is run under the checkpoint; None when a `*sequence` holds it."""
    arguments: tuple[Value, ...]
    """All positional arguments, the function included."""
    keywords: tuple[tuple[str | None, Value], ...]
    """All keywords, those for the checkpoint itself included."""
    conditions: tuple[Literal, ...]
    site: Site
    outer: Site
    loops: tuple[int, ...]
    dead: bool
    inside: bool
    """True under another checkpoint that is being run."""


class Wrapped(NamedTuple):
    """A call, with keywords, of a function that runs under a checkpoint or calls one itself, and what it loses."""

    function: Function
    definition: Site
    refused: tuple[str, ...]
    """Keywords that the function can't take: the call fails."""
    unread: tuple[str, ...]
    """Keywords that the function takes and never mentions."""
    conditions: tuple[Literal, ...]
    site: Site
    calls: tuple[int, int]
    """The calls inside, as a range of `Trace.calls`."""


class OpenContext(NamedTuple):
    """A context manager that is entered."""

    value: Value
    conditions: tuple[Literal, ...]
    """Those under which it was entered."""


class AnyCall(NamedTuple):
    """A call of anything, with the contexts that are open there. Noted only where they are asked for."""

    callee: Value
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str | None, Value], ...]
    conditions: tuple[Literal, ...]
    contexts: tuple[OpenContext, ...]
    stored: tuple[Value, ...]
    """Parameters that some attribute holds there."""
    site: Site


class AttributeStore(NamedTuple):
    """An assignment to an attribute of the model."""

    owner: ClassDef
    name: str
    value: Value
    conditions: tuple[Literal, ...]
    site: Site
    """The function, and the line of the statement."""


class Modulo(NamedTuple):
    """A remainder that is written out, by the line of the statement that computes it."""

    value: Value
    site: Site


class GateCall(NamedTuple):
    """A call of a gate helper."""

    helper: FunctionDef
    flag: str
    """The helper's parameter that takes the flag."""
    value: Value | None
    """What is passed for it; None when it is left to its default or unknown."""
    gate: Value
    """The value of the call."""
    conditions: tuple[Literal, ...]
    site: Site


class Capture(NamedTuple):
    """A read of a free name while a checkpointed function runs."""

    name: str
    value: Value
    serial: int
    conditions: tuple[Literal, ...]
    loops: tuple[int, ...]
    function: Function
    checkpoint: Checkpoint
    site: Site
    """Where the function that reads the name is defined."""


class Rebinding(NamedTuple):
    """A binding of a captured name in the frame that owns it."""

    name: str
    value: Value | None
    """None for `del`."""
    serial: int
    conditions: tuple[Literal, ...]
    loops: tuple[int, ...]
    is_target: bool
    """True for the target of a loop."""
    line: int


class LateRead(NamedTuple):
    """A captured name that can be re-bound before the function runs again."""

    capture: Capture
    rebinding: Rebinding
    path: str
    owner: str
    """Qualified name of the function that owns the name."""


class Effect(NamedTuple):
    """A change that outlives its statement: a name bound, an attribute set, an object changed in place."""

    kind: str
    """`bind`, `set` or `change`."""
    target: str
    """What is changed, as the source spells it: `x`, `self.count`."""
    owner: int
    """Serial of the frame that has the name; 0 for an attribute."""
    base: Value | None
    """The object whose attribute is set, or that is changed in place; None for what a call has given."""
    how: str
    """For a change in place: the method, or `[]` for an item."""
    value: Value
    """What is bound, set or added."""
    serial: int
    conditions: tuple[Literal, ...]
    loops: tuple[int, ...]
    checkpoint: Checkpoint | None
    """The outermost checkpoint that is being run."""
    calls: tuple[int, int]
    """The noted calls that the statement holds, by their indices: from, up to."""
    site: Site


class Join(NamedTuple):
    """Where the two sides of a test meet again."""

    frame: int
    """Serial of the frame that holds the test."""
    joined: dict[tuple[int, str], Value]
    """What differs by side, by frame (0 for attributes) and name: the choice that it is from there on."""


class LoopSeen(NamedTuple):
    """A loop over something that a block is taken from."""

    serial: int
    site: Site
    iterable: Value


@dataclass(slots=True)
class Trace:
    """Everything noted during one entry."""

    module: ModuleFacts
    owner: ClassDef | None
    function: Function
    calls: list[RawCall] = field(default_factory=list)
    checkpoints: list[CheckpointCall] = field(default_factory=list)
    wrapped: list[Wrapped] = field(default_factory=list)
    gates: list[GateCall] = field(default_factory=list)
    stores: list[AttributeStore] = field(default_factory=list)
    modulos: list[Modulo] = field(default_factory=list)
    late: list[LateRead] = field(default_factory=list)
    loops: list[LoopSeen] = field(default_factory=list)
    inside: dict[int, int] = field(default_factory=dict)
    """For the call of a function that runs a block, by its index: up to which index the calls stand inside it."""
    inlined: set[tuple[str, str]] = field(default_factory=set)
    """Path and qualified name of every function that was expanded."""
    problems: list[str] = field(default_factory=list)
    every_call: list[AnyCall] | None = None
    """All calls, where they are asked for; then functions of the tree are not expanded."""
    effects: list[Effect] = field(default_factory=list)
    joins: dict[int, Join] = field(default_factory=dict)
    """By the statement that tests, where both of its sides run blocks."""
    reads: dict[Value, list[tuple[Literal, ...]]] = field(default_factory=dict)
    """Under which conditions a choice, or what a loop carries, is read by its name."""
    carried: dict[tuple[int, str], Value] = field(default_factory=dict)
    """By loop and name: the choice that an iteration leaves to the next one."""
    returns: list[tuple[tuple[Literal, ...], Value]] = field(default_factory=list)
    """What the entry returns, with what decides on it."""
    left: dict[tuple[int, str], Value] = field(default_factory=dict)
    """By loop and name: what an iteration leaves."""
    judged: set[Value] = field(default_factory=set)
    """The callees that several routes run, known once the entry has been run."""
    chosen: list[Value] = field(default_factory=list)
    """Choices that no statement joins: what a conditional expression, or one of several `return`s, gives."""
    typed: list[Value] = field(default_factory=list)
    """Values of which the type is tested."""


def literals(conditions: Sequence[Literal]) -> list[tuple[Value, bool]]:
    """Conditions without the statements that test them."""
    return [(c.value, c.holds) for c in conditions]
