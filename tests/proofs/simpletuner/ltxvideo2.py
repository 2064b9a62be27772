"""SimpleTuner, LTX-2: the wrapper of the checkpointed call reads the block of the loop when backward runs it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType, perturbed_attn: bool = False, attention_kwargs: dict[str, Any] | None = None) -> str:
    def build() -> Any:
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

    def feed(model: Any) -> Any:
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
            attention_kwargs=attention_kwargs,
        )

    return modes(build, feed, "transformer_blocks")


def skipping(module: ModuleType) -> str:
    """The first block skips its self-attention, as guidance asks for."""
    return train(module, perturbed_attn=True, attention_kwargs={"stg_self_attn_blocks": [0]})


MODEL = "simpletuner.helpers.models.ltxvideo2.transformer"
PLACE = Place(
    "simpletuner", "ltxvideo2/transformer.py", "LTX2VideoTransformer3DModel.forward.<locals>._checkpoint_block"
)
END_OF_PARAMETERS = "audio_cross_attn_rotary_emb,\n                ):"
BIND_BLOCK = Edit(END_OF_PARAMETERS, END_OF_PARAMETERS.replace("):", "block=block):"))
BIND_INDEX = Edit("block=block):", "block=block, block_idx=block_idx):")

PROOFS = {
    "late block": Proof(
        findings=[PLACE.finding("CF201", "block")],
        module=MODEL,
        observe=train,
        shows=r"other gradients: .*, transformer_blocks\.0, transformer_blocks\.1",
        repair=[BIND_BLOCK],
    ),
    "late index": Proof(
        findings=[PLACE.finding("CF201", "block_idx")],
        module=MODEL,
        observe=skipping,
        shows="CheckpointError: .*Recomputed values",
        given=[BIND_BLOCK],
        repair=[BIND_INDEX],
    ),
}
