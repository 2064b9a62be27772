"""Gates that ask for training mode in place of grad mode: what `--preview` shows where the profile wants grad mode."""

from __future__ import annotations

import os

import pytest

from conformance.check import Options, check
from tests.callpaths.looking import model

LOOP = """
    for block in self.blocks:
        if {gate}:
            x = checkpoint(block, x, use_reentrant=False)
        else:
            x = block(x)
    return x
"""


def said(tmp_path: os.PathLike[str], gate: str, preview: bool, profile: str) -> list[str]:
    file = os.path.join(tmp_path, "model.py")
    with open(file, "w", encoding="utf-8") as out:
        out.write(model(LOOP.format(gate=gate)))
    options = Options(paths=(file,), cwd=str(tmp_path), preview=preview, profile=profile, select=("CF302",))
    return [f"{finding.severity.value}: {finding.parameter}" for finding in check(options).findings]


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("self.training and self.gradient_checkpointing", ["convention: training"]),
        ("torch.is_grad_enabled() and self.gradient_checkpointing", []),
        ("self.training and torch.is_grad_enabled() and self.gradient_checkpointing", []),
        ("self.gradient_checkpointing", []),
        ("self.gradient_checkpointing and not self.training", []),
    ],
)
def test_asks_for_training_mode(tmp_path: os.PathLike[str], gate: str, expected: list[str]) -> None:
    assert said(tmp_path, gate, preview=True, profile="simpletuner") == expected
    assert said(tmp_path, gate, preview=False, profile="simpletuner") == []
    assert said(tmp_path, gate, preview=True, profile="torch") == []
