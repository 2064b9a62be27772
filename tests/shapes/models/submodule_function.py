"""One block, handed to a function of the module."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


def run_block(module, h, m):
    # -> self.block checkpointed(x=x, mask=mask)
    return module(h, mask=m)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.block = Block()

    def forward(self, x, mask):
        if self.gradient_checkpointing:
            x = checkpoint(run_block, self.block, x, mask, use_reentrant=False)
        else:
            # -> self.block eager(x=x, mask=mask)
            x = self.block(x, mask)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
