"""Runs model files with torch and writes down every block call that happens, as JSON.

A stand-alone script, so that the tests' own process needs no torch: `python record.py FILE...` reads model files
and prints one JSON list with one record a file. A model file defines `Model`, which may have or extend an `Inner`
whose forward has the loops, and

    SETTINGS   attribute -> values to try; "<flag>" and "<tensor>" stand for a unique object of that kind
    MODES      switches of torch that the model reads, of "training" and "grad"

`Model.forward` takes tensors; those with a default are given in one run and left out in the next. Every combination
of settings and modes runs forward, and backward where gradients are on. Each tensor and each unique object has a
label (`mask`, `self.offload`), so a call's record tells which value reached which parameter.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import itertools
import json
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import torch
from torch import nn

WIDTH = 2
TORCH_CHECKPOINT = torch.utils.checkpoint.__file__
WRAPPERS = ("run_saved", "_run_saved")
"""Functions of model files that stand for torch's checkpoint: the caller's line is the one that names the block."""
SEGMENTS = ("segment",)
"""Functions of model files that run several blocks under one checkpoint."""

Span = tuple[int, int, int, int]
"""First line, first column, last line, end column; from 1, the end column is exclusive."""


class Flag:
    """A truthy object that is like no other."""


class Labels:
    """Names for objects by identity. Objects without a name of their own get numbers; all are kept alive."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.kept: list[object] = []

    def give(self, value: object, name: str) -> None:
        """Names an object; a later name of the same object is ignored."""
        if id(value) not in self.names:
            self.names[id(value)] = name
            self.kept.append(value)

    def of(self, value: object, fresh: bool = True) -> str:
        """`mask`, `=None` for a plain constant, `#3` for an object without a name, `?` for one not seen before."""
        if value is None or isinstance(value, bool | int | float | str):
            return f"={value!r}"
        if id(value) not in self.names:
            if not fresh:
                return "?"
            self.give(value, f"#{len(self.kept)}")
        return self.names[id(value)]


@functools.cache
def spans(code: CodeType) -> list[Span | None]:
    """The source span of each instruction."""
    return [
        None if None in place else (place[0], place[2] + 1, place[1], place[3] + 1)  # type: ignore[operator, misc]
        for place in code.co_positions()
    ]


def span(frame: FrameType) -> Span | None:
    """What the frame is executing."""
    return spans(frame.f_code)[frame.f_lasti // 2]


def stack(frame: FrameType | None) -> list[FrameType]:
    """The frame and its callers, innermost first."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def entries(block_class: type) -> list[str]:
    """The methods by which a block can be run: those that its own file defines, without the private ones."""
    own = (name for base in block_class.__mro__ if base.__module__ == block_class.__module__ for name in vars(base))
    return [name for name in dict.fromkeys(own) if not name.startswith("_") and callable(getattr(block_class, name))]


@functools.cache
def signature(function: Callable[..., Any]) -> inspect.Signature:
    """The function's signature."""
    return inspect.signature(function)


class Recorder:
    """Watches the blocks of one model and collects their calls."""

    def __init__(self, module: ModuleType, model: nn.Module) -> None:
        self.file = module.__file__
        self.calls: list[dict[str, Any]] = []
        self.labels = Labels()
        self.backward = False
        self.running: set[int] = set()
        self.entries: dict[type, list[str]] = {}
        self.model = model
        self.numbers = {id(part): number for number, part in enumerate(model.modules())}
        looping = getattr(module, "Inner", module.Model)
        for owner in model.modules():
            if isinstance(owner, looping):
                self.watch(owner)

    def is_own(self, value: object) -> bool:
        """Whether the value is a block of the model file: its class defines what it computes there."""
        if not isinstance(value, nn.Module):
            return False
        forward = inspect.unwrap(type(value).forward)
        return inspect.isfunction(forward) and forward.__code__.co_filename == self.file

    def watch(self, owner: nn.Module) -> None:
        """Watches the blocks that the owner holds, by attribute or inside containers of any kind."""
        found: dict[int, tuple[nn.Module, set[str]]] = {}
        for name, value in itertools.chain(vars(owner).items(), owner._modules.items()):
            if not name.startswith("_"):
                for element in self.elements(value):
                    found.setdefault(id(element), (element, set()))[1].add(name)
        for element, names in found.values():
            self.watch_element(owner, element, sorted(names))

    def elements(self, value: object) -> Iterator[nn.Module]:
        """The blocks inside a value."""
        if self.is_own(value):
            assert isinstance(value, nn.Module)
            yield value
        elif isinstance(value, nn.Module):
            for child in value._modules.values():
                yield from self.elements(child)
        elif isinstance(value, list | tuple):
            for item in value:
                yield from self.elements(item)
        elif isinstance(value, dict):
            yield from self.elements(list(value.values()))

    def watch_element(self, owner: nn.Module, element: nn.Module, names: list[str]) -> None:
        """Records calls of the module by a hook, and calls of its other public methods by a wrapper."""

        def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self.record(owner, element, names, "forward", args, kwargs)

        element.register_forward_pre_hook(hook, with_kwargs=True)
        if type(element) not in self.entries:
            self.entries[type(element)] = entries(type(element))
        for name in self.entries[type(element)]:
            object.__setattr__(element, name, self.wrapped(owner, element, names, name, getattr(element, name)))

    def wrapped(
        self, owner: nn.Module, element: nn.Module, names: list[str], name: str, method: Callable[..., Any]
    ) -> Callable[..., Any]:
        """The method, recording those calls that no hook has seen; calls of its own from within don't count."""

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            if id(element) in self.running:
                return method(*args, **kwargs)
            if not (name == "forward" and sys._getframe(1).f_code.co_filename.endswith("nn/modules/module.py")):
                self.record(owner, element, names, name, args, kwargs)
            self.running.add(id(element))
            try:
                return method(*args, **kwargs)
            finally:
                self.running.discard(id(element))

        return call

    def record(
        self,
        owner: nn.Module,
        element: nn.Module,
        names: list[str],
        method: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Adds one call, seen from inside a hook or a wrapper."""
        function = getattr(type(element), method)
        passed = signature(function).bind(element, *args, **kwargs)
        bound = dict(list(passed.arguments.items())[1:])
        passed.apply_defaults()
        defaults = {name: value for name, value in list(passed.arguments.items())[1:] if name not in bound}
        frames = stack(sys._getframe(2))
        entries = [
            k
            for k, frame in enumerate(frames)
            if frame.f_code.co_filename == self.file
            and frame.f_code.co_name == "forward"
            and frame.f_locals.get("self") is owner
        ]
        entry = frames[entries[-1]] if entries else None
        frames = frames[: entries[-1] + 1] if entries else frames
        checkpointed = any(frame.f_code.co_filename == TORCH_CHECKPOINT for frame in frames)
        own = [f for f in frames if f.f_code.co_filename == self.file and not f.f_code.co_name.startswith(WRAPPERS)]
        segmented = checkpointed and any(inner.f_code.co_name in SEGMENTS for inner in own)
        eager = "scoped" if bound.get("checkpoint_fn") is not None else "eager"
        self.calls.append(
            {
                "owner": type(owner).__name__,
                "names": names,
                "element": self.numbers[id(element)],
                "class": type(element).__name__,
                "method": method,
                "call": own and span(own[0]),
                "outer": entry and span(entry),
                "function": own and own[0].f_code.co_qualname,
                "route": "segmented" if segmented else "checkpointed" if checkpointed else eager,
                "bound": {name: self.labels.of(value, not self.backward) for name, value in bound.items()},
                "defaults": {name: self.labels.of(value, fresh=False) for name, value in defaults.items()},
                "backward": self.backward,
            }
        )


def load(path: Path) -> ModuleType:
    """The model file as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"generated_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def combinations(module: ModuleType) -> Iterator[dict[str, Any]]:
    """Every choice of settings, modes and given arguments of a model file."""
    choices: dict[str, tuple[Any, ...]] = {f"self.{name}": values for name, values in module.SETTINGS.items()}
    choices |= dict.fromkeys(module.MODES, (True, False))
    parameters = list(inspect.signature(module.Model.forward).parameters.values())[1:]
    if any(parameter.default is not parameter.empty for parameter in parameters):
        choices["given"] = (True, False)
    for values in itertools.product(*choices.values()):
        choice = dict(zip(choices, values, strict=True))
        if choice.get("training", True) or choice.get("grad", True):
            yield choice


def run(recorder: Recorder, choice: dict[str, Any]) -> dict[str, Any]:
    """One forward, and backward where gradients are on."""
    model, labels = recorder.model, Labels()
    recorder.calls, recorder.labels, recorder.backward = [], labels, False
    model.train(choice.get("training", True))
    for key, value in choice.items():
        if key.startswith("self."):
            chosen = value
            if value in ("<flag>", "<tensor>"):
                chosen = Flag() if value == "<flag>" else torch.rand(WIDTH)
                labels.give(chosen, key)
            for part in (model, getattr(model, "core", model)):
                if hasattr(part, key.removeprefix("self.")):
                    setattr(part, key.removeprefix("self."), chosen)
    arguments = {}
    for name, parameter in list(signature(type(model).forward).parameters.items())[1:]:
        if parameter.default is parameter.empty or choice.get("given", True):
            arguments[name] = torch.rand(1, WIDTH, requires_grad=True)
            labels.give(arguments[name], name)
    with contextlib.nullcontext() if choice.get("grad", True) else torch.no_grad():
        result = model(**arguments)
    results = result if isinstance(result, tuple) else (result,)
    for part in results:
        labels.of(part)
    if choice.get("grad", True):
        recorder.backward = True
        sum(part.sum() for part in results).backward()
    return {"choice": choice, "calls": recorder.calls}


def record(file: str) -> dict[str, Any]:
    """All runs of one model file."""
    try:
        module = load(Path(file))
        recorder = Recorder(module, module.Model())
        return {"file": file, "error": None, "runs": [run(recorder, choice) for choice in combinations(module)]}
    except Exception:  # noqa: BLE001 - whatever is wrong with the model, the test has to show it
        return {"file": file, "error": traceback.format_exc(), "runs": []}


def main(files: list[str]) -> None:
    """Prints the records of all files."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    sys.stdout.write(json.dumps([record(file) for file in files]))


if __name__ == "__main__":
    main(sys.argv[1:])
