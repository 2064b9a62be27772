"""The public shape of call paths: what `conformance paths` prints and what rules ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from conformance.callpaths.values import Value
from conformance.findings import Place


class Route(StrEnum):
    """How the block is run on one path."""

    EAGER = "eager"
    CHECKPOINTED = "checkpointed"
    """The whole block under one checkpoint."""
    SEGMENTED = "segmented"
    """Several blocks under one checkpoint."""
    SCOPED = "scoped"
    """The block is called directly and handed a checkpoint callable for a part of itself."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One literal of a path's conjunction: `value` is truthy (`holds`) or falsy."""

    value: Value
    holds: bool

    def __str__(self) -> str:
        return self.value.text if self.holds else f"not ({self.value.text})"


@dataclass(frozen=True, slots=True)
class ClassRef:
    """A class by the file that defines it; `path` is None for a class outside the source root."""

    name: str
    path: str | None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """What is called: a submodule, or any element of a container."""

    text: str
    """As the model sees it: `self.blocks[*]`, `self.norm`."""
    classes: tuple[ClassRef, ...]
    """Empty when no class was found; then `CallPath.unknown` tells why."""
    method: str = "forward"
    is_element: bool = True
    """True for an element of a container, false for a submodule of its own."""


@dataclass(frozen=True, slots=True)
class CallPath:
    """One way by which one forward reaches one block."""

    block: Block
    route: Route
    conditions: tuple[Condition, ...]
    binding: Mapping[str, Value] | None
    """Parameter to value for each class's signature in common; None when it can't be known (`unknown` tells why).

    A parameter that is left to its default is absent.
    """
    call: Place
    """The call that names the block, inside a wrapper if there is one."""
    outer: Place
    """The call in the model's own function that leads there: the checkpoint call, the helper call, or `call`."""
    function: str
    """Qualified name of the function that holds `call`."""
    result: str
    """What becomes of the result: `name`, `unpack:2`, `index:0`, `attribute:sample`, `return`, `dropped`, `other`."""
    dead: bool = False
    """True for a branch of a wrapper that no present call takes."""
    unknown: str | None = None
    """Why `binding` or the block's class isn't known; None when all is known."""


@dataclass(frozen=True, slots=True)
class EntryPaths:
    """All call paths of one entry: a forward, or another function that no analysed function calls."""

    path: str
    class_name: str | None
    function: str
    line: int
    paths: tuple[CallPath, ...]
    loops: int = 0
    """Loops over a container of blocks that the entry runs."""
    unresolved_loops: tuple[Place, ...] = field(default=())
    problems: tuple[str, ...] = ()
    """Why some of the entry wasn't followed, such as its size: then paths may be missing."""
