"""A class runs the forward of its base, which calls a helper method."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, mask, scale=None):
        for block in self.blocks:
            x = self._run(block, x, mask, scale)
        return x

    def _run(self, block, x, mask, scale):
        if self.gradient_checkpointing:
            # -> self.blocks[*] checkpointed(x=x, mask=mask, scale=scale)
            return checkpoint(block, x, mask, scale, use_reentrant=False)
        # -> self.blocks[*] eager(x=x, mask=mask, scale=scale)
        return block(x, mask, scale)


class Model(Inner):
    def forward(self, x, mask, scale=None):
        return super().forward(x, mask, scale)


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
