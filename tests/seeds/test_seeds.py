"""Known defects, put into published sources one at a time, are found: nearly all of each kind, at their place."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

import pytest

from conformance.rules import load_rules
from tests.seeds.kinds import KINDS, Kind
from tests.seeds.measure import Outcome, edits, exclusions, measure, places, sample, seeds, table

COUNT = 25
"""Edits of each kind."""
SEED = 3
OVERALL, OF_EACH = 0.95, 0.90


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
    assert sum(outcome.found for outcome in own) >= OF_EACH * len(own), missed(own)


def test_nearly_all_are_found() -> None:
    found = sum(outcome.found for outcome in outcomes())
    assert found >= OVERALL * len(outcomes()), missed(outcomes())


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
