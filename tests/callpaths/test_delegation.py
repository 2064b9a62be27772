"""Models that hold another model or inherit what runs the blocks (shape 11)."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.callpaths.looking import BLOCK, IMPORTS, model, paths_of

FLAG = "self.gradient_checkpointing"
BASE = f"""{IMPORTS}

{BLOCK}

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(2)])

    def run_block(self, block, x, mask):
        return block(x, mask)  # <- base-run

    def forward(self, x, mask=None):
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            else:
                x = self.run_block(block, x, mask)
        return x
"""


def derived(body: str, bases: str = "Base", imports: str = "from base import Base, Block") -> str:
    """A file with a class `Model` of these members."""
    members = "\n".join(f"    {line}" if line else "" for line in dedent(body).strip("\n").split("\n"))
    return f"{IMPORTS}\n{imports}\n\n\nclass Model({bases}):\n{members}\n"


def test_inherited_forward_with_an_overridden_helper() -> None:
    source = derived(
        """
        def run_block(self, block, x, mask):
            return block(x, mask, 2.0)  # <- own-run
        """
    )
    assert paths_of(source, {"base.py": BASE}, of="Model") == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
        f"own-run: eager self.blocks[*](x=x, mask=mask, scale=2.0) if not {FLAG}",
    ]


def test_inherited_forward_with_another_container() -> None:
    source = derived(
        """
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Other() for _ in range(2)])
        """
    ).replace(
        "class Model",
        "class Other(nn.Module):\n    def forward(self, hidden, mask):\n        return hidden\n\n\nclass Model",
    )
    assert paths_of(source, {"base.py": BASE}, of="Model") == [
        f"base-run: eager self.blocks[*]<Other>(hidden=x, mask=mask) if not {FLAG}",
        f"ck: checkpointed self.blocks[*]<Other>(hidden=x, mask=mask) if {FLAG}",
    ]


def test_base_is_an_entry_of_its_own_file() -> None:
    assert paths_of(BASE, name="base.py", of="Base") == [
        f"base-run: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
    ]


def test_helper_and_loop_in_different_bases() -> None:
    mixin = """
        class RunMixin:
            def run_block(self, block, x, mask):
                return block(x, mask=mask, scale=3.0)  # <- mixin-run
        """
    source = derived(
        "def reset(self):\n    pass", "RunMixin, Base", "from base import Base\nfrom mixin import RunMixin"
    )
    assert paths_of(source, {"base.py": BASE, "mixin.py": mixin}, of="Model") == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
        f"mixin-run: eager self.blocks[*](x=x, mask=mask, scale=3.0) if not {FLAG}",
    ]


def test_forward_that_calls_the_base_forward() -> None:
    source = derived(
        """
        def forward(self, x, mask=None):
            x = super().forward(x, mask=mask)
            return x + 1
        """
    )
    assert [text for text in paths_of(source, {"base.py": BASE}, of="Model") if "self.blocks" in text] == [
        f"base-run: eager self.blocks[*](x=x, mask=mask) if not {FLAG}",
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
    ]


def test_own_method_that_wraps_the_base_method() -> None:
    source = derived(
        """
        def run_block(self, block, x, mask):
            y = super().run_block(block, x, None)
            return y
        """
    )
    assert f"base-run: eager self.blocks[*](x=x, mask=None) if not {FLAG}" in paths_of(
        source, {"base.py": BASE}, of="Model"
    )


def test_model_that_holds_another_model() -> None:
    """The outer model runs the inner one's blocks itself."""
    source = f"""{IMPORTS}
from base import Base


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = Base()

    def forward(self, x, mask=None):
        for block in self.core.blocks:
            if self.core.gradient_checkpointing:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            else:
                x = block(x, mask)  # <- eager
        return x
"""
    assert paths_of(source, {"base.py": BASE}, of="Model") == [
        "ck: checkpointed self.core.blocks[*](x=x, mask=mask) if self.core.gradient_checkpointing",
        "eager: eager self.core.blocks[*](x=x, mask=mask) if not self.core.gradient_checkpointing",
    ]


def test_model_whose_inner_model_runs() -> None:
    """The loop belongs to the inner model's file; here only the inner model is called."""
    source = f"""{IMPORTS}
from base import Base


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = Base()

    def forward(self, x, mask=None):
        if self.gradient_checkpointing:
            return checkpoint(self.core, x, mask, use_reentrant=False)  # <- ck
        x = self.core(x, mask)  # <- eager
        return x
"""
    texts = paths_of(source, {"base.py": BASE}, of="Model")
    assert [text.replace(" -> other", "").replace(" -> return", "") for text in texts] == [
        f"ck: checkpointed self.core<Base>(x=x, mask=mask) if {FLAG}",
        f"eager: eager self.core<Base>(x=x, mask=mask) if not {FLAG}",
    ]


def test_blocks_borrowed_from_another_model() -> None:
    """A control network that takes another model's blocks as its own."""
    source = f"""{IMPORTS}
from base import Base


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        core = Base()
        self.blocks = core.blocks
        self.tail = nn.ModuleList([block for block in core.blocks])

    def forward(self, x, mask=None):
        for block in self.blocks:
            x = block(x, mask)  # <- blocks
        for block in self.tail:
            x = block(x)  # <- tail
        return x
"""
    texts = paths_of(source, {"base.py": BASE}, of="Model")
    assert [text.split(": ")[0] for text in texts] == ["blocks", "tail"]
    assert texts[0].endswith("(x=x, mask=mask)")
    assert texts[1].endswith("(x=x)")


def test_grandparent_in_a_third_file() -> None:
    middle = "from base import Base\n\n\nclass Middle(Base):\n    pass\n"
    source = derived(
        """
        def run_block(self, block, x, mask):
            return block(x)  # <- own-run
        """,
        "Middle",
        "from middle import Middle",
    )
    assert paths_of(source, {"base.py": BASE, "middle.py": middle}, of="Model") == [
        f"ck: checkpointed self.blocks[*](x=x, mask=mask) if {FLAG}",
        f"own-run: eager self.blocks[*](x=x) if not {FLAG}",
    ]


@pytest.mark.parametrize(
    "init",
    [
        "super().__init__()",
        "super(Model, self).__init__()",
        "Base.__init__(self)",
        "super().__init__(**{})",
    ],
)
def test_init_of_the_base(init: str) -> None:
    source = derived(
        f"""
        def __init__(self):
            {init}
            self.extra = nn.ModuleList([Block()])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)  # <- blocks
            for block in self.extra:
                x = block(x)  # <- extra
            return x
        """
    )
    assert paths_of(source, {"base.py": BASE}, of="Model") == [
        "blocks: eager self.blocks[*](x=x)",
        "extra: eager self.extra[*](x=x)",
    ]


def test_init_that_leaves_the_base_out() -> None:
    """What the base's `__init__` would set isn't there."""
    source = derived(
        """
        def __init__(self):
            nn.Module.__init__(self)

        def forward(self, x):
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)  # <- ck
            return x
        """
    )
    (text,) = paths_of(source, {"base.py": BASE}, of="Model")
    assert text.startswith("ck: checkpointed self.blocks[*](?) unknown: ")


def test_base_with_parameters_that_build_the_blocks() -> None:
    base = f"""{IMPORTS}

class Base(nn.Module):
    def __init__(self, cls, count):
        super().__init__()
        self.blocks = nn.ModuleList([cls() for _ in range(count)])
"""
    source = derived(
        """
        def __init__(self):
            super().__init__(Own, count=2)

        def forward(self, x):
            for block in self.blocks:
                x = block(x, mask=1)  # <- eager
            return x
        """,
        imports="from base import Base\n\n\nclass Own(nn.Module):\n    def forward(self, x, mask):\n        return x\n",
    )
    assert paths_of(source, {"base.py": base}, of="Model") == ["eager: eager self.blocks[*]<Own>(x=x, mask=1)"]


def test_hook_method_of_the_subclass_that_builds_the_blocks() -> None:
    base = f"""{IMPORTS}

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([self.make_block(i) for i in range(2)])

    def make_block(self, index):
        raise NotImplementedError

    def forward(self, x, mask=None):
        for block in self.blocks:
            x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
        return x
"""
    source = derived(
        """
        def make_block(self, index):
            return Own()
        """,
        imports="from base import Base\n\n\nclass Own(nn.Module):\n    def forward(self, x, mask):\n        return x\n",
    )
    assert paths_of(source, {"base.py": base}, of="Model") == ["ck: checkpointed self.blocks[*]<Own>(x=x, mask=mask)"]
    assert [text.split(" unknown: ")[0] for text in paths_of(base, name="base.py")] == [
        "ck: checkpointed self.blocks[*](?)"
    ]


def test_class_attribute_of_the_subclass_that_names_the_class() -> None:
    base = f"""{IMPORTS}
{BLOCK}

class Base(nn.Module):
    block_class = Block

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([self.block_class() for _ in range(2)])

    def forward(self, x, mask=None):
        for block in self.blocks:
            x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
        return x
"""
    source = derived(
        """
        block_class = Own

        def reset(self):
            pass
        """,
        imports="from base import Base\n\n\nclass Own(nn.Module):\n    def forward(self, x, mask):\n        return x\n",
    )
    assert paths_of(source, {"base.py": base}, of="Model") == ["ck: checkpointed self.blocks[*]<Own>(x=x, mask=mask)"]
    assert paths_of(base, name="base.py", of="Base") == ["ck: checkpointed self.blocks[*](x=x, mask=mask)"]


def test_subclass_of_a_block_inherits_its_signature() -> None:
    source = model(
        "for block in self.blocks:\n    x = block(x, mask, 2.0)  # <- eager\nreturn x",
        init="self.blocks = nn.ModuleList([Special() for _ in range(2)])",
        before="from layers import Layer\n\n\nclass Special(Layer):\n    pass\n",
    )
    layers = """
        from torch import nn

        class Layer(nn.Module):
            def forward(self, hidden, mask=None, scale=1):
                return hidden
        """
    assert paths_of(source, {"layers.py": layers}) == [
        "eager: eager self.blocks[*]<Special>(hidden=x, mask=mask, scale=2.0)"
    ]


def test_forward_outside_the_tree_is_unknown() -> None:
    source = model(
        "for block in self.blocks:\n    x = checkpoint(block, x, use_reentrant=False)  # <- ck\nreturn x",
        init="self.blocks = nn.ModuleList([Special() for _ in range(2)])",
        before="from elsewhere import Layer\n\n\nclass Special(Layer):\n    pass\n",
    )
    assert paths_of(source) == [
        "ck: checkpointed self.blocks[*]<Special>(?) unknown: the class's forward is outside the source root"
    ]
