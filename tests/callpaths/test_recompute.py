"""Random functions with checkpoints, run and recomputed: the names that give something else are those read as late.

Every binding, each time that it happens, gives a name a value of its own, so a name that is bound anew between the
first run of a checkpointed function and the recompute, at the end, is seen by its value. Tests are of parameters only,
so each path can happen.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable
from functools import partial

import pytest

from tests.callpaths.looking import probe

NAMES = ("x", "y", "z")
PARAMETERS = ("a", "b", "c")
PROGRAMS = 200


class Program:
    """The source of one random function that hands functions to `checkpoint`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._fresh = itertools.count(10)
        self._calls = itertools.count()
        self._loops = 0
        for name in NAMES:
            self._add(0, f"{name} = ({self._new()},)")
        self._block(0, 3)
        if not any("checkpoint(" in line for line in self._lines):
            self._checkpoint(0)
        self.source = "\n".join(self._lines)

    def _add(self, depth: int, *lines: str) -> None:
        self._lines += ["    " * depth + line for line in lines]

    def _new(self) -> int:
        return next(self._fresh)

    def _name(self) -> str:
        return self._random.choice(NAMES)

    def _test(self) -> str:
        one, two = (
            self._random.choice(("{0}", "not {0}", "{0} is None")).format(n) for n in self._random.sample(PARAMETERS, 2)
        )
        return self._random.choice((one, one, f"{one} and {two}", f"{one} or {two}", f"not ({one} and {two})"))

    def _block(self, depth: int, size: int) -> None:
        for _ in range(self._random.randint(2, 4)):
            self._statement(depth, size)

    def _statement(self, depth: int, size: int) -> None:
        pick = self._random.random()
        if pick < 0.3:
            self._checkpoint(depth)
        elif size == 0 or pick < 0.5:
            self._bind(depth)
        elif pick < 0.68:
            self._add(depth, f"if {self._test()}:")
            self._block(depth + 1, size - 1)
            if self._random.random() < 0.6:
                self._add(depth, "else:")
                self._block(depth + 1, size - 1)
        elif pick < 0.85 and self._loops < 2:
            target = self._random.choice((*NAMES, "i", "j"))
            self._add(depth, f"for {target} in fresh({self._new()}):")
            self._loops += 1
            self._block(depth + 1, size - 1)
            self._loops -= 1
            if self._random.random() < 0.25:
                self._add(depth + 1, f"if {self._test()}:", f"    {self._random.choice(('continue', 'break'))}")
                self._block(depth + 1, 0)
        elif pick < 0.93 and not self._loops:
            self._add(depth, f"if {self._test()}:")
            self._block(depth + 1, 0)
            self._add(depth + 1, "return")
        else:
            self._add(depth, "try:")
            self._block(depth + 1, 0)
            self._add(depth, "finally:")
            self._bind(depth + 1)

    def _bind(self, depth: int) -> None:
        name, other = self._random.sample(NAMES, 2)
        self._add(
            depth,
            *self._random.choice(
                (
                    [f"{name} = ({name}, {self._new()})"],
                    [f"{name} = ({name}, {other})"],
                    [f"{name}, {other} = ({name}, 1), ({other}, 2)"],
                    [f"{name} += ({self._new()},)"],
                    [f"keep = ({name} := ({name}, 3))"],
                    [f"with context({name}) as {name}:", "    pass"],
                    ["def change():", f"    nonlocal {name}", f"    {name} = ({name}, 4)", "change()"],
                    ["def leave():", f"    {name} = {self._new()}", "leave()"],
                    [f"keep = [{name} for {name} in ({self._new()},)]"],
                )
            ),
        )

    def _checkpoint(self, depth: int) -> None:
        name, other, number = self._name(), self._name(), next(self._calls)
        read = f"probe({number}, {name!r}, {name})"
        self._add(
            depth,
            *self._random.choice(
                (
                    [f"checkpoint(lambda: {read})"],
                    [f"checkpoint(lambda {name}={name}: {read})"],
                    [f"checkpoint(lambda {name}: {read}, {name})"],
                    ["def run():", f"    {read}", "checkpoint(run)"],
                    [f"def run({other}={other}):", f"    {read}", "checkpoint(run)"],
                    ["def run():", f"    {name} = {self._new()}", f"    {read}", "checkpoint(run)"],
                    ["def run():", "    def inner():", f"        {read}", "    inner()", "checkpoint(run)"],
                    [f"def inner_{number}():", f"    {read}", f"checkpoint(lambda: inner_{number}())"],
                    [f"def make({name}):", f"    return lambda: {read}", f"checkpoint(make({name}))"],
                    ["def make():", f"    return lambda: {read}", "checkpoint(make())"],
                    [f"checkpoint(partial(lambda {name}: {read}, {name}))"],
                    [f"checkpoint(partial(lambda _: {read}, {other}))"],
                    ["def run():", f"    if {self._test()}:", f"        {read}", "checkpoint(run)"],
                    [f"checkpoint(run_it, lambda: {read})"],
                    [f"checkpoint(lambda: [{read} for {name} in (1,)])"],
                    ["def run():", f"    {read}", "run()"],
                )
            ),
        )


@functools.cache
def compiled(source: str) -> Callable[..., object]:
    """The function of a program; `checkpoint` and `probe` are its first parameters."""
    lines = "\n".join(f"    {line}" for line in source.split("\n"))
    scope: dict[str, Callable[..., object]] = {"partial": partial}
    exec(
        f"def run(checkpoint, probe, context, fresh, run_it, a, b, c):\n{lines}\n", scope
    )  # a source that is made above
    return scope["run"]


class Context:
    """A context manager that gives a value."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __enter__(self) -> object:
        return (self._value, "entered")

    def __exit__(self, *_: object) -> None:
        pass


class Run:
    """One run of a program, and the recompute at its end."""

    def __init__(self, source: str, values: tuple[int | None, ...]) -> None:
        self._seen: list[tuple[int, str, object]] = []
        self._kept: list[tuple[Callable[..., object], tuple[object, ...], list[tuple[int, str, object]]]] = []
        self._count = itertools.count(100)
        compiled(source)(self._checkpoint, self._note, Context, self._fresh, lambda function: function(), *values)

    def _fresh(self, _: int) -> list[tuple[int]]:
        return [(next(self._count),) for _ in range(2)]

    def _note(self, number: int, name: str, value: object) -> None:
        self._seen.append((number, name, value))

    def _checkpoint(self, function: Callable[..., object], *arguments: object) -> None:
        start = len(self._seen)
        function(*arguments)
        self._kept.append((function, arguments, self._seen[start:]))

    def changed(self) -> set[str]:
        """The names that give something else when the functions run again."""
        found: set[str] = set()
        for function, arguments, first in self._kept:
            self._seen = []
            function(*arguments)
            assert [entry[:2] for entry in self._seen] == [entry[:2] for entry in first]
            found |= {name for (_, name, now), (_, _, before) in zip(self._seen, first, strict=True) if now != before}
        return found


def recomputed(source: str) -> set[str]:
    """The names that change for some parameters."""
    return set().union(*(Run(source, values).changed() for values in itertools.product((None, 0, 1), repeat=3)))


BEFORE = """
from functools import partial
from torch.utils.checkpoint import checkpoint
from elsewhere import context, fresh

def run_it(function):
    function()
"""


def read(source: str) -> set[str]:
    """The names that are read late."""
    seen = probe(source, "a, b, c", BEFORE)
    assert not seen.trace.problems
    return {late.capture.name for late in seen.trace.late} & set(NAMES)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_late_names_are_those_that_change(seed: int) -> None:
    source = Program(seed).source
    assert read(source) == recomputed(source), source


def test_programs_are_worth_reading() -> None:
    """Some names change and some don't, in most ways to hand a function over."""
    sources = [Program(seed).source for seed in range(PROGRAMS)]
    counts = [len(recomputed(source)) for source in sources]
    for count in range(len(NAMES) + 1):
        assert counts.count(count) > 5, count
    for word in (
        "make(",
        "inner()",
        "partial",
        "run_it",
        "nonlocal",
        "for x",
        "continue",
        "break",
        "return",
        "finally",
        ":=",
    ):
        assert sum(word in source for source in sources) > 5, word
