"""Another method of the block runs in place of its forward."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)

    def run(self, x, mask, times=1):
        return self.forward(x, mask * times)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, mask):
        for block in self.blocks:
            if self.gradient_checkpointing:
                # -> self.blocks[*].run checkpointed(x=x, mask=mask, times=2)
                x = checkpoint(block.run, x, mask, 2, use_reentrant=False)
            else:
                # -> self.blocks[*].run eager(x=x, mask=mask)
                x = block.run(x, mask=mask)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
