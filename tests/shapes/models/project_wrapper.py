"""A function and a method of the project stand for the checkpoint."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


def run_saved(function, *args, use_reentrant=False, **kwargs):
    return checkpoint(function, *args, use_reentrant=use_reentrant, **kwargs)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.own = False

    def _run_saved(self, function, *args, **kwargs):
        return checkpoint(function, *args, use_reentrant=False, **kwargs)

    def forward(self, x, mask, scale=None):
        for block in self.blocks:
            if self.gradient_checkpointing and self.own:
                # -> self.blocks[*] checkpointed(x=x, mask=mask, scale=scale)
                x = run_saved(block, x, mask, scale=scale)
            elif self.gradient_checkpointing:
                # -> self.blocks[*] checkpointed(x=x, mask=mask, scale=scale)
                x = self._run_saved(block, x, mask, scale=scale)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask, scale=scale)
                x = block(x, mask, scale)
        return x


SETTINGS = {"gradient_checkpointing": (False, True), "own": (False, True)}
MODES = ()
