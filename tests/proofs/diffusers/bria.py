"""BRIA 3: attention options reach the blocks under the checkpoint only; a model that takes guidance can't be made."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, alone, modes
from tests.proofs.published import Edit


def make(module: ModuleType, **options: Any) -> Any:
    return module.BriaTransformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=8,
        axes_dims_rope=[4, 2, 2],
        **options,
    )


def feed(model: Any) -> Any:
    """The options carry a mask that hides one text token of three."""
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


def train(module: ModuleType) -> str:
    return modes(lambda: make(module), feed, "transformer_blocks")


def guide(module: ModuleType) -> str:
    """A model that takes guidance."""
    return alone(lambda: make(module, guidance_embeds=True), feed)


FILE = "models/transformers/transformer_bria.py"
FORWARD = Place("diffusers", FILE, "BriaTransformer2DModel.forward")
INIT = Place("diffusers", FILE, "BriaTransformer2DModel.__init__")
MODEL = "diffusers.models.transformers.transformer_bria"
EAGER_CALL = "                    image_rotary_emb=image_rotary_emb,\n                )"
GUIDANCE = "self.guidance_embed = BriaTimestepProjEmbeddings(embedding_dim=self.inner_dim)"

PROOFS = {
    "options ignored": Proof(
        findings=[FORWARD.finding("CF101", "attention_kwargs")],
        module=MODEL,
        observe=train,
        shows="other outputs",
        repair=[Edit(EAGER_CALL, EAGER_CALL.replace("emb,", "emb, attention_kwargs=attention_kwargs,"), count=2)],
    ),
    "guidance": Proof(
        findings=[INIT.finding("CF104", "time_theta")],
        module=MODEL,
        observe=guide,
        shows="TypeError: .*missing 1 required positional argument: 'time_theta'",
        repair=[Edit(GUIDANCE, GUIDANCE.replace("_dim)", "_dim, time_theta=time_theta)"))],
    ),
}
