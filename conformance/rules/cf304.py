"""CF304 hand-rolled-interval: A gate takes the remainder itself although there is a helper for it.

Severity: convention
Stage: stable
Repair: none

## What it does
A gate that checkpoints every n-th block takes a remainder of the block's index by a stored interval. Where the same
file uses a gate helper, or the profile names one that the tree has, a remainder that is written out on the way to a
checkpoint is reported. Both are tried under the same settings: an interval of None, 0, 1 and 3, and a stride; the
message tells where they differ, and says so when they don't.

## Why is this bad
The helper is the one place that says what an interval means. A copy of it misses what is added there: an interval that
isn't set, a stride.

## Example
```python
for i, block in enumerate(self.blocks):
    if self.gradient_checkpointing and i % self.interval == 0:
        x = checkpoint(block, x, use_reentrant=False)
for i, block in enumerate(self.single_blocks):
    if should_checkpoint(i, self.gradient_checkpointing, self.interval):
        x = checkpoint(block, x, use_reentrant=False)
```

## Use instead
```python
for i, block in enumerate(self.blocks):
    if should_checkpoint(i, self.gradient_checkpointing, self.interval):
        x = checkpoint(block, x, use_reentrant=False)
for i, block in enumerate(self.single_blocks):
    if should_checkpoint(i, self.gradient_checkpointing, self.interval):
        x = checkpoint(block, x, use_reentrant=False)
```

## What it does not see
- Segments that are cut by hand.
- Gates that count blocks in another way than by a remainder.
- A helper that only other files of the tree use, and that the profile doesn't name.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.gates import WrittenOut, by_class, rhythms, written_out
from conformance.callpaths.trace import GateCall, Site
from conformance.findings import Finding
from conformance.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    helpers: dict[str, list[GateCall]] = {}
    for entry in context.entries:
        helpers.setdefault(entry.module.path, []).extend(entry.gates)
    reported: set[Site] = set()
    for entries in by_class(context.entries):
        if not any(entry.trace.modulos for entry in entries):
            continue
        known = rhythms(entries, context.interpreter)
        near = helpers[entries[0].module.path]
        for found in written_out(entries, known, near, context.interpreter) if known else ():
            if found.modulo.site not in reported:
                reported.add(found.modulo.site)
                yield _finding(context, found)


def _finding(context: Context, found: WrittenOut) -> Finding:
    attribute = found.interval.attribute
    message = f"This gate takes the remainder by `self.{attribute}` itself; `{found.helper}` is the helper for it. "
    if found.differences:
        message += f"Unlike the helper, {' and '.join(found.differences)}. Use the helper, unless this is intended."
    elif found.differences is None:
        message += "Use the helper, and compare what they do where the interval isn't set."
    else:
        message += "Both decide alike. Use the helper."
    related = []
    if found.used is not None:
        related.append(context.related("counterpart", found.used, f"`{found.helper}` is used here"))
    return context.finding(context.statement(found.modulo.site), message, parameter=attribute, related=related)
