"""One block, handed to a function with both routes."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


def run_both(module, x, mask, enabled):
    if enabled:
        # -> self.block checkpointed(x=x, mask=mask)
        return checkpoint(module, x, mask, use_reentrant=False)
    # -> self.block eager(x=x, mask=mask)
    return module(x, mask)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.block = Block()

    def forward(self, x, mask):
        return run_both(self.block, x, mask, self.gradient_checkpointing)


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
