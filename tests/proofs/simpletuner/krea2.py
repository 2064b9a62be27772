"""SimpleTuner, Krea 2: with the scope of the feed-forward only, blocks hand a keyword to a hook that takes none."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    def build() -> Any:
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

    def enable(model: Any) -> None:
        model.set_gradient_checkpointing_backend("torch-ffn")
        model.enable_gradient_checkpointing()

    return modes(build, feed, "transformer_blocks.0", enable)


PLACE = Place("simpletuner", "krea2/transformer.py", "Krea2TransformerBlock.forward")
KEYWORD = "postgate,\n                use_reentrant=False,\n"

PROOFS = {
    "keyword to the hook": Proof(
        findings=[PLACE.finding("CF202", "use_reentrant")],
        module="simpletuner.helpers.models.krea2.transformer",
        observe=train,
        shows="TypeError: .* unexpected keyword argument 'use_reentrant'",
        repair=[Edit(KEYWORD, "postgate,\n")],
    ),
}
