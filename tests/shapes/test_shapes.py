"""The call paths of each model are the ones that its comments name, and the ones that happen when it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.callpaths.model import CallPath
from conformance.check import call_paths
from tests.differential.compare import compare
from tests.differential.recording import record

MODELS = sorted((Path(__file__).parent / "models").glob("*.py"))
EXPECTED = re.compile(r"\s*# -> (?P<block>\S+) (?P<route>\w+)\((?P<binding>.*)\)(?P<dead> dead)?\n?$")
ARGUMENT = re.compile(r"(\w+)=(.*?)(?=, \w+=|$)")

Named = tuple[int, str, str, tuple[tuple[str, str], ...], bool]
"""Line, block, route, binding sorted by parameter, and whether the path is dead."""


def expected(source: str) -> Iterator[Named]:
    """The paths that the comments of a model name."""
    waiting: list[re.Match[str]] = []
    for number, line in enumerate(source.splitlines(), 1):
        if match := EXPECTED.match(line):
            waiting.append(match)
        else:
            assert "# ->" not in line, line
            for match in waiting:
                binding = tuple(sorted(ARGUMENT.findall(match["binding"])))
                yield number, match["block"], match["route"], binding, bool(match["dead"])
            waiting = []


def found(path: CallPath, wanted: set[Named]) -> Named:
    """A path as the comments would name it; values that they leave open are left open."""
    assert path.unknown is None
    assert path.binding is not None
    block = path.block.text + ("" if path.block.method == "forward" else f".{path.block.method}")
    binding = {name: value.text for name, value in path.binding.items()}
    for line, other, route, arguments, _ in wanted:
        if (line, other, route) == (path.call.line, block, path.route.value):
            binding |= {name: "?" for name, value in arguments if value == "?" and name in binding}
    return path.call.line, block, path.route.value, tuple(sorted(binding.items())), path.dead


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Each model without the words of its comments, which the checker must not get to see."""
    folder = tmp_path_factory.mktemp("shapes")
    for model in MODELS:
        lines = model.read_text(encoding="utf-8").splitlines(keepends=True)
        text = "".join("#\n" if EXPECTED.match(line) else line for line in lines)
        (folder / model.name).write_text(text, encoding="utf-8")
    return {model: folder / model.name for model in MODELS}


@pytest.fixture(scope="module")
def records() -> dict[Path, dict[str, Any]]:
    """What the recorder saw of each model."""
    return dict(zip(MODELS, record(MODELS), strict=True))


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_paths(model: Path, bare: dict[Path, Path]) -> None:
    source = model.read_text(encoding="utf-8")
    wanted = set(expected(source))
    assert wanted
    owner = "Inner" if "class Model(nn.Module):\n" in source and "class Inner(" in source else "Model"
    entries = call_paths(f"{bare[model]}:{owner}", cwd=str(bare[model].parent)).entries
    (entry,) = (e for e in entries if e.function.rpartition(".")[2] == "forward")
    assert {found(path, wanted) for path in entry.paths} == wanted
    assert not entry.unresolved_loops


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_paths_are_what_happens(model: Path, bare: dict[Path, Path], records: dict[Path, dict[str, Any]]) -> None:
    entries = call_paths(str(bare[model]), cwd=str(bare[model].parent)).entries
    comparison = compare(model.read_text(encoding="utf-8"), records[model]["runs"], entries)
    assert comparison.calls
    assert comparison.missed == ()
    assert comparison.unseen == ()
