"""Blocks called directly, and blocks handed to a checkpoint with their arguments (shapes 1 and 2)."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import bindings_of, entries_of, model, paths_of

GATE = "is_grad_enabled() and self.gradient_checkpointing"


@pytest.mark.parametrize(
    ("arguments", "bound"),
    [
        ("x", "x=x"),
        ("x, mask", "x=x, mask=mask"),
        ("x, mask, scale", "x=x, mask=mask, scale=scale"),
        ("x, mask=mask", "x=x, mask=mask"),
        ("x=x, scale=scale", "x=x, scale=scale"),
        ("scale=scale, x=x", "scale=scale, x=x"),
        ("x, None, 2.0", "x=x, mask=None, scale=2.0"),
        ("*(x, mask), scale=scale", "x=x, mask=mask, scale=scale"),
        ("*[x], **{'mask': mask}", "x=x, mask=mask"),
        ("x, **dict(mask=mask, scale=1.0)", "x=x, mask=mask, scale=1.0"),
    ],
)
def test_eager_call(arguments: str, bound: str) -> None:
    source = model(f"for block in self.blocks:\n    x = block({arguments})  # <- eager\nreturn x")
    assert paths_of(source) == [f"eager: eager self.blocks[*]({bound})"]


@pytest.mark.parametrize(
    ("arguments", "bound"),
    [
        ("block, x, use_reentrant=False", "x=x"),
        ("block, x, mask, scale, use_reentrant=False", "x=x, mask=mask, scale=scale"),
        ("block, x, mask=mask, use_reentrant=False", "x=x, mask=mask"),
        ("block, x=x, scale=scale, use_reentrant=False", "x=x, scale=scale"),
        ("block, x, None, scale=scale, use_reentrant=False", "x=x, mask=None, scale=scale"),
        ("block, *(x, mask), use_reentrant=False", "x=x, mask=mask"),
        ("block, *inputs, use_reentrant=False", "x=x, mask=mask"),
        ("block, *inputs, **more, use_reentrant=False", "x=x, mask=mask, scale=scale"),
        ("block, x, mask, use_reentrant=False, preserve_rng_state=True, determinism_check='none'", "x=x, mask=mask"),
        ("function=block, x=x, use_reentrant=False", "x=x"),
        ("block.forward, x, mask, use_reentrant=False", "x=x, mask=mask"),
        ("block.__call__, x, mask, use_reentrant=False", "x=x, mask=mask"),
    ],
)
def test_block_under_checkpoint(arguments: str, bound: str) -> None:
    source = model(
        f"""
        inputs = (x, mask)
        more = {{"scale": scale}}
        for block in self.blocks:
            x = checkpoint({arguments})  # <- ck
        return x
        """
    )
    assert [text.replace("x=inputs[0]", "x=x") for text in paths_of(source)] == [
        f"ck: checkpointed self.blocks[*]({bound})"
    ]


def test_both_routes_with_their_conditions() -> None:
    source = model(
        """
        for block in self.blocks:
            if torch.is_grad_enabled() and self.gradient_checkpointing:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            else:
                x = block(x, mask, scale)  # <- eager
        return x
        """
    )
    assert paths_of(source) == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {GATE}",
        f"eager: eager self.blocks[*](x=x, mask=mask, scale=scale) if not ({GATE})",
    ]


def test_method_that_is_not_forward() -> None:
    blocks = """
        class Block(nn.Module):
            def forward(self, x, mask=None):
                return self.refine(x)

            def refine(self, x, strength=1.0):
                return x
        """
    source = model(
        """
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block.refine, x, scale, use_reentrant=False)  # <- ck
            else:
                x = block.refine(x, strength=scale)  # <- eager
        return x
        """,
        blocks=blocks,
    )
    assert paths_of(source) == [
        "ck: checkpointed self.blocks[*].refine(x=x, strength=scale) if self.gradient_checkpointing",
        "eager: eager self.blocks[*].refine(x=x, strength=scale) if not self.gradient_checkpointing",
    ]


def test_own_method_under_checkpoint_and_called() -> None:
    source = model(
        """
        if self.gradient_checkpointing:
            return checkpoint(self._run, x, mask, use_reentrant=False)  # <- ck
        return self._run(x, mask, scale)  # <- eager
        """,
        methods="""
        def _run(self, x, mask, scale=1.0):
            return x
        """,
    )
    assert paths_of(source) == [
        "ck: checkpointed self<Model>._run(x=x, mask=mask) if self.gradient_checkpointing -> return",
        "eager: eager self<Model>._run(x=x, mask=mask, scale=scale) if not self.gradient_checkpointing -> return",
    ]


def test_submodule_of_its_own() -> None:
    source = model(
        """
        if self.gradient_checkpointing:
            x = checkpoint(self.middle, x, mask, use_reentrant=False)  # <- ck
        else:
            x = self.middle(x, mask)  # <- eager
        return x
        """,
        init="self.middle = Block()",
    )
    assert paths_of(source) == [
        "ck: checkpointed self.middle(x=x, mask=mask) if self.gradient_checkpointing",
        "eager: eager self.middle(x=x, mask=mask) if not self.gradient_checkpointing",
    ]
    assert not any(path.block.is_element for entry in entries_of(source) for path in entry.paths)


@pytest.mark.parametrize("call", ["block.forward(x, mask)", "block.__call__(x, mask)"])
def test_forward_spelled_out(call: str) -> None:
    source = model(f"for block in self.blocks:\n    x = {call}  # <- eager\nreturn x")
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


@pytest.mark.parametrize(
    ("statement", "result"),
    [
        ("x = {call}", ""),
        ("x: object = {call}", ""),
        ("self.state = {call}", " -> other"),
        ("x, y = {call}", " -> unpack:2"),
        ("(x, y, z) = {call}", " -> unpack:3"),
        ("x = {call}[0]", " -> index:0"),
        ("x = {call}.sample", " -> attribute:sample"),
        ("return {call}", " -> return"),
        ("{call}", " -> dropped"),
        ("x = x + {call}", " -> other"),
        ("x = [{call}]", " -> other"),
    ],
)
@pytest.mark.parametrize(
    ("route", "call"), [("eager", "block(x)"), ("checkpointed", "checkpoint(block, x, use_reentrant=False)")]
)
def test_what_becomes_of_the_result(route: str, call: str, statement: str, result: str) -> None:
    source = model(f"for block in self.blocks:\n    {statement.format(call=call)}  # <- here")
    assert paths_of(source) == [f"here: {route} self.blocks[*](x=x){result}"]


@pytest.mark.parametrize(
    ("gate", "shown"),
    [
        ("self.gradient_checkpointing", "self.gradient_checkpointing"),
        ("self.training and self.gradient_checkpointing", "self.training and self.gradient_checkpointing"),
        ("not self.training or mask is None", "(not self.training or mask is None)"),
        ("getattr(self, 'gradient_checkpointing', False)", "self.gradient_checkpointing"),
        ("mask is not None", "not mask is None"),
        ("index in (1, 3)", "index in (1, 3)"),
    ],
)
def test_conditions_in_either_order(gate: str, shown: str) -> None:
    """`if gate: checkpoint else: eager` has the conditions of `if not gate: eager else: checkpoint`."""
    one = model(
        f"""
        for index, block in enumerate(self.blocks):
            if {gate}:
                x = checkpoint(block, x, use_reentrant=False)  # <- ck
            else:
                x = block(x)  # <- eager
        return x
        """
    )
    other = model(
        f"""
        for index, block in enumerate(self.blocks):
            if not ({gate}):
                x = block(x)  # <- eager
            else:
                x = checkpoint(block, x, use_reentrant=False)  # <- ck
        return x
        """
    )
    first, second = paths_of(one)
    assert first == f"ck: checkpointed self.blocks[*](x=x) if {shown}"
    assert sorted(paths_of(other)) == [first, second]


def test_early_exit_in_place_of_else() -> None:
    source = model(
        """
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
                continue
            x = block(x, mask)  # <- eager
        return x
        """
    )
    assert paths_of(source) == [
        "ck: checkpointed self.blocks[*](x=x, mask=mask) if self.gradient_checkpointing",
        "eager: eager self.blocks[*](x=x, mask=mask) if not self.gradient_checkpointing",
    ]


def test_gate_in_an_expression() -> None:
    source = model(
        """
        for block in self.blocks:
            x = (
                checkpoint(block, x, mask, use_reentrant=False)  # <- ck
                if self.gradient_checkpointing
                else block(x, mask)  # <- eager
            )
        return x
        """
    )
    assert paths_of(source) == [
        "ck: checkpointed self.blocks[*](x=x, mask=mask) if self.gradient_checkpointing",
        "eager: eager self.blocks[*](x=x, mask=mask) if not self.gradient_checkpointing",
    ]


def test_callable_chosen_before_the_call() -> None:
    source = model(
        """
        for block in self.blocks:
            run = block
            if self.gradient_checkpointing:
                run = lambda *inputs, b=block: checkpoint(b, *inputs, use_reentrant=False)  # <- ck
            x = run(x, mask)  # <- eager
        return x
        """
    )
    assert paths_of(source) == [
        "ck: checkpointed self.blocks[*](x=x, mask=mask) if self.gradient_checkpointing",
        "eager: eager self.blocks[*](x=x, mask=mask) if not self.gradient_checkpointing",
    ]


def test_arguments_prepared_before_the_gate() -> None:
    source = model(
        """
        kwargs = {"mask": mask}
        if self.training:
            kwargs["scale"] = scale
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, **kwargs, use_reentrant=False)  # <- ck
            else:
                x = block(x, **kwargs)  # <- eager
        return x
        """
    )
    assert bindings_of(source) == [
        "ck: checkpointed self.blocks[*](x=x, mask=mask, scale=(scale if self.training else absent))",
        "eager: eager self.blocks[*](x=x, mask=mask, scale=(scale if self.training else absent))",
    ]


# What can't be known


def test_splat_of_unknown_length() -> None:
    source = model("for block in self.blocks:\n    x = block(x, *scale)  # <- eager\nreturn x")
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x) unknown: *scale has an unknown length"]


def test_splat_of_unknown_keys() -> None:
    source = model("for block in self.blocks:\n    x = block(x, **scale)  # <- eager\nreturn x")
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x) unknown: **scale has unknown keys"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("x, mask, scale, 4", "4 positional arguments for 3 parameters"),
        ("x, cache=mask", "no parameter `cache`"),
        ("x, x=mask", "`x` is passed twice"),
    ],
)
def test_call_that_does_not_fit(arguments: str, problem: str) -> None:
    source = model(f"for block in self.blocks:\n    x = block({arguments})  # <- eager\nreturn x")
    assert paths_of(source) == [
        f"eager: eager self.blocks[*](?) unknown: the call doesn't fit the signature: {problem}"
    ]
