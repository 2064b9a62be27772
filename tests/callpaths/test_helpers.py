"""Helpers that hold both paths, and functions that get the block as an argument (shapes 5 and 6)."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import bindings_of, entries_of, model, paths_of

FLAG = "self.gradient_checkpointing"
BOTH = [
    f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
    f"eager: eager self.blocks[*](x=x, mask=mask, scale=scale) if not {FLAG}",
]


@pytest.mark.parametrize(
    "helper",
    [
        """
        def _run_block(self, block, x, mask, scale):
            if self.gradient_checkpointing:
                return checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            return block(x, mask, scale)  # <- eager
        """,
        """
        def _run_block(self, block, x, mask, scale):
            if not self.gradient_checkpointing:
                return block(x, mask, scale)  # <- eager
            def run(*inputs):
                return block(*inputs)  # <- ck
            return checkpoint(run, x, mask, use_reentrant=False)
        """,
        """
        def _run_block(self, block, *inputs, **kwargs):
            if self.gradient_checkpointing:
                return checkpoint(block, *inputs[:2], use_reentrant=False)  # <- ck
            return block(*inputs, **kwargs)  # <- eager
        """,
    ],
)
def test_helper_method(helper: str) -> None:
    source = model(
        "for block in self.blocks:\n    x = self._run_block(block, x, mask, scale)\nreturn x", methods=helper
    )
    assert sorted(paths_of(source)) == BOTH


def test_helper_method_called_with_keywords_and_an_index() -> None:
    source = model(
        """
        for index, block in enumerate(self.blocks):
            x, y = self._run(index, block=block, hidden=x, mask=mask)
        return x
        """,
        methods="""
        def _run(self, index, block, hidden, mask=None, extra=2.0):
            if self.gradient_checkpointing and index < 2:
                return checkpoint(block, hidden, mask, extra, use_reentrant=False)  # <- ck
            return block(hidden, mask=mask, scale=extra)  # <- eager
        """,
    )
    assert paths_of(source) == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask, scale=2.0) if {FLAG} and index < 2 -> unpack:2",
        f"eager: eager self.blocks[*](x=x, mask=mask, scale=2.0) if not ({FLAG} and index < 2) -> unpack:2",
    ]


NESTED = model(
    "for block in self.blocks:\n    x = self._first(block, x)  # <- outer\nreturn x",
    methods="""
    def _first(self, block, x):
        return self._second(block, x)

    def _second(self, block, x):
        if self.gradient_checkpointing:
            return checkpoint(block, x, use_reentrant=False)  # <- ck
        return block(x)  # <- eager
    """,
)


@pytest.mark.parametrize(
    "route",
    [
        "eager",
        "checkpointed",
    ],
)
def test_place_in_the_entry_that_leads_there(route: str) -> None:
    lines = NESTED.split("\n")
    (path,) = (path for entry in entries_of(NESTED) for path in entry.paths if path.route == route)
    assert path.function == "Model._second"
    assert lines[path.call.line - 1].endswith("# <- ck" if route == "checkpointed" else "# <- eager")
    assert lines[path.outer.line - 1].endswith("# <- outer")


def test_local_function_with_both_paths() -> None:
    source = model(
        """
        def apply_layer(layer, hidden):
            if self.gradient_checkpointing:
                return checkpoint(layer, hidden, mask, use_reentrant=False)  # <- ck
            return layer(hidden, mask, scale)  # <- eager

        for block in self.blocks:
            x = apply_layer(block, x)
        return x
        """
    )
    assert paths_of(source) == BOTH


def test_local_function_that_reads_the_block_late() -> None:
    source = model(
        """
        def apply_layer(hidden):
            if self.gradient_checkpointing:
                return checkpoint(block, hidden, mask, use_reentrant=False)  # <- ck
            return block(hidden, mask, scale)  # <- eager

        for block in self.blocks:
            x = apply_layer(x)
        return x
        """
    )
    assert paths_of(source) == BOTH


def test_helper_that_takes_the_callable() -> None:
    source = model(
        """
        for block in self.blocks:
            y = self._maybe(lambda h, b=block: b(h, scale=scale), x)  # <- inner
            x = self._maybe(block, x, mask)
        return x
        """,
        methods="""
        def _maybe(self, function, *inputs):
            if self.gradient_checkpointing:
                return checkpoint(function, *inputs, use_reentrant=False)  # <- ck
            return function(*inputs)  # <- eager
        """,
    )
    assert paths_of(source) == [
        f"inner: checkpointed self.blocks[*](x=x, scale=scale) if {FLAG}",
        f"inner: eager self.blocks[*](x=x, scale=scale) if not {FLAG}",
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
        f"eager: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
    ]


def test_helper_called_for_two_containers() -> None:
    source = model(
        """
        for block in self.blocks:
            x = self._run(block, x, mask)
        for block in self.others:
            x = self._run(block, x, None)
        return x
        """,
        init="self.blocks = nn.ModuleList([Block()])\nself.others = nn.ModuleList([Block()])",
        methods="""
        def _run(self, block, x, mask):
            if self.gradient_checkpointing:
                return checkpoint(block, x, use_reentrant=False)  # <- ck
            return block(x, mask)  # <- eager
        """,
    )
    assert paths_of(source) == [
        f"ck: checkpointed self.blocks[*](x=x) if {FLAG}",
        f"ck: checkpointed self.others[*](x=x) if {FLAG}",
        f"eager: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
        f"eager: eager self.others[*](x=x, mask=None) if not {FLAG}",
    ]


def test_helper_that_runs_the_whole_loop() -> None:
    source = model(
        "return self._run_all(self.blocks, x, mask=mask)",
        methods="""
        def _run_all(self, blocks, x, **kwargs):
            for block in blocks:
                if self.gradient_checkpointing:
                    x = checkpoint(block, x, **kwargs, use_reentrant=False)  # <- ck
                else:
                    x = block(x, **kwargs)  # <- eager
            return x
        """,
    )
    assert paths_of(source) == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
        f"eager: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
    ]


def test_helper_from_a_base_class_in_another_file() -> None:
    mixin = """
        from torch.utils.checkpoint import checkpoint

        class RunMixin:
            def _run(self, block, *args, **kwargs):
                if self.gradient_checkpointing:
                    return checkpoint(block, *args, **kwargs, use_reentrant=False)  # <- ck
                return block(*args, **kwargs)  # <- eager
        """
    source = model(
        "for block in self.blocks:\n    x = self._run(block, x, mask=mask)\nreturn x",
        before="from mixin import RunMixin",
        bases="RunMixin, nn.Module",
    )
    assert paths_of(source, {"mixin.py": mixin}) == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
        f"eager: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
    ]


@pytest.mark.parametrize(
    "call",
    [
        "self._static",
        "Model._static",
        "type(self)._static",
        "self.__class__._static",
    ],
)
def test_static_method_as_a_helper(call: str) -> None:
    source = model(
        f"for block in self.blocks:\n    x = {call}(block, x, self.gradient_checkpointing)\nreturn x",
        methods="""
        @staticmethod
        def _static(block, x, flag):
            if flag:
                return checkpoint(block, x, use_reentrant=False)  # <- ck
            return block(x)  # <- eager
        """,
    )
    assert paths_of(source) == [
        f"ck: checkpointed self.blocks[*](x=x) if {FLAG}",
        f"eager: eager self.blocks[*](x=x) if not {FLAG}",
    ]


def test_class_method_as_a_helper() -> None:
    source = model(
        "for block in self.blocks:\n    x = self._run(block, x)\nreturn x",
        methods="""
        @classmethod
        def _run(cls, block, x):
            return checkpoint(block, x, use_reentrant=False)  # <- ck
        """,
    )
    assert paths_of(source) == ["ck: checkpointed self.blocks[*](x=x)"]


# Functions of a module that get the block


JOINT = """
def run_joint(block, x, context, scale=1.0):
    hidden = block.first(x, context)  # <- inside
    return hidden * scale
"""
TWO_METHODS = """
class Block(nn.Module):
    def first(self, x, context):
        return x

    def forward(self, x, mask=None):
        return x
"""


@pytest.mark.xfail(reason="the paths of the function itself are left out")
def test_function_with_the_block_as_a_parameter() -> None:
    """What both paths are bound to is the function's own signature, in which the block is a parameter."""
    source = model(
        """
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(run_joint, block, x, mask, use_reentrant=False)  # <- ck
            else:
                x = run_joint(block, x, mask, scale)  # <- eager
        return x
        """,
        before=JOINT,
        blocks=TWO_METHODS,
    )
    joint = "run_joint(self.blocks[*]).run_joint(block=self.blocks[*], x=x, context=mask"
    assert paths_of(source) == [
        f"inside: checkpointed self.blocks[*].first(x=x, context=mask) if {FLAG}",
        f"inside: eager self.blocks[*].first(x=x, context=mask) if not {FLAG}",
        f"ck: checkpointed {joint}) if {FLAG}",
        f"eager: eager {joint}, scale=scale) if not {FLAG}",
    ]


def test_function_in_another_file_with_both_paths() -> None:
    helpers = """
        from torch.utils.checkpoint import checkpoint

        def run_block(block, x, mask, *, use_checkpoint):
            if use_checkpoint:
                return checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            return block(x, mask)  # <- eager
        """
    source = model(
        """
        for block in self.blocks:
            x = helpers.run_block(block, x, mask, use_checkpoint=self.gradient_checkpointing)
        return x
        """,
        before="import helpers",
    )
    texts = [text for text in paths_of(source, {"helpers.py": helpers}) if "self.blocks[*](x" in text]
    assert texts == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
        f"eager: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
    ]


def test_function_that_takes_the_model() -> None:
    """A free function that gets the model as its first argument reads the model's attributes."""
    source = model(
        "return run_all(self, x, mask)",
        before="""
        def run_all(net, x, mask):
            for block in net.blocks:
                if net.gradient_checkpointing:
                    x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
                else:
                    x = block(x, mask)  # <- eager
            return x
        """,
    )
    texts = [text for text in paths_of(source) if "self.blocks" in text]
    assert texts == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
        f"eager: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
    ]


def test_recursion_between_helpers_ends() -> None:
    source = model(
        "return self._run(list(self.blocks), x, 3)",
        methods="""
        def _run(self, blocks, x, depth):
            if not depth:
                return x
            x = checkpoint(blocks[0], x, use_reentrant=False)  # <- ck
            return self._again(blocks, x, depth - 1)

        def _again(self, blocks, x, depth):
            return self._run(blocks, x, depth)
        """,
    )
    assert bindings_of(source) == ["ck: checkpointed self.blocks[0](x=x)"]


# What can't be known


def test_parameter_as_the_block_of_an_entry() -> None:
    """Nobody in the tree calls the function, so its block is unknown, and said so."""
    source = """
        from torch.utils.checkpoint import checkpoint

        def run(block, x, mask, flag):
            if flag:
                return checkpoint(block, x, use_reentrant=False)  # <- ck
            return block(x, mask)  # <- eager
        """
    assert paths_of(source) == [
        "ck: checkpointed block(?) if flag -> return unknown: the callee is a parameter",
        "eager: eager block(?) if not flag -> return unknown: the callee is a parameter",
    ]
