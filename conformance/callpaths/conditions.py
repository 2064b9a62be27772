"""What follows from the conditions of a path: three-valued truth, and values in their light."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.callpaths.values import Value, Values, truth_of

_MAX_ROUNDS = 8
_MAX_NESTED = 2
_MAX_NESTED_EACH = 16


def consequences(values: Values, value: Value, holds: bool, depth: int = 0) -> set[tuple[Value, bool]]:
    """Literals that follow from a value being truthy or falsy, flags that a loop carries included."""
    if value.op == "not":
        return consequences(values, value.args[0], not holds, depth)
    result = {(value, holds)}
    if depth > 6:
        return result
    op = value.op
    if op in ("and", "or"):
        parts = [consequences(values, part, holds, depth + 1) for part in value.args]
        if (op == "and") is holds:
            result = result.union(*parts)
        else:
            result |= set.intersection(*parts)
    elif op == "phi":
        test, body, orelse = value.args
        sides = []
        for side, state in ((body, True), (orelse, False)):
            if truth_of(side) is (not holds):
                continue
            sides.append(consequences(values, test, state, depth + 1) | consequences(values, side, holds, depth + 1))
        if sides:
            result |= set.intersection(*sides)
    elif holds and value in values.implied:
        result.update(values.implied[value])
    return result


class Assumptions:
    """A conjunction of literals, closed under unit propagation.

    `truth` is True or False only when it follows; None means that both are possible as far as is known.
    """

    def __init__(self, values: Values, literals: Iterable[tuple[Value, bool]], depth: int = 0) -> None:
        self._values = values
        self._depth = depth
        self._literals = list(literals)
        self._equal: dict[Value, Value] = {}
        """Values that are equal to a constant."""
        self._known: dict[Value, bool] = {}
        self._clauses: list[tuple[Value, ...]] = []
        """Disjunctions that hold."""
        self._chains: list[Value] = []
        """Conjunctions that don't hold, and disjunctions that do."""
        self._reduced: dict[Value, Value] = {}
        self._truths: dict[Value, bool | None] = {}
        self._nested = 0
        self.contradictory = False
        for value, holds in self._literals:
            self._add(value, holds)
        self._propagate()

    def _add(self, value: Value, holds: bool) -> None:
        op = value.op
        if op == "not":
            self._add(value.args[0], not holds)
            return
        known = truth_of(value)
        if known is not None:
            if known != holds:
                self.contradictory = True
            return
        previous = self._known.get(value)
        if previous is not None:
            if previous != holds:
                self.contradictory = True
            return
        self._known[value] = holds
        self._reduced.clear()
        self._truths.clear()
        if holds and value in self._values.implied:
            for implied, state in self._values.implied[value]:
                self._add(implied, state)
        if op == "and":
            if holds:
                for part in value.args:
                    self._add(part, True)
            else:
                self._clauses.append(tuple(self._values.negate(part) for part in value.args))
                self._chains.append(value)
        elif op == "or":
            if holds:
                self._clauses.append(value.args)
                self._chains.append(value)
            else:
                for part in value.args:
                    self._add(part, False)
        elif op == "phi":
            for part, state in consequences(self._values, value, holds):
                if part is not value:
                    self._add(part, state)
            test, body, orelse = value.args
            # Either side with its test: a clause that propagation may decide.
            negate, all_of = self._values.negate, self._values.all_of
            first, second = (body, orelse) if holds else (negate(body), negate(orelse))
            self._clauses.append((all_of((test, first)), all_of((negate(test), second))))
        elif op == "cmp":
            self._compare(value, holds)
        elif op == "call" and _is_bool_of(value):
            self._add(value.args[1][0], holds)

    def _compare(self, value: Value, holds: bool) -> None:
        """What a comparison says of its left side."""
        kind, left, right = value.args
        if not holds or right.op != "const":
            return
        if kind == "is" and right.args[1] is None:
            self._add(left, False)
        elif kind == "==":
            other = self._equal.setdefault(left, right)
            if other is not right and other.args[1] != right.args[1]:
                self.contradictory = True
            known = truth_of(right)
            if known is not None:
                self._add(left, known)

    def _propagate(self) -> None:
        for _ in range(_MAX_ROUNDS):
            changed = False
            for clause in self._clauses:
                open_parts = []
                for part in clause:
                    known = self.truth(part)
                    if known is True:
                        break
                    if known is None:
                        open_parts.append(part)
                else:
                    if not open_parts:
                        self.contradictory = True
                        return
                    if len(open_parts) == 1:
                        self._add(open_parts[0], True)
                        changed = True
            if not changed:
                return

    def truth(self, value: Value) -> bool | None:
        """Whether the value is truthy under the assumptions."""
        known = self._known.get(value)
        if known is not None:
            return known
        known = truth_of(value)
        if known is not None:
            return known
        if value in self._truths:
            return self._truths[value]
        self._truths[value] = None  # while it leads back to itself
        known = self._find_truth(value)
        self._truths[value] = known
        return known

    def _find_truth(self, value: Value) -> bool | None:
        known: bool | None
        equal = self._equal.get(value)
        if equal is not None:
            return truth_of(equal)
        op = value.op
        if op == "not":
            inner = self.truth(value.args[0])
            return None if inner is None else not inner
        if op == "and":
            result: bool | None = True
            for part in value.args:
                known = self.truth(part)
                if known is False:
                    return False
                if known is None:
                    result = None
            return False if result is None and self._holds_chain(value) else result
        if op == "or":
            result = False
            for part in value.args:
                known = self.truth(part)
                if known is True:
                    return True
                if known is None:
                    result = None
            return True if result is None and self._holds_chain(value) else result
        if op == "phi":
            test, body, orelse = value.args
            known = self.truth(test)
            if known is not None:
                return self.truth(body if known else orelse)
            first, second = self.truth(body), self.truth(orelse)
            if (first is None) is not (second is None) and self._may_nest():
                # One side is known; the other one may be, where its test holds.
                side, state = (body, True) if first is None else (orelse, False)
                nested = Assumptions(self._values, [*self._literals, (test, state)], self._depth + 1)
                if nested.contradictory:
                    return second if first is None else first
                first, second = (nested.truth(side), second) if first is None else (first, nested.truth(side))
            return first if first is not None and first == second else None
        if op == "cmp":
            kind, left, right = value.args
            if kind == "is" and right is self._values.none:
                return self._is_none(left)
            if kind == "is" and right in (self._values.true, self._values.false):
                known = self.truth(left)
                if known is not None and known is (right is self._values.false):
                    return False
            if kind in ("==", "is", "<", "in"):
                reduced = self._values.compare(kind, self.reduce(left), self.reduce(right))
                if reduced is not value:
                    return self.truth(reduced) if reduced.op != "cmp" else truth_of(reduced)
        if op == "call":
            return self._call(value)
        return None

    def _holds_chain(self, value: Value) -> bool:
        """Whether a chain that is decided is a part of this one: with `not (a and b)` nor `a and b and c` holds."""
        return any(chain.op == value.op and set(chain.args) <= set(value.args) for chain in self._chains)

    def _may_nest(self) -> bool:
        self._nested += 1
        return self._depth < _MAX_NESTED and self._nested <= _MAX_NESTED_EACH

    def _is_none(self, value: Value) -> bool | None:
        if self._known.get(value) is True:
            return False
        for kind, holds in (("==", True), ("<", True)):
            for known, state in self._known.items():
                if known.op == "cmp" and known.args[0] == kind and state is holds:
                    other = (
                        known.args[2] if known.args[1] is value else known.args[1] if known.args[2] is value else None
                    )
                    if other is not None and other.op == "const" and other.args[1] is not None:
                        return False
        reduced = self.reduce(value)
        if reduced is self._values.none:
            return True
        if reduced is not value:
            return truth_of(self._values.compare("is", reduced, self._values.none))
        return None

    def _call(self, value: Value) -> bool | None:
        return self.truth(value.args[1][0]) if _is_bool_of(value) else None

    def reduce(self, value: Value) -> Value:
        """The value that this one is under the assumptions; itself where nothing is known."""
        found = self._reduced.get(value)
        if found is not None:
            return found
        self._reduced[value] = value  # for values that lead back to themselves
        result = value
        if value.op == "phi":
            test, body, orelse = value.args
            known = self.truth(test)
            if known is not None:
                result = self.reduce(body if known else orelse)
            else:
                result = self._values.phi(test, self.reduce(body), self.reduce(orelse))
        elif value in self._equal:
            result = self._equal[value]
        elif self._known:
            none = self._values.none
            if self._known.get(self._values.make("cmp", "is", value, none)) is True:
                result = none
        self._reduced[value] = result
        return result

    def implies(self, value: Value, holds: bool) -> bool:
        """Whether the literal follows."""
        return self.truth(value) is holds


def _is_bool_of(value: Value) -> bool:
    """`bool(x)`."""
    function, arguments, keywords = value.args
    return function.op == "ref" and function.args[0] == "builtins.bool" and len(arguments) == 1 and not keywords


def exclusive(values: Values, first: Iterable[tuple[Value, bool]], second: Iterable[tuple[Value, bool]]) -> bool:
    """Whether two conjunctions can't hold together."""
    assumptions = Assumptions(values, first)
    if assumptions.contradictory:
        return True
    if any(assumptions.truth(value) is (not holds) for value, holds in second):
        return True
    return Assumptions(values, [*first, *second]).contradictory
