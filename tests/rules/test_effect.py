"""Why the rules matter, shown by running: gradients with the defect differ from the eager ones, and agree without it.

Tiny models of the shapes that the rules report. They are checked as they are run: the same text goes to both.
"""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

from tests.rules.harness import Case, judge, mark, run, write

torch = pytest.importorskip("torch")

LATE = '''
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, temb, skip=False):
        x = x * (0.5 if skip else 1.0)
        return x + torch.tanh(self.linear(x) * temb)


class Model(nn.Module):
    """A loop whose wrapper takes the tensors as parameters, and the block and its index from the loop."""

    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, temb, skipped=(1,)):
        for index, block in enumerate(self.blocks):
            if torch.is_grad_enabled() and self.gradient_checkpointing:

                def _recompute(x, temb):  # CF201: block, index
                    return block(x, temb, skip=index in skipped)

                x = checkpoint(_recompute, x, temb, use_reentrant=False)
            else:
                x = block(x, temb, skip=index in skipped)
        return x
'''

MASK = '''
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, mask=None):
        return x + torch.tanh(self.linear(x) if mask is None else self.linear(x) * mask)


class Model(nn.Module):
    """A wrapper with the block bound early, and a mask that the loop makes anew where a route starts."""

    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, mask, start=1):
        mask = mask.detach()
        for index, block in enumerate(self.blocks):
            if index == start:
                mask = mask * 0.5
            if torch.is_grad_enabled() and self.gradient_checkpointing:

                def _recompute(x, block=block):  # CF201: mask
                    return block(x, mask=mask)

                x = checkpoint(_recompute, x, use_reentrant=False)
            else:
                x = block(x, mask=mask)
        return x
'''

DROPPED = '''
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, mask=None):
        return x + torch.tanh(self.linear(x) if mask is None else self.linear(x) * mask)


class Model(nn.Module):
    """A loop that forgets the mask under the checkpoint."""

    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, mask):
        for block in self.blocks:
            if torch.is_grad_enabled() and self.gradient_checkpointing:
                x = checkpoint(block, x, use_reentrant=False)  # CF101: mask
            else:
                x = block(x, mask)
        return x
'''

DEFECTS = {
    "late block": (LATE, (("(x, temb):  # CF201: block, index", "(x, temb, block=block, index=index):"),)),
    "late index": (
        LATE.replace("(x, temb):  # CF201: block, index", "(x, temb, block=block):  # CF201: index"),
        (("block=block):  # CF201: index", "block=block, index=index):"),),
    ),
    "late mask": (MASK, (("block=block):  # CF201: mask", "block=block, mask=mask):"),)),
    "dropped mask": (
        DROPPED,
        (("block, x, use_reentrant=False)  # CF101: mask", "block, x, mask, use_reentrant=False)"),),
    ),
}


def gradients(source: str, checkpointed: bool) -> tuple[Any, list[Any]]:
    """The output of the model of a source, and the gradients of its parameters and inputs."""
    module = types.ModuleType("model")
    exec(compile(source, "model.py", "exec"), module.__dict__)
    torch.manual_seed(0)
    model = module.Model().double()
    inputs = [torch.rand(2, 4, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    model.gradient_checkpointing = checkpointed
    output = model(*inputs)
    output.square().sum().backward()
    leaves = [*model.parameters(), *inputs]
    return output.detach(), [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]


def repaired(source: str, edits: tuple[tuple[str, str], ...]) -> str:
    """The source without the defect."""
    for old, new in edits:
        assert source.count(old) == 1
        source = source.replace(old, new)
    return source


def agree(first: list[Any], second: list[Any]) -> bool:
    """Whether all gradients are the same but for rounding."""
    return all(torch.allclose(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("name", DEFECTS)
def test_reported_defect_changes_the_gradients(name: str, tmp_path: Path) -> None:
    source, _ = DEFECTS[name]
    case = Case(name, {"model.py": source})
    write(case, tmp_path)
    assert not judge(case.expected, [mark(finding, tmp_path) for finding in run(tmp_path)], case.files)
    eager_output, eager = gradients(source, checkpointed=False)
    output, wrong = gradients(source, checkpointed=True)
    assert not agree(wrong, eager)
    if name.startswith("late"):
        assert torch.equal(output, eager_output), "the forward is right, so that nothing shows"


@pytest.mark.parametrize("name", DEFECTS)
def test_repaired_model_has_the_gradients_of_the_eager_one(name: str, tmp_path: Path) -> None:
    source = repaired(*DEFECTS[name])
    write(Case(name, {"model.py": source}), tmp_path)
    assert run(tmp_path) == []
    _, eager = gradients(source, checkpointed=False)
    _, right = gradients(source, checkpointed=True)
    assert agree(right, eager)
    assert any(leaf.abs().max() > 0 for leaf in right)
