"""What can't be resolved is said with a reason, and is never a guess."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import entries_of, model, paths_of

LOST = pytest.mark.xfail(reason="nothing is said of the call")


@pytest.mark.parametrize(
    ("function", "block"),
    [
        ("self.unknown", "self.unknown"),
        ("self.unknown.block", "self.unknown.block"),
        ("self.a.b.c", "self.a.b.c"),
        ("mask", "mask"),
        ("self.get()", "self.get()"),
        ("get(x)", "get(x)"),
        ("self.blocks[0].part", "self.blocks[0].part"),
        ("self.table[mask]", "self.table[*]"),
        ("self.table['a'].b", "self.table['a'].b"),
        ("partial(self.unknown, mask)", "self.unknown"),
        ("lambda h: self.unknown(h)", "self.unknown"),
        pytest.param("mask.block", "mask.block", marks=LOST),
        pytest.param("undefined", "undefined", marks=LOST),
    ],
)
def test_function_of_a_checkpoint(function: str, block: str) -> None:
    source = model(
        f"x = checkpoint({function}, x, use_reentrant=False)  # <- ck\nreturn x",
        before="from functools import partial\nfrom elsewhere import get",
    )
    (text,) = paths_of(source)
    assert text.startswith(f"ck: checkpointed {block}(?) unknown: ")


@pytest.mark.parametrize(
    "body",
    [
        "x = checkpoint(*mask)  # <- ck",
        "x = checkpoint(self.unknown if mask is None else self.blocks[0], x)  # <- ck",
        pytest.param("x = checkpoint(mask.block if self.training else self.blocks[0], x)  # <- ck", marks=LOST),
    ],
)
def test_part_of_what_a_checkpoint_may_run(body: str) -> None:
    """The unknown side is a path as well."""
    assert any(" unknown: " in text for text in paths_of(model(f"{body}\nreturn x")))


@pytest.mark.parametrize("function", ["torch.sin", "torch.nn.functional.silu", "print"])
def test_plain_function_under_a_checkpoint_is_no_block(function: str) -> None:
    assert paths_of(model(f"return checkpoint({function}, x)")) == []


@pytest.mark.parametrize(
    "init",
    [
        "self.blocks = config.blocks",
        "self.blocks = nn.ModuleList(config)",
        "self.blocks = nn.ModuleList([config() for _ in range(2)])",
        "self.blocks = make_blocks(config)",
        "self.blocks = nn.ModuleList([getattr(elsewhere, name)() for name in config])",
        "self.blocks = nn.ModuleList([eval(name)() for name in config])",
        "self.blocks = nn.ModuleList([KINDS[name]() for name in config])",
        "self.blocks = nn.ModuleList()\nfill(self.blocks)",
        "self.blocks = nn.ModuleList()",
        "self.blocks = None",
        "",
    ],
)
def test_container(init: str) -> None:
    """The route is known, the block isn't; the loop counts as one that isn't resolved."""
    source = model(
        """
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            else:
                x = block(x, mask)  # <- eager
        return x
        """,
        init=init,
        before="import elsewhere\nfrom elsewhere import make_blocks, fill, KINDS",
    )
    texts = [text.partition(" unknown: ") for text in paths_of(source)]
    assert [before for before, _, _ in texts] == [
        "ck: checkpointed self.blocks[*](?) if self.gradient_checkpointing",
        "eager: eager self.blocks[*](?) if not self.gradient_checkpointing",
    ]
    assert all(reason for _, _, reason in texts)
    (entry,) = (entry for entry in entries_of(source) if entry.class_name == "Model")
    assert entry.loops == 1
    assert len(entry.unresolved_loops) == 1


def test_some_elements_of_a_container_are_unknown() -> None:
    """The class that is known is not all there may be."""
    source = model(
        "for block in self.blocks:\n    x = checkpoint(block, x, mask)  # <- ck\nreturn x",
        init="self.blocks = nn.ModuleList([Block(), config.extra()])",
    )
    (text,) = paths_of(source)
    assert " unknown: " in text


@pytest.mark.parametrize(
    "signature",
    ["*args", "x, *args, **kwargs", "x, mask=None, **kwargs"],
)
def test_signature_that_takes_anything_is_bound_as_far_as_it_goes(signature: str) -> None:
    source = model(
        "for block in self.blocks:\n    x = checkpoint(block, x, mask)  # <- ck\nreturn x",
        blocks=f"class Block(nn.Module):\n    def forward(self, {signature}):\n        return x\n",
    )
    (text,) = paths_of(source)
    assert "unknown" not in text
    names = [part.strip(" *").partition("=")[0] for part in signature.split(",") if "*" not in part]
    assert text == f"ck: checkpointed self.blocks[*]({', '.join(f'{name}={name}' for name in names)})"


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        ("class Block(Elsewhere):\n    pass\n", "the class's forward is outside the source root"),
        ("class Block(make_base()):\n    pass\n", "the class's forward is outside the source root"),
        ("Block = make_class()\n", ""),
        (
            "class Block(nn.Module):\n    def forward(self, x): ...\n    if FAST:\n        def forward(self, y): ...\n",
            "",
        ),
    ],
)
def test_signature(blocks: str, reason: str) -> None:
    source = model(
        "for block in self.blocks:\n    x = checkpoint(block, x, mask)  # <- ck\nreturn x",
        blocks=f"from elsewhere import Elsewhere, make_base, make_class, FAST\n\n{blocks}",
    )
    (text,) = paths_of(source)
    assert "(?) unknown: " in text
    assert text.endswith(reason)


@pytest.mark.parametrize("condition", ["if a{n}:", "elif_{n}"])
def test_many_alternatives(condition: str) -> None:
    """However many there are: each is a path, or it is said that they are too many."""
    if condition.startswith("elif"):
        lines = [f"{'el' if n else ''}if mask == {n}:\n    f = self.blocks[{n}]" for n in range(40)]
    else:
        lines = [f"if a{n}:\n    f = self.blocks[{n}]" for n in range(40)]
    source = model("f = self.blocks[-1]\n" + "\n".join(lines) + "\nx = checkpoint(f, x)  # <- ck\nreturn x")
    texts = paths_of(source)
    assert len(texts) == 41 or any("unknown" in text for text in texts)
