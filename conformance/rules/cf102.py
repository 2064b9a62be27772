"""CF102 argument-differs: A parameter of a block gets different values on paths of one iteration.

Severity: error, warning
Stage: stable
Repair: none

## What it does
Compares what the paths of one block pass for the same parameter: eager, checkpointed, segmented, and with only a part
checkpointed. Values are compared by what reaches the call, not by their spelling: two names of one value are equal, and
one name that was bound again in between is not. What the conditions of a path make equal is equal.

A literal in place of a setting of the model, such as `offload_attention=False`, is a *warning*: the setting does
nothing on that path. Everything else is an *error*. The finding stands at the call that passes a literal; where neither
or both do, at the call that isn't eager.

## Why is this bad
Both paths must compute the same function. Here they don't: training with checkpointing differs from training without
it, and from inference, by a mask, a scale, a position embedding of another length.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, None, use_reentrant=False)
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
- Values that may be equal for all that the code shows: the results of two helpers, a view against a reshape, a clone, a
  detach, a cast, or what loops that only one of the paths runs in have made of a value.
- A name that is bound again between the two calls on one route only, when both calls read it after that.
- Two calls on the same route.
- Arguments inside a `*sequence` or a `**mapping` of unknown content.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.controls import stored_controls
from conformance.callpaths.differences import Difference, differences
from conformance.callpaths.paths import Entry
from conformance.callpaths.trace import Site
from conformance.callpaths.values import Value
from conformance.findings import Finding, Severity
from conformance.rules.context import Context
from conformance.rules.words import block_words, is_readable, place_of, route_words, setting


def check(context: Context) -> Iterator[Finding]:
    interpreter = context.interpreter
    reported: set[tuple[Site, str]] = set()
    for entry in context.entries:
        for block in entry.blocks:
            found = list(differences(block, interpreter))
            if not found:
                continue
            controls = {control.parameter for control in stored_controls(entry, block, interpreter)}
            for difference in found:
                site = _place(entry, difference)
                if site is not None and (site, difference.parameter) not in reported:
                    reported.add((site, difference.parameter))
                    is_control = difference.parameter in controls and difference.value.op == "const"
                    yield _finding(context, difference, site, is_control)


def _place(entry: Entry, difference: Difference) -> Site | None:
    """Where the value is passed: where both paths share the call, in the call of the function that holds it.

    None where that call is judged by itself, or is the same one too.
    """
    path, other = difference.path.raw, difference.other.raw
    if path.site != other.site:
        return place_of(difference.path, difference.other)
    judged = any(call.raw.site == path.outer for block in entry.blocks for call in block.paths)
    return None if judged or path.outer == other.outer else path.outer


def _finding(context: Context, difference: Difference, site: Site, is_control: bool) -> Finding:
    path, other, name = difference.path, difference.other, difference.parameter
    block = block_words(path, difference.callee)
    what = f"Argument {name}" if name.isdigit() else f"`{name}`"
    mine, theirs = route_words(path.route), route_words(other.route)
    message = f"{what} of {block} {_told(difference.value, difference.instead, mine, theirs)}"
    if is_control:
        message += f"; the setting does nothing here. Pass `{difference.instead.text}`."
    else:
        message += ". Pass the same on both paths."
    return context.finding(
        site,
        message,
        severity=Severity.WARNING if is_control else Severity.ERROR,
        parameter=name,
        witness=setting(path.public.conditions),
        related=[context.related("counterpart", other.raw.site, f"the {theirs} path passes another value here")],
    )


def _told(value: Value, instead: Value, mine: str, theirs: str) -> str:
    """Both values, where a reader can make them out and tell them apart."""
    if value.text == instead.text or not (is_readable(value) or is_readable(instead)):
        return f"gets another value on the {mine} path than on the {theirs} path"
    if not is_readable(value):
        return f"doesn't get `{instead.text}` on the {mine} path, but on the {theirs} path it does"
    if not is_readable(instead):
        return f"gets `{value.text}` on the {mine} path, but another value on the {theirs} path"
    return f"gets `{value.text}` on the {mine} path, but `{instead.text}` on the {theirs} path"
