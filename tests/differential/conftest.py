"""The random models and what was seen of them, made once for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.differential.generate import Generated, generate
from tests.differential.recording import record

COUNT = int(os.environ.get("CONFORMANCE_MODELS", "200"))
"""How many models are tried."""

Models = Mapping[int, tuple[Generated, Path]]
"""Seed to the model and its file."""
Runs = Mapping[int, list[dict[str, Any]]]
"""Seed to the runs that the recorder saw."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One case for each seed."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(COUNT))


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """All models, each with its file."""
    folder = tmp_path_factory.mktemp("models")
    result = {}
    for seed in range(COUNT):
        model = generate(seed)
        path = folder / f"model_{seed}.py"
        path.write_text(model.source, encoding="utf-8")
        result[seed] = (model, path)
    return result


@pytest.fixture(scope="session")
def runs(models: Models) -> Runs:
    """What the recorder saw of each model."""
    records = record([path for _, path in models.values()])
    return {seed: found["runs"] for seed, found in zip(models, records, strict=True)}
