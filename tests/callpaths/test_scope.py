"""Blocks that are handed a checkpoint callable for a part of themselves (shape 8)."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import model, paths_of

FLAG = "self.gradient_checkpointing"
BLOCKS = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.feed = nn.Linear(2, 2)

    def _feed(self, x):
        return self.feed(x)

    def forward(self, x, mask=None, checkpoint_ffn=False, checkpoint_fn=None):
        if checkpoint_ffn:
            return checkpoint_fn(self._feed, x)  # <- inside
        return self._feed(x)  # <- outside
"""


@pytest.mark.parametrize(
    ("before", "callable_", "shown"),
    [
        ("", "checkpoint", "checkpoint"),
        ("ckpt = checkpoint", "ckpt", "checkpoint"),
        ("import torch.utils.checkpoint as ck", "ck.checkpoint", "checkpoint"),
        ("", "self._gradient_checkpointing_func", "self._gradient_checkpointing_func"),
    ],
)
def test_callable_by_keyword(before: str, callable_: str, shown: str) -> None:
    source = model(
        f"""
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = block(x, mask, checkpoint_ffn=True, checkpoint_fn={callable_})  # <- scoped
            else:
                x = block(x, mask)  # <- eager
        return x
        """,
        blocks=BLOCKS,
        before=before,
    )
    texts = paths_of(source, of="Model")
    assert texts == [
        f"scoped: scoped self.blocks[*](x=x, mask=mask, checkpoint_ffn=True, checkpoint_fn={shown}) if {FLAG}",
        f"eager: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
    ]


def test_callable_by_position_and_by_a_mapping() -> None:
    source = model(
        """
        for block in self.blocks:
            x = block(x, mask, True, checkpoint)  # <- position
            x = block(x, **{"checkpoint_ffn": True, "checkpoint_fn": checkpoint})  # <- mapping
        return x
        """,
        blocks=BLOCKS,
    )
    texts = [text.split("(")[0] for text in paths_of(source, of="Model")]
    assert texts == ["position: scoped self.blocks[*]", "mapping: scoped self.blocks[*]"]


def test_partial_as_the_callable() -> None:
    source = model(
        """
        run = functools.partial(checkpoint, use_reentrant=False)
        for block in self.blocks:
            x = block(x, checkpoint_ffn=True, checkpoint_fn=run)  # <- scoped
        return x
        """,
        blocks=BLOCKS,
        before="import functools",
    )
    assert [text.split("(")[0] for text in paths_of(source, of="Model")] == ["scoped: scoped self.blocks[*]"]


def test_callable_that_is_none_is_no_scope() -> None:
    source = model(
        "for block in self.blocks:\n    x = block(x, checkpoint_ffn=False, checkpoint_fn=None)  # <- eager\nreturn x",
        blocks=BLOCKS,
    )
    assert [text.split("(")[0] for text in paths_of(source, of="Model")] == ["eager: eager self.blocks[*]"]


def test_selector_decided_once_for_both() -> None:
    """One call with the scope's arguments chosen by the gate."""
    source = model(
        """
        use_ffn = self.gradient_checkpointing and self.scope == "ffn"
        for block in self.blocks:
            x = block(x, mask, checkpoint_ffn=use_ffn, checkpoint_fn=checkpoint if use_ffn else None)  # <- call
        return x
        """,
        blocks=BLOCKS,
    )
    gate = f"({FLAG} and self.scope == 'ffn')"
    scope = f"checkpoint_ffn={gate}, checkpoint_fn=(checkpoint if {gate} else None)"
    assert paths_of(source, of="Model") == [f"call: scoped self.blocks[*](x=x, mask=mask, {scope})"]


def test_three_routes() -> None:
    source = model(
        """
        for block in self.blocks:
            if self.gradient_checkpointing and self.scope == "ffn":
                x = block(x, mask, checkpoint_ffn=True, checkpoint_fn=checkpoint)  # <- scoped
            elif self.gradient_checkpointing:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            else:
                x = block(x, mask)  # <- eager
        return x
        """,
        blocks=BLOCKS,
    )
    assert [text.split("(")[0] for text in paths_of(source, of="Model")] == [
        "scoped: scoped self.blocks[*]",
        "ck: checkpointed self.blocks[*]",
        "eager: eager self.blocks[*]",
    ]


def test_part_of_the_block_runs_under_the_callable() -> None:
    """Seen from the block: its own method is what is checkpointed."""
    assert paths_of(model("return x", blocks=BLOCKS), of="Block") == [
        "inside: checkpointed self._feed(x=x) if checkpoint_ffn -> return",
        "outside: eager self._feed(x=x) if not checkpoint_ffn -> return",
    ]


def test_submodule_under_the_callable_of_a_parameter() -> None:
    blocks = """
        class Feed(nn.Module):
            def forward(self, hidden, scale=1.0):
                return hidden

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.feed = Feed()

            def forward(self, x, checkpoint_fn=None):
                if checkpoint_fn is not None:
                    return checkpoint_fn(self.feed, x)  # <- inside
                return self.feed(x)  # <- outside
        """
    assert paths_of(model("return x", blocks=blocks), of="Block") == [
        "inside: checkpointed self.feed<Feed>(hidden=x) if not checkpoint_fn is None -> return",
        "outside: eager self.feed<Feed>(hidden=x) if checkpoint_fn is None -> return",
    ]
