"""The checkpointed route ends its turn of the loop early."""

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
        for i, block in enumerate(self.blocks):
            save = torch.is_grad_enabled() and self.gradient_checkpointing and i % 2 == 0
            if save:
                # -> self.blocks[*] checkpointed(x=x, mask=mask)
                x = checkpoint(block, x, mask, use_reentrant=False)
                continue
            # -> self.blocks[*] eager(x=x, mask=mask)
            x = block(x, mask)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ("grad",)
