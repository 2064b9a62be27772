"""Every block call that happens is among the call paths, and for complete shapes every call path happens.

Each case is one random model; its number is the seed, and a failure shows the model's source.
"""

from __future__ import annotations

import collections

from conformance.check import call_paths
from tests.differential.compare import compare
from tests.differential.conftest import Models, Runs
from tests.differential.generate import Generated, generate
from tests.differential.shapes import INCOMPLETE, SHAPES


def report(title: str, lines: tuple[str, ...], model: Generated) -> str:
    """What a failure shows."""
    return "\n".join([f"seed {model.seed}: {title}", *(f"  {line}" for line in lines), "", model.source])


def test_calls_are_paths(seed: int, models: Models, runs: Runs) -> None:
    model, path = models[seed]
    comparison = compare(model.source, runs[seed], call_paths(str(path), cwd=str(path.parent)).entries)
    assert comparison.calls, report("no block was called", (), model)
    assert not comparison.missed, report("calls that are not among the paths", comparison.missed, model)
    if not model.shapes & INCOMPLETE.keys():
        assert not comparison.unknown, report("paths that leave something open", comparison.unknown, model)
        assert not comparison.unseen, report("paths that no run took", comparison.unseen, model)


def test_every_shape_is_exercised() -> None:
    seen = collections.Counter(shape for seed in range(200) for shape in generate(seed).shapes)
    assert seen.keys() == SHAPES
    assert {shape: count for shape, count in seen.items() if count < 2} == {}


def test_a_seed_always_gives_the_same_model() -> None:
    assert generate(11) == generate(11)
    assert generate(11).source != generate(12).source
