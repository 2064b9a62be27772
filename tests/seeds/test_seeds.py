"""Known defects, put into published sources one at a time, are found: nearly all of each kind, at their place."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

import pytest

from conformance.rules import load_rules
from tests.seeds.kinds import KINDS, Kind
from tests.seeds.measure import Outcome, edits, exclusions, measure, places, sample, seeds, table

COUNT = 20
"""Edits of each kind."""
SEED = 3
OVERALL, OF_EACH = 0.95, 0.90

SHORT = {
    "argument dropped, checkpointed": "blocks whose class stands in another package",
    "argument made None, checkpointed": "values of which too little is known to tell them apart",
    "argument of another parameter, eager": "values of which too little is known to tell them apart",
    "argument of another parameter, checkpointed": "the same",
    "argument of another parameter, scoped": "the same",
    "keyword renamed, checkpointed": "keywords that a checkpoint hands on to a block",
    "result unpacked wrongly, eager": "loops that are twins in the branches of one condition, and results of parts",
    "result unpacked wrongly, checkpointed": "the same, and runners of segments",
    "container in place of the block": "loops that are twins in the branches of one condition, and local lists",
    "statement on one path": "a change before the next call of the same branch",
    "keyword to the hook": "parts of a model that get their hook from it",
    "tensors in a tuple": "tensors that a loop carries",
    "flag that nothing sets": "classes with a base that gives attributes by name",
    "interval or stride ignored": "gates in a method, and gates of segments",
    "modulo written out": "gates in helper methods and nested functions",
}
"""Kinds of which a smaller share is found, and what is missed."""


def told() -> list[Kind]:
    """The kinds whose rules are all there."""
    known = {rule.info.code for rule in load_rules()}
    return [kind for kind in KINDS if set(kind.codes) <= known]


@functools.cache
def outcomes() -> Sequence[Outcome]:
    """What a check says of the sample."""
    return tuple(measure([seed for kind in told() for seed in sample(kind.name, COUNT, SEED)]))


def missed(chosen: Sequence[Outcome]) -> str:
    """The edits that weren't found, a line each, below the table."""
    return "\n".join([table(chosen), *(f"{o.seed.kind} | {o.seed.place} | {o.brought}" for o in chosen if not o.found)])


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_most_of_each_kind_is_found(kind: str) -> None:
    own = [outcome for outcome in outcomes() if outcome.seed.kind == kind]
    if not own:
        pytest.skip("no rule speaks of it yet")
    if sum(outcome.found for outcome in own) < OF_EACH * len(own):
        if kind in SHORT:
            pytest.xfail(SHORT[kind])
        pytest.fail(missed(own))


def test_nearly_all_are_found() -> None:
    own = [outcome for outcome in outcomes() if outcome.seed.kind not in SHORT]
    assert sum(outcome.found for outcome in own) >= OVERALL * len(own), missed(own)


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_every_kind_has_places(kind: str) -> None:
    assert len(seeds(kind)) >= 15
    for seed in sample(kind, COUNT, SEED):
        edit = edits(kind, seed.path)[seed.number]
        ast.parse(edit.new)
        assert edit.new != edit.text.text
        assert edit.lines


def test_exclusions_are_places() -> None:
    known = {(kind.name, seed.place) for kind in KINDS for seed in places(kind.name)}
    assert not set(exclusions()) - known
    assert all(reason.endswith(".") for reason in exclusions().values())
