"""What the README says of the rules, and of what a check prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli.app import app
from conformance.rules import load_rules

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
MODEL = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def forward(self, x, rope, mask=None):
        return x * rope if mask is None else x * rope * mask


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(4)])
        self.gradient_checkpointing = False

    def forward(self, x, rope, mask):
{}
        return x
"""


def test_the_table_has_every_rule() -> None:
    rows = re.findall(r"^\| (CF\d+) ([\w-]+) \| ([^|]+) \| ([^|]+) \|$", README, re.MULTILINE)
    infos = [rule.info for rule in load_rules()]
    assert rows == [
        (info.code, info.name, ", ".join(info.severities), info.summary.removesuffix(".")) for info in infos
    ]


def test_the_example_is_what_a_check_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = re.search(r"^```python\n(.*?)^```$.*?^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert shown is not None
    loop = "\n".join(" " * 8 + line for line in shown[1].splitlines())
    (tmp_path / "model.py").write_text(MODEL.format(loop), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["check", "--quiet", "model.py"])
    assert (result.exit_code, result.stdout.rstrip("\n")) == (1, shown[2].rstrip("\n"))
