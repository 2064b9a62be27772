"""UViT: the wrapper around the checkpoint takes positional arguments only, and is called with keywords."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    def build() -> Any:
        return module.UVit2DModel(
            hidden_size=16,
            cond_embed_dim=8,
            micro_cond_encode_dim=2,
            micro_cond_embed_dim=10,
            encoder_hidden_size=8,
            vocab_size=10,
            codebook_size=8,
            in_channels=8,
            block_out_channels=8,
            num_res_blocks=1,
            num_hidden_layers=2,
            num_attention_heads=2,
            block_num_heads=2,
            intermediate_size=16,
        )

    def feed(model: Any) -> Any:
        yield model(
            input_ids=torch.randint(0, 8, (1, 4, 4)),
            encoder_hidden_states=torch.randn(1, 3, 8),
            pooled_text_emb=torch.randn(1, 8),
            micro_conds=torch.ones(1, 5),
        )

    return modes(build, feed, "transformer_layers")


PLACE = Place("diffusers", "models/unets/uvit_2d.py", "UVit2DModel.forward.<locals>.layer_")

PROOFS = {
    "keywords to the wrapper": Proof(
        findings=[PLACE.finding("CF203", "encoder_hidden_states")],
        module="diffusers.models.unets.uvit_2d",
        observe=train,
        shows="TypeError: .*layer_\\(\\) got an unexpected keyword argument",
        repair=[
            Edit("def layer_(*args):", "def layer_(*args, **kwargs):"),
            Edit("checkpoint(layer, *args)", "checkpoint(layer, *args, use_reentrant=False, **kwargs)"),
        ],
    ),
}
