"""Binds the arguments of one call to a signature."""

from __future__ import annotations

import itertools
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
    missing: tuple[str, ...] = ()
    """Parameters without a default that the call can't fill. Not a `problem`: what is passed is bound all the same, and
    the path that passes them tells what is due."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a call raises a `TypeError` before the callee runs, whatever the values are."""

    unknown: tuple[str, ...] = ()
    """Keywords that no parameter takes."""
    twice: tuple[str, ...] = ()
    """Parameters that are given by position and by keyword."""
    excess: int = 0
    """Positional arguments beyond the last parameter that takes one."""
    missing: tuple[str, ...] = ()
    """Parameters without a default that nothing fills."""

    def __bool__(self) -> bool:
        return bool(self.unknown or self.twice or self.excess or self.missing)


def misfit(
    parameters: Sequence[Parameter], positionals: int, starred: bool, keywords: Sequence[str], splat: bool
) -> Misfit:
    """Holds a call against a signature, `self` already left out.

    `positionals` counts plain positional arguments. A `*sequence` (`starred`) may be empty or fill any further
    positional parameter; a `**mapping` (`splat`) may be empty or fill any parameter that has a name. So only what is
    wrong either way is told.
    """
    plain = [p for p in parameters if p.kind in ("positional", "any")]
    filled = {p.name for p in plain[:positionals]}
    named = {p.name for p in parameters if p.kind in ("any", "keyword")}
    variadic = any(p.kind == "variadic" for p in parameters)
    catch_all = any(p.kind == "keywords" for p in parameters)
    given = set(keywords)
    # A name that only a position may fill is free for `**kwargs`.
    taken = {p.name for p in plain[:positionals] if p.kind == "any"}
    # A star fills parameters in turn, so it can't pass over one that a keyword fills.
    after = itertools.takewhile(lambda p: not (p.kind == "any" and p.name in given), plain[positionals:])
    within_reach = {p.name for p in after} if starred else set()
    missing = [
        p.name
        for p in parameters
        if p.default is None
        and p.kind in ("positional", "any", "keyword")
        and p.name not in filled
        and p.name not in within_reach
        and not (p.kind != "positional" and (splat or p.name in given))
    ]
    return Misfit(
        unknown=() if catch_all else tuple(dict.fromkeys(k for k in keywords if k not in named)),
        twice=tuple(dict.fromkeys(k for k in keywords if k in taken)),
        excess=0 if variadic else max(0, positionals - len(plain)),
        missing=tuple(missing),
    )


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
    lacking = misfit(parameters, *shape_of(arguments, keywords)).missing
    return Bound(values, opened, None, tuple(rest), tuple(extra), lacking)


def shape_of(
    arguments: Sequence[Value], keywords: Sequence[tuple[str | None, Value]]
) -> tuple[int, bool, tuple[str, ...], bool]:
    """What `misfit` asks of a call: positional arguments, whether a star, keywords, whether a splat."""
    starred = sum(value.op == "star" for value in arguments)
    names = tuple(name for name, _ in keywords if name is not None)
    return len(arguments) - starred, starred > 0, names, len(names) < len(keywords)
