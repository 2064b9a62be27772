"""A method holds both routes, and the loop calls it."""

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

    def _run(self, module, number, h, *args, **kwargs):
        if self.gradient_checkpointing and number % 2 == 0:
            # -> self.blocks[*] checkpointed(x=x, mask=mask, scale=scale)
            return checkpoint(module, h, *args, use_reentrant=False, **kwargs)
        # -> self.blocks[*] eager(x=x, mask=mask, scale=scale)
        return module(h, *args, **kwargs)

    def forward(self, x, mask, scale=None):
        for i, block in enumerate(self.blocks):
            x = self._run(block, i, x, mask, scale=scale)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
