"""HunyuanImage 2.1: the checkpointed calls hand keywords to a hook that takes none."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    def build() -> Any:
        return module.HunyuanImageTransformer2DModel(
            in_channels=4,
            out_channels=4,
            num_attention_heads=2,
            attention_head_dim=8,
            num_layers=1,
            num_single_layers=1,
            num_refiner_layers=1,
            mlp_ratio=2.0,
            patch_size=(1, 1),
            text_embed_dim=6,
            text_embed_2_dim=None,
            rope_axes_dim=(4, 4),
        )

    def feed(model: Any) -> Any:
        return model(
            hidden_states=torch.randn(1, 4, 4, 4),
            timestep=torch.tensor([500.0]),
            encoder_hidden_states=torch.randn(1, 3, 6),
            encoder_attention_mask=torch.ones(1, 3),
            return_dict=False,
        )

    return modes(build, feed, "transformer_blocks")


PLACE = Place(
    "diffusers",
    "models/transformers/transformer_hunyuanimage.py",
    "HunyuanImageTransformer2DModel.forward",
)
INDENT = " " * 20
KEYWORDS = f"{INDENT}attention_mask=attention_mask,\n{INDENT}image_rotary_emb=image_rotary_emb,\n"

PROOFS = {
    "keywords to the hook": Proof(
        findings=[PLACE.finding("CF202", "attention_mask")],
        module="diffusers.models.transformers.transformer_hunyuanimage",
        observe=train,
        shows="TypeError: .* unexpected keyword argument 'attention_mask'",
        repair=[Edit(KEYWORDS, "attention_mask, image_rotary_emb,\n", count=4)],
    ),
}
