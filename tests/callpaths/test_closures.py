"""Nested functions and lambdas handed to a checkpoint: the block as a default, a parameter, or read late (shape 4)."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import model, paths_of

CK = "ck: checkpointed self.blocks[*](x=x, mask=mask)"


@pytest.mark.parametrize(
    "body",
    [
        # the block is a default
        """
        for block in self.blocks:
            def run(hidden, b=block):
                return b(hidden, mask)  # <- ck
            x = checkpoint(run, x, use_reentrant=False)
        """,
        """
        for block in self.blocks:
            def run(hidden, *, b=block, m=mask):
                return b(hidden, m)  # <- ck
            x = checkpoint(run, x, use_reentrant=False)
        """,
        """
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h, mask), x, use_reentrant=False)  # <- ck
        """,
        # a parameter
        """
        def run(b, hidden, m):
            return b(hidden, m)  # <- ck
        for block in self.blocks:
            x = checkpoint(run, block, x, mask, use_reentrant=False)
        """,
        """
        def run(hidden, m, b):
            return b(hidden, mask=m)  # <- ck
        for block in self.blocks:
            x = checkpoint(run, x, b=block, m=mask, use_reentrant=False)
        """,
        """
        run = lambda b, *inputs: b(*inputs)  # <- ck
        for block in self.blocks:
            x = checkpoint(run, block, x, mask, use_reentrant=False)
        """,
        # read late
        """
        for block in self.blocks:
            def run(hidden):
                return block(hidden, mask)  # <- ck
            x = checkpoint(run, x, use_reentrant=False)
        """,
        """
        for block in self.blocks:
            x = checkpoint(lambda hidden: block(hidden, mask), x, use_reentrant=False)  # <- ck
        """,
        """
        for index in range(len(self.blocks)):
            x = checkpoint(lambda hidden: self.blocks[index](hidden, mask), x, use_reentrant=False)  # <- ck
        """,
        """
        def run(hidden):
            return block(hidden, mask)  # <- ck
        for block in self.blocks:
            x = checkpoint(run, x, use_reentrant=False)
        """,
        # nothing is passed
        """
        for block in self.blocks:
            x = checkpoint(lambda: block(x, mask), use_reentrant=False)  # <- ck
        """,
        # one function calls another
        """
        for block in self.blocks:
            def inner(hidden):
                return block(hidden, mask)  # <- ck
            def outer(hidden):
                return inner(hidden)
            x = checkpoint(outer, x, use_reentrant=False)
        """,
        """
        for block in self.blocks:
            first = lambda hidden, b=block: b(hidden, mask)  # <- ck
            second = first
            x = checkpoint(second, x, use_reentrant=False)
        """,
        # its own default hides the name outside
        """
        for block in self.blocks:
            def run(x, block=block, mask=mask):
                return block(x, mask)  # <- ck
            x = checkpoint(run, x, use_reentrant=False)
        """,
    ],
)
def test_closure(body: str) -> None:
    assert paths_of(model(body)) == [CK]


def test_block_bound_early_by_name() -> None:
    """A local alias of the block is the block."""
    source = model(
        """
        for block in self.blocks:
            layer = block
            def run(hidden):
                return layer(hidden, mask)  # <- ck
            x = checkpoint(run, x, use_reentrant=False)
        return x
        """
    )
    assert paths_of(source) == [CK]


def test_rebinding_before_the_call_reaches_a_late_read() -> None:
    source = model(
        """
        for block in self.blocks:
            def run(hidden):
                return block(hidden, mask)  # <- ck
            mask = scale
            x = checkpoint(run, x, use_reentrant=False)
        return x
        """
    )
    assert paths_of(source) == ["ck: checkpointed self.blocks[*](x=x, mask=scale)"]


def test_rebinding_before_the_call_does_not_reach_a_default() -> None:
    source = model(
        """
        for block in self.blocks:
            def run(hidden, m=mask):
                return block(hidden, m)  # <- ck
            mask = scale
            x = checkpoint(run, x, use_reentrant=False)
        return x
        """
    )
    assert paths_of(source) == [CK]


def test_nonlocal_in_a_checkpointed_function() -> None:
    source = model(
        """
        shift = scale
        for block in self.blocks:
            def run(hidden):
                nonlocal shift
                shift = mask
                return block(hidden, shift)  # <- ck
            x = checkpoint(run, x, use_reentrant=False)
        return x
        """
    )
    assert paths_of(source) == [CK]


def test_branches_in_a_closure() -> None:
    source = model(
        """
        for block in self.blocks:
            def run(hidden):
                if mask is None:
                    return block(hidden)  # <- plain
                return block(hidden, mask)  # <- masked
            x = checkpoint(run, x, use_reentrant=False) if self.gradient_checkpointing else run(x)
        return x
        """
    )
    flag = "self.gradient_checkpointing"
    assert paths_of(source) == [
        f"plain: checkpointed self.blocks[*](x=x) if {flag} and mask is None",
        f"plain: eager self.blocks[*](x=x) if not {flag} and mask is None",
        f"masked: checkpointed self.blocks[*](x=x, mask=mask) if {flag} and not mask is None",
        f"masked: eager self.blocks[*](x=x, mask=mask) if not {flag} and not mask is None",
    ]


def test_two_blocks_in_one_closure() -> None:
    source = model(
        """
        for first, second in zip(self.blocks, self.others):
            def run(hidden, a=first, b=second):
                hidden = a(hidden, mask)  # <- first
                return b(hidden)  # <- second
            x = checkpoint(run, x, use_reentrant=False)
        return x
        """,
        init="self.blocks = nn.ModuleList([Block()])\nself.others = nn.ModuleList([Block()])",
    )
    assert paths_of(source) == [
        "first: checkpointed self.blocks[*](x=x, mask=mask)",
        "second: checkpointed self.others[*](x=self.blocks[*](x, mask))",
    ]


def test_decorated_closure_is_taken_for_the_function() -> None:
    source = model(
        """
        for block in self.blocks:
            @torch.compiler.disable
            def run(hidden, b=block):
                return b(hidden, mask)  # <- ck
            x = checkpoint(run, x, use_reentrant=False)
        return x
        """
    )
    assert paths_of(source) == [CK]


def test_closure_chosen_by_a_condition() -> None:
    source = model(
        """
        for block in self.blocks:
            if mask is None:
                def run(hidden, b=block):
                    return b(hidden)  # <- plain
            else:
                def run(hidden, b=block):
                    return b(hidden, mask)  # <- masked
            x = checkpoint(run, x, use_reentrant=False)
        return x
        """
    )
    assert paths_of(source) == [
        "plain: checkpointed self.blocks[*](x=x) if mask is None",
        "masked: checkpointed self.blocks[*](x=x, mask=mask) if not mask is None",
    ]


def test_list_of_closures() -> None:
    source = model(
        """
        runs = [lambda hidden, b=block: b(hidden, mask) for block in self.blocks]  # <- ck
        for run in runs:
            x = checkpoint(run, x, use_reentrant=False)
        return x
        """
    )
    assert paths_of(source) == [CK]


def test_generator_is_not_run_by_its_call() -> None:
    """Making a generator runs nothing; iterating it does."""
    source = model(
        """
        def outputs(hidden):
            for block in self.blocks:
                yield block(hidden, mask)  # <- eager
        for output in outputs(x):
            x = output
        return x
        """
    )
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask) -> other"]
