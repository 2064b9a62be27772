"""CF301 literal-gate: A gate helper gets a literal where the model's flag belongs.

Severity: error, convention
Stage: stable
Repair: none

## What it does
A gate helper decides for one block whether it is checkpointed: a function that returns a modulo test on an index, and
nothing when its flag is off. It is recognised by that, whatever its name. A call that passes a literal true for the
flag is reported.

It is an *error* when nothing else on the path to the checkpoint tests a flag of the model, and a *convention* finding
when the same condition does: then the literal is harmless today, and wrong as soon as the other test moves.

## Why is this bad
The block is checkpointed although the user has turned checkpointing off: training is slower for no reason, and a model
in which checkpointing was never enabled can fail, since its checkpoint callable was never set.

## Example
```python
for i, block in enumerate(self.blocks):
    if torch.is_grad_enabled() and should_checkpoint(i, True, self.interval):
        x = checkpoint(block, x, use_reentrant=False)
```

## Use instead
```python
for i, block in enumerate(self.blocks):
    if torch.is_grad_enabled() and should_checkpoint(i, self.gradient_checkpointing, self.interval):
        x = checkpoint(block, x, use_reentrant=False)
```

## What it does not see
- Gates without a helper: `if True:`, or a flag that is left out of the condition altogether.
- Helpers that take the flag inside a `*sequence` or `**mapping`, and methods that read the flag themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.paths import Entry
from conformance.callpaths.trace import GateCall, Literal, literals
from conformance.callpaths.values import Value, truth_of, walk
from conformance.findings import Finding, Severity
from conformance.rules.context import Context


def check(context: Context) -> Iterator[Finding]:
    for entry in context.entries:
        flags = _flags(context, entry)
        for gate in entry.gates:
            if gate.value is None or gate.value.op != "const" or truth_of(gate.value) is not True:
                continue
            opened = _opened(entry, gate) or _foretold(entry, gate)
            if not opened:
                continue  # the helper's rhythm serves something else here
            guarded = all(_tests_flag(context, conditions, flags) for conditions in opened)
            yield _finding(context, entry, gate, guarded, flags)


def _flags(context: Context, entry: Entry) -> list[str]:
    """Attributes of the model that turn checkpointing on: what gate calls pass, and the profile's names."""
    found = [
        gate.value.args[1]
        for gate in entry.gates
        if gate.value is not None and gate.value.op == "attr" and gate.value.args[0].op == "self"
    ]
    if entry.owner is not None:
        for name in context.project.profile.flags:
            if context.interpreter.attribute_value(entry.owner, name) is not None:
                found.append(name)
    return list(dict.fromkeys(found))


def _opened(entry: Entry, gate: GateCall) -> list[tuple[Literal, ...]]:
    """The conditions of the checkpoints, whole or of a part, that this gate opens."""
    return [
        call.conditions
        for call in entry.trace.calls
        if (call.checkpoint is not None or call.scoped)
        and not call.dead
        and any(c.holds and any(part is gate.gate for part in walk(c.value)) for c in call.conditions)
    ]


def _foretold(entry: Entry, gate: GateCall) -> list[tuple[Literal, ...]]:
    """The conditions of the call itself, where it foretells what another gate decides with the same settings."""
    settings = _settings(gate)
    twins = [
        other
        for other in entry.gates
        if other.helper is gate.helper and other.value is not None and other.value.op != "const"
    ]
    return [gate.conditions] if settings and any(_settings(twin) == settings for twin in twins) else []


def _settings(gate: GateCall) -> set[Value]:
    """The model's attributes, but the flag, that a gate call gets."""
    _, arguments, keywords = gate.gate.args
    passed = (*arguments, *(value for _, value in keywords))
    return {value for value in passed if value.op == "attr" and value is not gate.value}


def _tests_flag(context: Context, conditions: tuple[Literal, ...], flags: list[str]) -> bool:
    assumptions = Assumptions(context.interpreter.values, literals(conditions))
    return any(
        assumptions.truth(part) is True
        for condition in conditions
        for part in walk(condition.value)
        if _is_flag(part, flags)
    )


def _is_flag(value: Value, flags: list[str]) -> bool:
    return value.op == "attr" and value.args[1] in flags


def _finding(context: Context, entry: Entry, gate: GateCall, guarded: bool, flags: list[str]) -> Finding:
    helper = gate.helper.facts.name
    flag = f"self.{flags[0]}" if flags else "the model's flag"
    assert gate.value is not None
    message = f"`{helper}` gets the literal `{gate.value.text}` as `{gate.flag}`"
    if guarded:
        message += f"; another test on this path has the flag, so it is harmless now. Pass `{flag}`."
    else:
        message += (
            ", and nothing else on this path tests the flag: the block is checkpointed even when checkpointing is off. "
            f"Pass `{flag}`."
        )
    related = [
        context.related("counterpart", other.site, f"here the helper gets `{other.value.text}`")
        for other in entry.gates
        if other.helper is gate.helper and other.value is not None and other.value.op != "const"
    ][:1]
    return context.finding(
        gate.site,
        message,
        severity=Severity.CONVENTION if guarded else Severity.ERROR,
        parameter=gate.flag,
        witness=None if guarded else f"{flag} off, grad mode on",
        related=related,
    )
