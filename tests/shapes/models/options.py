"""A dictionary of keywords is built step by step, one of them on a condition."""

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
        self.scaled = False

    def forward(self, x, mask, scale=None):
        for block in self.blocks:
            options = {"mask": mask}
            if self.scaled:
                options["scale"] = scale
            if self.gradient_checkpointing:
                # -> self.blocks[*] checkpointed(x=x, mask=mask, scale=(scale if self.scaled else absent))
                x = checkpoint(block, x, use_reentrant=False, **options)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask, scale=(scale if self.scaled else absent))
                x = block(x, **options)
        return x


SETTINGS = {"gradient_checkpointing": (False, True), "scaled": (False, True)}
MODES = ()
