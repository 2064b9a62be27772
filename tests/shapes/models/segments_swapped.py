"""The runner's state has another order than the block's parameters, and is swapped back."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, context, mask):
        return self.lin(x + mask), context + self.lin(context)


def run_segments(blocks, size, state, run, function):
    for start in range(0, len(blocks), size):
        chunk = tuple(blocks[start : start + size])

        def segment(*current, _start=start, _chunk=chunk):
            for offset, block in enumerate(_chunk):
                output = run(_start + offset, block, *current)
                current = output if isinstance(output, tuple) else (output,)
            return current if len(current) > 1 else current[0]

        output = function(segment, *state, use_reentrant=False)
        state = output if isinstance(output, tuple) else (output,)
    return state


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, context, mask):
        if self.gradient_checkpointing:

            def run(_number, block, c, h):
                # -> self.blocks[*] segmented(x=?, context=?, mask=mask)
                h, c = block(h, c, mask)
                return c, h

            context, x = run_segments(self.blocks, 2, (context, x), run, checkpoint)
        else:
            for block in self.blocks:
                # -> self.blocks[*] eager(x=x, context=context, mask=mask)
                x, context = block(x, context, mask)
        return x, context


SETTINGS = {"gradient_checkpointing": (False, True)}
MODES = ()
