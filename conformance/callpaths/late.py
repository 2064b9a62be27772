"""Free names that a checkpointed function reads, judged once all bindings of their frame are seen."""

from __future__ import annotations

from conformance.callpaths.conditions import consequences, exclusive
from conformance.callpaths.frames import Frame
from conformance.callpaths.machine import METADATA, Machine
from conformance.callpaths.trace import Capture, LateRead, Rebinding, literals
from conformance.callpaths.values import Value, truth_of, walk
from conformance.facts.ir import Span


class LateReads(Machine):
    """A part of the interpreter."""

    def _finish(self, frame: Frame) -> None:
        """Judges the names that checkpointed functions read from this frame, now that all its bindings are seen."""
        if not frame.captures or self._trace is None:
            return
        owner = frame
        while owner.function is None and owner.parent is not None:
            owner = owner.parent
        qualname = owner.function.qualname if owner.function is not None else "<module>"
        by_name: dict[str, list[Rebinding]] = {}
        for binding in frame.bindings:
            by_name.setdefault(binding.name, []).append(binding)
        seen: set[tuple[str, Span, Span]] = set()
        for capture in frame.captures:
            key = (capture.name, capture.function.span, capture.checkpoint.site.span)
            if key in seen:
                continue
            for binding in by_name.get(capture.name, ()):
                if self._follows(capture, binding):
                    seen.add(key)
                    self._trace.late.append(LateRead(capture, binding, frame.module.path, qualname))
                    break

    def _follows(self, capture: Capture, binding: Rebinding) -> bool:
        """Whether a binding can come between the read and the recompute, with another value."""
        common = 0
        for first, second in zip(capture.loops, binding.loops, strict=False):
            if first != second:
                break
            common += 1
        later = binding.serial > capture.serial
        if not later and not common:
            return False
        shared = frozenset(capture.loops[:common])
        bound = None if binding.is_target else binding.value
        if bound is not None and self._same_again(bound, capture.value, shared):
            return False
        if not later and _is_made_once(binding):
            return False
        if any(capture.serial < serial for serial in self._backwards):
            return False  # a backward pass in between: what it recomputes has its values still
        reached = literals(binding.conditions)
        # Nothing is recomputed unless grad mode was on.
        ran = [*literals(capture.conditions), *((grad, True) for grad in self._grad_on)]
        if shared:
            # The next iteration may decide otherwise on whatever changes with it.
            reached_next = [(v, h) for v, h in self._widened(reached) if not v.loops & shared]
            ran_next = [(v, h) for v, h in self._widened(ran) if not v.loops & shared]
            if not exclusive(self.values, ran_next, reached_next):
                return True
            return later and not exclusive(self.values, ran, reached)
        return not exclusive(self.values, ran, reached)

    def _widened(self, conditions: list[tuple[Value, bool]]) -> list[tuple[Value, bool]]:
        """The conditions with what their flags imply: that holds in every iteration."""
        result = list(conditions)
        for value, holds in conditions:
            result.extend(consequences(self.values, value, holds))
        return result

    def _same_again(self, bound: Value, read: Value, shared: frozenset[int]) -> bool:
        """Whether the binding gives the name what it had, whatever the iteration."""
        if bound.op == "closure" and read.op == "closure":
            first, second = bound.args[0], read.args[0]
            return first.function is second.function and not any(
                value.loops & shared for value in first.defaults.values()
            )
        if _is_metadata(bound):
            return True  # sizes and types outlive most re-bindings
        if bound is read and bound.op == "call" and _without_casts(bound).op == "mu":
            return True  # `mask = mask.to(device)` changes nothing but once
        if bound is read:
            return not (bound.loops & shared) and not any(part.op in ("unknown", "iteration") for part in walk(bound))
        return False


_CASTS = frozenset(
    {"to", "type", "type_as", "contiguous", "detach", "clone", "cuda", "cpu", "float", "half", "bfloat16"}
)


def _without_casts(value: Value) -> Value:
    """What a chain of casts was made of."""
    while value.op == "call" and value.args[0].op == "attr" and value.args[0].args[1] in _CASTS:
        value = value.args[0].args[0]
    return value


def _is_made_once(binding: Rebinding) -> bool:
    """Whether a binding happens in one iteration only: where the name is still None, or in the first one."""
    for condition in binding.conditions:
        value = condition.value
        is_own = condition.holds and value.op == "mu" and value.args[1] == binding.name
        if is_own and binding.value is not None and truth_of(binding.value) is False:
            return True  # `if use_cache: use_cache = False`
        if not condition.holds or value.op != "cmp" or value.args[2].op != "const":
            continue
        kind, left, right = value.args
        if kind == "is" and right.args[1] is None and left.op == "mu" and left.args[1] == binding.name:
            return True
        if kind == "==" and left.op == "index" and left.args[0] in binding.loops and right.args[1] == 0:
            return True
    return False


def _is_metadata(value: Value) -> bool:
    """A size, a type or a device of a tensor."""
    while value.op == "item":
        value = value.args[0]
    if value.op == "call":
        value = value.args[0]
    return value.op == "attr" and value.args[1] in METADATA
