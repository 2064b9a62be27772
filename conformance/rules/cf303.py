"""CF303 interval-ignored: A model stores an interval, and a path checkpoints the same blocks whatever it is.

Severity: warning
Stage: stable
Repair: none

## What it does
An interval, or a stride, says which blocks of a chain are checkpointed: every n-th one. It is found by its use: the
model stores it, a method sets it, and a gate takes the remainder of the loop's index by it, itself or in a helper. The
profile can name others. Each checkpointed path over a chain of blocks is judged by itself: whole blocks, segments, and
parts of blocks. A path that decides without the setting is reported at its checkpoint call.

Segments whose bounds are made of the setting count as using it. A path that can't run once the setting is made is left
alone, and so are calls outside a chain, where there is no n-th block.

## Why is this bad
The setting does nothing on that path, and nothing says so: every block is recomputed although every second one was
asked for, or all activations are kept where the memory was counted on.

## Example
```python
for i, block in enumerate(self.blocks):
    if torch.is_grad_enabled() and self.gradient_checkpointing and i % self.interval == 0:
        x = checkpoint(block, x, use_reentrant=False)
    else:
        x = block(x)
for single in self.single_blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(single, x, use_reentrant=False)
    else:
        x = single(x)
```

## Use instead
```python
for i, block in enumerate(self.blocks):
    if torch.is_grad_enabled() and self.gradient_checkpointing and i % self.interval == 0:
        x = checkpoint(block, x, use_reentrant=False)
    else:
        x = block(x)
for i, single in enumerate(self.single_blocks):
    if torch.is_grad_enabled() and self.gradient_checkpointing and i % self.interval == 0:
        x = checkpoint(single, x, use_reentrant=False)
    else:
        x = single(x)
```

## What it does not see
- Settings whose setter does more than store them: it may hand them on to the blocks, or to an inner model.
- Gates that ask an object which isn't in the source root, or that get the model itself.
- Intervals that no gate of the class uses, unless the profile names them.
- `while` loops over segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conformance.callpaths.gates import Stored, by_class, ignored_rhythms, place_of, rhythms
from conformance.callpaths.model import Route
from conformance.callpaths.paths import Path
from conformance.callpaths.trace import Site
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import route_words, setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entries in by_class(context.entries):
        known = rhythms(entries, context.interpreter)
        if not known:
            continue
        heeding: list[_Place] = []
        gates: dict[tuple[object, ...], _Gate] = {}
        for entry in entries:
            for block in entry.blocks:
                for path in block.live:
                    if path.route is Route.EAGER:
                        continue
                    ignored = ignored_rhythms(entry, path, known, context.interpreter)
                    place = _Place(place_of(entry, path.raw, context.interpreter), path)
                    if ignored:
                        # One gate decides for all routes of one loop.
                        key = (entry.function, block.key, path.raw.loops[:1], ignored)
                        gates.setdefault(key, _Gate(ignored, [])).places.append(place)
                    else:
                        heeding.append(place)
        for gate in gates.values():
            sites = {place.site for place in gate.places}
            if not reported & sites:
                reported |= sites
                others = [other.places[0] for other in gates.values() if other is not gate]
                yield _finding(context, gate, others, [place for place in heeding if place.site not in sites])


class _Place(NamedTuple):
    site: Site
    path: Path

    def __str__(self) -> str:
        return f"the {route_words(self.path.route)} path of `{self.path.public.block.text}`"


class _Gate(NamedTuple):
    ignored: tuple[Stored, ...]
    places: list[_Place]


def _finding(context: Context, gate: _Gate, others: Sequence[_Place], heeding: Sequence[_Place]) -> Finding:
    first = gate.places[0]
    names = " and ".join(f"`self.{rhythm.attribute}`" for rhythm in gate.ignored)
    setters = " and ".join(f"`{rhythm.setter}`" for rhythm in gate.ignored)
    store, they_are, these, it = ("store", "they are", "these settings", "them") if len(gate.ignored) > 1 else _ONE
    message = (
        f"The gate of {first} doesn't use {names}, which {setters} {store}: it opens for the same blocks whatever "
        f"{they_are} set to. Let it decide by the block's index and {these}."
    )
    same = {place.site: place for place in gate.places if place.site != first.site}
    related = [context.related("sibling", site, f"{place} has the same gate") for site, place in same.items()]
    related += [context.related("sibling", o.site, f"the gate of {o} doesn't either") for o in others]
    related += [context.related("counterpart", o.site, f"the gate of {o} uses {it}") for o in heeding[:1]]
    return context.finding(
        first.site,
        message,
        parameter=gate.ignored[0].attribute,
        witness=setting(first.path.public.conditions),
        related=related,
    )


_ONE = ("stores", "it is", "this setting", "it")
