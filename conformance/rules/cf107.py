"""CF107 callee-differs: The checkpointed path runs another callee than the eager path in its place.

Severity: error
Stage: stable
Repair: none

## What it does
Compares what is run on the two sides of a gate, in one iteration: the container that the loop goes through in place of
its element, an element at another index, another method of the same block, or another block of the same class with the
same arguments. The call under the checkpoint is reported. A container that is called inside a loop over it is reported
on either path, whatever the other one does.

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
- Another element or another block where either side of the gate has a loop of its own, and segments.
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
    ran = _name(path, found.kind)
    message = f"the {route_words(path.route)} path runs `{ran}`{_why(found)}"
    related = []
    if other is not None:
        meant, theirs = _name(other, found.kind), route_words(other.route)
        message += f", but the {theirs} path runs `{meant}`"
        related.append(context.related("counterpart", other.raw.site, f"the {theirs} path runs `{meant}` here"))
    return context.finding(
        site,
        f"{message}. {'Run the same on both paths' if related else 'Run the element'}.",
        text=ran,
        witness=setting(path.public.conditions),
        related=related,
    )


def _why(found: OtherCallee) -> str:
    if found.kind is Kind.ELEMENT:
        return ", another element"
    if found.kind is not Kind.CONTAINER:
        return ""
    if found.other is None:
        return ", the container that the loop goes through"
    return ", the whole container" if found.path.key in found.other.key.args else ", one element"


def _name(path: Path, kind: Kind) -> str:
    """What a path runs."""
    text = path.raw.callee.text if kind is Kind.ELEMENT else path.public.block.text
    return f"{text}.{path.raw.method}" if kind is Kind.METHOD else text
