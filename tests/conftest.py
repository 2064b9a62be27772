"""Fixtures that several folders of tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.wheels import Tree, unpacked

RELEASES = ("4.10.1", "4.9.0", "4.8.0", "4.7.0")
"""The releases of SimpleTuner that the tests read, newest first."""


@pytest.fixture(scope="session")
def wheel() -> Callable[[str, str], Path]:
    """`wheel(project, version)`: the root of an unpacked wheel. Read it, never write to it."""
    return unpacked


@pytest.fixture(scope="session")
def simpletuner() -> Path:
    """The root of the newest SimpleTuner wheel of `RELEASES`. Read it, never write to it."""
    return unpacked("simpletuner", RELEASES[0])


@pytest.fixture(scope="session")
def simpletuner_tree(simpletuner: Path, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A second tree of that wheel's Python files, in which a test replaces files for as long as it needs."""
    return Tree(simpletuner, tmp_path_factory.mktemp("tree"), "simpletuner")
