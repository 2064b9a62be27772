"""CF107 callee-differs: The checkpointed path runs another callee than the eager path in its place.

Severity: error
Stage: stable
Repair: none

## What it does
Compares what is run on the two sides of a gate, in one iteration: the container that the loop goes through in place of
its element, an element at another index, another method of the same block, or another block of the same class with the
same arguments. The call under the checkpoint is reported.

Nothing is said where one of the two methods hands on to the other, and where more than one call on either side could be
the counterpart.

## Why is this bad
Both paths must compute the same function. A container in place of its element runs every layer in every iteration; an
element at a fixed index is trained alone, while all others get no gradients.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(self.blocks, x, use_reentrant=False)
    else:
        x = block(x)
```

## Use instead
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, use_reentrant=False)
    else:
        x = block(x)
```

## What it does not see
- Loops of their own on either side of the gate, and segments.
- Blocks of different classes, or with different arguments: they may be two steps of their own.
- Methods of the model itself, and functions that run a block.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.callees import Kind, OtherCallee, other_callees
from conformance.callpaths.paths import Path
from conformance.callpaths.trace import Site
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import place_of, route_words, setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entry in context.entries:
        for found in other_callees(entry, context.interpreter):
            site = place_of(found.path, found.other)
            if site not in reported:
                reported.add(site)
                yield _finding(context, found, site)


def _finding(context: Context, found: OtherCallee, site: Site) -> Finding:
    path, other = found.path, found.other
    mine, theirs = route_words(path.route), route_words(other.route)
    ran, meant = _name(path, found.kind), _name(other, found.kind)
    why = ""
    if found.kind is Kind.CONTAINER:
        is_whole = path.key in other.key.args
        why = ", the whole container" if is_whole else ", one element"
    elif found.kind is Kind.ELEMENT:
        why = ", another element"
    return context.finding(
        site,
        f"the {mine} path runs `{ran}`{why}, but the {theirs} path runs `{meant}`. Run the same on both paths.",
        text=ran,
        witness=setting(path.public.conditions),
        related=[context.related("counterpart", other.raw.site, f"the {theirs} path runs `{meant}` here")],
    )


def _name(path: Path, kind: Kind) -> str:
    """What a path runs."""
    text = path.raw.callee.text if kind is Kind.ELEMENT else path.public.block.text
    return f"{text}.{path.raw.method}" if kind is Kind.METHOD else text
