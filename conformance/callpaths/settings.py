"""Conditions under a concrete setting: what a value is, and whether a path can run, when attributes have these values.

`gradient_checkpointing_interval = 3` turns `interval is not None and interval > 1` into a truth, and leaves
`not routing` open. What stays open is tried either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.values import Value, Values, truth_of, walk

_DEPTH = 40
"""How deep a value is looked into."""
_MOST_STEPS = 400
"""How many choices are tried before the answer is that nothing is known."""
_MOST_CHECKS = 16
"""How many answers are tried against what else is known of the values."""
_TEXT_METHODS = frozenset({"startswith", "endswith", "removesuffix", "removeprefix", "lower", "upper", "strip"})
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "builtins.int": int,
    "builtins.bool": bool,
    "builtins.str": str,
    "builtins.max": max,
    "builtins.min": min,
}
_PLAIN = (int, str, bool, float, type(None))


class Fails(Exception):
    """The value can't be computed under the setting: Python would raise."""


class Setting:
    """Values of attributes, and what other values are under them."""

    def __init__(self, values: Values, given: Mapping[Value, Value], strict: bool = False) -> None:
        self._values = values
        self._given = dict(given)
        self._strict = strict
        """True: an operation that Python refuses raises `Fails`; else it stays as it is."""
        self._done: dict[Value, Value] = {}

    @property
    def literals(self) -> list[tuple[Value, bool]]:
        """The setting as conditions."""
        return [(self._values.make("cmp", "==", value, given), True) for value, given in self._given.items()]

    def value(self, value: Value, depth: int = 0) -> Value:
        """What a value is under the setting."""
        given = self._given.get(value)
        if given is not None:
            return given
        found = self._done.get(value)
        if found is None:
            found = self._done[value] = value if depth > _DEPTH else self._find(value, depth + 1)
        return found

    def _find(self, value: Value, depth: int) -> Value:
        values, op, args = self._values, value.op, value.args
        if op == "not":
            return values.negate(self.value(args[0], depth))
        if op in ("and", "or"):
            return self._chain(op, args, depth)
        if op == "phi":
            test = self.value(args[0], depth)
            known = truth_of(test)
            if known is not None:
                return self.value(args[1] if known else args[2], depth)
            return values.phi(test, self.value(args[1], depth), self.value(args[2], depth))
        if op == "cmp":
            return self._compare(args[0], self.value(args[1], depth), self.value(args[2], depth))
        if op in ("tuple", "list"):
            return values.make(op, *(self.value(part, depth) for part in args))
        if op == "op":
            return self._operation(args[0], tuple(self.value(part, depth) for part in args[1]))
        if op == "call":
            return self._call(value, depth)
        return value

    def _chain(self, op: str, args: tuple[Value, ...], depth: int) -> Value:
        parts = []
        for part in args:
            parts.append(self.value(part, depth))
            if truth_of(parts[-1]) is (op == "or"):
                break  # what follows isn't computed
        return self._values.chain(op, parts)

    def _compare(self, kind: str, left: Value, right: Value) -> Value:
        listed = right.op in ("tuple", "list") and all(part.op == "const" for part in right.args)
        if kind == "in" and left.op == "const" and listed:
            return self._values.const(left.args[1] in [part.args[1] for part in right.args])
        if kind == "<" and left.op == right.op == "const":
            return self._constant(lambda a, b: a < b, left, right) or self._values.make("cmp", kind, left, right)
        return self._values.compare(kind, left, right)

    def _operation(self, kind: str, operands: tuple[Value, ...]) -> Value:
        function = _ARITHMETIC.get(kind)
        found = self._constant(function, *operands) if function is not None and len(operands) == 2 else None
        return found or self._values.make("op", kind, operands)

    def _call(self, value: Value, depth: int) -> Value:
        callee, arguments, keywords = value.args
        if keywords:
            return value
        function: Callable[..., Any] | None = None
        operands = tuple(self.value(part, depth) for part in arguments)
        if callee.op == "attr" and callee.args[1] in _TEXT_METHODS:
            operands = (self.value(callee.args[0], depth), *operands)
            if operands[0].op == "const" and isinstance(operands[0].args[1], str):
                function = getattr(str, callee.args[1])
        elif callee.op == "ref":
            function = _FUNCTIONS.get(callee.args[0])
        found = self._constant(function, *operands) if function is not None else None
        return found or value

    def _constant(self, function: Callable[..., Any], *operands: Value) -> Value | None:
        """What a function of constants gives."""
        plain = [self._plain(operand) for operand in operands]
        if None in plain:
            return None
        try:
            result = function(*(part[0] for part in plain if part is not None))
        except (TypeError, ValueError, ArithmeticError):
            if self._strict:
                raise Fails from None
            return None
        return self._values.const(result) if isinstance(result, _PLAIN) else None

    def _plain(self, value: Value) -> tuple[Any] | None:
        if value.op == "const":
            return (value.args[1],)
        if value.op == "tuple" and all(part.op == "const" for part in value.args):
            return (tuple(part.args[1] for part in value.args),)
        return None


def can_run(
    values: Values,
    conditions: Iterable[tuple[Value, bool]],
    setting: Setting,
    is_free: Callable[[Value], bool] = lambda value: False,
) -> bool:
    """Whether conditions can hold under a setting, whatever the tests are that `is_free` tells; false when unsure."""
    known = list(dict.fromkeys(conditions))
    if any(truth_of(value) is None and is_free(value) for value, _ in known):
        return False  # a free test decides by itself
    return _Search(values, known, setting, is_free).found()


class _Search:
    """Tries the open tests either way until all conditions hold."""

    def __init__(
        self,
        values: Values,
        conditions: list[tuple[Value, bool]],
        setting: Setting,
        is_free: Callable[[Value], bool],
    ) -> None:
        self._values = values
        self._conditions = conditions
        self._setting = setting
        self._is_free = is_free
        self._free: dict[Value, bool] = {}
        self._steps = 0
        self._checks = 0
        self._chosen: dict[Value, bool] = {}

    def found(self) -> bool:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return False
        pending: list[Value] = []
        for value, holds in self._conditions:
            truth = self._truth(value)
            if truth is None:
                pending.append(value)
            elif truth is not holds:
                return False
        if not pending:
            return self._fits()
        test = next((t for value in pending for t in [self._open_test(value)] if t is not None), None)
        if test is None:
            return False  # it depends on the free tests
        for choice in (True, False):
            self._chosen[test] = choice
            if self.found():
                return True
            del self._chosen[test]
        return False

    def _fits(self) -> bool:
        """Whether the choices agree with each other, and with what loops and comparisons say of them."""
        self._checks += 1
        if self._checks > _MOST_CHECKS:
            return False
        known = [(value, holds) for value, holds in self._conditions if not self._has_free(value)]
        chosen = list(self._chosen.items())
        return not Assumptions(self._values, [*known, *chosen, *self._setting.literals]).contradictory

    def _has_free(self, value: Value) -> bool:
        found = self._free.get(value)
        if found is None:
            found = self._free[value] = any(map(self._is_free, walk(value, 200)))
        return found

    def _truth(self, value: Value, depth: int = 0) -> bool | None:
        known = truth_of(value)
        if known is not None:
            return known
        chosen = self._chosen.get(value)
        if chosen is not None:
            return chosen
        if depth > _DEPTH:
            return None
        op = value.op
        if op == "not":
            inner = self._truth(value.args[0], depth + 1)
            return None if inner is None else not inner
        if op in ("and", "or"):
            parts = [self._truth(part, depth + 1) for part in value.args]
            decisive = op == "or"
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
        if op == "phi":
            test = self._truth(value.args[0], depth + 1)
            if test is not None:
                return self._truth(value.args[1] if test else value.args[2], depth + 1)
            first, second = (self._truth(part, depth + 1) for part in value.args[1:])
            return first if first is second else None
        if self._is_free(value):
            return None
        under = self._setting.value(value)
        return self._truth(under, depth + 1) if under is not value else None

    def _open_test(self, value: Value, depth: int = 0) -> Value | None:
        """A test on which the truth of a value depends, and that is to be chosen."""
        if self._truth(value) is not None or depth > _DEPTH:
            return None
        if value.op in ("not", "and", "or", "phi"):
            parts = value.args
            if value.op == "phi" and self._truth(value.args[0]) is not None:
                parts = value.args[1:2] if self._truth(value.args[0]) else value.args[2:]
            return next((t for part in parts for t in [self._open_test(part, depth + 1)] if t is not None), None)
        if self._is_free(value):
            return None
        under = self._setting.value(value)
        return value if under is value else self._open_test(under, depth + 1)
