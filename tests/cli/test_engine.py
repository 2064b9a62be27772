"""The command line with the real engine, on a small model: both ends agree on options, results and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.cli.app import app
from tests.report.test_json import SCHEMA
from tests.report.test_paths import SCHEMA as PATHS_SCHEMA

MODEL = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, mask=None):
        x = self.linear(x)
        return x if mask is None else x * mask


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(2)])
        self.gradient_checkpointing = False

    def forward(self, x, mask=None):
        for layer in self.layers:
            if torch.is_grad_enabled() and self.gradient_checkpointing:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x, mask=mask)
        return x
"""
FIXED = MODEL.replace("layer, x, use", "layer, x, mask, use")


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a wrong, a right and an unreadable model."""
    monkeypatch.chdir(tmp_path)
    assert FIXED != MODEL
    (tmp_path / "wrong.py").write_text(MODEL)
    (tmp_path / "right.py").write_text(FIXED)
    (tmp_path / "broken.py").write_text("def f(:\n")
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_finding_with_both_places() -> None:
    result = run("check", "wrong.py")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("wrong.py:25:21: error[CF101] argument-dropped: `mask` is not passed")
    assert "25 |                 x = checkpoint(layer, x, use_reentrant=False)" in lines
    assert any(line.strip().startswith("::: wrong.py:27:21: ") for line in lines)
    assert "27 |                 x = layer(x, mask=mask)" in lines
    assert lines[-1] == "Found 1 finding (1 error) in 1 of 1 file."


def test_right_model_is_clean() -> None:
    result = run("check", "right.py")
    assert (result.exit_code, result.stdout) == (0, "All clear: no findings in 1 file.\n")


def test_json_of_all() -> None:
    result = run("check", ".", "--format", "json", "--statistics")
    document = json.loads(result.stdout)
    SCHEMA.validate(document)
    assert [(finding["path"], finding["code"]) for finding in document["findings"]] == [
        ("broken.py", "CF900"),
        ("wrong.py", "CF101"),
    ]
    assert document["summary"]["files"] == 3
    assert document["summary"]["errors"] == 1
    assert document["statistics"]["loops"] == 2
    assert document["statistics"]["unresolved_loops"] == []


def test_selection() -> None:
    assert run("check", "wrong.py", "--select", "CF2").exit_code == 0
    assert run("check", "wrong.py", "--select", "argument-dropped").exit_code == 1
    assert run("check", "wrong.py", "--ignore", "CF101").exit_code == 0
    assert run("check", "wrong.py", "--select", "CF999").stderr.startswith("error: there is no rule 'CF999'\nhint: ")


@pytest.mark.parametrize(
    "arguments",
    [["missing.py"], ["wrong.py", "--profile", "no-such"], ["wrong.py", "--family", "no-such"]],
)
def test_wrong_usage(arguments: list[str]) -> None:
    result = run("check", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert result.stdout == ""


def test_paths() -> None:
    result = run("paths", "wrong.py:Net")
    assert result.exit_code == 0
    assert "wrong.py:22: Net.forward  (1 block, 2 paths, 1 of 1 loop over blocks resolved)\n" in result.stdout
    assert "  self.layers[*]: Layer (line 6)\n" in result.stdout
    assert "         when not (is_grad_enabled() and self.gradient_checkpointing)\n" in result.stdout
    row = next(line for line in result.stdout.splitlines() if line.startswith("    * mask"))
    assert set(row.split()[2:]) == {"mask", "\u2013"}
    document = json.loads(run("paths", "wrong.py", "--format", "json").stdout)
    PATHS_SCHEMA.validate(document)
    (net,) = [entry for entry in document["entries"] if entry["class"] == "Net"]
    assert {path["route"]: sorted(path["binding"]) for path in net["paths"]} == {
        "checkpointed": ["x"],
        "eager": ["mask", "x"],
    }


def test_paths_of_a_broken_file() -> None:
    result = run("paths", "broken.py")
    assert result.exit_code == 1
    assert result.stdout.startswith("broken.py:1:1: error[CF900] unreadable-source: ")


@pytest.mark.parametrize("target", ["wrong.py:Nett", "missing.py", "."])
def test_paths_of_nothing(target: str) -> None:
    result = run("paths", target)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {target}: ")
