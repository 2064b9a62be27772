"""A subclass of ModuleList makes its own elements."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


class Stack(nn.ModuleList):
    def __init__(self, count):
        super().__init__([Block() for _ in range(count)])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = Stack(3)

    def forward(self, x, mask):
        for _i, block in enumerate(self.blocks, start=1):
            if self.gradient_checkpointing:
                # -> self.blocks[*] checkpointed(x=x, mask=mask)
                x = checkpoint(block, x, mask, use_reentrant=False)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask)
                x = block(x, mask)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
