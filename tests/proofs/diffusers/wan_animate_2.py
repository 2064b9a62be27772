"""Wan Animate 2: the checkpointed call hands keywords to a hook that takes none."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    def build() -> Any:
        return module.WanAnimate2Transformer3DModel(
            patch_size=(1, 2, 2),
            text_len=4,
            in_dim=4,
            dim=16,
            ffn_dim=16,
            freq_dim=8,
            text_dim=6,
            out_dim=4,
            num_heads=2,
            num_layers=2,
            use_img_emb=False,
        )

    def feed(model: Any) -> Any:
        (output,) = model(
            hidden_states=[torch.randn(2, 1, 4, 4)],
            timestep=torch.tensor([500.0]),
            encoder_hidden_states=[torch.randn(3, 6)],
            condition_latents=[torch.randn(2, 1, 4, 4)],
            kv_cache=module.WanAnimate2KVCache(2),
            kv_cache_mode="extract",
            seq_len=4,
            offset_grid_sizes=torch.tensor([[1, 2, 2]]),
            return_dict=False,
        )
        return output

    return modes(build, feed, "blocks")


PLACE = Place("diffusers", "models/transformers/transformer_wan_animate_2.py", "WanAnimate2Transformer3DModel.forward")
ARGUMENTS = "block, hidden_states, kv_cache=kv_cache.get(idx), **block_kwargs"
BOUND = '__import__("functools").partial(block, kv_cache=kv_cache.get(idx), **block_kwargs), hidden_states'

PROOFS = {
    "keywords to the hook": Proof(
        findings=[PLACE.finding("CF202", "kv_cache")],
        module="diffusers.models.transformers.transformer_wan_animate_2",
        observe=train,
        shows="TypeError: .* unexpected keyword argument 'kv_cache'",
        repair=[Edit(ARGUMENTS, BOUND)],
    ),
}
