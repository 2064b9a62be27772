"""A `with` and a `try` stand around the calls."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, mask):
        for block in self.blocks:
            with torch.autocast("cpu", enabled=False):
                if self.gradient_checkpointing:
                    # -> self.blocks[*] checkpointed(x=x, mask=mask)
                    x = checkpoint(block, x, mask, use_reentrant=False)
                else:
                    try:
                        # -> self.blocks[*] eager(x=x, mask=mask)
                        x = block(x, mask)
                    except KeyError:
                        raise
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
