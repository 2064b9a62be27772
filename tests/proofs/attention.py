"""Attention that a proof can look at."""

from __future__ import annotations

from typing import Any

from diffusers.models.transformers.transformer_flux import FluxAttnProcessor


class Scaled(FluxAttnProcessor):
    """Attention with an option, which models hand down with the options of their callers."""

    def __call__(
        self,
        attn: Any,
        hidden_states: Any,
        encoder_hidden_states: Any = None,
        attention_mask: Any = None,
        image_rotary_emb: Any = None,
        factor: float = 1.0,
    ) -> Any:
        return super().__call__(attn, hidden_states * factor, encoder_hidden_states, attention_mask, image_rotary_emb)
