"""Segment runners: several blocks under one checkpoint (shape 7), and `checkpoint_sequential`."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import entries_of, model, paths_of

FLAG = "self.gradient_checkpointing"

RUNNER = """
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
"""
"""Takes the blocks, a state of some tensors, what to run for each block, and the checkpoint."""

PAIR = """
class Block(nn.Module):
    def forward(self, x, context, mask=None, scale=1.0):
        return x, context
"""


def test_state_of_one() -> None:
    source = model(
        """
        if self.gradient_checkpointing:
            (x,) = run_segments(self.blocks, 2, (x,), lambda i, block, h: block(h, mask), checkpoint)  # <- segment
        else:
            for block in self.blocks:
                x = block(x, mask)  # <- eager
        return x
        """,
        before=RUNNER,
    )
    segment, eager = paths_of(source)
    assert segment.startswith("segment: segmented self.blocks[*](x=")
    assert ", mask=mask)" in segment
    assert segment.endswith(f" if {FLAG}")
    assert eager == f"eager: eager self.blocks[*](x=x, mask=mask) if not {FLAG}"


def test_two_states_in_the_block_order() -> None:
    """Each parameter gets the state of its own place, in the first segment and in later ones."""
    source = model(
        """
        def run(index, block, h, c):
            return block(h, c, mask=mask, scale=index)  # <- segment

        x, context = run_segments(self.blocks, 2, (x, context), run, checkpoint)
        return x
        """,
        signature="x, context, mask=None",
        before=RUNNER,
        blocks=PAIR,
    )
    (path,) = (path for entry in entries_of(source) for path in entry.paths)
    assert path.route == "segmented"
    assert path.binding is not None
    assert list(path.binding) == ["x", "context", "mask", "scale"]
    assert path.binding["x"] is not path.binding["context"]
    assert path.binding["mask"].text == "mask"


def state_positions(run: str, state: str) -> dict[str, int]:
    """For each state parameter of the block, the place in the runner's state tuple that it gets."""
    source = model(
        f"{run}\nstate = run_segments(self.blocks, 2, {state}, run, checkpoint)\nreturn state",
        signature="x, context, mask=None",
        before=RUNNER,
        blocks=PAIR,
    )
    (path,) = (path for entry in entries_of(source) for path in entry.paths)
    assert path.route == "segmented"
    assert path.unknown is None
    assert path.binding is not None
    found = {}
    for name in ("x", "context"):
        value = path.binding[name]
        assert value.op == "item", value
        assert value.args[1].op == "const"
        found[name] = value.args[1].args[1]
    return found


def test_swapped_state() -> None:
    straight = "def run(index, block, h, c):\n    return block(h, c)"
    swapped = "def run(index, block, c, h):\n    h, c = block(h, c)\n    return c, h"
    wrong = "def run(index, block, c, h):\n    return block(c, h)"
    assert state_positions(straight, "(x, context)") == {"x": 0, "context": 1}
    assert state_positions(swapped, "(context, x)") == {"x": 1, "context": 0}
    assert state_positions(wrong, "(context, x)") == {"x": 0, "context": 1}


def test_runner_in_another_file_and_a_package() -> None:
    source = model(
        """
        for block in self.others:
            x = block(x)  # <- eager
        return run_segments(self.blocks, 2, (x,), lambda i, block, h: block(h, mask), checkpoint)  # <- segment
        """,
        before="from .tools.runner import run_segments",
        init="self.blocks = nn.ModuleList([Block()])\nself.others = nn.ModuleList([Block()])",
    )
    files = {"net/__init__.py": "", "net/tools/__init__.py": "", "net/tools/runner.py": RUNNER}
    eager, segment = paths_of(source, files, "net/model.py")
    assert eager == "eager: eager self.others[*](x=x)"
    assert segment.startswith("segment: segmented self.blocks[*](x=")
    assert ", mask=mask)" in segment


def test_runner_that_imports_the_checkpoint_itself() -> None:
    runner = """
        from torch.utils.checkpoint import checkpoint

        def run_in_groups(blocks, x, size, run):
            for start in range(0, len(blocks), size):
                def group(h, first=start):
                    for index in range(first, min(first + size, len(blocks))):
                        h = run(blocks[index], h)
                    return h
                x = checkpoint(group, x, use_reentrant=False)
            return x
        """
    source = model(
        "return run_in_groups(self.blocks, x, 4, lambda b, h: b(h, mask=mask))  # <- segment",
        before="from runner import run_in_groups",
    )
    (segment,) = paths_of(source, {"runner.py": runner})
    assert segment.startswith("segment: segmented self.blocks[*](x=h, mask=mask)")


def test_segment_in_the_forward_itself() -> None:
    source = model(
        """
        for start in range(0, len(self.blocks), 2):
            def segment(h, first=start):
                for block in self.blocks[first : first + 2]:
                    h = block(h, mask)  # <- segment
                return h
            x = checkpoint(segment, x, use_reentrant=False)
        return x
        """
    )
    assert paths_of(source) == ["segment: segmented self.blocks[*](x=h, mask=mask)"]


def test_whole_loop_in_one_checkpoint() -> None:
    source = model(
        """
        def run(h):
            for block in self.blocks:
                h = block(h, mask)  # <- segment
            return h
        return checkpoint(run, x, use_reentrant=False)
        """
    )
    assert [text.removesuffix(" -> return") for text in paths_of(source)] == [
        "segment: segmented self.blocks[*](x=h, mask=mask)"
    ]


def test_one_block_in_a_loop_that_is_outside_is_not_segmented() -> None:
    source = model(
        """
        for block in self.blocks:
            def run(h):
                for _ in range(2):
                    h = block(h, mask)  # <- ck
                return h
            x = checkpoint(run, x, use_reentrant=False)
        return x
        """
    )
    assert paths_of(source) == ["ck: checkpointed self.blocks[*](x=h, mask=mask)"]


def test_runner_and_eager_loop_share_what_runs_a_block() -> None:
    source = model(
        """
        def run(index, block, h):
            return block(h, mask)  # <- both

        if self.gradient_checkpointing:
            (x,) = run_segments(self.blocks, 2, (x,), run, checkpoint)
        else:
            for index, block in enumerate(self.blocks):
                x = run(index, block, x)
        return x
        """,
        before=RUNNER,
    )
    texts = paths_of(source)
    assert [text.split("(")[0] for text in texts] == ["both: eager self.blocks[*]", "both: segmented self.blocks[*]"]
    assert all(", mask=mask)" in text for text in texts)


@pytest.mark.parametrize(
    "call",
    [
        "checkpoint_sequential(self.blocks, 2, x, use_reentrant=False)",
        "checkpoint_sequential(functions=self.blocks, segments=2, input=x)",
        "torch.utils.checkpoint.checkpoint_sequential(self.blocks, len(self.blocks), x, use_reentrant=False)",
        "checkpoint_sequential(list(self.blocks), 2, x)",
        "checkpoint_sequential(self.blocks[1:], 2, input=x)",
    ],
)
def test_checkpoint_sequential(call: str) -> None:
    source = model(
        f"x = {call}  # <- ck\nreturn x",
        before="import torch.utils.checkpoint\nfrom torch.utils.checkpoint import checkpoint_sequential",
        init="self.blocks = nn.Sequential(Block(), Block())",
    )
    assert paths_of(source) == ["ck: segmented self.blocks[*](x=x)"]
