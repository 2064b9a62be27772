"""The rules say what the runs show: no defect that shows is missed, and no model is blamed for what doesn't happen."""

from __future__ import annotations

from conformance.check import Options, check
from tests.differential.conftest import Models, Runs
from tests.differential.oracle import dropped_arguments, late_calls


def test_late_bound_names(seed: int, models: Models, runs: Runs) -> None:
    model, path = models[seed]
    found = check(Options(paths=(str(path),), cwd=str(path.parent), select=("CF201",))).findings
    late = late_calls(runs[seed])
    assert bool(found) == bool(late), f"seed {seed}: found {found}\nhappened {late[:3]}\n\n{model.source}"


def test_dropped_arguments(seed: int, models: Models, runs: Runs) -> None:
    model, path = models[seed]
    found = check(Options(paths=(str(path),), cwd=str(path.parent), select=("CF101", "CF108"))).findings
    dropped = dropped_arguments(runs[seed])
    assert {finding.parameter for finding in found} == dropped.keys(), (
        f"seed {seed}: found {found}\nhappened {dropped}\n\n{model.source}"
    )


def test_nothing_else_is_found(seed: int, models: Models, runs: Runs) -> None:
    """But for an argument that one route drops and that two others pass with different values."""
    model, path = models[seed]
    every = check(Options(paths=(str(path),), cwd=str(path.parent), ignore=("CF101", "CF108", "CF201"))).findings
    dropped = dropped_arguments(runs[seed])
    found = [finding for finding in every if not (finding.code == "CF102" and finding.parameter in dropped)]
    assert not found, f"seed {seed}: found {found}\n\n{model.source}"
