"""CF101 argument-dropped: A block gets an argument on one path and not on another.

Severity: error
Stage: stable
Repair: none

## What it does
Compares the paths of one block inside one forward: eager, checkpointed, segmented, and with only a part checkpointed.
A parameter that one path binds and the path that runs in its place leaves to its default is reported at the call that
leaves it out, whichever side that is. Wrappers, closures, partials, helpers and segment runners are looked through.

Nothing is said where the difference can't matter: the passed value equals the default under the conditions of the
path that omits it, or the block reads the parameter only under a guard that is then false.

## Why is this bad
Both paths must compute the same function. With the argument missing, training with checkpointing differs from
training without it, and from inference: a mask, a position embedding or a scale is silently ignored, and the gradients
are those of another model.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, rope, use_reentrant=False)
    else:
        x = block(x, rope, mask=mask)
```

## Use instead
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, rope, mask, use_reentrant=False)
    else:
        x = block(x, rope, mask=mask)
```

## What it does not see
- Blocks whose class, or whose `forward`, isn't in the source root; calls with a `*sequence` or a `**mapping` of unknown
  content.
- Two calls on the same route: comparing them is mostly noise. A loop over two lists joined is not compared with a loop
  over one of them.
- That a passed value does the same as the default, where only the callee's code shows it: an empty dict where the
  callee turns None into one, an attribute of the class that nothing changes. Such a difference is reported.
- That an argument is `None` whenever the path runs, where the code of the forward doesn't show why. Reported, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.controls import stored_controls
from conformance.callpaths.omissions import Omission, omissions
from conformance.callpaths.paths import Entry
from conformance.callpaths.trace import Site
from conformance.callpaths.values import Value
from conformance.callpaths.wrappers import losses
from conformance.findings import Finding
from conformance.project.project import ClassDef, FunctionDef
from conformance.rules.context import Context
from conformance.rules.words import block_words, passes, place_of, route_words, setting


def check(context: Context) -> Iterator[Finding]:
    interpreter = context.interpreter
    reported: set[tuple[Site, str]] = set()
    dropped: dict[tuple[Site, Value], ClassDef | FunctionDef] = {}
    for entry in context.entries:
        lost = _lost_in_wrappers(context, entry)
        for block in entry.blocks:
            found = [o for o in omissions(block, interpreter) if (id(o.path.raw), o.parameter.name) not in lost]
            if not found:
                continue
            controls = {control.parameter for control in stored_controls(entry, block, interpreter)}
            for omission in found:
                site = place_of(omission.path, omission.other)
                key = (site, omission.parameter.name)
                if omission.parameter.name in controls or key in reported:
                    continue
                reported.add(key)
                if dropped.setdefault((site, omission.value), omission.callee) is not omission.callee:
                    continue  # the same argument, by the name that another class of the list gives it
                yield _finding(context, omission, site)


def _lost_in_wrappers(context: Context, entry: Entry) -> set[tuple[int, str]]:
    """Arguments that a call hands to a wrapper which loses them, by the block's call: CF203 speaks of those."""
    return {
        (id(path.raw), name) for loss in losses(context.calls, entry) for path in loss.blocks for name in loss.names
    }


def _finding(context: Context, omission: Omission, site: Site) -> Finding:
    path, other, name = omission.path, omission.other, omission.parameter.name
    block = block_words(path, omission.callee)
    effect = (
        "it has no default, so the call fails"
        if omission.parameter.default is None
        else f"here it is left to its default{_default(omission)}"
    )
    message = (
        f"`{name}` is not passed to {block} on the {route_words(path.route)} path, but the "
        f"{route_words(other.route)} path passes {passes(omission.value)}; {effect}. Pass it on both paths."
    )
    return context.finding(
        site,
        message,
        parameter=name,
        witness=setting(path.public.conditions),
        related=[
            context.related("counterpart", other.raw.site, f"the {route_words(other.route)} path passes `{name}` here")
        ],
    )


def _default(omission: Omission) -> str:
    value = getattr(omission.parameter.default, "value", omission)
    return "" if value is omission else f" `{value!r}`"
