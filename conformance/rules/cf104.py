"""CF104 signature-mismatch: A call can't bind to the signature of what it calls, or names a method that isn't there.

Severity: error, warning
Stage: stable
Repair: none

## What it does
Holds calls against the signatures of what they call: an unknown keyword, too many positional arguments, a parameter
that is given twice, a required parameter that nothing fills, and a method that the class lacks. Two kinds of calls are
looked at, in files that speak of checkpointing: the calls of blocks on every call path, wrappers and checkpoints looked
through; and all calls of functions, classes, and methods of `self` or of its attributes.

The callee must resolve for certain. Nothing is said where a `*sequence` or a `**mapping` may fill the gap, where a
decorator that isn't known may have changed the signature, where the name is bound twice, assigned from outside or
defined by condition, where a subclass overrides the method, where a base outside the source root may define it, and
where the failure is caught or a test asks for the attribute first.

A call whose failure a handler of all errors swallows is a *warning*: what it is for never happens. A handler that names
the error is taken to mean it.

## Why is this bad
The call raises a `TypeError` or an `AttributeError`. Where every run takes it, it is found at once; such calls survive
in rare modes: a backend, an option or a checkpointed path that no test turns on.

## Example
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, attention_mask=mask, use_reentrant=False)
    else:
        x = block(x, mask=mask)
```

## Use instead
```python
for block in self.blocks:
    if torch.is_grad_enabled() and self.gradient_checkpointing:
        x = checkpoint(block, x, mask=mask, use_reentrant=False)
    else:
        x = block(x, mask=mask)
```

## What it does not see
- Callees outside the source root, and classes with a base outside it where the method could come from there.
- Objects in local variables, and functions inside functions.
- An argument that one path of a block passes and another doesn't: that is CF101.
- Calls at module level, and files without a word of checkpointing.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from conformance.callpaths.binding import Misfit
from conformance.callpaths.mismatches import Mismatch, Mismatches
from conformance.callpaths.signatures import Lacking, Signature
from conformance.findings import Finding, Place, Related, Severity
from conformance.rules.context import Context
from conformance.rules.words import setting

_MOST_NAMES = 12
"""Parameters that a message still lists."""


def check(context: Context) -> Iterator[Finding]:
    for mismatch in Mismatches(context.calls).find(context.entries, context.files):
        yield _finding(context, mismatch)


def _finding(context: Context, mismatch: Mismatch) -> Finding:
    target = mismatch.target
    if isinstance(target, Lacking):
        message, parameter = _lacking(context, target), target.method
        place, said = target.receiver, "the class is defined here"
        related = [Related("definition", context.calls.place_of(place.module.path, place.facts.span), said)]
        error = "AttributeError"
    else:
        message, parameter = _misfit(mismatch, target)
        line = target.span._replace(end_line=target.span.line, end_column=target.span.column)
        where: Place = context.calls.place_of(target.module.path, line)
        related = [Related("definition", where, f"`{target.label}` is defined here")]
        error = "TypeError"
    if mismatch.path is not None:
        when = setting(mismatch.path.public.conditions)
    else:
        when = " and ".join(mismatch.conditions)
    effect = f"{error}, which a handler around it takes" if mismatch.is_swallowed else error
    return context.finding(
        mismatch.site,
        message,
        severity=Severity.WARNING if mismatch.is_swallowed else Severity.ERROR,
        parameter=parameter,
        witness=f"{'this line runs' if when in ('', 'always') else when}: {effect}",
        related=related,
    )


def _misfit(mismatch: Mismatch, target: Signature) -> tuple[str, str]:
    """The message, and the parameter that the finding is about."""
    misfit = mismatch.misfit
    named = [p.name for p in target.parameters if p.kind in ("any", "keyword")]
    parts: list[str] = []
    if misfit.unknown:
        word = "parameter" if len(misfit.unknown) == 1 else "parameters"
        parts.append(f"has no {word} {_listed(misfit.unknown)}")
    if misfit.twice:
        parts.append(f"gets {_listed(misfit.twice)} by position and by keyword")
    if misfit.excess:
        takes = sum(p.kind in ("any", "positional") for p in target.parameters)
        parts.append(
            f"takes {takes} positional argument{'' if takes == 1 else 's'}, {takes + misfit.excess} are passed"
        )
    if misfit.missing:
        parts.append(f"needs {_listed(misfit.missing)}, which the call doesn't pass")
    parameter = (*misfit.unknown, *misfit.twice, *misfit.missing, "")[0]
    return f"`{target.label}` {' and '.join(parts)}, so this call fails. {_advice(misfit, named, target)}", parameter


def _advice(misfit: Misfit, named: list[str], target: Signature) -> str:
    if misfit.unknown:
        left = [name for name in named if name in misfit.missing]
        for name in misfit.unknown:
            meant = _closest(name, left or named)
            if meant is None and len(left) == len(misfit.unknown) == 1:
                meant = left[0]
            if meant is not None:
                return f"Did you mean `{meant}`?"
        shown = _listed(named[:_MOST_NAMES]) if named else "nothing by name"
        return f"It takes {shown}{' and more' if len(named) > _MOST_NAMES else ''}; rename the argument or drop it."
    by_name = {p.name for p in target.parameters if p.kind == "keyword"}
    if misfit.excess and by_name.intersection(misfit.missing):
        return f"Pass {_listed(misfit.missing)} by name."
    if misfit.missing:
        return f"Pass {'it' if len(misfit.missing) == 1 else 'them'}."
    return "Drop what is too much." if misfit.excess else "Pass it once."


def _closest(name: str, names: list[str]) -> str | None:
    """The name that was most likely meant: one that is nearly equal, or a part of the other at a word's end."""
    close = difflib.get_close_matches(name, names, 1)
    parts = [n for n in names if name.endswith(f"_{n}") or n.endswith(f"_{name}")]
    return close[0] if close else parts[0] if parts else None


def _lacking(context: Context, target: Lacking) -> str:
    known = [
        name
        for base in context.project.mro(target.receiver)
        for name in getattr(getattr(base, "facts", None), "methods", ())
    ]
    close = difflib.get_close_matches(target.method, known, 1)
    advice = f"Did you mean `{close[0]}`?" if close else "Define it, or call another."
    return f"`{target.receiver.name}` has no method `{target.method}`, so this call fails. {advice}"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
