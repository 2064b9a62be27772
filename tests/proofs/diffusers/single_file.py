"""A control network from a single file: its configuration is made by a call that leaves out an argument."""

from __future__ import annotations

from types import ModuleType

from tests.proofs.proving import RIGHT, Place, Proof
from tests.proofs.published import Edit


def configure(module: ModuleType) -> str:
    network = {
        "in_channels": 4,
        "out_channels": 4,
        "model_channels": 8,
        "channel_mult": [1, 2],
        "attention_resolutions": [1],
        "num_res_blocks": 1,
        "num_heads": 2,
        "transformer_depth": 1,
        "context_dim": 8,
        "hint_channels": 3,
    }
    original = {
        "model": {
            "params": {
                "unet_config": {"params": network},
                "control_stage_config": {"params": network},
                "first_stage_config": {"params": {"ddconfig": {"ch_mult": [1, 2]}}},
            }
        }
    }
    try:
        configuration = module.create_controlnet_diffusers_config_from_ldm(original, {})
    except TypeError as error:
        return f"TypeError: {error}"
    assert list(configuration["block_out_channels"]) == [8, 16]
    return RIGHT


PLACE = Place("diffusers", "loaders/single_file_utils.py", "create_controlnet_diffusers_config_from_ldm")
CALL = "create_unet_diffusers_config_from_ldm(original_config, image_size=image_size)"

PROOFS = {
    "missing argument": Proof(
        findings=[PLACE.finding("CF104", "checkpoint")],
        module="diffusers.loaders.single_file_utils",
        observe=configure,
        shows="TypeError: .*missing 1 required positional argument: 'checkpoint'",
        repair=[Edit(CALL, CALL.replace("config,", "config, checkpoint,"))],
    ),
}
