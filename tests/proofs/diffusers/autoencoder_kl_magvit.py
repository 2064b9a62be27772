"""EasyAnimate's autoencoder: convolutions change, under the checkpoint, the features that they continue from."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def encode(module: ModuleType) -> str:
    """More frames than one chunk has: the features are forgotten only after the last one."""

    def build() -> Any:
        return module.AutoencoderKLMagvit(
            in_channels=3,
            latent_channels=4,
            out_channels=3,
            block_out_channels=(8, 8),
            down_block_types=("SpatialDownBlock3D", "SpatialTemporalDownBlock3D"),
            up_block_types=("SpatialUpBlock3D", "SpatialTemporalUpBlock3D"),
            layers_per_block=1,
            norm_num_groups=2,
            spatial_group_norm=False,
        )

    def feed(model: Any) -> Any:
        return [model.encode(torch.randn(1, 3, 9, 8, 8)).latent_dist.mean]

    return modes(build, feed, "encoder.down_blocks", recomputed=False)


PLACE = Place("diffusers", "models/autoencoders/autoencoder_kl_magvit.py", "EasyAnimateCausalConv3d.forward")
GATE = "if torch.is_grad_enabled() and self.gradient_checkpointing:"

PROOFS = {
    "changed features": Proof(
        findings=[PLACE.finding("CF205", "prev_features")],
        module="diffusers.models.autoencoders.autoencoder_kl_magvit",
        observe=encode,
        shows="CheckpointError: .*Recomputed values",
        repair=[Edit(GATE, "if False:", count=3)],
    ),
}
