"""CF106 branch-only-statement: A statement on one path changes what both paths use later.

Severity: error
Stage: stable
Repair: none

## What it does
The paths of one block part at a test and meet again after it. Whatever a path binds or changes there is compared with
what the other one does: names, attributes, items, what is appended to a list or done to a tensor in place. A statement
that only one path has is reported when what it leaves is read after the paths have met, in the next iteration, or
when it is returned, by code that the other path reaches as well.

Nothing is said of statements that only prepare the call, of names that are used on their own path only, and of uses
under a condition that the other path excludes, such as collecting a cache that the gate switches off.

## Why is this bad
Both paths must compute the same function. A cast, a scale, a residual, a list of hidden states or the step to the next
state that is missing on one path makes training with checkpointing another computation than training without it, and
than inference; or a name is missing altogether and the code fails.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        out = checkpoint(block, x, use_reentrant=False)
    else:
        out = block(x)
        x = out[0]
```

## Use instead
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        out = checkpoint(block, x, use_reentrant=False)
    else:
        out = block(x)
    x = out[0]
```

## What it does not see
- What a path does to the input of its own call: another value for an argument is reported as such (CF102).
- What is done to the result in the statement that holds the call (CF105).
- Changes where both paths do something of their own to the same name.
- Attributes and containers that only code outside this forward reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.effects import OneSided, one_sided
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import route_words, setting

_USES = {
    "nothing": "both paths use it later: the {there} path gives it no value",
    "other": "both paths use it later: the {there} path goes on with another value",
    "less": "both paths use it later: the {there} path leaves it as it is",
    "input": "the next block gets it: on the {there} path, the next block gets another value",
}


def check(context: Context) -> Iterator[Finding]:
    for entry in context.entries:
        for found in one_sided(entry, context.calls):
            yield _finding(context, found)


def _finding(context: Context, found: OneSided) -> Finding:
    effect, path, other = found.effect, found.path, found.other
    here, there = route_words(path.route), route_words(other.route)
    name = effect.target
    verb = "changed" if effect.kind == "change" else "set"
    message = (
        f"`{name}` is {verb} here on the {here} path only, and {_USES[found.lacks].format(there=there)}. "
        "Do the same on both paths."
    )
    return context.finding(
        context.line(effect.site),
        message,
        parameter=name.rpartition(".")[2],
        witness=setting(other.public.conditions),
        related=[context.related("counterpart", other.raw.site, f"the {there} path runs the block here")],
    )
