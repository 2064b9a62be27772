"""KVAE's video autoencoder: convolutions change, under the checkpoint, the cache that they pad their input from."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def encode(module: ModuleType) -> str:
    def build() -> Any:
        return module.AutoencoderKLKVAEVideo(
            ch=32,
            ch_mult=(1, 1),
            num_res_blocks=1,
            z_channels=4,
            temporal_compress_times=2,
        )

    def feed(model: Any) -> Any:
        return [model.encode(torch.randn(1, 3, 5, 8, 8)).latent_dist.mean]

    return modes(build, feed, "encoder.mid", recomputed=False)


PLACE = Place("diffusers", "models/autoencoders/autoencoder_kl_kvae_video.py", "KVAECachedCausalConv3d.forward")
GATE = "if torch.is_grad_enabled() and self.gradient_checkpointing:"

PROOFS = {
    "changed cache": Proof(
        findings=[PLACE.finding("CF205", "cache")],
        module="diffusers.models.autoencoders.autoencoder_kl_kvae_video",
        observe=encode,
        shows="other gradients: encoder",
        repair=[Edit(GATE, "if False:", count=4)],
    ),
}
