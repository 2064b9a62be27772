"""A ModuleDict holds the lists."""

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
        self.stages = nn.ModuleDict({"early": nn.ModuleList([Block() for _ in range(2)])})

    def forward(self, x, mask):
        for block in self.stages["early"]:
            if self.gradient_checkpointing:
                # -> self.stages['early'][*] checkpointed(x=x, mask=mask)
                x = checkpoint(block, x, mask, use_reentrant=False)
            else:
                # -> self.stages['early'][*] eager(x=x, mask=mask)
                x = block(x, mask)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
