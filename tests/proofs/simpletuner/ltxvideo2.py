"""SimpleTuner, LTX-2: the wrapper of the checkpointed call reads the block of the loop when backward runs it."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import RIGHT, Place, Proof, modes
from tests.proofs.published import Edit


def make(module: ModuleType, perturbed_attn: bool = False) -> Any:
    return module.LTX2VideoTransformer3DModel(
        in_channels=4,
        out_channels=4,
        num_attention_heads=2,
        attention_head_dim=8,
        cross_attention_dim=16,
        audio_in_channels=4,
        audio_out_channels=4,
        audio_num_attention_heads=2,
        audio_attention_head_dim=4,
        audio_cross_attention_dim=8,
        caption_channels=6,
        num_layers=3,
        perturbed_attn=perturbed_attn,
    )


def feed(model: Any, **options: Any) -> Any:
    return model(
        hidden_states=torch.randn(1, 8, 4),
        audio_hidden_states=torch.randn(1, 4, 4),
        encoder_hidden_states=torch.randn(1, 3, 6),
        audio_encoder_hidden_states=torch.randn(1, 3, 6),
        timestep=torch.tensor([500.0]),
        num_frames=2,
        height=2,
        width=2,
        audio_num_frames=4,
        return_dict=False,
        **options,
    )


def train(module: ModuleType) -> str:
    return modes(lambda: make(module), feed, "transformer_blocks")


def skip(module: ModuleType) -> str:
    """The first block skips its self-attention, as guidance asks for."""
    return modes(
        lambda: make(module, perturbed_attn=True),
        lambda model: feed(model, attention_kwargs={"stg_self_attn_blocks": [0]}),
        "transformer_blocks",
    )


def listen(module: ModuleType) -> str:
    """Audio only, with attention offload on: what the attentions are told."""
    told: list[bool] = []

    def context(enabled: bool, **_: Any) -> Any:
        told.append(enabled)
        return contextlib.nullcontext()

    module.activation_offload_context = context
    torch.manual_seed(0)
    model = make(module)
    model.set_gradient_checkpointing_offload_attention(True)
    for enable in (model.disable_gradient_checkpointing, model.enable_gradient_checkpointing):
        enable()
        feed(model, audio_only=True)
    assert told
    return RIGHT if all(told) else f"{told.count(False)} of {len(told)} attentions are not offloaded"


MODEL = "simpletuner.helpers.models.ltxvideo2.transformer"
PLACE = Place(
    "simpletuner", "ltxvideo2/transformer.py", "LTX2VideoTransformer3DModel.forward.<locals>._checkpoint_block"
)
FORWARD = Place("simpletuner", "ltxvideo2/transformer.py", "LTX2VideoTransformer3DModel.forward")
WRAPPER = FORWARD._replace(function=f"{FORWARD.function}.<locals>._checkpoint_block")
END_OF_PARAMETERS = "audio_cross_attn_rotary_emb,\n                ):"
BIND_BLOCK = Edit(END_OF_PARAMETERS, END_OF_PARAMETERS.replace("):", "block=block):"))
BIND_INDEX = Edit("block=block):", "block=block, block_idx=block_idx):")

LAST = "True,\n                        stg_skip"
OFFLOAD = "offload_attention=self.gradient_checkpointing_offload_attention,"

PROOFS = {
    "late block": Proof(
        findings=[WRAPPER.finding("CF201", "block")],
        module=MODEL,
        observe=train,
        shows=r"other gradients: .*, transformer_blocks\.0, transformer_blocks\.1",
        repair=[BIND_BLOCK],
    ),
    "late index": Proof(
        findings=[WRAPPER.finding("CF201", "block_idx")],
        module=MODEL,
        observe=skip,
        shows="CheckpointError: .*Recomputed values",
        given=[BIND_BLOCK],
        repair=[BIND_INDEX],
    ),
    "no offload": Proof(
        findings=[FORWARD.finding("CF108", "offload_attention")],
        module=MODEL,
        observe=listen,
        shows="12 of 12 attentions are not offloaded",
        repair=[Edit(LAST, LAST.replace("True,", f"True, {OFFLOAD}"), count=2)],
    ),
}
