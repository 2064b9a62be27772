"""Binds the arguments of one call to a signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.callpaths.values import Value
from conformance.facts.ir import Parameter


@dataclass(frozen=True, slots=True)
class Bound:
    """A call bound to a signature.

    `values` maps parameters to what is passed; a value of `absent` on one side of a condition is a keyword that is
    passed only there. `open` names why some parameters may be bound unseen; `problem` why the call can't be bound.
    """

    values: dict[str, Value]
    open: str | None = None
    problem: str | None = None
    rest: tuple[Value, ...] = ()
    """`**mappings` whose keys aren't known."""
    extra: tuple[str, ...] = ()
    """Keywords that land in the signature's `**kwargs`."""


def bind(
    parameters: Sequence[Parameter],
    arguments: Sequence[Value],
    keywords: Sequence[tuple[str | None, Value]],
) -> Bound:
    """Binds as Python does, `self` already left out of `parameters`."""
    values: dict[str, Value] = {}
    plain = [p.name for p in parameters if p.kind in ("positional", "any")]
    by_name = {p.name for p in parameters if p.kind in ("any", "keyword")}
    variadic = any(p.kind == "variadic" for p in parameters)
    catch_all = any(p.kind == "keywords" for p in parameters)
    opened: str | None = None
    rest: list[Value] = []
    extra: list[str] = []
    for index, value in enumerate(arguments):
        if value.op == "star":
            opened = f"*{value.args[0].text} has an unknown length"
            break
        if index < len(plain):
            values[plain[index]] = value
        elif not variadic:
            return Bound(values, problem=f"{len(arguments)} positional arguments for {len(plain)} parameters")
    for name, value in keywords:
        if name is None:
            rest.append(value)
        elif name in by_name:
            if name in values:
                return Bound(values, problem=f"`{name}` is passed twice")
            values[name] = value
        elif catch_all:
            extra.append(name)
            values[f"**{name}"] = value
        else:
            return Bound(values, problem=f"no parameter `{name}`")
    if rest and opened is None:
        opened = f"**{rest[0].text} has unknown keys"
    return Bound(values, opened, None, tuple(rest), tuple(extra))
