"""Keywords of a checkpoint call go to the block."""

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

    def forward(self, x, mask, scale=None):
        for block in self.blocks:
            if self.gradient_checkpointing:
                # -> self.blocks[*] checkpointed(x=x, mask=mask, scale=scale)
                x = checkpoint(block, x, scale=scale, mask=mask, use_reentrant=False)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask, scale=scale)
                x = block(scale=scale, x=x, mask=mask)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
