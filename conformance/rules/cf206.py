"""CF206 nested-tensor-argument: Tensors that need gradients are handed to a re-entrant checkpoint inside a tuple.

Severity: error
Stage: stable
Repair: none

## What it does
Looks at calls that run torch's checkpoint in its re-entrant mode for certain: `use_reentrant=True` is passed, or
nothing is. An argument that is a tuple, a list or a dict is reported when one of its items is computed by a module with
parameters, or is joined or calculated from such a tensor. A choice counts when one of its sides does that can be taken
where the checkpoint runs, and what a loop carries when it does so in the first iteration.

## Why is this bad
The re-entrant mode detaches and tracks the tensors that are arguments themselves, and no others. Through a tuple the
recompute stays attached to the graph outside: with two blocks backward fails ("Trying to backward through the graph a
second time"), and where no other argument needs a gradient, there are none.

## Example
```python
scale, shift = self.modulation(temb).chunk(2, dim=-1)
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, (scale, shift), use_reentrant=True)
    else:
        x = block(x, (scale, shift))
```

## Use instead
```python
scale, shift = self.modulation(temb).chunk(2, dim=-1)
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, (scale, shift), use_reentrant=False)
    else:
        x = block(x, (scale, shift))
```

## What it does not see
- Tuples that reach the forward as an argument, and tensors whose origin isn't a module's call.
- Checkpoints written as an `autograd.Function` of the project.
- Whether the module is frozen in a given training run.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.callables import Kind, Mode, Use
from conformance.callpaths.paths import shown_conditions
from conformance.callpaths.trace import Site, literals
from conformance.callpaths.values import Value
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import setting

_CONTAINERS = ("tuple", "list", "dict")


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entry in context.entries:
        for use in context.calls.checkpoint_uses(entry):
            if use.callable.kind is not Kind.TORCH or use.mode not in (Mode.REENTRANT, Mode.DEFAULT):
                continue
            for argument in use.arguments[1:]:
                inner = _carrying(context, use, argument)
                if inner is not None and use.call.site not in reported:
                    reported.add(use.call.site)
                    yield _finding(context, use, argument, inner)


def _carrying(context: Context, use: Use, argument: Value) -> Value | None:
    """An item of a container that needs gradients where the checkpoint runs."""
    if argument.op not in _CONTAINERS:
        return None
    items = [value for _, value in argument.args[0]] if argument.op == "dict" else argument.args
    grad = [(test, True) for test in context.calls.interpreter.grad_tests]
    where = [*literals(use.setting), *grad]
    return next((item for item in items if context.calls.gradients.carried(item, where)), None)


def _finding(context: Context, use: Use, argument: Value, inner: Value) -> Finding:
    mode = "re-entrant here" if use.mode is Mode.REENTRANT else "re-entrant unless `use_reentrant=False` is passed"
    return context.finding(
        use.call.site,
        f"A {argument.op} with `{inner.text}`, which needs gradients, is passed to {use.callable.text}, which is "
        f"{mode} and only tracks tensors that are arguments themselves: backward fails or loses gradients. Pass the "
        "tensors one by one, or pass `use_reentrant=False`.",
        witness=setting(shown_conditions(use.setting)),
    )
