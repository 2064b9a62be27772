"""What a proof is, and the process that runs those on one project: `python -m tests.proofs.proving PROJECT`.

It prints one JSON object: for each proof, as "MODULE: TITLE", its findings, its edits, and what it saw with and without
them.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.proofs.published import Edit, load, source

if TYPE_CHECKING:
    import torch

RIGHT = "right"
"""What is seen where nothing is wrong."""


class Finding(NamedTuple):
    """A finding, named as the entries of `tests/triage` name it."""

    project: str
    code: str
    path: str
    function: str
    parameter: str


class Place(NamedTuple):
    """Where findings are."""

    project: str
    path: str
    function: str

    def finding(self, code: str, parameter: str) -> Finding:
        """One of them."""
        return Finding(self.project, code, self.path, self.function, parameter)


@dataclass(frozen=True)
class Proof:
    """Findings on a published release, mostly one, and a run of that release's code that shows them.

    `observe` gets the module and tells what it sees: a text that `shows` matches in the published source, and `RIGHT`
    once it is repaired. Where another defect of the same place would hide this one, `given` takes it away first.
    """

    findings: Sequence[Finding]
    module: str
    observe: Callable[[ModuleType], str]
    shows: str
    repair: Sequence[Edit]
    given: Sequence[Edit] = ()


class Run(NamedTuple):
    """One forward and backward: outputs and gradients, and how often the watched modules were called."""

    outputs: list[torch.Tensor]
    gradients: dict[str, torch.Tensor]
    calls: int


def modes(
    build: Callable[[], torch.nn.Module],
    feed: Callable[[Any], Iterable[torch.Tensor]],
    blocks: str,
    enable: Callable[[Any], None] = lambda model: model.enable_gradient_checkpointing(),
    recomputed: bool = True,
) -> str:
    """How a model with checkpointing differs from the same model without.

    `feed` calls the model and gives its outputs, `blocks` names a module whose children are run under the checkpoint;
    `recomputed` is false where the repair is to run them without one.
    One of: `RIGHT`; "ERROR: message"; "other outputs"; "other gradients: NAMES", the outputs being the same.
    """
    eager = _run(build, feed, blocks)
    try:
        checkpointed = _run(build, feed, blocks, enable)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the proof sees
        return _told(error)
    assert eager.gradients.keys() == checkpointed.gradients.keys()
    assert all(bool(gradient.isfinite().all()) for gradient in eager.gradients.values())
    assert any(bool(gradient.any()) for gradient in eager.gradients.values())
    assert checkpointed.calls > eager.calls or not recomputed, "nothing was recomputed"
    if not all(map(_equal, eager.outputs, checkpointed.outputs)):
        return "other outputs"
    wrong = {_part(name) for name in eager.gradients if not _equal(eager.gradients[name], checkpointed.gradients[name])}
    return f"other gradients: {', '.join(sorted(wrong))}" if wrong else RIGHT


def alone(build: Callable[[], torch.nn.Module], feed: Callable[[Any], Iterable[torch.Tensor]]) -> str:
    """Whether a model can be made and trained at all: `RIGHT`, or "ERROR: message"."""
    try:
        _run(build, feed)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the proof sees
        return _told(error)
    return RIGHT


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _run(
    build: Callable[[], torch.nn.Module],
    feed: Callable[[Any], Iterable[torch.Tensor]],
    blocks: str = "",
    prepare: Callable[[Any], None] = lambda model: None,
) -> Run:
    import torch

    torch.manual_seed(0)
    model = build()
    prepare(model)
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    for block in model.get_submodule(blocks).children():
        block.register_forward_pre_hook(count)
    torch.manual_seed(1)
    outputs = list(feed(model))
    sum((output.square().sum() for output in outputs), torch.zeros(())).backward()
    gradients = {name: leaf.grad for name, leaf in model.named_parameters() if leaf.grad is not None}
    return Run([output.detach() for output in outputs], gradients, calls)


def _equal(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors are the same but for rounding; nothing lies between that and being another one."""
    distance = float((first - second).norm()) / (float(first.norm()) + float(second.norm()) + 1e-6)
    assert distance < 1e-5 or distance > 1e-3, distance
    return distance < 1e-5


def _part(name: str) -> str:
    """The part of a model that a parameter belongs to: its block, or its module of the first level."""
    first, _, rest = name.partition(".")
    number = rest.partition(".")[0]
    return f"{first}.{number}" if number.isdigit() else first


def main(project: str) -> None:
    """Runs the proofs on one project."""
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    sys.dont_write_bytecode = True
    package = importlib.import_module(f"tests.proofs.{project}")
    seen = {}
    for module in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
        proofs: Mapping[str, Proof] = importlib.import_module(f"{package.__name__}.{module}").PROOFS
        seen |= {f"{module}: {title}": _see(proof) for title, proof in proofs.items()}
    print(json.dumps(seen))


def _see(proof: Proof) -> dict[str, Any]:
    repaired = (*proof.given, *proof.repair)
    return {
        "findings": proof.findings,
        "source": source(proof.module),
        "edits": repaired,
        "shows": proof.shows,
        "published": proof.observe(load(proof.module, proof.given)),
        "repaired": proof.observe(load(proof.module, repaired)),
    }


if __name__ == "__main__":
    main(sys.argv[1])
