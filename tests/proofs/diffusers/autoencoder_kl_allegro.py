"""Allegro's autoencoder: the cast before the up blocks is left out under the checkpoint."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    """The up blocks have more precision than the rest."""

    def build() -> Any:
        model = module.AutoencoderKLAllegro(
            down_block_types=("AllegroDownBlock3D",) * 2,
            up_block_types=("AllegroUpBlock3D",) * 2,
            block_out_channels=(4, 4),
            temporal_downsample_blocks=(False, False),
            temporal_upsample_blocks=(False, False),
            layers_per_block=1,
            norm_num_groups=2,
        )
        model.decoder.up_blocks.double()
        for part in (model.decoder.conv_norm_out, model.decoder.temp_conv_out, model.decoder.conv_out):
            part.double()
        return model

    def feed(model: Any) -> Any:
        return [model.decoder(torch.randn(1, 4, 1, 4, 4))]

    return modes(build, feed, "decoder.up_blocks")


PLACE = Place("diffusers", "models/autoencoders/autoencoder_kl_allegro.py", "AllegroDecoder3D.forward")
CALL = "(self.mid_block, sample)\n\n            # Up"

PROOFS = {
    "cast left out": Proof(
        findings=[PLACE.finding("CF106", "sample")],
        module="diffusers.models.autoencoders.autoencoder_kl_allegro",
        observe=train,
        shows="RuntimeError: mixed dtype",
        repair=[Edit(CALL, CALL.replace("sample)", "sample).to(upscale_dtype)"))],
    ),
}
