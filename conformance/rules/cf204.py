"""CF204 use-reentrant-missing: torch's checkpoint is called without saying which of its two modes is meant.

Severity: convention
Stage: stable
Repair: none

## What it does
Reports a call that runs torch's own checkpoint for certain, on one branch at least, and passes no `use_reentrant`.
Aliases, attributes, parameters, partials that bind it, wrappers of the tree with a default of their own and mappings
of keywords are followed; where one of them may pass it unseen, nothing is said.

## Why is this bad
The default is the re-entrant mode, and torch warns that this will change. In that mode the checkpointed part gets no
gradients when none of its direct tensor arguments needs one (a frozen embedding in front of trained blocks),
`torch.autograd.grad` fails, and keywords are rejected.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, mask)
    else:
        x = block(x, mask)
```

## Use instead
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, mask, use_reentrant=False)
    else:
        x = block(x, mask)
```

## What it does not see
- Callables that aren't known, and those that hide torch's checkpoint outside the source root.
- Whether the default does harm here: that depends on what is trained.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.callables import Kind, Mode, Use
from conformance.callpaths.trace import Site
from conformance.findings import Finding
from conformance.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entry in context.entries:
        uses = context.calls.checkpoint_uses(entry)
        hooked = {use.call.site for use in uses if use.callable.kind is Kind.POSITIONAL}
        for use in uses:
            # What the default mode rejects is CF202's: the call fails.
            if use.mode is Mode.DEFAULT and not use.rejected and use.place not in reported:
                reported.add(use.place)
                yield _finding(context, use, use.call.site in hooked)


def _finding(context: Context, use: Use, is_hooked: bool) -> Finding:
    advice = "Pass `use_reentrant=False`"
    if is_hooked:
        advice += " where the callable is torch's; another one that the same call can run takes no keywords"
    related = []
    if use.given is not None:
        related.append(context.related("counterpart", use.given.site, f"this call hands {use.callable.text} over"))
    return context.finding(
        use.place,
        f"{use.callable.text} is torch's and gets no `use_reentrant` here, so it runs in re-entrant mode: no "
        f"gradients where none of its own arguments needs one, and keywords fail. {advice}.",
        parameter="use_reentrant",
        related=related,
    )
