"""CF205 recompute-mutates-state: A checkpointed function changes something that outlives its call.

Severity: error, warning
Stage: stable
Repair: none

## What it does
Looks into what a checkpoint runs: the block's forward, the methods that it calls, and the modules inside it, with the
literals that this path passes. A change of an attribute, or of a dict or list that was there before the call, is
reported where the second run finds it and does something else.

It is an *error* when the result of the second run is another one: a memory that is read before it is written, a
counter that decides. It is a *warning* when only the change happens twice: a counter counts double, a list has its
entries twice.

Nothing is said of what gives the same value again: a cache that is filled once, an attribute that only remembers the
last shape; of what happens out of training or without grad mode only, or on demand of a flag that is off from the
start; and of arguments that this path doesn't pass.

## Why is this bad
The function runs again during backward, after the first run has changed the state. What it computes then isn't what
the forward has computed: PyTorch complains of other shapes, or the gradients are silently those of another function.

## Example
```python
class Mix(nn.Module):
    def forward(self, x, memory):
        before = memory["last"] if "last" in memory else torch.zeros_like(x)
        memory["last"] = x.detach()
        return self.linear(x + before)
```

## Use instead
```python
class Mix(nn.Module):
    def forward(self, x, memory):
        before = memory["last"] if "last" in memory else torch.zeros_like(x)
        return self.linear(x + before)
```

## What it does not see
- Modules whose class is outside the source root, and processors that are chosen at run time.
- What is done to a tensor that is an argument.
- State that a nested function of the model's forward changes, but an attribute of the model that it makes of what was
  there: a name is CF201's matter.
- State whose second value decides on a test that can't be judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.paths import shown_conditions
from conformance.callpaths.recompute import Mutation, mutations
from conformance.findings import Finding, Severity
from conformance.rules.context import Context
from conformance.rules.words import setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[object] = set()
    for entry in context.entries:
        for mutation in mutations(entry, context.calls):
            if mutation.effect.site not in reported:
                reported.add(mutation.effect.site)
                yield _finding(context, mutation)


def _finding(context: Context, mutation: Mutation) -> Finding:
    effect, path = mutation.effect, mutation.path
    name = effect.target
    if mutation.differs:
        effect_words = "the second run finds it changed and computes something else"
    elif effect.kind == "change" and effect.how != "[]":
        effect_words = "the second run adds to it again"
    else:
        effect_words = "the second run changes it again"
    message = (
        f"`{name}` outlives the call and is changed in what a checkpoint runs, once now and once more during backward: "
        f"{effect_words}. Change it outside of the checkpointed function."
    )
    parts = [setting(path.public.conditions)]
    if effect.conditions:
        parts.append(setting(shown_conditions(effect.conditions)))
    return context.finding(
        context.line(effect.site),
        message,
        severity=Severity.ERROR if mutation.differs else Severity.WARNING,
        parameter=name.rpartition(".")[2],
        witness="; ".join(parts),
        related=[context.related("counterpart", path.raw.outer, "a checkpoint runs it twice from here")],
    )
