"""CF302 wrong-gate-flag: A gate tests a flag that nothing sets.

Severity: error, warning, convention
Stage: stable
Repair: none

## What it does
Looks at the attributes named after checkpointing that are tested on the way to a checkpoint. Reported are

- an attribute of the model that neither the class, its bases, a class that inherits from it, nor any other file of the
  tree sets: reading it fails, an *error*; where the gate asks for it with a default, it is off for good, a *warning*;
- an attribute that starts as false and that nothing changes, where the model has another flag that a method turns on
  and the path doesn't test it: a *warning*;
- the flag of another model that `forward` is given, where the model has that flag itself: a *warning*.

On trial, with `--preview` only: where the profile wants gates to ask for grad mode, a gate that asks for training mode
in its place is a *convention* finding.

Flags that a base class, a parent or the user sets from outside are known by their names, which the profile lists.

## Why is this bad
The flag that the user turns on isn't the one that the gate tests: checkpointing stays off and the memory isn't saved,
or the pass fails.

## Example
```python
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.gradient_checkpointing = False

    def forward(self, x):
        for block in self.blocks:
            if torch.is_grad_enabled() and self.gradient_checkpoint:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return x
```

## Use instead
```python
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.gradient_checkpointing = False

    def forward(self, x):
        for block in self.blocks:
            if torch.is_grad_enabled() and self.gradient_checkpointing:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return x
```

## What it does not see
- Attributes that aren't named after checkpointing.
- Classes with a base that can't be read, and classes that set attributes by computed names.
- Flags that only other projects set.
- Trees of more than a few thousand files.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.flags import WrongFlag, training_gates, wrong_flags
from conformance.callpaths.gates import place_of
from conformance.callpaths.paths import Path
from conformance.callpaths.trace import Site
from conformance.findings import Finding, Severity
from conformance.rules.context import Context
from conformance.rules.words import route_words, setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[tuple[Site, str]] = set()
    for entry in context.entries:
        for wrong in wrong_flags(entry, context.interpreter):
            site = place_of(entry, wrong.path.raw, context.interpreter)
            key = (site, wrong.test.text)
            if key not in reported:
                reported.add(key)
                yield _finding(context, wrong, site)
        if context.preview and context.project.profile.grad_mode:
            for path in training_gates(entry, context.interpreter):
                site = place_of(entry, path.raw, context.interpreter)
                if (site, "training") not in reported:
                    reported.add((site, "training"))
                    yield _training(context, path, site)


def _training(context: Context, path: Path, site: Site) -> Finding:
    message = (
        f"The gate of the {route_words(path.route)} path of `{path.public.block.text}` asks for training mode and not "
        f"for grad mode: gradients through a model in evaluation mode aren't checkpointed. Ask for grad mode."
    )
    return context.finding(site, message, severity=Severity.CONVENTION, parameter="training")


def _finding(context: Context, wrong: WrongFlag, site: Site) -> Finding:
    test = wrong.test.text
    owner = wrong.entry.owner
    assert owner is not None
    says = {
        "missing": "nothing sets it, so reading it fails",
        "optional": "nothing sets it, so it is off for good",
        "fixed": "it starts as false and nothing changes it, so it is off for good",
        "foreign": f"that is another model's flag, and `{owner.name}` has its own",
    }[wrong.kind]
    use = f" Test `self.{wrong.right[0]}`." if wrong.right else " Set it, or test the flag that is set."
    return context.finding(
        site,
        f"The gate of the {route_words(wrong.path.route)} path of `{wrong.path.public.block.text}` tests `{test}`: "
        f"{says}.{use}",
        severity=Severity.ERROR if wrong.kind == "missing" else Severity.WARNING,
        parameter=wrong.test.args[1],
        witness=setting(wrong.path.public.conditions),
    )
