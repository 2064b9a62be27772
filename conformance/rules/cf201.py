"""CF201 late-bound-capture: A checkpointed function reads a name that has moved on when backward runs it again.

Severity: error
Stage: stable
Repair: none

## What it does
Looks at every function that is handed to a checkpoint, and at what it calls: lambdas, nested functions, what a factory
returns. A free name that the enclosing function can bind to another value after the checkpoint call is reported at the
function that reads it: the loop's own target, a name assigned later in the body, or in the next iteration.

Nothing is said when the name is bound early (a default, a parameter of a factory or a helper), when the later binding
gives the same value, when it stands on a branch that excludes the checkpointed path, or when only the shape, type or
device of a tensor is read.

## Why is this bad
The function runs twice: now, and again during backward, when the loop has ended. A name that is read late then has its
last value: another block, another index, another mask. Nothing fails; the gradients are wrong.

## Example
```python
for block in self.blocks:
    def run(x):
        return block(x)

    x = checkpoint(run, x, use_reentrant=False)
```

## Use instead
```python
for block in self.blocks:
    def run(x, block=block):
        return block(x)

    x = checkpoint(run, x, use_reentrant=False)
```

## What it does not see
- Attributes and items that change between forward and backward (`self.step`, `state["x"]`), and global names.
- Functions that reach the checkpoint through a container or an attribute.
- Reads of a tensor's shape or type where the later tensor has another one.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.paths import shown_conditions
from conformance.callpaths.trace import LateRead
from conformance.findings import Finding, Place, Related
from conformance.rules.context import Context
from conformance.rules.words import setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[tuple[object, ...]] = set()
    for entry in context.entries:
        for late in entry.late:
            site = late.capture.site
            key = (site.path, site.span, late.capture.name)
            if key not in reported:
                reported.add(key)
                yield _finding(context, late)


def _finding(context: Context, late: LateRead) -> Finding:
    capture, rebinding = late.capture, late.rebinding
    name = capture.name
    kind = "lambda" if capture.function.name == "<lambda>" else f"`{capture.function.name}`"
    if rebinding.value is None:
        moved = f"line {rebinding.line} deletes it"
    elif rebinding.is_target:
        moved = f"the loop at line {rebinding.line} has moved on" if rebinding.line else "the loop has moved on"
    else:
        moved = f"line {rebinding.line} has bound it anew"
    message = (
        f"{kind} is run again during backward and reads `{name}` then, but by that time {moved}: the recompute uses "
        f"another value. Bind it when the function is made: `{name}={name}` as a default."
    )
    related = []
    if rebinding.line:
        place = Place(late.path, rebinding.line, 1, rebinding.line, 1)
        related.append(Related("counterpart", place, f"`{name}` is bound again here"))
    related.append(context.related("counterpart", capture.checkpoint.site, "the checkpoint that runs it twice"))
    return context.finding(
        capture.site,
        message,
        parameter=name,
        text=capture.function.name,
        witness=_witness(late),
        related=related,
    )


def _witness(late: LateRead) -> str:
    """The conditions of the checkpointed path, and those under which the name is bound again."""
    ran = shown_conditions(late.capture.conditions)
    again = [c for c in shown_conditions(late.rebinding.conditions) if c not in ran]
    parts = [setting(ran)] if ran else []
    if again:
        parts.append(f"bound again when {setting(again)}")
    if late.capture.loops:
        parts.append("two or more iterations")
    return "; ".join(parts) or "always"
