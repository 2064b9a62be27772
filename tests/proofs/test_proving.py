"""What a proof sees of models that are right, wrong, failing, or not checkpointed at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.proofs.proving import RIGHT, alone, modes
from tests.proofs.published import Edit, edited

torch = pytest.importorskip("torch")


def seen(checkpointed: str, recomputed: bool = True) -> str:
    """What is seen of a chain of layers that is run so under the checkpoint."""
    from torch.utils.checkpoint import checkpoint

    def step(layer: Any, x: Any) -> Any:
        return x + torch.tanh(layer(x))

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.on = False
            self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                if not self.on or checkpointed == "never":
                    x = step(layer, x)
                elif checkpointed == "right":
                    x = checkpoint(step, layer, x, use_reentrant=False)
                elif checkpointed == "another value":
                    x = checkpoint(step, layer, 2 * x, use_reentrant=False)
                elif checkpointed == "late":
                    x = checkpoint(lambda x: step(layer, x), x, use_reentrant=False)  # noqa: B023 - it is the defect
                else:
                    x = checkpoint(step, layer, use_reentrant=False)
            return x

    def feed(model: Any) -> Iterator[Any]:
        yield model(torch.randn(2, 4))

    return modes(Model, feed, "layers", lambda model: setattr(model, "on", True), recomputed)


@pytest.mark.parametrize(
    ("checkpointed", "told"),
    [
        ("right", RIGHT),
        ("another value", "other outputs"),
        ("late", "other gradients: layers.0, layers.1"),
        ("missing", "TypeError: "),
    ],
)
def test_modes_are_compared(checkpointed: str, told: str) -> None:
    assert seen(checkpointed).startswith(told)


def test_a_model_without_a_checkpoint_proves_nothing() -> None:
    with pytest.raises(AssertionError, match="nothing was recomputed"):
        seen("never")
    assert seen("never", recomputed=False) == RIGHT


def test_a_model_that_cannot_run_is_told() -> None:
    layer = torch.nn.Linear(4, 4)
    assert alone(lambda: layer, lambda model: [model(torch.ones(1, 4))]) == RIGHT
    assert alone(lambda: layer, lambda model: [model()]).startswith("TypeError: ")


def test_edits_must_apply() -> None:
    assert edited("a b a", [Edit("b", "c"), Edit("a", "d", count=2)]) == "d c d"
    with pytest.raises(AssertionError):
        edited("a b a", [Edit("a", "d")])
