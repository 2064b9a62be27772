"""Which part imports which, and what the command `check` loads."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import grimp
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

THIRD_PARTY = {
    "conformance.cli": {"click", "rich"},
    "codemods": {"libcst"},
}
"""Who may import what from outside the standard library; all others nothing at all."""

MODEL = """
import torch
from torch.utils.checkpoint import checkpoint

from .blocks import Block


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block() for _ in range(2)])
        self.gradient_checkpointing = False

    def forward(self, x, scale):
        for block in self.blocks:
            if torch.is_grad_enabled() and self.gradient_checkpointing:
                x = checkpoint(block, x, scale, use_reentrant=False)
            else:
                x = block(x, scale)
        return x
"""
BLOCKS = """
import torch

raise SystemExit("imported")


class Block(torch.nn.Module):
    def forward(self, x, scale):
        return x * scale
"""

PROBE = """
import json, sys

class Recorder:
    asked = set()

    def find_spec(self, name, path=None, target=None):
        self.asked.add(name)

before = set(sys.modules)
sys.meta_path.insert(0, Recorder())
code = None
try:
    {statement}
except SystemExit as exit:
    code = exit.code
loaded = set(sys.modules) - before
print(json.dumps({{"code": code, "asked": sorted(Recorder.asked), "loaded": sorted(loaded)}}), file=sys.stderr)
"""


def probe(statement: str, cwd: Path, *arguments: str) -> dict[str, Any]:
    """What an interpreter imported, or tried to, while it ran a statement; its output goes to pipes."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(statement=statement), *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return seen


def tops(names: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def is_standard(name: str) -> bool:
    return name in sys.stdlib_module_names or name == "__main__"


def test_contracts_hold() -> None:
    """The contracts stand in `pyproject.toml`."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    done = subprocess.run(
        [*command, "--no-cache", "--no-logo"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(
        "conformance", "codemods", include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )


def test_third_party_imports(graph: grimp.ImportGraph) -> None:
    """Counts every import in the sources, inside functions too."""
    seen: dict[str, set[str]] = {}
    for module in graph.modules:
        if graph.is_module_squashed(module):
            continue
        owner = next((name for name in THIRD_PARTY if f"{module}.".startswith(f"{name}.")), "conformance")
        imported = {name.partition(".")[0] for name in graph.find_modules_directly_imported_by(module)}
        foreign = {name for name in imported if not is_standard(name)} - {"conformance", "codemods"}
        seen.setdefault(owner, set()).update(foreign)
    assert seen.pop("conformance") == set()
    assert "click" in seen["conformance.cli"]
    assert all(foreign <= THIRD_PARTY[owner] for owner, foreign in seen.items()), seen


def test_every_module_can_be_imported() -> None:
    """A module that nothing imports yet would otherwise go unseen."""
    for file in sorted((REPOSITORY / "conformance").rglob("*.py")):
        name = ".".join(file.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        assert importlib.import_module(name).__file__ == str(file)


def test_import_of_the_checker_is_light() -> None:
    seen = probe("import conformance.check", REPOSITORY)
    assert "conformance.check" in seen["loaded"]
    assert {name for name in tops(seen["loaded"]) if not is_standard(name)} == {"conformance"}


@pytest.mark.parametrize("form", ["text", "json"])
def test_check_loads_nothing_heavy_and_not_the_code_it_checks(tmp_path: Path, form: str) -> None:
    package = tmp_path / "hot_models"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "model.py").write_text(MODEL)
    (package / "blocks.py").write_text(BLOCKS)
    statement = "from conformance.cli import main; sys.argv[0] = 'conformance'; main()"
    seen = probe(statement, tmp_path, "check", "hot_models", "--format", form, "--statistics")
    assert seen["code"] == 0
    # Not even tried, so that it doesn't depend on what is installed here.
    assert not {"torch", "diffusers", "transformers", "numpy", "libcst", "rich", "hot_models"} & tops(seen["asked"])
    assert {name for name in tops(seen["loaded"]) if not is_standard(name)} == {"conformance", "click"}
