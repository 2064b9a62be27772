"""SimpleTuner, Chroma ControlNet: the checkpointed blocks get another rotary embedding, and no attention options."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from diffusers.models.modeling_utils import ModelMixin

from tests.proofs.attention import Scaled
from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType, **options: Any) -> str:
    """Checkpointing is enabled with the method of the base class: the model's own one forgets to set the hook."""

    def build() -> Any:
        model = module.ChromaControlNetModel(
            in_channels=4,
            num_layers=1,
            num_single_layers=2,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=6,
            axes_dims_rope=(4, 2, 2),
            approximator_num_channels=16,
            approximator_hidden_dim=8,
            approximator_layers=1,
        )
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.2)
        for block in (*model.transformer_blocks, *model.single_transformer_blocks):
            block.attn.set_processor(Scaled())
        return model

    def feed(model: Any) -> Any:
        double, single = model(
            hidden_states=torch.randn(1, 8, 4),
            controlnet_cond=torch.randn(1, 8, 4),
            encoder_hidden_states=torch.randn(1, 3, 6),
            timestep=torch.tensor([0.5]),
            img_ids=torch.zeros(8, 3),
            txt_ids=torch.zeros(3, 3),
            return_dict=False,
            **options,
        )
        return [*double, *single]

    return modes(build, feed, "single_transformer_blocks", ModelMixin.enable_gradient_checkpointing)


def scale(module: ModuleType) -> str:
    """The attention gets an option."""
    return train(module, joint_attention_kwargs={"factor": 0.5})


PLACE = Place("simpletuner", "chroma/controlnet.py", "ChromaControlNetModel.forward")
MODEL = "simpletuner.helpers.models.chroma.controlnet"
ARGUMENT = " temb,\n                    image_rotary_emb,"
ONLY_IMAGE = Edit(ARGUMENT, ARGUMENT.replace("image_", "image_only_"))
END_OF_CALL = " attention_mask,\n                )"

PROOFS = {
    "another rotary embedding": Proof(
        findings=[PLACE.finding("CF102", "image_rotary_emb")],
        module=MODEL,
        observe=train,
        shows="RuntimeError: The size of tensor",
        repair=[ONLY_IMAGE],
    ),
    "dropped options": Proof(
        findings=[PLACE.finding("CF101", "joint_attention_kwargs")],
        module=MODEL,
        observe=scale,
        shows="other outputs",
        given=[ONLY_IMAGE],
        repair=[Edit(END_OF_CALL, END_OF_CALL.replace("mask,", "mask, joint_attention_kwargs,"), count=2)],
    ),
}
