"""BRIA 3: attention options reach the blocks under the checkpoint only, so that inference ignores them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    """The options carry a mask that hides one text token of three."""

    def build() -> Any:
        return module.BriaTransformer2DModel(
            patch_size=1,
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=8,
            axes_dims_rope=[4, 2, 2],
        )

    def feed(model: Any) -> Any:
        mask = torch.zeros(1, 1, 7, 7)
        mask[..., 2] = -10000.0
        return model(
            hidden_states=torch.randn(1, 4, 4),
            encoder_hidden_states=torch.randn(1, 3, 8),
            timestep=torch.tensor([1.0]),
            img_ids=torch.zeros(4, 3),
            txt_ids=torch.zeros(3, 3),
            attention_kwargs={"attention_mask": mask},
            return_dict=False,
        )

    return modes(build, feed, "transformer_blocks")


PLACE = Place("diffusers", "models/transformers/transformer_bria.py", "BriaTransformer2DModel.forward")
EAGER_CALL = "                    image_rotary_emb=image_rotary_emb,\n                )"

PROOFS = {
    "options ignored": Proof(
        findings=[PLACE.finding("CF101", "attention_kwargs")],
        module="diffusers.models.transformers.transformer_bria",
        observe=train,
        shows="other outputs",
        repair=[Edit(EAGER_CALL, EAGER_CALL.replace("emb,", "emb, attention_kwargs=attention_kwargs,"), count=2)],
    ),
}
