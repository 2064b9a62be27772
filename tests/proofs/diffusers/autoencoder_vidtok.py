"""VidTok: with tiles, convolutions and samplers change, under the checkpoint, the frames that they continue from."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def make(module: ModuleType) -> Any:
    model = module.AutoencoderVidTok(
        ch=32,
        ch_mult=[1, 1, 1],
        z_channels=4,
        num_res_blocks=1,
        spatial_ds=[0, 1],
        tempo_ds=[0, 1],
    )
    model.enable_tiling()
    return model


def decode(module: ModuleType) -> str:
    def feed(model: Any) -> Any:
        return [model.decode(torch.randn(1, 4, 8, 4, 4))]

    return modes(lambda: make(module), feed, "decoder.mid", recomputed=False)


def encode(module: ModuleType) -> str:
    def feed(model: Any) -> Any:
        return [model.encode(torch.randn(1, 3, 17, 8, 8)).latent_dist.mean]

    return modes(lambda: make(module), feed, "encoder.mid", recomputed=False)


PLACES = {
    name: Place("diffusers", "models/autoencoders/autoencoder_vidtok.py", f"VidTok{name}.forward")
    for name in ("CausalConv3d", "Downsample3D", "Upsample3D")
}
MODEL = "diffusers.models.autoencoders.autoencoder_vidtok"
NO_CHECKPOINT = Edit("if torch.is_grad_enabled() and self.gradient_checkpointing:", "if False:", count=2)

PROOFS = {
    "encoder": Proof(
        findings=[PLACES[name].finding("CF205", "causal_cache") for name in ("CausalConv3d", "Downsample3D")],
        module=MODEL,
        observe=encode,
        shows="CheckpointError: ",
        repair=[NO_CHECKPOINT],
    ),
    "decoder": Proof(
        findings=[PLACES["Upsample3D"].finding("CF205", "causal_cache")],
        module=MODEL,
        observe=decode,
        shows="other gradients: decoder",
        repair=[NO_CHECKPOINT],
    ),
}
