"""Z-Image Omni: the checkpointed calls hand keywords to a hook that takes none."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    def build() -> Any:
        model = module.ZImageOmniTransformer2DModel(
            in_channels=4,
            dim=16,
            n_layers=2,
            n_refiner_layers=1,
            n_heads=2,
            n_kv_heads=2,
            cap_feat_dim=6,
            siglip_feat_dim=6,
            axes_dims=[4, 2, 2],
            axes_lens=[64, 32, 32],
        )
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.2)
        return model

    def feed(model: Any) -> Any:
        (output,) = model(
            [torch.randn(4, 1, 4, 4)], torch.tensor([0.5]), [[torch.randn(3, 6)]], [[]], [[None]], return_dict=False
        )
        return output

    return modes(build, feed, "layers")


FORWARD = Place("simpletuner", "z_image_omni/transformer.py", "ZImageOmniTransformer2DModel.forward")
HELPER = FORWARD._replace(function=f"{FORWARD.function}.<locals>.apply_layer")
LATER = ",\n                    adaln_noisy=t_noisy_x,\n                    adaln_clean=t_clean_x,"

PROOFS = {
    "keywords to the hook": Proof(
        findings=[place.finding("CF202", "noise_mask") for place in (FORWARD, HELPER)],
        module="simpletuner.helpers.models.z_image_omni.transformer",
        observe=train,
        shows="TypeError: .* unexpected keyword argument 'noise_mask'",
        repair=[
            Edit(f"noise_mask=x_noise_mask_tensor{LATER}", "None, x_noise_mask_tensor, t_noisy_x, t_clean_x,", count=2),
            Edit(f"noise_mask=noise_mask{LATER}", "None, noise_mask, t_noisy_x, t_clean_x,"),
        ],
    ),
}
