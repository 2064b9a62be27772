"""A factory's function has several branches; one is for a value that no call gives."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


def make(module, extra=None, never=None):
    def run(*inputs):
        if never is not None:
            # -> self.blocks[*] checkpointed(x=x, mask=None) dead
            return module(inputs[0], never)
        if extra is not None:
            # -> self.blocks[*] checkpointed(x=x, mask=mask, scale=scale)
            return module(inputs[0], inputs[1], scale=extra)
        # -> self.blocks[*] checkpointed(x=x, mask=mask)
        return module(inputs[0], *inputs[1:])

    return run


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, mask, scale=None):
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(make(block, scale), x, mask, use_reentrant=False)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask, scale=scale)
                x = block(x, mask, scale)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
