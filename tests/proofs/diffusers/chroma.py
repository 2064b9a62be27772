"""Chroma: the single blocks attend to padding under the checkpoint."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    """One text token of three is padding."""

    def build() -> Any:
        return module.ChromaTransformer2DModel(
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

    def feed(model: Any) -> Any:
        return model(
            hidden_states=torch.randn(1, 8, 4),
            encoder_hidden_states=torch.randn(1, 3, 6),
            timestep=torch.tensor([0.5]),
            img_ids=torch.zeros(8, 3),
            txt_ids=torch.zeros(3, 3),
            attention_mask=torch.tensor([[True, True, False] + [True] * 8]),
            return_dict=False,
        )

    return modes(build, feed, "single_transformer_blocks")


PLACE = Place("diffusers", "models/transformers/transformer_chroma.py", "ChromaTransformer2DModel.forward")
SINGLE_CALL = "                    image_rotary_emb,\n                )"

PROOFS = {
    "dropped mask": Proof(
        finding=PLACE.finding("CF101", "attention_mask"),
        module="diffusers.models.transformers.transformer_chroma",
        observe=train,
        shows="other outputs",
        repair=[Edit(SINGLE_CALL, SINGLE_CALL.replace("emb,", "emb, attention_mask,"))],
    ),
}
