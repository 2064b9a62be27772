"""SimpleTuner, Chroma: the wrapper of the single blocks reads the mask that the forward has when backward runs it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from diffusers.models.transformers.transformer_flux import FluxAttnProcessor

from tests.proofs.proving import Place, Proof, modes
from tests.proofs.published import Edit


class PerSample(FluxAttnProcessor):
    """Attention for one sample that takes its rotary embedding with a batch dimension, as routing makes it.

    The processors of diffusers don't, so that with them routing fails on its own, with or without checkpointing.
    """

    def __call__(
        self,
        attn: Any,
        hidden_states: Any,
        encoder_hidden_states: Any = None,
        attention_mask: Any = None,
        image_rotary_emb: Any = None,
    ) -> Any:
        flat = tuple(part[0] if part.ndim == 3 else part for part in image_rotary_emb)
        return super().__call__(attn, hidden_states, encoder_hidden_states, attention_mask, flat)


def make(module: ModuleType) -> Any:
    return module.ChromaTransformer2DModel(
        in_channels=4,
        num_layers=1,
        num_single_layers=3,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=6,
        axes_dims_rope=(4, 2, 2),
        approximator_num_channels=16,
        approximator_hidden_dim=8,
        approximator_layers=1,
    )


def feed(model: Any) -> Any:
    return model(
        hidden_states=torch.randn(1, 8, 4),
        encoder_hidden_states=torch.randn(1, 3, 6),
        timestep=torch.tensor([0.5]),
        img_ids=torch.zeros(8, 3),
        txt_ids=torch.zeros(3, 3),
        attention_mask=torch.tensor([[1.0, 1.0, 0.0] + [1.0] * 8]),
        return_dict=False,
    )


def route(module: ModuleType) -> str:
    """The second of three single blocks sees a part of the tokens only, so that the mask is made anew around it."""

    def build() -> Any:
        model = make(module)
        model.set_router(
            module.TREADRouter(seed=0), [{"selection_ratio": 0.5, "start_layer_idx": 2, "end_layer_idx": 2}]
        )
        model.set_attn_processor(PerSample())
        return model

    return modes(build, feed, "single_transformer_blocks")


def feed_forward(module: ModuleType) -> str:
    """Only the feed-forward is checkpointed."""

    def enable(model: Any) -> None:
        model.set_gradient_checkpointing_backend("torch-ffn")
        model.enable_gradient_checkpointing()

    return modes(lambda: make(module), feed, "transformer_blocks.0", enable)


FILE = "chroma/transformer.py"
LATE = Place("simpletuner", FILE, "ChromaTransformer2DModel.forward.<locals>.run_checkpointed_block")
BLOCK = Place("simpletuner", FILE, "ChromaTransformerBlock.forward")
MODEL = "simpletuner.helpers.models.chroma.transformer"
END_OF_PARAMETERS = "checkpoint_rope,\n                        checkpoint_block=block,"
KEYWORD = "ip_attn_output,\n                use_reentrant=False,\n"

PROOFS = {
    "late mask": Proof(
        findings=[LATE.finding("CF201", "attention_mask")],
        module=MODEL,
        observe=route,
        shows="RuntimeError: ",
        repair=[Edit(END_OF_PARAMETERS, f"{END_OF_PARAMETERS} attention_mask=attention_mask,")],
    ),
    "keyword to the hook": Proof(
        findings=[BLOCK.finding("CF202", "use_reentrant")],
        module=MODEL,
        observe=feed_forward,
        shows="TypeError: .* unexpected keyword argument 'use_reentrant'",
        repair=[Edit(KEYWORD, "ip_attn_output,\n")],
    ),
}
