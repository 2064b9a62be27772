"""AudioLDM 2: the checkpointed calls leave one parameter out, so that all later arguments land one too early."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


def train(module: ModuleType) -> str:
    """One text token of three is padding."""

    def build() -> Any:
        return module.AudioLDM2UNet2DConditionModel(
            sample_size=8,
            in_channels=4,
            out_channels=4,
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
            block_out_channels=(8, 16),
            layers_per_block=1,
            norm_num_groups=4,
            cross_attention_dim=8,
            attention_head_dim=4,
        )

    def feed(model: Any) -> Any:
        return model(
            torch.randn(1, 4, 8, 8),
            torch.tensor([10]),
            encoder_hidden_states=torch.randn(1, 3, 8),
            encoder_attention_mask=torch.tensor([[1, 1, 0]]),
            return_dict=False,
        )

    return modes(build, feed, "down_blocks.0.attentions")


BLOCKS = ("CrossAttnDownBlock2D", "UNetMidBlock2DCrossAttn", "CrossAttnUpBlock2D")
PLACES = [Place("diffusers", "pipelines/audioldm2/modeling_audioldm2.py", f"{block}.forward") for block in BLOCKS]

PROOFS = {
    "shifted arguments": Proof(
        findings=[place.finding("CF103", "class_labels") for place in PLACES],
        module="diffusers.pipelines.audioldm2.modeling_audioldm2",
        observe=train,
        shows="RuntimeError: The size of tensor",
        repair=[Edit("None,  # class_labels", "None, None,", count=3)],
    ),
}
