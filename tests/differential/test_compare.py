"""The comparison notices every kind of mistake: each path of some models is spoiled in each way, one at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from conformance.callpaths.model import CallPath, ClassRef, EntryPaths, Route
from conformance.check import call_paths
from tests.differential.compare import Comparison, Reader, compare, read_model
from tests.differential.conftest import Models, Runs

SEEDS = range(8)


def moved(path: CallPath) -> CallPath:
    """Another line."""
    return replace(path, call=replace(path.call, line=path.call.line + 1))


def moved_outside(path: CallPath) -> CallPath:
    """Another place in the model's forward."""
    return replace(path, outer=replace(path.outer, end_column=path.outer.end_column + 1))


def rerouted(path: CallPath) -> CallPath:
    """Another route."""
    return replace(path, route=Route.EAGER if path.route is not Route.EAGER else Route.CHECKPOINTED)


def reclassed(path: CallPath) -> CallPath:
    """Another class."""
    return replace(path, block=replace(path.block, classes=(ClassRef("Other", None),)))


def renamed(path: CallPath) -> CallPath:
    """Another container."""
    return replace(path, block=replace(path.block, text="self.somewhere[*]"))


def without_argument(path: CallPath) -> CallPath:
    """One argument less."""
    assert path.binding
    return replace(path, binding=dict(list(path.binding.items())[1:]))


def with_argument(path: CallPath) -> CallPath:
    """One argument more."""
    assert path.binding
    return replace(path, binding={**path.binding, "extra": next(iter(path.binding.values()))})


def dead(path: CallPath) -> CallPath:
    """Said to be taken by no call."""
    return replace(path, dead=True)


SPOILED = (moved, moved_outside, rerouted, reclassed, renamed, without_argument, with_argument, dead)


def with_path(entries: tuple[EntryPaths, ...], old: CallPath, new: tuple[CallPath, ...]) -> list[EntryPaths]:
    """The entries with one path replaced."""
    return [
        replace(entry, paths=tuple(p for path in entry.paths for p in (new if path is old else (path,))))
        for entry in entries
    ]


Compare = functools.partial[Comparison]


def spoilable(models: Models, runs: Runs) -> Iterator[tuple[Compare, tuple[EntryPaths, ...], CallPath]]:
    """For each live path of the models' forwards: how to compare, the right entries, and the path."""
    for seed in SEEDS:
        model, file = models[seed]
        entries = call_paths(str(file), cwd=str(file.parent)).entries
        run = functools.partial(compare, model.source, runs[seed])
        for entry in entries:
            if entry.class_name in ("Inner", "Model"):
                for path in entry.paths:
                    if not path.dead and path.block.text != "self":
                        yield run, entries, path


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_spoiled_path_is_noticed(spoil: Callable[[CallPath], CallPath], models: Models, runs: Runs) -> None:
    tried = 0
    for run, entries, path in spoilable(models, runs):
        if run(with_path(entries, path, ())).missed:  # the path is the only one that fits some call
            tried += 1
            assert run(with_path(entries, path, (spoil(path),))).missed, path
    assert tried > 10


def test_invented_path_is_noticed(models: Models, runs: Runs) -> None:
    for run, entries, path in spoilable(models, runs):
        if run(with_path(entries, path, ())).missed:
            assert run(with_path(entries, path, (path, with_argument(path)))).unseen, path


def test_wrong_condition_is_noticed(models: Models, runs: Runs) -> None:
    tried = 0
    for run, entries, path in spoilable(models, runs):
        source, seen = run.args
        reader = Reader(read_model(source))
        if not run(with_path(entries, path, ())).missed:
            continue
        for place, condition in enumerate(path.conditions):
            if None not in {reader.truth(condition.value.text, one["choice"]) for one in seen}:
                conditions = list(path.conditions)
                conditions[place] = replace(condition, holds=not condition.holds)
                wrong = replace(path, conditions=tuple(conditions))
                tried += 1
                assert run(with_path(entries, path, (wrong,))).missed, wrong
    assert tried > 10
