"""Checkpoint callables: torch's, hooks, wrappers of the tree, aliases, and what is none (DOMAIN.md, section 3)."""

from __future__ import annotations

import pytest

from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.values import Value
from conformance.project.profile import CheckpointCallable
from tests.callpaths.looking import model, paths_of, place_of, probe, project_of, snippets

CK = "ck: checkpointed self.blocks[*](x=x, mask=mask)"


def routes_of(source: str, files: dict[str, str] | None = None) -> list[str]:
    """Marker, route and arguments of the paths of the model's blocks, conditions left out."""
    return [text for text in paths_of(source, files, conditions=False, of="Model") if " self.blocks[*]" in text]


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("", "checkpoint"),
        ("import torch.utils.checkpoint", "torch.utils.checkpoint.checkpoint"),
        ("import torch.utils.checkpoint as ck", "ck.checkpoint"),
        ("from torch.utils import checkpoint as ck", "ck.checkpoint"),
        ("from torch.utils.checkpoint import checkpoint as grad_ckpt", "grad_ckpt"),
        ("from torch import utils", "utils.checkpoint.checkpoint"),
        ("import torch as t", "t.utils.checkpoint.checkpoint"),
        ("remat = checkpoint", "remat"),
        ("remat = torch.utils.checkpoint.checkpoint", "remat"),
        ("import deepspeed", "deepspeed.checkpointing.checkpoint"),
        ("try:\n    from deepspeed.checkpointing import checkpoint as ck\nexcept ImportError:\n    ck = None", "ck"),
        ("from compat import ck", "ck"),
    ],
)
def test_callable_by_its_name(imported: str, call: str) -> None:
    files = {"compat.py": "from torch.utils.checkpoint import checkpoint as ck\n"}
    source = model(f"for block in self.blocks:\n    x = {call}(block, x, mask)  # <- ck\nreturn x", before=imported)
    assert routes_of(source, files) == [CK]


@pytest.mark.parametrize(
    "body",
    snippets("""
        run = checkpoint
        for block in self.blocks:
            x = run(block, x, mask)  # <- ck

        run = checkpoint if self.training else self._gradient_checkpointing_func
        for block in self.blocks:
            x = run(block, x, mask)  # <- ck

        run = self._gradient_checkpointing_func or checkpoint
        for block in self.blocks:
            x = run(block, x, mask)  # <- ck

        if self.training:
            run = checkpoint
        else:
            run = self._gradient_checkpointing_func
        for block in self.blocks:
            x = run(block, x, mask)  # <- ck

        run = None
        if self.training:
            run = checkpoint
        for block in self.blocks:
            if run is not None:
                x = run(block, x, mask)  # <- ck

        for block in self.blocks:
            run = checkpoint
            x = run(block, x, mask)  # <- ck

        run = partial(checkpoint, use_reentrant=False)
        for block in self.blocks:
            x = run(block, x, mask)  # <- ck

        for block in self.blocks:
            x = self._gradient_checkpointing_func(block, x, mask)  # <- ck

        for block in self.blocks:
            x = self._ckpt(block, x, mask)  # <- ck

        for block in self.blocks:
            x = self._remat(block, x, mask)  # <- ck

        for block in self.blocks:
            x = self._partial(block, x, mask)  # <- ck

        for block in self.blocks:
            x = self._by_setter(block, x, mask)  # <- ck

        for block in self.blocks:
            x = self.wrapped(block, x, mask)  # <- ck

        run = self._ckpt
        for block in self.blocks:
            x = run(block, x, mask)  # <- ck

        run = getattr(self, "_ckpt")
        for block in self.blocks:
            x = run(block, x, mask)  # <- ck

        for block in self.blocks:
            x = MODULE_LEVEL(block, x, mask)  # <- ck

        for block in self.blocks:
            x = CHOSEN(block, x, mask)  # <- ck

        runs = {"torch": checkpoint, "hook": self._gradient_checkpointing_func}
        for block in self.blocks:
            x = runs["torch"](block, x, mask)  # <- ck

        runs = (checkpoint, None)
        for block in self.blocks:
            x = runs[0](block, x, mask)  # <- ck

        def run(function, *inputs):
            return checkpoint(function, *inputs, use_reentrant=False)  # <- ck
        for block in self.blocks:
            x = run(block, x, mask)

        run = lambda function, *inputs: checkpoint(function, *inputs, use_reentrant=False)  # <- ck
        for block in self.blocks:
            x = run(block, x, mask)

        def make():
            return partial(checkpoint, use_reentrant=False)
        for block in self.blocks:
            x = make()(block, x, mask)  # <- ck

        for block in self.blocks:
            x = torch.compiler.disable(checkpoint)(block, x, mask)  # <- ck
    """),
)
def test_alias(body: str) -> None:
    source = model(
        body,
        init="""
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self._ckpt = checkpoint
        self._remat = checkpoint
        self._partial = partial(checkpoint, use_reentrant=False)
        self._by_setter = None
        """,
        before="""
        from functools import partial
        MODULE_LEVEL = partial(checkpoint, use_reentrant=False)
        CHOSEN = checkpoint if hasattr(torch, "x") else partial(checkpoint, use_reentrant=True)
        """,
        methods="""
        def wrapped(self, function, *inputs):
            return checkpoint(function, *inputs, use_reentrant=False)

        def set_checkpoint(self, enabled):
            self._by_setter = checkpoint
        """,
    )
    assert {text.split(" if ")[0] for text in routes_of(source)} == {CK}


# Wrappers of the tree, by what they do


WRAPPERS = """
    def wrapper(fn, *args):
        return checkpoint(fn, *args, use_reentrant=False)
    ---
    def wrapper(fn, *args, use_reentrant=False, **kwargs):
        return checkpoint(fn, *args, use_reentrant=use_reentrant, **kwargs)
    ---
    def wrapper(fn, *args, enabled=True):
        if not enabled:
            return fn(*args)
        return checkpoint(fn, *args, use_reentrant=False)
    ---
    def wrapper(module, *args, **kwargs):
        def run(*inputs):
            return module(*inputs, **kwargs)
        return checkpoint(run, *args, use_reentrant=False)
    ---
    import torch.utils.checkpoint as ck
    def wrapper(fn, *args):
        return ck.checkpoint(fn, *args)
    ---
    def wrapper(fn, *args, **kwargs):
        return inner(fn, *args, **kwargs)
    def inner(fn, *args, **kwargs):
        return checkpoint(fn, *args, **kwargs)
    ---
    wrapper = partial(checkpoint, use_reentrant=False)
    ---
    wrapper = lambda fn, *args: checkpoint(fn, *args, use_reentrant=False)
    ---
    def wrapper(fn, *args):
        with torch.autocast("cpu"):
            return checkpoint(fn, *args)
    ---
    def wrapper(fn, x, mask):
        return checkpoint(fn, x, mask, use_reentrant=False)
"""


@pytest.mark.parametrize("wrapper", snippets(WRAPPERS))
def test_wrapper_in_another_file(wrapper: str) -> None:
    files = {
        "wrappers.py": "import torch\nfrom functools import partial\n"
        f"from torch.utils.checkpoint import checkpoint\n\n{wrapper}\n"
    }
    source = model(
        """
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = wrapper(block, x, mask)
            else:
                x = block(x, mask)  # <- eager
        return x
        """,
        before="from wrappers import wrapper",
    )
    texts = {text.partition(": ")[2] for text in routes_of(source, files) if "dead" not in text}
    assert texts == {"checkpointed self.blocks[*](x=x, mask=mask)", "eager self.blocks[*](x=x, mask=mask)"}


def test_keywords_of_a_wrapper_are_its_own() -> None:
    files = {
        "wrappers.py": """
            from torch.utils.checkpoint import checkpoint

            def offloaded(fn, *args, device=None, use_reentrant=False, **kwargs):
                return checkpoint(fn, *args, use_reentrant=use_reentrant, **kwargs)
            """
    }
    source = model(
        """
        for block in self.blocks:
            x = offloaded(block, x, device="cpu", mask=mask, use_reentrant=True)  # <- ck
        return x
        """,
        before="from wrappers import offloaded",
    )
    assert {text.partition(": ")[2] for text in routes_of(source, files)} == {
        "checkpointed self.blocks[*](x=x, mask=mask)"
    }


def test_wrapper_that_is_an_autograd_function() -> None:
    """`Function.apply(run, ...)` recomputes as well, but by code that isn't looked into: no binding is claimed."""
    source = model(
        "for block in self.blocks:\n    x = Recompute.apply(block, x, mask)  # <- apply\nreturn x",
        before="""
        class Recompute(torch.autograd.Function):
            @staticmethod
            def forward(ctx, run, *args):
                return run(*args)
        """,
    )
    assert [text for text in routes_of(source) if "checkpointed" in text] == []


def kind_of(expression: str, before: str = "", name: str = "probe.py") -> CheckpointCallable | None:
    """What kind of checkpoint callable an expression of a function is."""
    seen = probe(f"probe({expression})  # <- here", "checkpoint_fn, other, self, *args", before)
    return seen.interpreter.checkpoint_kind(seen.value("here"))


@pytest.mark.parametrize(
    ("before", "expression", "kind"),
    [
        ("from torch.utils.checkpoint import checkpoint", "checkpoint", "torch"),
        ("from torch.utils.checkpoint import checkpoint_sequential", "checkpoint_sequential", "torch"),
        ("", "self._gradient_checkpointing_func", "hook"),
        ("from deepspeed.checkpointing import checkpoint", "checkpoint", "wrapper"),
        (
            "from torch.utils.checkpoint import checkpoint\ndef own(f, *a):\n    return checkpoint(f, *a)",
            "own",
            "wrapper",
        ),
        ("", "checkpoint_fn", "wrapper"),
    ],
)
def test_kind(before: str, expression: str, kind: str) -> None:
    found = kind_of(expression, before)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    ("before", "expression"),
    [
        ("from elsewhere import checkpoint", "checkpoint"),
        ("from torch import load as checkpoint", "checkpoint"),
        ("def checkpoint(path):\n    return open(path)", "checkpoint"),
        ("def checkpoint(module, *args):\n    return module(*args)", "checkpoint"),
        ("def load_checkpoint(path, *args):\n    return path(*args)", "load_checkpoint"),
        ("def save(checkpoint, *args):\n    checkpoint.save(*args)", "save"),
        ("from torch.utils.checkpoint import checkpoint", "other if other else checkpoint"),
        ("from torch.utils.checkpoint import checkpoint", "[checkpoint]"),
        ("", "other"),
        ("", "self.checkpoint_path"),
        ("", "args[0]"),
        (
            "from torch.utils.checkpoint import checkpoint\ndef two(a, b, *args):\n    return checkpoint(b, a, *args)",
            "two",
        ),
        ("from torch.utils.checkpoint import checkpoint", "other(checkpoint)"),
    ],
)
def test_what_is_no_checkpoint_for_certain(before: str, expression: str) -> None:
    assert kind_of(expression, before) is None


def test_weight_file_words_are_no_checkpoint_route() -> None:
    source = model(
        """
        checkpoint_path = self.find(mask)
        for block in self.blocks:
            x = block(x, mask)  # <- eager
        self.save_checkpoint(x, checkpoint_path)
        return x
        """,
        methods="""
        def save_checkpoint(self, state, path):
            torch.save(state, path)

        def load_checkpoint(self, path):
            return torch.load(path)
        """,
    )
    assert routes_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


def test_callable_that_may_be_something_else() -> None:
    """One of two callables isn't known: the call isn't said to be checkpointed on that side."""
    source = model(
        """
        run = checkpoint if self.training else self.elsewhere
        for block in self.blocks:
            x = run(block, x, mask)  # <- ck
        return x
        """
    )
    assert [text for text in paths_of(source, of="Model") if " self.blocks" in text] == [
        "ck: checkpointed self.blocks[*](x=x, mask=mask) if self.training"
    ]


# Decorators


@pytest.mark.parametrize(
    "decorator",
    [
        "@torch.compile",
        "@torch._dynamo.disable",
        "@torch.compiler.disable(recursive=False)",
        "@functools.wraps(print)",
        "@maybe_allow_in_graph",
    ],
)
def test_decorated_function_is_the_function(decorator: str) -> None:
    source = model(
        "for block in self.blocks:\n    x = self._run(block, x, mask)\nreturn x",
        before="import functools\nfrom elsewhere import maybe_allow_in_graph",
        methods=f"""
        {decorator}
        def _run(self, block, x, mask):
            return checkpoint(block, x, mask, use_reentrant=False)  # <- ck
        """,
    )
    assert routes_of(source) == [CK]


def test_method_that_a_decorator_checkpoints() -> None:
    """A decorator of the tree that runs the method under a checkpoint."""
    source = model(
        "return self._run(x, mask)",
        before="""
        def remat(method):
            def inner(self, *args):
                return checkpoint(method, self, *args, use_reentrant=False)
            return inner
        """,
        methods="""
        @remat
        def _run(self, x, mask):
            for block in self.blocks:
                x = block(x, mask)  # <- segment
            return x
        """,
    )
    assert routes_of(source) == ["segment: segmented self.blocks[*](x=x, mask=mask)"]


def test_class_whose_decorator_is_unknown_is_the_class() -> None:
    source = model(
        "for block in self.blocks:\n    x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck\nreturn x",
        blocks="""
        @maybe_allow_in_graph
        class Block(nn.Module):
            def forward(self, x, mask=None):
                return x
        """,
    )
    assert routes_of(source) == [CK]


def interpreter_of(source: str) -> tuple[Interpreter, Value]:
    """An interpreter and the function `wrapper` of a file."""
    project = project_of({"main.py": source})
    module = project.module(place_of("main.py"))
    assert module is not None
    interpreter = Interpreter(project)
    return interpreter, interpreter.values.make("function", project.function_def(module, module.functions["wrapper"]))


def test_own_keywords_are_read_from_the_signature() -> None:
    interpreter, wrapper = interpreter_of(
        """
        from torch.utils.checkpoint import checkpoint

        def wrapper(fn, first, *args, device=None, use_reentrant=False, **kwargs):
            return checkpoint(fn, first, *args, use_reentrant=use_reentrant, **kwargs)
        """
    )
    kind = interpreter.checkpoint_kind(wrapper)
    assert kind is not None
    assert {"device", "use_reentrant"} <= set(kind.own)
    assert "kwargs" not in kind.own
