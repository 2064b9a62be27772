"""A block is told to checkpoint a part of itself."""

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
            return checkpoint_fn(self._feed, x, use_reentrant=False)
        return self._feed(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.ffn_scope = False

    def forward(self, x, mask):
        for block in self.blocks:
            if self.gradient_checkpointing and self.ffn_scope:
                # -> self.blocks[*] scoped(x=x, mask=mask, checkpoint_ffn=True, checkpoint_fn=checkpoint)
                x = block(x, mask, checkpoint_ffn=True, checkpoint_fn=checkpoint)
            elif self.gradient_checkpointing:
                # -> self.blocks[*] checkpointed(x=x, mask=mask)
                x = checkpoint(block, x, mask, use_reentrant=False)
            else:
                # -> self.blocks[*] eager(x=x, mask=mask)
                x = block(x, mask)
        return x


SETTINGS = {"gradient_checkpointing": (False, True), "ffn_scope": (False, True)}
MODES = ()
