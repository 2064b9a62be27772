"""CF307 gate-mutates-flag: A run of the model changes the flag that turns checkpointing on.

Severity: warning
Stage: stable
Repair: none

## What it does
Looks at the attributes that a run of the model sets, in `forward` and in what it calls. Where one of them is the flag
that turns checkpointing on (it is tested on the way to a checkpoint and a method turns it on, a gate helper gets it, or
the profile names it), and it gets another value, the statement is reported.

A run that gives the flag its first value back is left alone, and so is a parent that hands its own flag to a submodule.

## Why is this bad
The flag belongs to the user. After one pass it has the value of the last block: checkpointing is off for the rest of
the training, or on where it was turned off, and the user's setting is lost.

## Example
```python
for i, block in enumerate(self.blocks):
    if self.gradient_checkpointing:
        self.gradient_checkpointing = i % self.interval == 0
    if self.gradient_checkpointing:
        x = checkpoint(block, x, use_reentrant=False)
    else:
        x = block(x)
```

## Use instead
```python
for i, block in enumerate(self.blocks):
    due = i % self.interval == 0
    if self.gradient_checkpointing and due:
        x = checkpoint(block, x, use_reentrant=False)
    else:
        x = block(x)
```

## What it does not see
- Flags of other objects: a submodule's, a parent's.
- Runs that give the flag back on some ways only.
- Methods that are not called by a `forward`, or by a function that runs blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.flags import rewrites
from conformance.callpaths.trace import AttributeStore, Site
from conformance.findings import Finding
from conformance.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entry in context.entries:
        for store in rewrites(entry, context.interpreter):
            if store.site not in reported:
                reported.add(store.site)
                yield _finding(context, store)


def _finding(context: Context, store: AttributeStore) -> Finding:
    value = store.value.text
    told = f" to `{value}`" if "…" not in value and len(value) <= 60 else ""
    message = (
        f"`{store.site.function.rpartition('.')[2]}` sets `self.{store.name}`{told} while the model runs: what the "
        f"user has set is lost after one pass, and later passes go by what is left here. Use a local name for what "
        f"differs from block to block."
    )
    return context.finding(context.statement(store.site), message, parameter=store.name)
