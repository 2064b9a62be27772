"""Qwen-Image: with guidance, the embedding of the time step is called with an argument that it doesn't take."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, alone
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    def build() -> Any:
        return module.QwenImageTransformer2DModel(
            patch_size=1,
            in_channels=4,
            out_channels=4,
            num_layers=1,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=6,
            axes_dims_rope=(4, 2, 2),
        )

    def feed(model: Any) -> Any:
        return model(
            hidden_states=torch.randn(1, 4, 4),
            encoder_hidden_states=torch.randn(1, 3, 6),
            encoder_hidden_states_mask=torch.ones(1, 3),
            timestep=torch.tensor([0.5]),
            img_shapes=[(1, 2, 2)],
            guidance=torch.tensor([4.0]),
            return_dict=False,
        )

    return alone(build, feed)


PLACE = Place("diffusers", "models/transformers/transformer_qwenimage.py", "QwenImageTransformer2DModel.forward")

PROOFS = {
    "guidance": Proof(
        findings=[PLACE.finding("CF104", "")],
        module="diffusers.models.transformers.transformer_qwenimage",
        observe=train,
        shows="TypeError: .*forward\\(\\) takes from 3 to 4 positional arguments but 5 were given",
        repair=[Edit("(timestep, guidance, hidden_states, ", "(timestep, hidden_states, ")],
    ),
}
