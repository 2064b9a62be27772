"""The block itself is handed to the checkpoint."""

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
                x = checkpoint(block, x, mask, scale, use_reentrant=False)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask, scale=scale)
                x = block(x, mask=mask, scale=scale)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
