"""Random functions, run by Python and read without running: the same calls with the same values.

A function has branches, early returns, nested functions, dicts and boolean operators. Run with every assignment of a
few constants to its parameters, it calls `probe(n, x)` now and then. What is read must say the same: a call happens
exactly when the conditions on one of its paths hold, and then with that value.
"""

from __future__ import annotations

import functools
import itertools
import operator
import random
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.trace import literals
from conformance.callpaths.values import Value
from tests.callpaths.looking import Probe, probe

PARAMETERS = ("a", "b", "c")
LOCALS = ("x", "y", "z")
FLAGS = ("u", "v")
CONSTANTS = (None, 2, "s", 0)
ASSIGNMENTS = [dict(zip(PARAMETERS, values, strict=True)) for values in itertools.product((*CONSTANTS, True), repeat=3)]
PROGRAMS = 150
LATER = (227, 300)
"""Further programs, with functions whose branches change names of the outer one."""

Assignment = Mapping[str, object]


class Program:
    """The source of one random function.

    `x`, `y` and `z` hold values; `u` and `v` hold flags, which are only tested: whoever reads a program may take a
    truth value for any value of that truth.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._probes = 0
        self._helpers = 0
        self._add(0, *(f"{name} = {self._constant()}" for name in LOCALS), "d = {}")
        self._add(0, *(f"{flag} = {self._random.choice((True, False))}" for flag in FLAGS))
        self._block(0, 3, in_function=False)
        self._probe(0)
        self.source = "\n".join(self._lines)

    def _add(self, depth: int, *lines: str) -> None:
        self._lines += ["    " * depth + line for line in lines]

    # Expressions

    def _constant(self) -> str:
        return repr(self._random.choice(CONSTANTS))

    def _name(self) -> str:
        return self._random.choice((*PARAMETERS, *LOCALS))

    def _value(self, size: int = 2) -> str:
        pick = self._random.random()
        if size == 0 or pick < 0.35:
            return self._name() if self._random.random() < 0.75 else self._constant()
        one, two = self._value(size - 1), self._value(size - 1)
        if pick < 0.45:
            return f"({one} or {two})"
        if pick < 0.55:
            return f"({one} and {two})"
        if pick < 0.7:
            return f"({one} if {self._test(size - 1)} else {two})"
        if pick < 0.78:
            return f"({self._random.choice(LOCALS)} := {one})"
        if pick < 0.86:
            return f"({one}, {two})[{self._random.choice((0, 1, -1))}]"
        if pick < 0.93:
            return f"d.get({self._key()}, {one})"
        return f"(lambda p, q={one}: q if p else {self._name()})({self._name()})"

    def _test(self, size: int = 2) -> str:
        pick = self._random.random()
        if size == 0 or pick < 0.45:
            return self._atom()
        one, two = self._test(size - 1), self._test(size - 1)
        if pick < 0.6:
            return f"({one} and {two})"
        if pick < 0.75:
            return f"({one} or {two})"
        if pick < 0.85:
            return f"(not {one})"
        return f"({one} if {two} else {self._test(size - 1)})"

    def _atom(self) -> str:
        pick = self._random.random()
        if pick < 0.3:
            return self._random.choice(FLAGS)
        if pick < 0.5:
            return self._name()
        if pick < 0.75:
            return f"({self._name()} {self._random.choice(('is', 'is not'))} None)"
        return f"({self._name()} {self._random.choice(('==', '!='))} {self._constant()})"

    def _key(self) -> str:
        return repr(self._random.choice(("k", "l")))

    # Statements

    def _block(self, depth: int, size: int, in_function: bool) -> None:
        for _ in range(self._random.randint(2, 4)):
            self._statement(depth, size, in_function)

    def _statement(self, depth: int, size: int, in_function: bool) -> None:
        pick = self._random.random()
        target = self._random.choice(LOCALS)
        if size == 0 or pick < 0.25:
            self._add(depth, f"{target} = {self._value()}")
        elif pick < 0.32:
            self._add(depth, f"{', '.join(LOCALS)} = {', '.join(self._name() for _ in LOCALS)}")
        elif pick < 0.4:
            self._add(depth, f"{self._random.choice(FLAGS)} = {self._test()}")
        elif pick < 0.46:
            self._add(depth, f"d[{self._key()}] = {self._value()}")
        elif pick < 0.56:
            self._probe(depth)
        elif pick < 0.74:
            self._if(depth, size, in_function)
        elif pick < 0.8:
            self._add(depth, f"if {self._test()}:")
            self._block(depth + 1, 0, in_function)
            self._add(depth + 1, f"return {self._value()}")
        elif pick < 0.88 and not in_function:
            self._helper(depth, size, target)
        elif pick < 0.94:
            self._add(depth, f"match {self._random.choice(PARAMETERS)}:")
            for constant in self._random.sample(CONSTANTS, 2):
                self._add(depth + 1, f"case {constant!r}:")
                self._block(depth + 2, 0, in_function)
            if self._random.random() < 0.5:
                self._add(depth + 1, "case _:")
                self._block(depth + 2, 0, in_function)
        else:
            self._add(depth, "try:")
            self._block(depth + 1, 0, in_function)
            self._add(depth, "finally:", f"    {target} = {self._name()}")

    def _if(self, depth: int, size: int, in_function: bool) -> None:
        self._add(depth, f"if {self._test()}:")
        self._block(depth + 1, size - 1, in_function)
        if self._random.random() < 0.3:
            self._add(depth, f"elif {self._test()}:")
            self._block(depth + 1, size - 1, in_function)
        if self._random.random() < 0.6:
            self._add(depth, "else:")
            self._block(depth + 1, size - 1, in_function)

    def _helper(self, depth: int, size: int, target: str) -> None:
        """A nested function that reads, and may re-bind, names of the outer one."""
        name = f"f{self._helpers}"
        self._helpers += 1
        self._add(depth, f"def {name}(p, q={self._value(1)}):")
        outer = self._random.choice(LOCALS)
        if self._random.random() < 0.4:
            self._add(depth + 1, f"nonlocal {outer}")
        self._add(depth + 1, *(f"{local} = {self._random.choice(('p', 'q'))}" for local in LOCALS))
        self._add(depth + 1, *(f"{flag} = {self._random.choice(('p', 'q'))}" for flag in FLAGS))
        self._block(depth + 1, size - 1, in_function=True)
        if self._random.random() < 0.8:
            self._add(depth + 1, f"return {self._value(1)}")
        arguments = self._random.choice(
            (f"{self._name()}", f"{self._name()}, {self._name()}", f"q={self._name()}, p=a")
        )
        self._add(depth, f"{target} = {name}({arguments})")

    def _probe(self, depth: int) -> None:
        self._add(depth, f"probe({self._probes}, {self._value(1)})")
        self._probes += 1


Calls = list[tuple[int, object]]
"""The numbers of the calls with what they are given, in order."""


@functools.cache
def compiled(source: str) -> Callable[..., object]:
    """The function of a program."""
    lines = "\n".join(f"    {line}" for line in source.split("\n"))
    scope: dict[str, Callable[..., object]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `1 is None` and the like
        exec(compile(f"def run(probe, a, b, c):\n{lines}\n", "random", "exec"), scope)  # a source that is made above
    return scope["run"]


def run(source: str, assignment: Assignment) -> Calls:
    """The calls that happen."""
    calls: Calls = []
    compiled(source)(lambda number, value: calls.append((number, value)), **assignment)
    return calls


COMPARE: dict[str, Callable[[Any, Any], bool]] = {"==": operator.eq, "is": operator.is_, "<": operator.lt}


def evaluate(value: Value, assignment: Assignment) -> object:
    """What a value is for these parameters."""
    op, args = value.op, value.args
    if op == "const":
        return args[1]
    if op == "param":
        return assignment[args[-1]]
    if op == "phi":
        return evaluate(args[1] if evaluate(args[0], assignment) else args[2], assignment)
    if op == "not":
        return not evaluate(args[0], assignment)
    if op in ("and", "or"):
        result: object = None
        for part in args:
            result = evaluate(part, assignment)
            if bool(result) is (op == "or"):
                break
        return result
    if op == "cmp":
        return COMPARE[args[0]](evaluate(args[1], assignment), evaluate(args[2], assignment))
    if op == "tuple":
        return tuple(evaluate(part, assignment) for part in args)
    if op == "dict":
        return {evaluate(key, assignment): evaluate(item, assignment) for key, item in args[0]}
    if op == "merged":
        base = evaluate(args[0], assignment)
        assert isinstance(base, dict)
        return {**base, **{evaluate(key, assignment): evaluate(item, assignment) for key, item in args[1]}}
    if op == "call" and args[0].op == "attr" and args[0].args[1] == "get":
        base = evaluate(args[0].args[0], assignment)
        assert isinstance(base, dict)
        return base.get(*(evaluate(argument, assignment) for argument in args[1]))
    raise AssertionError(f"{op}: {value.text}")


def read(seen: Probe, assignment: Assignment) -> tuple[Calls, Calls]:
    """The calls that are read for these parameters, as they stand and in the light of their conditions."""
    plain: Calls = []
    reduced: Calls = []
    for call in seen.calls:
        if call.dead or not all(bool(evaluate(c.value, assignment)) is c.holds for c in call.conditions):
            continue
        number, value = call.arguments
        assumptions = Assumptions(seen.values, literals(call.conditions))
        assert not assumptions.contradictory
        plain.append((number.args[1], evaluate(value, assignment)))
        reduced.append((number.args[1], evaluate(assumptions.reduce(value), assignment)))
    return plain, reduced


def is_same(found: Calls, wanted: Calls) -> bool:
    """Whether the calls are the same; where Python has a truth value, any value of that truth is."""
    return len(found) == len(wanted) and all(
        number == other and (bool(value) is given if isinstance(given, bool) else repr(value) == repr(given))
        for (number, value), (other, given) in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("seed", [*range(PROGRAMS), *LATER])
def test_calls_are_those_that_happen(seed: int) -> None:
    source = Program(seed).source
    seen = probe(source)
    assert not seen.trace.problems
    for assignment in ASSIGNMENTS:
        wanted = run(source, assignment)
        plain, reduced = read(seen, assignment)
        assert is_same(plain, wanted), f"{assignment}: {plain} for {wanted}\n{source}"
        assert is_same(reduced, wanted), f"{assignment}: {reduced} for {wanted}\n{source}"


def test_programs_are_worth_reading() -> None:
    """Together they have all kinds of statements, and most of their calls happen under some assignment."""
    sources = [Program(seed).source for seed in range(PROGRAMS)]
    for word in (
        "elif",
        "else:",
        "return",
        "def ",
        "nonlocal",
        "match ",
        "case _",
        ":=",
        "lambda",
        "d[",
        "d.get",
        "[-1]",
    ):
        assert sum(word in source for source in sources) > 10, word
    happened = sum(len({number for a in ASSIGNMENTS for number, _ in run(source, a)}) for source in sources[:40])
    assert happened > 0.6 * sum(source.count("probe(") for source in sources[:40])
