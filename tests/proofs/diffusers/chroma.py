"""Chroma: under the checkpoint the single blocks attend to padding, and no block gets the attention options."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.attention import Scaled
from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType, **options: Any) -> str:
    def build() -> Any:
        model = module.ChromaTransformer2DModel(
            in_channels=4,
            num_layers=1,
            num_single_layers=2,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=6,
            axes_dims_rope=(4, 2, 2),
            approximator_num_channels=16,
            approximator_hidden_dim=8,
            approximator_layers=1,
        )
        model.set_attn_processor(Scaled())
        return model

    def feed(model: Any) -> Any:
        return model(
            hidden_states=torch.randn(1, 8, 4),
            encoder_hidden_states=torch.randn(1, 3, 6),
            timestep=torch.tensor([0.5]),
            img_ids=torch.zeros(8, 3),
            txt_ids=torch.zeros(3, 3),
            return_dict=False,
            **options,
        )

    return modes(build, feed, "single_transformer_blocks")


def pad(module: ModuleType) -> str:
    """One text token of three is padding."""
    return train(module, attention_mask=torch.tensor([[True, True, False] + [True] * 8]))


def scale(module: ModuleType) -> str:
    """The attention gets an option."""
    return train(module, joint_attention_kwargs={"factor": 0.5})


PLACE = Place("diffusers", "models/transformers/transformer_chroma.py", "ChromaTransformer2DModel.forward")
MODEL = "diffusers.models.transformers.transformer_chroma"
DOUBLE_CALL = "image_rotary_emb, attention_mask\n"
SINGLE_CALL = "                    image_rotary_emb,\n                )"

PROOFS = {
    "dropped mask": Proof(
        findings=[PLACE.finding("CF101", "attention_mask")],
        module=MODEL,
        observe=pad,
        shows="other outputs",
        repair=[Edit(SINGLE_CALL, SINGLE_CALL.replace("emb,", "emb, attention_mask,"))],
    ),
    "dropped options": Proof(
        findings=[PLACE.finding("CF101", "joint_attention_kwargs")],
        module=MODEL,
        observe=scale,
        shows="other outputs",
        repair=[
            Edit(DOUBLE_CALL, DOUBLE_CALL.replace("mask", "mask, joint_attention_kwargs")),
            Edit(SINGLE_CALL, SINGLE_CALL.replace("emb,", "emb, attention_mask, joint_attention_kwargs,")),
        ],
    ),
}
