"""CF306 backend-ignored: A path uses one checkpoint callable, whatever backend the model stores.

Severity: warning
Stage: stable
Repair: none

## What it does
A backend is a setting that says which checkpoint callable runs the blocks: torch's own, or one that moves the inputs to
the host. It is found by its use: the model stores it, a method sets it, and a choice of callables tests it. The profile
can name others, with the values that stand for different callables. Each place where a callable runs a block, or is
handed to one, is tried under two values that another place of the class tells apart. Where it can run under both and
uses the same callable, it is reported.

What the setter does counts, not its name: it may store the callable itself, or change what is global.

## Why is this bad
The chosen backend does nothing on that path, and nothing says so: activations that were to be kept elsewhere stay on
the device.

## Example
```python
def set_backend(self, backend):
    self.backend = backend

def forward(self, x):
    run = offloaded_checkpoint if self.backend == "offloaded" else checkpoint
    for block in self.blocks:
        x = run(block, x, use_reentrant=False)
    for block in self.single_blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x
```

## Use instead
```python
def set_backend(self, backend):
    self.backend = backend

def forward(self, x):
    run = offloaded_checkpoint if self.backend == "offloaded" else checkpoint
    for block in self.blocks:
        x = run(block, x, use_reentrant=False)
    for block in self.single_blocks:
        x = run(block, x, use_reentrant=False)
    return x
```

## What it does not see
- Callables that come from a call, a table or another object, and hooks that the class fills itself.
- Backends whose setter does more than store them.
- Backends that no choice of the class tests, unless the profile names them.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.backends import OneCallable, backends, one_callable, runs
from conformance.callpaths.gates import by_class
from conformance.callpaths.paths import shown_conditions
from conformance.callpaths.trace import Site
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[tuple[Site, str]] = set()
    for entries in by_class(context.entries):
        places = runs(entries, context.interpreter)
        for backend in backends(entries, places, context.interpreter) if places else ():
            found = list(one_callable(places, backend, context.interpreter))
            for one in found:
                key = (one.run.site, backend.attribute)
                if key not in reported:
                    reported.add(key)
                    yield _finding(context, one, [other.run.site for other in found if other is not one])


def _finding(context: Context, one: OneCallable, siblings: list[Site]) -> Finding:
    attribute, site = one.backend.attribute, one.run.site
    first, second = (repr(value) for value in one.values)
    message = (
        f"This path uses `{one.run.callee.text}` whatever `self.{attribute}` is, which `{one.backend.setter}` stores: "
        f"{first} and {second} do the same here. Choose the callable by the setting."
    )
    related = []
    if one.counterpart is not None and one.counterpart.site != site:
        related.append(context.related("counterpart", one.counterpart.site, f"`self.{attribute}` decides here"))
    related += [
        context.related("sibling", other, "this path uses one callable, too")
        for other in dict.fromkeys(siblings)
        if other != site
    ]
    return context.finding(
        site,
        message,
        parameter=attribute,
        witness=setting(shown_conditions(one.run.conditions)),
        related=related,
    )
