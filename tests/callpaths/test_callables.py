"""Which callables a checkpoint call can run, and what each is passed then."""

from __future__ import annotations

import os

import pytest

from conformance.callpaths.callables import Use
from conformance.callpaths.paths import CallPaths
from tests.callpaths.looking import BLOCK, ROOT, model, project_of

HOOKED = "from diffusers.models.modeling_utils import ModelMixin\n"


def uses(source: str, files: dict[str, str] | None = None) -> list[Use]:
    """The uses of all entries of a file."""
    project = project_of({**(files or {}), "model.py": source})
    module = project.module(os.path.join(ROOT, "model.py"))
    assert module is not None
    calls = CallPaths(project)
    return [use for entry in calls.entries(module) for use in calls.checkpoint_uses(entry)]


def told(source: str, files: dict[str, str] | None = None) -> list[str]:
    """Each use in short: kind, mode, keywords, and what is rejected."""
    found = []
    for use in uses(source, files):
        keywords = ", ".join(f"{name}={value.text}" for name, value in use.keywords)
        rejected = f" rejects {', '.join(use.rejected)}" if use.rejected else ""
        found.append(f"{use.callable.kind} {use.mode}({keywords}){rejected}")
    return found


def loop(call: str, **more: str) -> str:
    """A model whose loop makes one checkpoint call."""
    body = f"for block in self.blocks:\n    if self.gradient_checkpointing:\n        x = {call}\nreturn x"
    return model(body, **more)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("checkpoint(block, x)", ["torch default()"]),
        ("checkpoint(block, x, use_reentrant=None)", ["torch default(use_reentrant=None)"]),
        ("checkpoint(block, x, use_reentrant=True)", ["torch re-entrant(use_reentrant=True)"]),
        ("checkpoint(block, x, use_reentrant=False)", ["torch non-re-entrant(use_reentrant=False)"]),
        ("checkpoint(block, x, use_reentrant=self.mode)", ["torch unknown(use_reentrant=self.mode)"]),
        ("checkpoint(block, x, **self.options)", ["torch unknown()"]),
        ("checkpoint(block, x, mask=mask)", ["torch default(mask=mask) rejects mask"]),
        (
            "checkpoint(block, x, mask=mask, use_reentrant=False)",
            ["torch non-re-entrant(mask=mask, use_reentrant=False)"],
        ),
        ("self.unheard_of(block, x)", []),
    ],
)
def test_modes(call: str, expected: list[str]) -> None:
    assert told(loop(call)) == expected


def test_each_branch_is_an_alternative() -> None:
    source = model(
        "run = checkpoint if scale else self._gradient_checkpointing_func\n"
        "options = {'use_reentrant': False} if scale else {}\n"
        "for block in self.blocks:\n    x = run(block, x, **options)\nreturn x",
        before=f"{HOOKED}from functools import partial",
        bases="ModelMixin",
        methods="_supports_gradient_checkpointing = True",
    )
    assert told(source) == ["torch non-re-entrant(use_reentrant=False)", "positional unknown()"]


def test_conditions_of_the_call_leave_alternatives_out() -> None:
    source = model(
        "run = checkpoint if scale else self._gradient_checkpointing_func\n"
        "for block in self.blocks:\n    if not scale:\n        x = run(block, x)\nreturn x",
        before=HOOKED,
        bases="ModelMixin",
        methods="_supports_gradient_checkpointing = True",
    )
    assert told(source) == ["positional unknown()"]


@pytest.mark.parametrize(
    ("methods", "is_known"),
    [
        ("_supports_gradient_checkpointing = True", True),
        ("_supports_gradient_checkpointing = False", False),
        ("", False),
        (
            (
                "_supports_gradient_checkpointing = True\n"
                "def enable_gradient_checkpointing(self):\n    self.gradient_checkpointing = True"
            ),
            False,
        ),
        (
            (
                "_supports_gradient_checkpointing = True\n"
                "def enable_gradient_checkpointing(self, func=None):\n    super().enable_gradient_checkpointing(func)"
            ),
            True,
        ),
        (
            (
                "_supports_gradient_checkpointing = True\n"
                "def enable_gradient_checkpointing(self):\n    super().enable_gradient_checkpointing(checkpoint)"
            ),
            False,
        ),
        (
            (
                "_supports_gradient_checkpointing = True\n"
                "def _set_gradient_checkpointing(self, enable=True, gradient_checkpointing_func=None):\n"
                "    self._gradient_checkpointing_func = gradient_checkpointing_func"
            ),
            True,
        ),
        (
            (
                "_supports_gradient_checkpointing = True\n"
                "def _set_gradient_checkpointing(self, module, value=False):\n    module.gradient_checkpointing = value"
            ),
            False,
        ),
    ],
)
def test_hook_of_a_base(methods: str, is_known: bool) -> None:
    source = loop(
        "self._gradient_checkpointing_func(block, x, mask=mask)", before=HOOKED, bases="ModelMixin", methods=methods
    )
    assert (told(source) == ["positional unknown(mask=mask) rejects mask"]) is is_known


def test_hook_of_a_base_in_the_tree() -> None:
    """The base is known by its dotted name, wherever its file lies."""
    base = "from torch import nn\n\n\nclass ModelMixin(nn.Module):\n    _supports_gradient_checkpointing = False\n"
    source = loop(
        "self._gradient_checkpointing_func(block, x, mask=mask)",
        before="from diffusers.models.modeling_utils import ModelMixin",
        bases="ModelMixin",
        methods="_supports_gradient_checkpointing = True",
    )
    files = {
        "diffusers/__init__.py": "",
        "diffusers/models/__init__.py": "",
        "diffusers/models/modeling_utils.py": base,
    }
    assert told(source, files) == ["positional unknown(mask=mask) rejects mask"]


@pytest.mark.parametrize("marker", ["self.gradient_checkpointing = False", "pass"])
def test_hook_that_a_model_stores_on_its_modules(marker: str) -> None:
    """It gets to the modules that have the flag."""
    part = (
        f"{BLOCK}\n\nclass Part(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {marker}\n"
        "        self.inner = Block()\n\n    def forward(self, x, mask=None):\n"
        "        return self._gradient_checkpointing_func(self.inner, x, mask=mask)\n"
    )
    source = model(
        "for part in self.parts:\n    x = part(x)\nreturn x",
        blocks=part,
        init="self.parts = nn.ModuleList([Part()])",
        before=HOOKED,
        bases="ModelMixin",
        methods="_supports_gradient_checkpointing = True",
    )
    expected = ["positional unknown(mask=mask) rejects mask"] if marker != "pass" else []
    assert sorted(set(told(source))) == expected


def test_all_that_methods_store() -> None:
    source = loop(
        "self.run(block, x)",
        init="self.blocks = nn.ModuleList([Block()])\nself.run = partial(checkpoint, use_reentrant=False)",
        before="from functools import partial",
        methods="def choose(self):\n    self.run = checkpoint",
    )
    assert told(source) == ["torch non-re-entrant(use_reentrant=False)", "torch default()"]


@pytest.mark.parametrize(
    ("wrapper", "call", "expected"),
    [
        (
            "def run(f, *a, use_reentrant=False, **k):\n    return checkpoint(f, *a, use_reentrant=use_reentrant, **k)",
            "run(block, x, mask=mask)",
            "torch non-re-entrant(use_reentrant=False, mask=mask)",
        ),
        (
            "def run(f, *a, use_reentrant=False, **k):\n    return checkpoint(f, *a, use_reentrant=use_reentrant, **k)",
            "run(block, x, mask=mask, use_reentrant=True)",
            "torch re-entrant(use_reentrant=True, mask=mask) rejects mask",
        ),
        (
            "def run(f, *a):\n    return checkpoint(f, *a, use_reentrant=False)",
            "run(block, x, mask=mask)",
            "wrapper unknown(mask=mask) rejects mask",
        ),
        (
            "def run(f, *a, **k):\n    k.setdefault('use_reentrant', False)\n    return checkpoint(f, *a, **k)",
            "run(block, x)",
            "torch non-re-entrant(use_reentrant=False)",
        ),
    ],
)
def test_wrappers_of_the_tree(wrapper: str, call: str, expected: str) -> None:
    assert told(loop(call, before=wrapper)) == [expected]


def test_a_callable_that_a_block_gets() -> None:
    """Its call is judged for what each caller hands over, under the settings that the caller passes."""
    block = (
        "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.feed = nn.Linear(2, 2)\n\n    def forward(self, x, part=False, checkpoint_fn=None):\n"
        "        if part:\n            return checkpoint_fn(self.feed, x)\n        return self.feed(x)\n"
    )
    body = "for block in self.blocks:\n    x = block(x, part={}, checkpoint_fn=checkpoint)\nreturn x"
    assert told(model(body.format("True"), blocks=block)) == ["torch default()"]
    assert told(model(body.format("False"), blocks=block)) == []


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("is_torch_version('>=', '1.11.0')", ["torch non-re-entrant(use_reentrant=False)"]),
        ("is_torch_version('<', '1.11')", ["torch default()"]),
        ("is_torch_version('>=', '2.4')", ["torch unknown(use_reentrant=(False if {} else absent))"]),
        ("is_other_version('>=', '1.11.0')", ["torch unknown(use_reentrant=(False if {} else absent))"]),
    ],
)
def test_releases_before_two_dont_count(test: str, expected: list[str]) -> None:
    source = model(
        f"options = {{'use_reentrant': False}} if {test} else {{}}\n"
        "for block in self.blocks:\n    x = checkpoint(block, x, **options)\nreturn x",
        before="from library import is_other_version, is_torch_version",
    )
    assert told(source) == [text.format(test) for text in expected]
