"""SimpleTuner, Krea 2: the backends that checkpoint the feed-forward only, or offload, fail or have no effect."""

from __future__ import annotations

from types import ModuleType
from typing import Any
from unittest import mock

import torch

from tests.proofs.proving import RIGHT, Place, Proof, modes
from tests.proofs.published import Edit


def make(module: ModuleType) -> Any:
    return module.Krea2Transformer2DModel(
        in_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=16,
        timestep_embed_dim=8,
        text_hidden_dim=8,
        num_text_layers=2,
        text_num_attention_heads=2,
        text_num_key_value_heads=1,
        text_intermediate_size=16,
        num_layerwise_text_blocks=1,
        num_refiner_text_blocks=1,
        axes_dims_rope=(4, 2, 2),
    )


def feed(model: Any) -> Any:
    return model(
        hidden_states=torch.randn(1, 4, 4),
        encoder_hidden_states=torch.randn(1, 3, 2, 8),
        timestep=torch.tensor([0.5]),
        position_ids=torch.zeros(7, 3),
        return_dict=False,
    )


def train(module: ModuleType) -> str:
    """Only the feed-forward is checkpointed."""

    def enable(model: Any) -> None:
        model.set_gradient_checkpointing_backend("torch-ffn")
        model.enable_gradient_checkpointing()

    return modes(lambda: make(module), feed, "transformer_blocks.0", enable)


def segment(module: ModuleType) -> str:
    """The same with an interval: how often the attention of a block is run, which is outside of the feed-forward."""
    model = make(module)
    model.set_gradient_checkpointing_backend("torch-ffn")
    model.set_gradient_checkpointing_interval(2)
    model.enable_gradient_checkpointing()
    runs: list[object] = []
    model.transformer_blocks[0].attn.register_forward_pre_hook(lambda *_: runs.append(None))
    (output,) = feed(model)
    output.sum().backward()
    return RIGHT if len(runs) == 1 else f"the attention is run {len(runs)} times"


def offload(module: ModuleType) -> str:
    """How many of the checkpointed blocks are offloaded."""
    blocks: list[object] = []

    def record(function: Any, *arguments: Any) -> Any:
        blocks.append(function)
        return torch.utils.checkpoint.checkpoint(function, *arguments, use_reentrant=False)

    model = make(module)
    model.set_gradient_checkpointing_backend("unsloth")
    model.enable_gradient_checkpointing()
    with mock.patch(f"{OFFLOADED}.offloaded_checkpoint", record):
        feed(model)
    return RIGHT if len(blocks) == 2 else f"{len(blocks)} of 2 blocks are offloaded"


OFFLOADED = "simpletuner.helpers.training.offloaded_gradient_checkpointer"
MODEL = "simpletuner.helpers.models.krea2.transformer"
BLOCK = Place("simpletuner", "krea2/transformer.py", "Krea2TransformerBlock.forward")
FORWARD = Place("simpletuner", "krea2/transformer.py", "Krea2Transformer2DModel.forward")
NO_KEYWORD = Edit("postgate,\n                use_reentrant=False,\n", "postgate,\n")
SEGMENTS = "            and self.gradient_checkpointing_interval > 1\n"
LOOP = "        for idx, block in enumerate(self.transformer_blocks):\n"
CHOICE = f"""
        from {OFFLOADED} import offloaded_checkpoint

        if self.gradient_checkpointing_backend.startswith("unsloth"):
            chosen = offloaded_checkpoint
        else:
            chosen = self._gradient_checkpointing_func
"""

PROOFS = {
    "keyword to the hook": Proof(
        findings=[BLOCK.finding("CF202", "use_reentrant")],
        module=MODEL,
        observe=train,
        shows="TypeError: .* unexpected keyword argument 'use_reentrant'",
        repair=[NO_KEYWORD],
    ),
    "whole blocks": Proof(
        findings=[FORWARD.finding("CF305", "gradient_checkpointing_backend")],
        module=MODEL,
        observe=segment,
        shows="the attention is run 2 times",
        given=[NO_KEYWORD],
        repair=[Edit(SEGMENTS, f'{SEGMENTS}and not self.gradient_checkpointing_backend.endswith("-ffn")\n')],
    ),
    "no offload": Proof(
        findings=[FORWARD.finding("CF306", "gradient_checkpointing_backend")],
        module=MODEL,
        observe=offload,
        shows="0 of 2 blocks are offloaded",
        repair=[
            Edit("checkpoint_fn=self._gradient_checkpointing_func", "checkpoint_fn=chosen"),
            Edit("block_output = self._gradient_checkpointing_func(", "block_output = chosen("),
            Edit(LOOP, CHOICE + LOOP),
        ],
    ),
}
