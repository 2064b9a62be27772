"""`functools.partial` of a block or of the checkpoint, and layers that checkpoint themselves (shape 9)."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import model, paths_of

FLAG = "self.gradient_checkpointing"


@pytest.mark.parametrize(
    "call",
    [
        "checkpoint(partial(block, mask=mask, scale=scale), x, use_reentrant=False)",
        "checkpoint(partial(block.__call__, mask=mask, scale=scale), x, use_reentrant=False)",
        "checkpoint(partial(block.forward, mask=mask, scale=scale), x, use_reentrant=False)",
        "checkpoint(partial(block, x), mask, scale, use_reentrant=False)",
        "checkpoint(partial(block, x, mask=mask), scale=scale, use_reentrant=False)",
        "checkpoint(partial(partial(block, x), mask), scale, use_reentrant=False)",
        "checkpoint(partial(block, mask=None, scale=2.0), x, mask=mask, scale=scale, use_reentrant=False)",
        "checkpoint(functools.partial(block, x, mask, scale), use_reentrant=False)",
        "checkpoint(partial(lambda h, m, s, b=block: b(h, m, s), x, s=scale), m=mask, use_reentrant=False)",
        "checkpoint(partial(self._run, block), x, mask, scale, use_reentrant=False)",
        "partial(checkpoint, use_reentrant=False)(block, x, mask, scale)",
        "partial(checkpoint, block, use_reentrant=False)(x, mask, scale)",
        "checkpoint(**{'function': partial(block, x, mask, scale)}, use_reentrant=False)",
    ],
)
def test_partial(call: str) -> None:
    source = model(
        f"for block in self.blocks:\n    x = {call}  # <- ck\nreturn x",
        before="import functools\nfrom functools import partial",
        methods="""
        def _run(self, block, x, mask, scale):
            return block(x, mask, scale)  # <- ck
        """,
    )
    (text,) = (text for text in paths_of(source) if "self.blocks" in text.split("(")[0])
    before, _, bound = text.rstrip(")").partition("(")
    assert before == "ck: checkpointed self.blocks[*]"
    assert sorted(bound.split(", ")) == ["mask=mask", "scale=scale", "x=x"]


def test_partial_made_before_the_loop() -> None:
    source = model(
        """
        kwargs = {"mask": mask}
        run = partial(checkpoint, use_reentrant=False)
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = run(partial(block, **kwargs), x)  # <- ck
            else:
                x = block(x, **kwargs)  # <- eager
        return x
        """,
        before="from functools import partial",
    )
    assert paths_of(source) == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
        f"eager: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
    ]


def test_partials_in_a_list() -> None:
    source = model(
        """
        runs = [partial(block, mask=mask) for block in self.blocks]
        for run in runs:
            x = checkpoint(run, x, use_reentrant=False)  # <- ck
        return x
        """,
        before="from functools import partial",
    )
    assert paths_of(source) == ["ck: checkpointed self.blocks[*](x=x, mask=mask)"]


SELF_CHECKPOINTING = """
class Layer(nn.Module):
    gradient_checkpointing = False

    def __call__(self, *args, **kwargs):
        if self.gradient_checkpointing and self.training:
            return self._gradient_checkpointing_func(partial(super().__call__, **kwargs), *args)  # <- inside
        return super().__call__(*args, **kwargs)
"""


def test_layer_that_checkpoints_itself() -> None:
    """The model calls it in one way; that is one path."""
    source = model(
        "for block in self.blocks:\n    x = block(x, mask=mask)  # <- call\nreturn x",
        before="from functools import partial",
        blocks=f"""{SELF_CHECKPOINTING}

class Block(Layer):
    def forward(self, x, mask=None):
        return x
""",
    )
    assert [text for text in paths_of(source) if text.startswith("call")] == [
        "call: eager self.blocks[*](x=x, mask=mask)"
    ]


def test_layer_that_checkpoints_itself_from_outside_the_tree() -> None:
    source = model(
        "for block in self.blocks:\n    x = block(x, mask=mask)  # <- call\nreturn x",
        blocks="""
        from transformers.modeling_layers import GradientCheckpointingLayer

        class Block(GradientCheckpointingLayer):
            def forward(self, x, mask=None):
                return x
        """,
    )
    assert paths_of(source) == ["call: eager self.blocks[*](x=x, mask=mask)"]


def test_partial_of_the_wrong_thing_is_no_block() -> None:
    """A partial of a plain function is no block call."""
    source = model("x = partial(torch.add, x)(mask)\nreturn x", before="from functools import partial", init="")
    assert paths_of(source) == []
