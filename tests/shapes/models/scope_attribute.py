"""The callable for a part of the block comes from an attribute."""

from functools import partial

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.feed = nn.Linear(2, 2)

    def _feed(self, x):
        return x + self.feed(x)

    def forward(self, x, mask, checkpoint_ffn=False, checkpoint_fn=None):
        x = self.lin(x + mask)
        if checkpoint_ffn:
            return checkpoint_fn(self._feed, x)
        return self._feed(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self._checkpoint_func = partial(checkpoint, use_reentrant=False)

    def forward(self, x, mask):
        for block in self.blocks:
            if self.gradient_checkpointing:
                # -> self.blocks[*] scoped(x=x, mask=mask, checkpoint_ffn=True, checkpoint_fn=self._checkpoint_func)
                x = block(x, mask, checkpoint_ffn=True, checkpoint_fn=self._checkpoint_func)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask)
                x = block(x, mask)
        return x


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
