"""Factories: a function that is given a block and returns the function to checkpoint (shape 3)."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import bindings_of, entries_of, model, paths_of

FLAG = "self.gradient_checkpointing"
EAGER = f"eager: eager self.blocks[*](x=x, mask=mask, scale=scale) if not {FLAG}"

LOOP = """
for block in self.blocks:
    if self.gradient_checkpointing:
        x = checkpoint({arguments}, use_reentrant=False)  # <- outer
    else:
        x = block(x, mask, scale)  # <- eager
return x
"""


def source_of(factory: str, arguments: str) -> str:
    """A model whose forward defines a factory before its loop."""
    return model(f"{factory}\n{LOOP.format(arguments=arguments)}")


@pytest.mark.parametrize(
    ("factory", "arguments"),
    [
        (
            """
def make(module):
    def run(*inputs):
        return module(*inputs)  # <- ck
    return run
""",
            "make(block), x, mask, scale",
        ),
        (
            """
def make(module):
    def run(*inputs, **kwargs):
        return module(*inputs, **kwargs)  # <- ck
    return run
""",
            "make(block), x, mask=mask, scale=scale",
        ),
        (
            """
def make(module):
    return lambda *inputs: module(*inputs)  # <- ck
""",
            "make(block), x, mask, scale",
        ),
        (
            """
make = lambda module: lambda *inputs: module(*inputs)  # <- ck
""",
            "make(block), x, mask, scale",
        ),
        (
            """
def make(module, mask_, scale_=None):
    def run(hidden):
        return module(hidden, mask_, scale_)  # <- ck
    return run
""",
            "make(block, mask, scale_=scale), x",
        ),
        (
            """
def make(module, **kwargs):
    def run(*inputs):
        return module(*inputs, **kwargs)  # <- ck
    return run
""",
            "make(block, mask=mask, scale=scale), x",
        ),
        (
            """
def make(module):
    def run(*inputs):
        return module(inputs[0], inputs[1], scale=inputs[2])  # <- ck
    return run
""",
            "make(block), x, mask, scale",
        ),
        (
            """
def make(module):
    def run(*inputs):
        return module(*inputs[:2], scale=inputs[-1])  # <- ck
    return run
""",
            "make(block), x, mask, scale",
        ),
        (
            """
def make(module):
    def run(*inputs):
        hidden, *rest = inputs
        return module(hidden, *rest)  # <- ck
    return run
""",
            "make(block), x, mask, scale",
        ),
        (
            """
def make(module):
    def run(first, *rest, scale=None):
        return module(first, *rest, scale=scale)  # <- ck
    return run
""",
            "make(block), x, mask, scale=scale",
        ),
        (
            """
def make(module):
    def run(**kwargs):
        return module(kwargs["x"], mask=kwargs.get("mask"), scale=kwargs.pop("scale"))  # <- ck
    return run
""",
            "make(block), x=x, mask=mask, scale=scale",
        ),
        (
            """
def make(module):
    def outer(*inputs):
        def inner():
            return module(*inputs)  # <- ck
        return inner()
    return outer
""",
            "make(block), x, mask, scale",
        ),
        (
            """
def make(module):
    def make_inner(extra):
        def run(hidden):
            return module(hidden, mask, extra)  # <- ck
        return run
    return make_inner
""",
            "make(block)(scale), x",
        ),
        (
            """
def make(module):
    def run(*inputs):
        return module.forward(*inputs)  # <- ck
    return run
""",
            "make(block), x, mask, scale",
        ),
    ],
)
def test_factory(factory: str, arguments: str) -> None:
    ck, eager = paths_of(source_of(factory, arguments))
    assert ck == f"ck: checkpointed self.blocks[*](x=x, mask=mask, scale=scale) if {FLAG}"
    assert eager == EAGER


def test_place_of_the_call_and_of_what_leads_there() -> None:
    source = source_of(
        """
def make(module):
    def run(*inputs):
        return module(*inputs)  # <- ck
    return run
""",
        "make(block), x, mask, scale",
    )
    lines = source.split("\n")
    (path,) = (path for entry in entries_of(source) for path in entry.paths if path.route == "checkpointed")
    assert lines[path.call.line - 1].endswith("# <- ck")
    assert lines[path.outer.line - 1].endswith("# <- outer")
    assert path.function == "Model.forward.<locals>.make.<locals>.run"


def test_branches_of_one_wrapper() -> None:
    """Every branch is a path; one that the present arguments exclude is dead."""
    source = source_of(
        """
def make(module, return_dict=None):
    def run(*inputs):
        if return_dict is not None:
            return module(*inputs, return_dict=return_dict)  # <- dict
        if mask is not None:
            return module(*inputs)  # <- masked
        return module(inputs[0], scale=inputs[2])  # <- plain
    return run
""",
        "make(block), x, mask, scale",
    ).replace("scale=1.0):", "scale=1.0, return_dict=None):")
    assert paths_of(source) == [
        f"dict: checkpointed self.blocks[*](x=x, mask=mask, scale=scale, return_dict=None) if {FLAG} dead",
        f"masked: checkpointed self.blocks[*](x=x, mask=mask, scale=scale) if {FLAG} and not mask is None",
        f"plain: checkpointed self.blocks[*](x=x, scale=scale) if {FLAG} and mask is None",
        EAGER,
    ]


def test_each_call_of_a_factory_has_its_own_branch() -> None:
    source = model(
        """
        def make(module, flag):
            def run(*inputs):
                if flag:
                    return module(*inputs, mask=mask)  # <- with
                return module(*inputs)  # <- without
            return run

        for block in self.blocks:
            x = checkpoint(make(block, True), x, use_reentrant=False)
        for block in self.others:
            x = checkpoint(make(block, False), x, use_reentrant=False)
        return x
        """,
        init="self.blocks = nn.ModuleList([Block()])\nself.others = nn.ModuleList([Block()])",
    )
    assert paths_of(source) == [
        "with: checkpointed self.blocks[*](x=x, mask=mask)",
        "with: checkpointed self.others[*](x=x, mask=mask) dead",
        "without: checkpointed self.blocks[*](x=x) dead",
        "without: checkpointed self.others[*](x=x)",
    ]


def test_factory_as_a_method_and_as_a_function_of_the_module() -> None:
    before = """
        def make_run(module, extra):
            def run(*inputs):
                return module(*inputs, scale=extra)  # <- function
            return run
        """
    methods = """
        def _make(self, module):
            def run(*inputs):
                return module(*inputs)  # <- method
            return run

        @staticmethod
        def _make_static(module):
            def run(*inputs):
                return module(*inputs)  # <- static
            return run
        """
    source = model(
        """
        for block in self.blocks:
            a = checkpoint(make_run(block, scale), x, mask, use_reentrant=False)
            b = checkpoint(self._make(block), x, mask, use_reentrant=False)
            c = checkpoint(self._make_static(block), x, mask, use_reentrant=False)
        return a, b, c
        """,
        before=before,
        methods=methods,
    )
    assert paths_of(source) == [
        "function: checkpointed self.blocks[*](x=x, mask=mask, scale=scale)",
        "method: checkpointed self.blocks[*](x=x, mask=mask)",
        "static: checkpointed self.blocks[*](x=x, mask=mask)",
    ]


def test_factory_in_another_file() -> None:
    helpers = """
        def make(module, **extra):
            def run(*inputs):
                return module(*inputs, **extra)  # <- ck
            return run
        """
    source = model(
        """
        for block in self.blocks:
            x = checkpoint(make(block, scale=scale), x, mask, use_reentrant=False)
        return x
        """,
        before="from helpers import make",
    )
    assert paths_of(source, {"helpers.py": helpers}) == ["ck: checkpointed self.blocks[*](x=x, mask=mask, scale=scale)"]


def test_result_is_what_the_caller_makes_of_it() -> None:
    factory = """
def make(module):
    def run(*inputs):
        return module(*inputs)  # <- ck
    return run
"""
    source = model(
        f"{factory}\nfor block in self.blocks:\n    x, y = checkpoint(make(block), x, use_reentrant=False)\nreturn x"
    )
    assert bindings_of(source) == ["ck: checkpointed self.blocks[*](x=x) -> unpack:2"]


def test_inputs_that_the_wrapper_leaves_out() -> None:
    factory = """
def make(module):
    def run(*inputs):
        return module(*inputs[1:])  # <- ck
    return run
"""
    assert bindings_of(source_of(factory, "make(block), scale, x, mask"))[0] == (
        "ck: checkpointed self.blocks[*](x=x, mask=mask)"
    )


def test_wrapper_that_rejects_its_call_gives_no_guess() -> None:
    """The wrapper takes one argument and is handed two: that is said, and no binding of the block is claimed."""
    factory = """
def make(module):
    def run(hidden):
        return module(hidden)  # <- ck
    return run
"""
    ck, eager = bindings_of(source_of(factory, "make(block), x, mask"))
    assert ck == "outer: checkpointed run(?) unknown: the wrapper can't take the call"
    assert eager == "eager: eager self.blocks[*](x=x, mask=mask, scale=scale)"


def test_splat_of_unknown_length_through_a_wrapper() -> None:
    factory = """
def make(module):
    def run(*inputs):
        return module(*inputs)  # <- ck
    return run
"""
    (ck, _) = bindings_of(source_of(factory, "make(block), x, *scale"))
    assert ck == "ck: checkpointed self.blocks[*](x=x) unknown: *scale has an unknown length"
