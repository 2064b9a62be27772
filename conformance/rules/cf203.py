"""CF203 keyword-lost-in-wrapper: A wrapper between a call and a checkpointed block loses keywords.

Severity: error
Stage: stable
Repair: none

## What it does
Looks at the functions between a call and the block that it runs: nested functions and lambdas that a checkpoint runs,
and any function that runs a checkpoint itself. Reported, at the function's definition, are the keywords that it is
called with and that never arrive:

- the function takes positional arguments only (`*inputs`), so that the call fails;
- it takes them, in a parameter or in `**kwargs`, but nowhere mentions that parameter, and the block inside, which has
  a parameter of this name, gets its default instead.

## Why is this bad
The other path passes the same keywords straight to the block. With checkpointing on the call either raises a
`TypeError`, or, worse, trains with a mask or an embedding missing.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        def run(*inputs, block=block):
            return checkpoint(block, *inputs, use_reentrant=False)
    else:
        run = block
    x = run(x, mask=mask)
```

## Use instead
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        def run(*inputs, block=block, **options):
            return checkpoint(block, *inputs, use_reentrant=False, **options)
    else:
        run = block
    x = run(x, mask=mask)
```

## What it does not see
- Wrappers that mention what they take and still don't hand it on; where both paths show the block's arguments, CF101
  and CF102 compare those.
- Functions that a class outside the source root calls.
- Keywords with the value None, and those that no parameter of the block is named after.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.paths import shown_conditions
from conformance.callpaths.trace import Site
from conformance.callpaths.wrappers import Loss, losses
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import listed, setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entry in context.entries:
        for loss in losses(context.calls, entry):
            if loss.definition not in reported:
                reported.add(loss.definition)
                yield _finding(context, loss)


def _finding(context: Context, loss: Loss) -> Finding:
    name = "This lambda" if loss.wrapper == "<lambda>" else f"`{loss.wrapper}`"
    them, defaults = ("them", "their defaults") if len(loss.names) > 1 else ("it", "its default")
    if loss.fails:
        message = (
            f"{name} is called with {listed(loss.names)}, but doesn't take {them} by keyword: the call fails. "
            f"Let it take {them} and hand {them} on to the block."
        )
    else:
        message = (
            f"{name} is called with {listed(loss.names)}, but never hands {them} on: the block is run with {defaults}. "
            f"Pass {them} to the block, too."
        )
    return context.finding(
        loss.definition,
        message,
        parameter=loss.names[0],
        text=loss.wrapper,
        witness=setting(shown_conditions(loss.conditions)),
        related=[context.related("counterpart", loss.site, "the call that passes by keyword")],
    )
