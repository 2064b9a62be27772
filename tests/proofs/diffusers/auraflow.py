"""AuraFlow: attention options reach the blocks on the eager path only."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from diffusers.models.attention_processor import AuraFlowAttnProcessor2_0

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


class Scaled(AuraFlowAttnProcessor2_0):
    """Attention with an option."""

    def __call__(self, attn: Any, hidden_states: Any, *arguments: Any, factor: float = 1.0, **options: Any) -> Any:
        return super().__call__(attn, hidden_states * factor, *arguments, **options)


def train(module: ModuleType) -> str:
    def build() -> Any:
        model = module.AuraFlowTransformer2DModel(
            sample_size=4,
            patch_size=2,
            in_channels=4,
            num_mmdit_layers=1,
            num_single_dit_layers=1,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=8,
            caption_projection_dim=16,
            out_channels=4,
            pos_embed_max_size=4,
        )
        model.set_attn_processor(Scaled())
        return model

    def feed(model: Any) -> Any:
        return model(
            hidden_states=torch.randn(1, 4, 4, 4),
            encoder_hidden_states=torch.randn(1, 3, 8),
            timestep=torch.tensor([0.5]),
            attention_kwargs={"factor": 100.0},
            return_dict=False,
        )

    return modes(build, feed, "joint_transformer_blocks")


PLACE = Place("diffusers", "models/transformers/auraflow_transformer_2d.py", "AuraFlowTransformer2DModel.forward")
JOINT_CALL = "encoder_hidden_states,\n                    temb,\n"
SINGLE_CALL = "combined_hidden_states,\n                        temb,\n"

PROOFS = {
    "dropped options": Proof(
        findings=[PLACE.finding("CF101", "attention_kwargs")],
        module="diffusers.models.transformers.auraflow_transformer_2d",
        observe=train,
        shows="other outputs",
        repair=[Edit(call, call.replace("temb,", "temb, attention_kwargs,")) for call in (JOINT_CALL, SINGLE_CALL)],
    ),
}
