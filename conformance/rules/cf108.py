"""CF108 control-not-forwarded: A control that the block accepts and the model stores is not passed.

Severity: warning, convention
Stage: stable
Repair: none

## What it does
A control is a setting that the model stores, that a setter changes from outside, and that its blocks take as an
argument: an attention-offload switch is one. It is found by its use: `__init__` sets an attribute to a literal, a
method sets it later, and some call of the model passes it to a parameter with a default. The profile can name others.
Every path of such a block must pass it. A call that doesn't is reported, one finding for each call.

A branch of a wrapper that no present call takes is reported as *convention*: the next caller gets the defect.

## Why is this bad
The user turns the control on, and it silently does nothing on that path: the memory isn't saved, or is saved only when
checkpointing is off.

## Example
```python
def create_custom_forward(module, return_dict=None):
    def custom_forward(*inputs):
        if return_dict is not None:
            return module(*inputs, return_dict=return_dict)
        return module(*inputs, offload_attention=self.offload_attention)

    return custom_forward
```

## Use instead
```python
def create_custom_forward(module):
    def custom_forward(*inputs):
        return module(*inputs, offload_attention=self.offload_attention)

    return custom_forward
```

## What it does not see
- Controls of models whose blocks' class isn't in the source root.
- Without a profile: a control that no call of the model passes, and loops that are only ever run eagerly.
- Controls that the blocks keep as attributes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.compare import default_value, is_used, method_of
from conformance.callpaths.controls import StoredControl, setter_of, stored_controls
from conformance.callpaths.model import Route
from conformance.callpaths.paths import BlockPaths, Entry, Path
from conformance.callpaths.trace import Site
from conformance.callpaths.values import truth_of
from conformance.findings import Finding, Severity
from conformance.project.project import ClassDef, FunctionDef
from conformance.rules.context import Context
from conformance.rules.words import route_words, setting


def check(context: Context) -> Iterator[Finding]:
    reported: set[tuple[Site, str]] = set()
    live = {path.raw.site for entry in context.entries for block in entry.blocks for path in block.live}
    for entry in context.entries:
        for block in entry.blocks:
            for control in stored_controls(entry, block, context.interpreter):
                for path in block.paths:
                    if path.raw.dead and path.raw.site in live:
                        continue
                    site = path.raw.site
                    if (site, control.parameter) in reported:
                        continue
                    cls = _lacking(context, entry, block, path, control)
                    if cls is not None:
                        reported.add((site, control.parameter))
                        yield _finding(context, entry, block, path, control, cls, site)


def _lacking(
    context: Context, entry: Entry, block: BlockPaths, path: Path, control: StoredControl
) -> ClassDef | FunctionDef | None:
    """The class, or the function, whose parameter this path leaves out, where that matters."""
    interpreter = context.interpreter
    if (path.unknown is not None and not path.raw.dead) or not _concerns(context, block, control):
        return None
    owner = entry.owner
    assert owner is not None
    stored = interpreter.values.make("attr", interpreter.values.make("self", owner, "self"), control.attribute)
    for cls, bound in path.bindings.items():
        method = method_of(path, cls, interpreter)
        if method is None or control.parameter in bound.values or (bound.problem is not None and not path.raw.dead):
            continue
        parameter = next((p for p in method.facts.parameters if p.name == control.parameter), None)
        if parameter is None:
            continue
        default = default_value(parameter, interpreter)
        off = path.assumptions(interpreter).truth(stored) is False
        if off and default is not None and truth_of(default) is False:
            continue
        receiver = cls if isinstance(cls, ClassDef) else None
        if path.raw.dead or is_used(method, receiver, control.parameter, bound, interpreter):
            return cls
    return None


def _concerns(context: Context, block: BlockPaths, control: StoredControl) -> bool:
    """A loop that is only ever eager may leave a control out on purpose, unless the profile says that it is one."""
    if any(path.route is not Route.EAGER for path in block.paths):
        return True
    names = {(c.parameter, c.attribute) for c in context.project.profile.handed_controls}
    return (control.parameter, control.attribute) in names


def _finding(
    context: Context,
    entry: Entry,
    block: BlockPaths,
    path: Path,
    control: StoredControl,
    callee: ClassDef | FunctionDef,
    site: Site,
) -> Finding:
    assert entry.owner is not None
    passing = [
        other
        for other in block.live
        if other.raw.site != path.raw.site
        and any(control.parameter in bound.values for bound in other.bindings.values())
    ]
    related = [
        context.related("counterpart", other.raw.site, f"the {route_words(other.route)} path passes it here")
        for other in passing[:1]
    ]
    setter = setter_of(entry.owner, control.attribute, context.interpreter)
    stored = f"`{entry.owner.name}` stores `self.{control.attribute}`" + (f" ({setter})" if setter else "")
    if path.raw.dead:
        where = "on a branch of this wrapper that no call takes at present"
        severity = Severity.CONVENTION
    else:
        where = f"on the {route_words(path.route)} path"
        severity = Severity.WARNING
    message = (
        f"`{control.parameter}` is not passed to {_name(block, callee)} {where}; {stored}, so the setting does "
        f"nothing here. Pass `{control.parameter}=self.{control.attribute}`."
    )
    return context.finding(
        site,
        message,
        severity=severity,
        parameter=control.parameter,
        witness=None if path.raw.dead else setting(path.public.conditions),
        related=related,
    )


def _name(block: BlockPaths, callee: ClassDef | FunctionDef) -> str:
    if isinstance(callee, FunctionDef):
        return f"`{callee.facts.qualname}`"
    return f"`{block.text}` ({callee.name})"
