"""Whether a function uses a parameter in effect: what it ignores can be left out without harm."""

from __future__ import annotations

import pytest

from conformance.callpaths.interpreter import Interpreter
from tests.callpaths.looking import place_of, project_of, snippets


def uses(body: str, name: str = "mask", before: str = "", **settings: object) -> bool:
    """Whether `forward` of a class with this body reads a parameter, where others have the given values."""
    lines = "\n".join(f"        {line}" for line in body.split("\n"))
    source = f"""
import torch
from torch import nn
from elsewhere import helper
{before}

def ignores(x, mask=None):
    return x

def takes(x, mask=None):
    return x * mask

class Ignores(nn.Module):
    def forward(self, x, mask=None):
        return x

class Takes(nn.Module):
    def forward(self, x, mask=None):
        return x if mask is None else x * mask

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ignores = Ignores()
        self.takes = Takes()
        self.linear = nn.Linear(2, 2)
        self.lists = nn.ModuleList([Ignores(), Ignores()])

    def own_ignores(self, x, mask=None, other=None):
        return x

    def own_takes(self, x, mask=None, other=None):
        return self.takes(x, mask)

    def forward(self, x, mask=None, scale=None, flag=False, **kwargs):
{lines}
"""
    project = project_of({"main.py": source})
    module = project.module(place_of("main.py"))
    assert module is not None, project.problems
    owner = project.class_def(module, "Block")
    forward = project.method(owner, "forward")
    assert forward is not None
    interpreter = Interpreter(project)
    values = {name: interpreter.values.const(value) for name, value in settings.items()}
    return interpreter.reads(forward, owner, name, values)


@pytest.mark.parametrize(
    "body",
    snippets("""
        return x * mask
        ---
        return x if mask is None else x
        ---
        x = x + (mask if flag else 0)
        return x
        ---
        if mask is not None:
            x = x + 1
        return x
        ---
        if kwargs:
            mask = helper(x)
        return x * mask
        ---
        for row in x:
            if row:
                mask = takes(mask)
        return x * mask
        ---
        self.mask = mask
        return x
        ---
        other = mask
        return x + other
        ---
        return takes(x, mask)
        ---
        return takes(x, mask=mask)
        ---
        return self.takes(x, mask)
        ---
        return self.own_takes(x, mask=mask)
        ---
        return helper(x, mask)
        ---
        return self.linear(mask)
        ---
        return x, mask
        ---
        def inner():
            return mask
        return inner()
        ---
        return (lambda m: x * m)(mask)
        ---
        return [m for m in mask]
        ---
        options = {"mask": mask}
        return helper(**options)
        ---
        return self.lists[0](x, mask) + takes(x, mask)
        ---
        return takes(*(x, mask))
        ---
        return torch.add(x, mask)
        ---
        return x * mask.size(0)
        ---
        for block in self.lists:
            x = block(x, mask)
        return x if mask else x
        ---
        return self.forward_other(x, mask)
    """),
)
def test_used(body: str) -> None:
    assert uses(body)


@pytest.mark.parametrize(
    "body",
    snippets("""
        return x
        ---
        mask = x
        return mask
        ---
        return ignores(x, mask)
        ---
        return ignores(x, mask=mask)
        ---
        return self.ignores(x, mask)
        ---
        return self.own_ignores(x, mask=mask)
        ---
        for block in self.lists:
            x = block(x, mask)
        return x
        ---
        def inner(h, mask):
            return h
        return inner(x, mask)
        ---
        if False:
            x = x * mask
        return x
        ---
        del mask
        return x
        ---
        return [x for mask in x]
        ---
        mask, y = x
        return mask
    """),
)
def test_not_used(body: str) -> None:
    assert not uses(body)


@pytest.mark.parametrize(
    ("body", "settings", "used"),
    [
        ("return x * mask if flag else x", {"flag": False}, False),
        ("return x * mask if flag else x", {"flag": True}, True),
        ("if scale is not None:\n    x = x * mask\nreturn x", {"scale": None}, False),
        ("if scale is not None:\n    x = x * mask\nreturn x", {"scale": 1}, True),
        ("if scale is not None:\n    x = x * mask\nreturn x", {}, True),
        ("if flag and scale is None:\n    x = x * mask\nreturn x", {"flag": False}, False),
        ("if flag:\n    mask = x\nreturn x * mask", {"flag": True}, False),
        ("if flag:\n    mask = x\nreturn x * mask", {"flag": False}, True),
        ("use = flag\nif not use:\n    return x\nreturn x * mask", {"flag": False}, False),
        ("return self.own_takes(x, mask) if flag else self.own_ignores(x, mask)", {"flag": False}, False),
        ("return self.own_takes(x, mask) if flag else self.own_ignores(x, mask)", {"flag": True}, True),
    ],
)
def test_in_the_light_of_other_arguments(body: str, settings: dict[str, object], used: bool) -> None:
    assert uses(body, **settings) is used


def test_parameters_that_hand_on_to_each_other_end() -> None:
    before = """
def first(x, mask=None):
    return second(x, mask)

def second(x, mask=None):
    return first(x, mask)
"""
    assert uses("return first(x, mask)", before=before) in (True, False)


@pytest.mark.parametrize(
    ("body", "selects"),
    [
        ("if not mask:\n    return (x,)\nreturn [x]", True),
        ("return (x,) if mask else [x]", True),
        ("if mask:\n    x = x + 1\nreturn x", False),
        ("if not mask:\n    return (x,)\nreturn x * mask", False),
        ("return x", True),
    ],
)
def test_only_selects_the_form_of_the_result(body: str, selects: bool) -> None:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    project = project_of({"main.py": f"def f(x, mask=None):\n{lines}\n"})
    module = project.module(place_of("main.py"))
    assert module is not None
    function = project.function_def(module, module.functions["f"])
    assert Interpreter(project).only_selects_return(function, "mask") is selects
