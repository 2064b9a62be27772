"""Tiny autoencoder: under the checkpoint the encoder gets the image in another range of values."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from diffusers import AutoencoderTiny

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    def build() -> Any:
        model = AutoencoderTiny(
            encoder_block_out_channels=(8, 8),
            decoder_block_out_channels=(8, 8),
            num_encoder_blocks=(1, 1),
            num_decoder_blocks=(1, 1),
        )
        model.encoder = module.EncoderTiny(
            in_channels=3,
            out_channels=4,
            num_blocks=(1, 1),
            block_out_channels=(8, 8),
            act_fn="relu",
        )
        return model

    def feed(model: Any) -> Any:
        return [model.encode(torch.randn(1, 3, 8, 8)).latents]

    return modes(build, feed, "encoder.layers")


PLACE = Place("diffusers", "models/autoencoders/vae.py", "EncoderTiny.forward")
CALL = "_func(self.layers, x)\n\n        else:\n            # scale"

PROOFS = {
    "input not scaled": Proof(
        findings=[PLACE.finding("CF102", "1")],
        module="diffusers.models.autoencoders.vae",
        observe=train,
        shows="other outputs",
        repair=[Edit(CALL, CALL.replace("x)", "x.add(1).div(2))"))],
    ),
}
