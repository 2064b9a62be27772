"""Blocks are appended, of two classes."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


class Wide(Block):
    label = "wide"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList()
        for i in range(3):
            if i % 2 == 0:
                self.blocks.append(Block())
            else:
                self.blocks.append(Wide())

    def forward(self, x, mask):
        for block in self.blocks:
            if self.gradient_checkpointing:
                # -> self.blocks[*] checkpointed(x=x, mask=mask)
                x = checkpoint(block, x, mask, use_reentrant=False)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask)
                x = block(x, mask)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
