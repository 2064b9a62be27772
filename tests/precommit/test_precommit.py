"""The hook under the real `pre-commit`, in real git repositories.

The hook's environment is made once and needs the package index, as it does for a user.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.wheels import copy_part

REPOSITORY = Path(__file__).resolve().parents[2]

MODEL = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from kiln.blocks import Shelf


class Kiln(nn.Module):
    def __init__(self, width=4, count=2):
        super().__init__()
        self.shelves = nn.ModuleList([Shelf(width) for _ in range(count)])
        self.gradient_checkpointing = False
        self.spill_attention = False

    def enable_gradient_checkpointing(self):
        self.gradient_checkpointing = True

    def set_spill_attention(self, value):
        self.spill_attention = value

    def forward(self, clay, heat):
        for shelf in self.shelves:
            if torch.is_grad_enabled() and self.gradient_checkpointing:

                def make_forward(module, as_dict=None):
                    def run(*values):
                        return module(*values, spill=self.spill_attention)

                    return run

                clay = checkpoint(make_forward(shelf), clay, heat, use_reentrant=False)
            else:
                clay = shelf(clay, heat, spill=self.spill_attention)
        return clay
"""
FORWARDS = "                        return module(*values, spill=self.spill_attention)\n"
FORGETS = "                            return module(*values, as_dict=as_dict)\n"
DEFECT = MODEL.replace(FORWARDS, "                        if as_dict is not None:\n" + FORGETS + FORWARDS)
DEFECT_LINE = DEFECT[: DEFECT.index(FORGETS)].count("\n") + 1

BLOCKS = """
from torch import nn


class Shelf(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.glaze = nn.Linear(width, width)

    def forward(self, clay, heat, as_dict=False, spill=False):
        clay = clay + self.glaze(clay) * heat
        if spill:
            clay = clay.to("cpu")
        return {"clay": clay} if as_dict else clay
"""


def run(cwd: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command as from a user's shell, not as from a hook of the repository that is being tested."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "A. Committer",
        "GIT_AUTHOR_EMAIL": "committer@example.org",
        "GIT_COMMITTER_NAME": "A. Committer",
        "GIT_COMMITTER_EMAIL": "committer@example.org",
        "NO_COLOR": "1",
    }
    return subprocess.run(
        command,
        cwd=cwd,
        env={**inherited, **fixed, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def must(cwd: Path, *command: str, **environment: str) -> str:
    done = run(cwd, *command, **environment)
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


@dataclass(frozen=True)
class Project:
    """A user's repository, with the hook installed."""

    root: Path
    home: Path

    def write(self, edits: dict[str, str]) -> None:
        for name, text in edits.items():
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def commit(self, *names: str) -> subprocess.CompletedProcess[str]:
        """Stages the named files only, and commits."""
        must(self.root, "git", "add", "--", *names)
        return run(self.root, "git", "commit", "--message", "a change", PRE_COMMIT_HOME=str(self.home))

    def head(self) -> str:
        return must(self.root, "git", "rev-parse", "HEAD")


@pytest.fixture(scope="session")
def hook(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository that offers the hook: this tree as it stands, whether committed or not; and its revision."""
    root = tmp_path_factory.mktemp("hook")
    for name in ("conformance", "codemods", "allowlists"):
        shutil.copytree(REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(REPOSITORY / name, root)
    must(root, "git", "init", "--quiet")
    must(root, "git", "add", ".")
    must(root, "git", "commit", "--quiet", "--message", "the hook")
    return root, must(root, "git", "rev-parse", "HEAD")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the hook's environment."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def project(tmp_path: Path, hook: tuple[Path, str], home: Path) -> Callable[[], Project]:
    """Commits what lies in `tmp_path` and installs the hook there."""

    def make() -> Project:
        source, revision = hook
        config = f"repos:\n- repo: {source}\n  rev: {revision}\n  hooks:\n  - id: conformance-check\n"
        (tmp_path / ".pre-commit-config.yaml").write_text(config)
        must(tmp_path, "git", "init", "--quiet")
        must(tmp_path, "git", "add", ".")
        must(tmp_path, "git", "commit", "--quiet", "--message", "before the hook")
        must(tmp_path, sys.executable, "-m", "pre_commit", "install", PRE_COMMIT_HOME=str(home))
        return Project(tmp_path, home)

    return make


@pytest.fixture
def kiln(project: Callable[[], Project], tmp_path: Path) -> Project:
    """A small model whose blocks stand in a file of their own."""
    (tmp_path / "kiln").mkdir()
    for name, text in (("__init__", ""), ("blocks", BLOCKS), ("model", MODEL)):
        (tmp_path / "kiln" / f"{name}.py").write_text(text)
    return project()


def test_a_staged_defect_stops_the_commit(kiln: Project) -> None:
    head = kiln.head()
    kiln.write({"kiln/model.py": DEFECT})
    stopped = kiln.commit("kiln/model.py")
    assert stopped.returncode == 1, stopped.stdout
    assert stopped.stdout.count("[CF108]") == 1, stopped.stdout
    assert f"kiln/model.py:{DEFECT_LINE}:" in stopped.stdout
    assert kiln.head() == head

    kiln.write({"kiln/model.py": MODEL + "\n# mended\n"})
    passed = kiln.commit("kiln/model.py")
    assert passed.returncode == 0, passed.stdout
    assert "conformance check" in passed.stdout
    assert kiln.head() != head


def test_the_finding_depends_on_a_file_that_is_not_named(kiln: Project) -> None:
    """Without the block's own file nothing is known of what the block takes, and nothing is concluded."""
    must(kiln.root, "git", "rm", "--quiet", "kiln/blocks.py")
    must(kiln.root, "git", "commit", "--quiet", "--no-verify", "--message", "the blocks are gone")
    kiln.write({"kiln/model.py": DEFECT})
    passed = kiln.commit("kiln/model.py")
    assert passed.returncode == 0, passed.stdout


def test_only_staged_python_files_are_checked(kiln: Project) -> None:
    kiln.write({"kiln/model.py": DEFECT, "notes.txt": "x"})
    passed = kiln.commit("notes.txt")
    assert passed.returncode == 0, passed.stdout


def codes(output: str) -> list[str]:
    """The codes of the findings in a hook's output."""
    return sorted(re.findall(r"\[(CF\d+)\]", output))


HELPERS = "simpletuner/helpers"
FLUX = f"{HELPERS}/models/flux/transformer.py"
MAGEFLOW = f"{HELPERS}/models/mageflow/transformer.py"


@pytest.fixture
def real(project: Callable[[], Project], simpletuner: Path, tmp_path: Path) -> Project:
    """A part of a released project, with all that two of its models need."""
    parts = ("models/__init__.py", "models/flux", "models/mageflow", "training", "utils")
    copy_part(simpletuner, ["simpletuner/__init__.py", *(f"{HELPERS}/{part}" for part in parts)], tmp_path)
    return project()


def test_forgetful_branch_in_a_real_model(real: Project) -> None:
    head = real.head()
    text = (real.root / FLUX).read_text()
    factory = "def create_custom_forward(module):"
    wrapper = "                    def custom_forward(*inputs):\n"
    branch = (
        "                        if return_dict is not None:\n"
        "                            return module(*inputs, return_dict=return_dict)\n"
    )
    assert text.count(factory) == text.count(wrapper) == 2
    text = text.replace(factory, "def create_custom_forward(module, return_dict=None):")
    real.write({FLUX: text.replace(wrapper, wrapper + branch)})
    stopped = real.commit(FLUX)
    assert stopped.returncode == 1, stopped.stdout
    assert stopped.stdout.count("[CF108]") == 2, stopped.stdout
    assert real.head() == head


def test_real_model_whose_blocks_stand_elsewhere(real: Project) -> None:
    text = (real.root / MAGEFLOW).read_text()
    assert "class MageFlowTransformerBlock" not in text
    head = real.head()
    real.write({MAGEFLOW: text + "\n# a harmless change\n"})
    before_edit = codes(real.commit(MAGEFLOW).stdout)
    assert "CF108" not in before_edit

    before, wrapper, after = text.partition("def run_checkpointed_block(")
    forwarded = "offload_attention=self.gradient_checkpointing_offload_attention,\n"
    assert forwarded in after
    real.write({MAGEFLOW: before + wrapper + after.replace(forwarded, "\n", 1)})
    stopped = real.commit(MAGEFLOW)
    assert stopped.returncode == 1, stopped.stdout
    assert codes(stopped.stdout) == sorted([*before_edit, "CF108"]), stopped.stdout
    assert "MageFlowTransformerBlock" in stopped.stdout
    assert real.head() == head
