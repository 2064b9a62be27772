"""A function of the module takes the block as its first parameter: both routes call it."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


def run_joint(module, hidden, mask, factor=None):
    # -> self.blocks[*] checkpointed(x=x, mask=mask, scale=None)
    # -> self.blocks[*] eager(x=x, mask=mask, scale=scale)
    return module(hidden, mask, scale=factor)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, mask, scale=None):
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(run_joint, block, x, mask, use_reentrant=False)
            else:
                x = run_joint(block, x, mask, factor=scale)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
