"""CF105 result-differs: A block's result is taken apart differently by path.

Severity: error
Stage: stable
Repair: none

## What it does
Compares what the paths of one block do with its result, and reports

- a name that gets the whole result on one path and a part of it, or another part, on the other, and is read later;
- a result that is unpacked to another number of names;
- a result that only one path uses.

What the block returns tells which side is wrong, where its code shows that; else the call that isn't eager is reported.

Nothing is said where the calls ask for results of different forms (`return_dict=False`), where `[0]` stands against an
attribute such as `.sample`, and where later code tests what kind of value it has got.

## Why is this bad
A tuple where a tensor is expected fails in the next block, or is taken for a batch; two names that are swapped exchange
two streams silently. It shows in one mode only.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, context, use_reentrant=False)
    else:
        x, context = block(x, context)
```

## Use instead
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x, context = checkpoint(block, x, context, use_reentrant=False)
    else:
        x, context = block(x, context)
```

## What it does not see
- Results that functions which aren't followed take apart, and results kept in attributes.
- Names that only one of the two paths binds.
- Calls that get different literals, where the form of the result may depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.model import Route
from conformance.callpaths.paths import Path
from conformance.callpaths.results import OtherResult, Taken, other_results
from conformance.callpaths.trace import Site
from conformance.callpaths.values import Value
from conformance.findings import Finding
from conformance.rules.context import Context
from conformance.rules.words import block_words, route_words, setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[Site] = set()
    for entry in context.entries:
        for found in other_results(entry, context.interpreter):
            site = _place(found.path)
            if site not in reported:
                reported.add(site)
                yield _finding(context, found, site)


def _place(path: Path) -> Site:
    """Where the result is taken: a wrapper hands it on to the checkpoint."""
    raw = path.raw
    return raw.checkpoint.site if raw.checkpoint is not None and path.route is Route.CHECKPOINTED else raw.site


def _finding(context: Context, found: OtherResult, site: Site) -> Finding:
    path, other = found.path, found.other
    block = block_words(path, next(iter(path.bindings), None))
    mine, theirs = route_words(path.route), route_words(other.route)
    if found.kind is Taken.DROPPED:
        told = f"is dropped on the {mine} path, but used on the {theirs} path"
    elif found.kind is Taken.COUNT:
        told = f"is unpacked to {_count(path)} names on the {mine} path, but to {_count(other)} on the {theirs} path"
    else:
        assert found.took is not None
        assert found.instead is not None
        name = f"`{found.name}`" if found.name else "what follows"
        told = (
            f"is taken differently: {name} gets {_taken(found.took)} on the {mine} path, but {_taken(found.instead)} "
            f"on the {theirs} path"
        )
    returns = "" if found.returns is None else f" The block returns a tuple of {found.returns}."
    return context.finding(
        site,
        f"The result of {block} {told}.{returns} Take it in the same way on both paths.",
        parameter=found.name,
        witness=setting(path.public.conditions),
        related=[context.related("counterpart", other.raw.site, f"the {theirs} path takes it in another way here")],
    )


def _count(path: Path) -> str:
    return path.raw.result.partition(":")[2]


def _taken(value: Value) -> str:
    """What is taken of the result."""
    if value.op == "name":
        return "the whole result"
    if value.op == "item" and value.args[0].op == "name" and value.args[1].op == "const":
        return f"item {value.args[1].text} of it"
    if value.op == "attr" and value.args[0].op == "name":
        return f"its `.{value.args[1]}`"
    return f"`{value.text}`"
