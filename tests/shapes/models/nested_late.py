"""A nested function and a lambda read the block when they are called."""

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
        self.compact = False

    def forward(self, x, mask, scale=None):
        for block in self.blocks:
            if self.gradient_checkpointing and self.compact:
                # -> self.blocks[*] checkpointed(x=x, mask=mask)
                x = checkpoint(lambda h: block(h, mask), x, use_reentrant=False)  # noqa: B023 - the shape
            elif self.gradient_checkpointing:

                def run(h):
                    # -> self.blocks[*] checkpointed(x=x, mask=mask, scale=scale)
                    return block(h, mask, scale=scale)  # noqa: B023 - the shape

                x = checkpoint(run, x, use_reentrant=False)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask, scale=scale)
                x = block(x, mask, scale)
        return x


SETTINGS = {"gradient_checkpointing": (False, True), "compact": (False, True)}
MODES = ()
