"""Proofs on SimpleTuner, from its unpacked wheel."""

from tests.proofs.published import enter

enter("simpletuner", "4.10.1", run=["simpletuner.helpers.models.ltxvideo2"])
enter("einops", "0.8.1", run=["einops"])
