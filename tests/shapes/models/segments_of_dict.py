"""A runner takes a list out of a ModuleDict."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x, mask, scale=None):
        x = x + mask
        return self.lin(x if scale is None else x * scale)


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
        self.stages = nn.ModuleDict({"early": nn.ModuleList([Block() for _ in range(3)])})
        self.segmented = False

    def forward(self, x, mask, scale=None):
        if self.segmented and self.gradient_checkpointing:

            def run(_number, part, h):
                # -> self.stages['early'][*] segmented(x=?, mask=mask, scale=scale)
                return part(h, mask, scale=scale)

            (x,) = run_segments(self.stages["early"], 2, (x,), run, checkpoint)
        else:
            for block in self.stages["early"]:
                # -> self.stages['early'][*] eager(x=x, mask=mask, scale=scale)
                x = block(x, mask, scale)
        return x


SETTINGS = {"gradient_checkpointing": (False, True), "segmented": (False, True)}
MODES = ()
