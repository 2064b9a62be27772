"""CF305 scope-conflict: Whole blocks are checkpointed though the setting asks for a part of each.

Severity: warning
Stage: stable
Repair: none

## What it does
Some blocks can be asked to checkpoint only a part of themselves, their feed-forward layers. The model has a setting
whose values say whether the part is wanted: those under which the partly checkpointed path runs ask for it, and those
that the profile names, where the class has the flag for them. A path that checkpoints whole blocks, one by one or in
segments, and that can run under such a value is reported. Only blocks that can be asked for a part count.

## Why is this bad
The part was asked for to trade memory for less recomputing. Here the whole block is recomputed, as if nothing had been
set.

## Example
```python
if self.gradient_checkpointing and self.interval is not None:
    return run_segments(self.blocks, self.interval, x, checkpoint)
for block in self.blocks:
    if self.gradient_checkpointing and self.backend.endswith("-ffn"):
        x = block(x, checkpoint_ffn=True, checkpoint_fn=checkpoint)
    elif self.gradient_checkpointing:
        x = checkpoint(block, x, use_reentrant=False)
    else:
        x = block(x)
```

## Use instead
```python
if self.gradient_checkpointing and self.interval is not None and not self.backend.endswith("-ffn"):
    return run_segments(self.blocks, self.interval, x, checkpoint)
for block in self.blocks:
    if self.gradient_checkpointing and self.backend.endswith("-ffn"):
        x = block(x, checkpoint_ffn=True, checkpoint_fn=checkpoint)
    elif self.gradient_checkpointing:
        x = checkpoint(block, x, use_reentrant=False)
    else:
        x = block(x)
```

## What it does not see
- Settings whose setter does more than store them.
- Classes without the flag that the profile asks for: there a value that asks for a part is refused before.
- Blocks that can't be asked for a part: whole is all that they can do.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.backends import WholeBlock, backends, runs, whole_blocks
from conformance.callpaths.gates import by_class, place_of
from conformance.callpaths.trace import Site
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import route_words, setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entries in by_class(context.entries):
        places = runs(entries, context.interpreter)
        known = backends(entries, places, context.interpreter) if places else ()
        for whole in whole_blocks(entries, known, context.interpreter):
            site = place_of(whole.entry, whole.path.raw, context.interpreter)
            if site not in reported:
                reported.add(site)
                yield _finding(context, whole, site)


def _finding(context: Context, whole: WholeBlock, site: Site) -> Finding:
    path = whole.path
    message = (
        f"The {route_words(path.route)} path of `{path.public.block.text}` runs whole blocks although "
        f"`self.{whole.attribute}` may be {whole.value!r}, which asks for a part of each. Exclude it from this path's "
        f"condition."
    )
    related = []
    if whole.part is not None:
        related.append(context.related("counterpart", whole.part.raw.site, "here a part of the block is checkpointed"))
    return context.finding(
        site,
        message,
        parameter=whole.attribute,
        witness=f"self.{whole.attribute} is {whole.value!r}; {setting(path.public.conditions)}",
        related=related,
    )
