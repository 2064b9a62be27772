"""Wrappers between a call and a checkpointed block, and the keywords that they lose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from conformance.callpaths.compare import parameters_of
from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.paths import CallPaths, Entry, Path
from conformance.callpaths.trace import Literal, Site, literals


class Loss(NamedTuple):
    """A wrapper that is called with keywords which never arrive at the block."""

    wrapper: str
    definition: Site
    names: tuple[str, ...]
    fails: bool
    """True where the wrapper can't take them."""
    site: Site
    """The call that passes them."""
    conditions: tuple[Literal, ...]
    blocks: tuple[Path, ...]
    """The block's calls inside, which go without them."""


def losses(calls: CallPaths, entry: Entry) -> Iterator[Loss]:
    """All of an entry. What the checkpoint itself rejects is no loss of a wrapper."""
    uses = calls.checkpoint_uses(entry)
    rejected = {use.call.site for use in uses if use.rejected}
    paths = {id(path.raw): path for block in entry.blocks for path in block.live}
    for wrapped in entry.trace.wrapped:
        if wrapped.site in rejected or _is_excluded(calls, wrapped.conditions):
            continue
        inside = [paths[id(raw)] for raw in entry.trace.calls[slice(*wrapped.calls)] if id(raw) in paths]
        blocks, names = _missed(calls, inside, wrapped.unread)
        if wrapped.refused or names:
            yield Loss(
                wrapped.function.name,
                wrapped.definition,
                wrapped.refused or names,
                bool(wrapped.refused),
                wrapped.site,
                wrapped.conditions,
                blocks,
            )
    for use in uses:
        if not use.lost or use.rejected:
            continue
        inside = [p for p in paths.values() if p.raw.checkpoint is not None and p.raw.checkpoint.site == use.call.site]
        for wrapper in use.through:
            blocks, names = _missed(calls, inside, tuple(name for value, name in use.lost if value is wrapper.value))
            if names:
                definition = calls.definition(wrapper.value.args[-1])
                yield Loss(wrapper.value.text, definition, names, False, use.call.site, use.setting, blocks)


def _missed(
    calls: CallPaths, paths: Iterable[Path], names: tuple[str, ...]
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The blocks that have one of the names as a parameter, and those names; what a block gets anyway doesn't count."""
    found: dict[str, list[Path]] = {}
    for path in paths:
        for name in names:
            if _lacks(calls, path, name):
                found.setdefault(name, []).append(path)
    return tuple(path for group in found.values() for path in group), tuple(name for name in names if name in found)


def _lacks(calls: CallPaths, path: Path, name: str) -> bool:
    """Whether every class of a block has a parameter that nothing but the lost keyword gives a value."""
    return (
        bool(path.bindings)
        and path.unknown is None
        and all(
            any(parameter.name == name for parameter in parameters_of(path, callee, calls.interpreter))
            and (name not in bound.values or name in dict(path.raw.keywords))
            for callee, bound in path.bindings.items()
        )
    )


def _is_excluded(calls: CallPaths, conditions: tuple[Literal, ...]) -> bool:
    return Assumptions(calls.interpreter.values, literals(conditions)).contradictory
