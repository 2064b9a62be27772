"""CF103 argument-misplaced: A positional argument lands on another parameter than the one that it is meant for.

Severity: error
Stage: stable
Repair: none

## What it does
Compares the paths of one block: a value that one path passes by position and that the path in its place passes to
another parameter is reported at the call that passes it by position. Where both pass it by position, the name of the
value decides, else the call that isn't eager is reported. One finding is given for a call, however many arguments have
moved.

A single call is reported, too, where a name lands on an optional parameter though the block has a parameter of this
very name that the call leaves out: a list of positional arguments that skips one.

## Why is this bad
A list of positional arguments that skips or swaps a parameter still runs: every argument after the gap is taken for
its neighbour, a mask for an embedding, a class label for a time step. Checkpoint callables that take no keywords make
such lists long.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = self._gradient_checkpointing_func(block, x, mask)
    else:
        x = block(x, mask=mask)
```

## Use instead
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = self._gradient_checkpointing_func(block, x, None, mask)
    else:
        x = block(x, mask=mask)
```

## What it does not see
- Literals: `None` in a wrong place may stand for anything.
- Values that a call passes to several parameters, and values of which too little is known to tell them apart.
- Two names that are swapped in every call of the block: that may be the purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.placement import Landing, Misplacement, misplacements
from conformance.callpaths.trace import Site
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import block_words, place_of, route_words, setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entry in context.entries:
        for block in entry.blocks:
            for misplacement in misplacements(block, context.interpreter):
                site = place_of(misplacement.path, misplacement.other)
                if site not in reported:
                    reported.add(site)
                    yield _finding(context, misplacement, site)


def _finding(context: Context, misplacement: Misplacement, site: Site) -> Finding:
    path, other = misplacement.path, misplacement.other
    block = block_words(path, misplacement.callee)
    landed = ", ".join(map(_told, misplacement.landings))
    message = f"positional arguments of {block} land on the wrong parameters on the {route_words(path.route)} path: "
    if len(misplacement.landings) == 1:
        message = (
            f"a positional argument of {block} lands on the wrong parameter on the {route_words(path.route)} path: "
        )
    related = []
    if other is not None:
        words = route_words(other.route)
        meant = ", ".join(f"`{landing.meant}`" for landing in misplacement.landings)
        related.append(context.related("counterpart", other.raw.site, f"the {words} path passes {meant} here"))
    return context.finding(
        site,
        f"{message}{landed}. Fill the gap, or pass by keyword.",
        parameter=misplacement.landings[0].parameter,
        witness=setting(path.public.conditions),
        related=related,
    )


def _told(landing: Landing) -> str:
    return f"argument {landing.position} is meant for `{landing.meant}` and becomes `{landing.parameter}`"
