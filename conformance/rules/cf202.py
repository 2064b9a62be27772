"""CF202 keyword-to-checkpoint: A checkpoint callable gets a keyword that it doesn't take.

Severity: error
Stage: stable
Repair: none

## What it does
Finds out which callable a checkpoint call runs, by the definitions that reach it: imports, local aliases on every
branch, attributes and all methods that store them, parameters (followed from the calls that hand a callable to a
block), partials, wrappers in the tree with their own signature, and the hook that a model's base class stores. A
keyword that one of them doesn't take is reported at the call that passes it:

- torch's re-entrant checkpoint takes no keywords for the function, and is what runs when nothing else is said;
- diffusers' hook (`self._gradient_checkpointing_func` of a `ModelMixin`) takes positional arguments only, and sets
  `use_reentrant=False` by itself;
- a wrapper takes what its signature has, and what the checkpoint inside takes of the rest.

A call that runs one callable on one branch and another on the other must satisfy both. Of a definition that isn't
known nothing is said.

## Why is this bad
The call fails, but only with checkpointing on, and perhaps with one backend only: the model can't be trained in that
setting.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, mask=mask, use_reentrant=True)
    else:
        x = block(x, mask=mask)
```

## Use instead
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, mask, use_reentrant=True)
    else:
        x = block(x, mask=mask)
```

## What it does not see
- Callables outside the source root other than those of torch and the hooks that the profile knows, and a hook that a
  user hands to `enable_gradient_checkpointing`.
- Hooks of blocks that are no models themselves: their model stores them.
- A keyword that the callable hands on to a function which doesn't take it: CF203 and CF104 speak of that.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.callables import Kind, Mode, Use
from conformance.callpaths.paths import shown_conditions
from conformance.callpaths.trace import Site
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import listed, setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entry in context.entries:
        for use in context.calls.checkpoint_uses(entry):
            if use.rejected and use.call.site not in reported:
                reported.add(use.call.site)
                yield _finding(context, use)


def _finding(context: Context, use: Use) -> Finding:
    names = listed(use.rejected)
    is_many = len(use.rejected) > 1
    related = []
    if use.given is not None:
        related.append(context.related("counterpart", use.given.site, f"this call hands {use.callable.text} over"))
    for wrapper in use.through:
        definition = context.calls.definition(wrapper.value.args[-1])
        related.append(context.related("definition", definition, f"{wrapper.text} hands it on"))
    return context.finding(
        use.call.site,
        f"{names} {'are' if is_many else 'is'} passed by keyword to {use.callable.text}, {_reason(use)}",
        parameter=use.rejected[0],
        witness=setting(shown_conditions(use.setting)),
        related=related,
    )


def _reason(use: Use) -> str:
    """Why the callable doesn't take them, and what to do."""
    kind, them = use.callable.kind, "them" if len(use.rejected) > 1 else "it"
    if kind is Kind.POSITIONAL:
        if use.rejected == ("use_reentrant",):
            return (
                "which takes positional arguments only and chooses its mode by itself: the call fails. "
                "Pass `use_reentrant` only where the callable is torch's."
            )
        return f"which takes positional arguments only: the call fails. Pass {them} by position."
    if kind is Kind.WRAPPER:
        return f"whose signature has no such parameter: the call fails. Pass {them} by position, or widen the wrapper."
    if kind is Kind.SEQUENTIAL:
        return f"which hands no keywords to its functions: the call fails. Bind {them} in the functions."
    mode = "re-entrant here" if use.mode is Mode.REENTRANT else "re-entrant unless `use_reentrant=False` is passed"
    return (
        f"which is {mode} and then takes no keywords for the function: the call fails. "
        f"Pass {them} by position, or pass `use_reentrant=False`."
    )
