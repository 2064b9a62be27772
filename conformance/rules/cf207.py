"""CF207 offload-scope-gap: Attention runs outside the context that its block's control turns on.

Severity: warning
Stage: stable
Repair: none

## What it does
A block that takes an offload control (`offload_attention`) turns on a context manager with it, under which tensors
that attention saves for backward are kept elsewhere. Every call of the block that computes attention must run under
that context, or be handed the control and open the context itself. A call that does neither is reported, whichever
branch it stands on.

What computes attention is found by what it reaches: scaled dot product attention, a flash or memory-efficient kernel,
a dispatch function, `nn.MultiheadAttention`, through functions, modules and their processors. The profile names the
control, its context and further fast paths; without it, a control is a parameter with a default that the function
hands to a context manager that offloads, around attention.

## Why is this bad
The user turns the control on to save memory, and on that path nothing is saved: the run is as large as before, or
fails for lack of memory only with the settings that take this branch.

## Example
```python
import torch.nn.functional as F


class Block(nn.Module):
    def forward(self, x, context=None, offload_attention=False):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        with activation_offload_context(offload_attention):
            x = x + F.scaled_dot_product_attention(q, k, v)
        if context is not None:
            k, v = self.kv(context).chunk(2, dim=-1)
            x = x + F.scaled_dot_product_attention(self.q(x), k, v)
        return x + self.ff(x)
```

## Use instead
```python
import torch.nn.functional as F


class Block(nn.Module):
    def forward(self, x, context=None, offload_attention=False):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        with activation_offload_context(offload_attention):
            x = x + F.scaled_dot_product_attention(q, k, v)
        if context is not None:
            k, v = self.kv(context).chunk(2, dim=-1)
            with activation_offload_context(offload_attention):
                x = x + F.scaled_dot_product_attention(self.q(x), k, v)
        return x + self.ff(x)
```

## What it does not see
- Attention written out as matrix products and a softmax, and kernels that are looked up at run time, unless the profile
  names the function.
- Attention modules whose class isn't in the tree and isn't named by the profile.
- Blocks that keep the control as an attribute.
- Calls under a test of the control together with something about the tensors (`offload and x.is_cuda`).
- Whether a context manager that gets the control does its work.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.compare import method_of
from conformance.callpaths.offload import Gap, Scopes, Taker
from conformance.callpaths.trace import Site
from conformance.findings import Finding
from conformance.project.project import ClassDef
from conformance.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    scopes = Scopes(context.interpreter)
    takers = [taker for path in context.files for taker in scopes.takers(path)]
    takers.extend(_blocks(context, scopes))
    reported: set[Site] = set()
    for gap in scopes.gaps(takers):
        if gap.call.site not in reported and not _is_dropped(context, gap):
            reported.add(gap.call.site)
            yield _finding(context, gap)


def _blocks(context: Context, scopes: Scopes) -> Iterator[Taker]:
    """Blocks of other files that the given ones run."""
    given = set(context.files)
    for entry in context.entries:
        for block in entry.blocks:
            for path in block.live:
                for callee in path.bindings:
                    method = method_of(path, callee, context.interpreter)
                    if method is None or method.module.path in given:
                        continue
                    for taker in scopes.takers(method.module.path):
                        if taker.function is method:
                            owner = callee if isinstance(callee, ClassDef) else taker.owner
                            yield Taker(method, owner, taker.parameter, path.raw.site)


def _is_dropped(context: Context, gap: Gap) -> bool:
    """Whether another path of the same block passes the control: then it is dropped here, which is CF101's to say."""
    for entry in context.entries:
        for block in entry.blocks:
            if any(path.raw.site == gap.call.site for path in block.paths) and any(
                gap.taker.parameter in bound.values for path in block.paths for bound in path.bindings.values()
            ):
                return True
    return False


def _finding(context: Context, gap: Gap) -> Finding:
    control, function = gap.taker.parameter, gap.taker.function
    callee = gap.call.callee
    name = callee.args[1].facts.name if callee.op == "bound" else callee.text
    scope = f"`with {gap.context}({control})`" if gap.context else "the context that the control turns on"
    accepts = any(p.name == control for runs in gap.runs for p in runs.facts.parameters)
    message = (
        f"`{name}` computes attention outside the offload context, though `{function.facts.qualname}` takes "
        f"`{control}`: what it saves for backward stays where it is when the control is on. Run it under "
        f"{scope}" + (f", or pass `{control}` on." if accepts else ".")
    )
    related = []
    if gap.covered is not None:
        related.append(context.related("counterpart", gap.covered, "this attention runs under the context"))
    if gap.taker.handed is not None and gap.taker.handed.path != gap.call.site.path:
        related.append(context.related("definition", gap.taker.handed, f"`{control}` is passed here"))
    return context.finding(gap.call.site, message, parameter=control, witness=f"{control} on", related=related)
