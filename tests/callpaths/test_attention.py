"""Which calls compute attention, and which contexts are open at a call."""

from __future__ import annotations

from textwrap import dedent

import pytest

from conformance.callpaths.attention import Attention
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.trace import AnyCall
from tests.callpaths.looking import marker, place_of, project_of

TREE = """\
import functools

import torch
import torch.nn.functional as F
import xformers.ops
from flash_attn import flash_attn_func
from library import Attention, AttentionMixin, Mystery
from torch import nn

compiled = torch.compile(flash_attn_func)


def kernel(q, k, v):
    return compiled(q, k, v)


def local(q, slow):
    run = F.scaled_dot_product_attention if slow else flash_attn_func
    return run(q, q, q)


def imported(q):
    from torch.nn.functional import scaled_dot_product_attention as sdpa

    return sdpa(q, q, q)


def inside(q):
    def run(x):
        return F.scaled_dot_product_attention(x, x, x)

    return run(q)


def chosen():
    return F.scaled_dot_product_attention


def tested():
    return hasattr(F, "scaled_dot_product_attention")


def shadowed(flash_attn_func, q):
    return flash_attn_func(q)


def logits(q, k):
    return torch.softmax(q @ k.transpose(-2, -1), dim=-1)


def apply(module, x):
    return module(x)


def project(module, x):
    return module.to_q(x)


def ping(x):
    return pong(x)


def pong(x):
    return ping(x)


class Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q):
        return kernel(q, q, q)


class Processor:
    def __call__(self, attn, x):
        return xformers.ops.memory_efficient_attention(x, x, x)


class Silent:
    def __call__(self, attn, x):
        return x


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_q = nn.Linear(8, 8)

    def forward(self, x):
        return self._attend(self.to_q(x))

    def cached(self, x, cache):
        return F.scaled_dot_product_attention(x, *cache)

    def _attend(self, x):
        return kernel(x, x, x)


class Inherited(Own):
    def forward(self, x):
        return super().forward(x)


class Processed(nn.Module, AttentionMixin):
    default = Processor

    def __init__(self, processor=None):
        super().__init__()
        if processor is None:
            processor = self.default()
        self.set_processor(processor)

    def forward(self, x):
        run = self.processor.__call__
        return run(self, x)


class Stored(nn.Module):
    def __init__(self, processor=None):
        super().__init__()
        self.processor = processor or Processor()

    def forward(self, x):
        return self.processor(self, x)


class Given(nn.Module, AttentionMixin):
    def __init__(self, processor):
        super().__init__()
        self.set_processor(processor)

    def forward(self, x):
        return self.processor(self, x)


class Wrapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleList([Own()])

    def forward(self, x):
        return self.inner[0](x)


class Looped(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(8, 8), Own()])

    def forward(self, x):
        for index, part in enumerate(self.parts):
            x = part(x)
        return x


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.ff = nn.LayerNorm(8), nn.Sequential(nn.Linear(8, 8), nn.GELU())
        self.own, self.inherited, self.processed, self.stored = Own(), Inherited(), Processed(), Stored()
        self.given, self.silent = Given(Processor()), Given(Silent())
        self.outside, self.mystery = Attention(8, processor=Processor()), Mystery(8)
        self.multi = nn.MultiheadAttention(8, 2)
        self.wrapper, self.looped = Wrapper(), Looped()
        self.either = Own() if self.mystery else nn.Linear(8, 8)

    def helper(self, x):
        return self.own(x)

    def forward(self, x, fn=None, other: Own = None):
        pass  # the call


"""

YES = """\
F.scaled_dot_product_attention(x, x, x)
torch.nn.functional.scaled_dot_product_attention(x, x, x)
flash_attn_func(x, x, x)
xformers.ops.memory_efficient_attention(x, x, x)
functools.partial(F.scaled_dot_product_attention, x)(x, x)
compiled(x, x, x)
kernel(x, x, x)
local(x, True)
imported(x)
inside(x)
Kernel.apply(x)
self.own(x)
self.own.forward(x)
self.own.cached(x, None)
self.inherited(x)
self.processed(x)
self.stored(x)
self.given(x)
self.outside(x)
self.multi(x, x, x)
self.wrapper(x)
self.looped(x)
self.wrapper.inner[0](x)
self.either(x)
self.helper(x)
apply(self.own, x)
apply(F.scaled_dot_product_attention, x)
other.cached(x, None)
Processor()(None, x)
(flash_attn_func if fn else self.norm)(x)
"""
NO = """\
self.norm(x)
self.ff(x)
self.own.to_q(x)
self.silent(x)
self.mystery(x)
self.unknown(x)
fn(x, x, x)
other.missing(x)
chosen()
tested()
shadowed(x, x)
logits(x, x)
project(self.own, x)
apply(self.norm, x)
ping(x)
x.sum()
Own()
getattr(self, x)(x)
"""


def calls_in(call: str) -> tuple[Attention, list[AnyCall]]:
    project = project_of({"model.py": TREE.replace("pass  # the call", call)})
    module = project.module(place_of("model.py"))
    assert module is not None, project.problems
    block = project.class_def(module, "Block")
    forward = project.method(block, "forward")
    assert forward is not None
    interpreter = Interpreter(project)
    trace = interpreter.run(forward, block, every_call=True)
    assert trace is not None
    assert trace.every_call is not None
    return Attention(interpreter), trace.every_call


@pytest.mark.parametrize("call", YES.splitlines())
def test_computes_attention(call: str) -> None:
    attention, calls = calls_in(call)
    assert any(attention.computes(c.callee, c.arguments, c.keywords) for c in calls)


@pytest.mark.parametrize("call", NO.splitlines())
def test_computes_none(call: str) -> None:
    attention, calls = calls_in(call)
    assert calls
    assert not any(attention.computes(c.callee, c.arguments, c.keywords) for c in calls)


# Contexts


def contexts_of(body: str, parameters: str = "a, b") -> dict[str, str]:
    """The contexts that are open at the calls of marked lines, and when they were entered."""
    source = f"from contextlib import ExitStack\nfrom library import one, two\n\n\ndef run({parameters}):\n"
    source += "".join(f"    {line}\n" for line in dedent(body).splitlines())
    project = project_of({"model.py": source})
    module = project.module(place_of("model.py"))
    assert module is not None, project.problems
    trace = Interpreter(project).run(project.function_def(module, module.functions["run"]), None, every_call=True)
    assert trace is not None
    assert trace.every_call is not None
    found = {}
    for call in trace.every_call:
        name = marker({"model.py": source}, call.site.path, call.site.span.line)
        if not name.startswith("line "):
            texts = []
            for context in call.contexts:
                when = [c.value.text if c.holds else f"not {c.value.text}" for c in context.conditions]
                texts.append(context.value.text + (f" when {' and '.join(when)}" if when else ""))
            found[name] = ", ".join(texts)
    return found


def test_contexts_are_open_in_their_body_only() -> None:
    body = """
    a.call()  # <- before
    with one(a), two() as entered:
        a.call()  # <- inside
        with entered:
            a.call()  # <- deeper
    a.call()  # <- after
    """
    assert contexts_of(body) == {
        "before": "",
        "inside": "one(a), two()",
        "deeper": "one(a), two(), two()['entered']",
        "after": "",
    }


def test_a_function_runs_in_the_contexts_of_its_call() -> None:
    body = """
    def inner():
        a.call()  # <- inner

    with one():
        inner()
    """
    assert contexts_of(body) == {"inner": "one()"}


def test_a_context_under_a_condition() -> None:
    body = """
    with ExitStack() as stack:
        if a:
            stack.enter_context(one(b))
        b.call()  # <- inside
    b.call()  # <- after
    """
    assert contexts_of(body) == {"inside": "ExitStack(…), one(b) when a", "after": ""}


def test_a_context_under_a_name() -> None:
    body = """
    scope = one() if a else two()
    with scope:
        b.call()  # <- inside
    """
    assert contexts_of(body) == {"inside": "(one() if a else two())"}


def test_a_return_closes_what_is_open() -> None:
    body = """
    if a:
        with one():
            return b.call()  # <- inside
    return b.call()  # <- after
    """
    assert contexts_of(body) == {"inside": "one() when a", "after": ""}
