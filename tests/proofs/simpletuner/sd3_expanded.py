"""SD3, expanded: the checkpointed call keeps the pair that a block returns as if it were the hidden states."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    def build() -> Any:
        return module.SD3TransformerQKNorm2DModel(
            sample_size=8,
            patch_size=2,
            in_channels=4,
            out_channels=4,
            num_layers=2,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=8,
            caption_projection_dim=16,
            pooled_projection_dim=8,
        )

    def feed(model: Any) -> Any:
        return model(
            hidden_states=torch.randn(1, 4, 8, 8),
            encoder_hidden_states=torch.randn(1, 3, 8),
            pooled_projections=torch.randn(1, 8),
            timestep=torch.tensor([10]),
            return_dict=False,
        )

    return modes(build, feed, "transformer_blocks")


PLACE = Place("simpletuner", "sd3/expanded.py", "SD3TransformerQKNorm2DModel.forward")
CALL = "                hidden_states = checkpoint_fn("

PROOFS = {
    "pair not unpacked": Proof(
        findings=[PLACE.finding("CF105", "hidden_states")],
        module="simpletuner.helpers.models.sd3.expanded",
        observe=train,
        shows="TypeError: layer_norm.* must be Tensor, not tuple",
        repair=[Edit(CALL, CALL.replace("hidden_states", "encoder_hidden_states, hidden_states"))],
    ),
}
