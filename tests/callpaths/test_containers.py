"""Containers of blocks in all their spellings (shape 10)."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import bindings_of, entries_of, model, paths_of, snippets

FLAG = "self.gradient_checkpointing"
TWO = """
class Block(nn.Module):
    def forward(self, x, mask=None, scale=1.0):
        return x


class Wide(nn.Module):
    only_wide = True

    def forward(self, x, width, mask=None):
        return x
"""
LOOP = """
for block in self.blocks:
    x = block(x, mask)  # <- eager
return x
"""


@pytest.mark.parametrize(
    "init",
    snippets("""
            self.blocks = nn.ModuleList([Block() for _ in range(3)])

            self.blocks = nn.ModuleList(Block() for _ in range(3))

            self.blocks = nn.ModuleList([Block(), Block()])

            self.blocks = nn.ModuleList((Block(), Block()))

            self.blocks = nn.ModuleList([Block()] * 2)

            self.blocks = nn.ModuleList(modules=[Block() for i in range(2) if i])

            self.blocks = torch.nn.ModuleList([Block(width=i) for i in range(3)])

            self.blocks = nn.Sequential(Block(), Block())

            self.blocks = nn.Sequential(*[Block() for _ in range(3)])

            self.blocks = [Block() for _ in range(3)]

            self.blocks = nn.ModuleList([])
            for _ in range(3):
                self.blocks.append(Block())

            self.blocks = nn.ModuleList()
            for _ in range(3):
                self.blocks.append(Block())

            self.blocks = nn.ModuleList()
            self.blocks.append(Block())
            self.blocks.append(Block())

            self.blocks = nn.ModuleList()
            for i in range(3):
                block = Block(i)
                self.blocks.append(block)

            self.blocks = nn.ModuleList()
            self.blocks.extend([Block() for _ in range(3)])

            self.blocks = nn.ModuleList()
            self.blocks.extend(Block() for _ in range(3))

            self.blocks = nn.ModuleList()
            self.blocks.insert(0, Block())

            self.blocks = nn.ModuleList()
            self.blocks += [Block()]

            blocks = []
            for _ in range(3):
                blocks.append(Block())
            self.blocks = nn.ModuleList(blocks)

            blocks = []
            i = 0
            while i < 3:
                blocks.append(Block())
                i += 1
            self.blocks = nn.Sequential(*blocks)

            first = [Block()]
            self.blocks = nn.ModuleList(first + [Block() for _ in range(2)])

            self.blocks = nn.ModuleList([*[Block()], Block()])

            blocks = nn.ModuleList([Block()])
            self.blocks = blocks

            self.blocks = layers = nn.ModuleList([Block()])

            make = lambda: Block()
            self.blocks = nn.ModuleList([make() for _ in range(3)])

            cls = Block
            self.blocks = nn.ModuleList([cls() for _ in range(3)])

            make = functools.partial(Block, width=3)
            self.blocks = nn.ModuleList([make() for _ in range(3)])

            block = Block()
            self.blocks = nn.ModuleList([copy.deepcopy(block) for _ in range(3)])

            self.blocks = nn.ModuleList(map(lambda i: Block(i), range(3)))

            self.blocks = nn.ModuleList(list(Block() for _ in range(3)))

            self.blocks: nn.ModuleList = nn.ModuleList([Block()])

            self.blocks = nn.ModuleList([Block() if i else Block(3) for i in range(3)])

            self.blocks = nn.ModuleList(itertools.chain([Block()], [Block()]))

            self.blocks = nn.ModuleList()
            [self.blocks.append(Block()) for _ in range(3)]

            self.blocks = nn.ModuleList([(b := Block())])

            with torch.device('meta'):
                self.blocks = nn.ModuleList([Block()])

            try:
                self.blocks = nn.ModuleList([Block()])
            except ValueError:
                raise

            if config is None:
                self.blocks = nn.ModuleList([Block()])
            else:
                self.blocks = nn.ModuleList()

            self.blocks = nn.ModuleList()
            for i in range(3):
                self.blocks.add_module(str(i), Block())

            blocks = []
            for _ in range(3):
                blocks += [Block()]
            self.blocks = nn.ModuleList(blocks)

            # wrong: an item that is set isn't an element
            blocks = [None] * 3
            for i in range(3):
                blocks[i] = Block()
            self.blocks = nn.ModuleList(blocks)

            # wrong: an ordered dict of modules is taken for a module
            self.blocks = nn.Sequential(OrderedDict([("a", Block()), ("b", Block())]))

            # wrong: an ordered dict of modules is taken for a module
            self.blocks = nn.Sequential(OrderedDict(a=Block(), b=Block()))

            # wrong: an ordered dict of modules is taken for a module
            layers = OrderedDict()
            for i in range(2):
                layers[str(i)] = Block()
            self.blocks = nn.Sequential(layers)

            self.blocks = nn.Sequential()
            for i in range(3):
                self.blocks.add_module(str(i), Block())

            setattr(self, 'blocks', nn.ModuleList([Block()]))

            self.add_module('blocks', nn.ModuleList([Block()]))

            self.register_module('blocks', nn.ModuleList([Block()]))

            self.blocks = nn.ModuleList([torch.compile(Block()) for i in range(3)])
            """),
)
def test_container_of_one_class(init: str) -> None:
    imports = "import copy\nimport functools\nimport itertools\nfrom collections import OrderedDict"
    source = model(LOOP, init=init, before=imports)
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


@pytest.mark.parametrize(
    "source",
    snippets("""
        self.blocks = self._make(3)
        # and
        def _make(self, count):
            return nn.ModuleList([Block() for _ in range(count)])
        ---
        self.blocks = nn.ModuleList(self._make(3))
        # and
        def _make(self, count):
            blocks = []
            for _ in range(count):
                blocks.append(Block())
            return blocks
        ---
        self._make(3)
        # and
        def _make(self, count):
            self.blocks = nn.ModuleList([Block() for _ in range(count)])
        ---
        self.blocks = self._make(Block)
        # and
        @staticmethod
        def _make(cls):
            return nn.ModuleList([cls() for _ in range(2)])
        ---
        self.blocks = nn.ModuleList(self._make(3))
        # and
        def _make(self, count):
            for _ in range(count):
                yield Block()
        ---
        self.blocks = None
        self.build()
        # and
        def build(self):
            self.blocks = nn.ModuleList([Block()])
        ---
        self.width = 2
        # and
        def build(self):
            self.blocks = nn.ModuleList([Block()])
        ---
        self.blocks = build_blocks(Block, 2)
        # and
        ---
        self.blocks = build_all(2)
        # and
        ---
        def local():
            return [Block()]
        self.blocks = nn.ModuleList(local())
        # and
        """),
)
def test_container_built_by_a_helper(source: str) -> None:
    init, _, methods = source.partition("# and")
    before = """
        def build_blocks(cls, count):
            return nn.ModuleList([cls() for _ in range(count)])

        def build_all(count):
            blocks = []
            for index in range(count):
                blocks.append(build_one(index))
            return nn.ModuleList(blocks)

        def build_one(index):
            block = Block(index)
            return block
        """
    text = model(LOOP, init=init, methods=methods, before=before)
    assert paths_of(text) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


@pytest.mark.parametrize(
    "container",
    snippets("""
        class Blocks(nn.ModuleList):
            pass
        ---
        class Blocks(nn.ModuleList):
            def __init__(self, modules=None):
                super().__init__(modules)
        ---
        class Blocks(nn.ModuleList):
            def __init__(self, modules):
                super(Blocks, self).__init__(modules)
                self.extra = 1
        ---
        class Blocks(nn.ModuleList):
            def __init__(self, modules):
                super().__init__()
                for module in modules:
                    self.append(module)
        ---
        class Blocks(nn.ModuleList):
            def __init__(self, modules):
                super().__init__()
                self.extend(modules)
        ---
        class Blocks(nn.ModuleList):
            def __init__(self, modules):
                nn.ModuleList.__init__(self, modules)
        ---
        class Base(nn.Sequential):
            pass


        class Blocks(Base):
            def __init__(self, modules):
                super().__init__(*modules)
        ---
        class Blocks(nn.ModuleList):
            def append(self, module):
                return super().append(module)

            def extend(self, modules):
                for module in modules:
                    self.append(module)
                return self

            def __init__(self, modules):
                super().__init__()
                self.extend(modules)
    """),
)
def test_subclass_of_a_container(container: str) -> None:
    source = model(LOOP, init="self.blocks = Blocks([Block() for _ in range(3)])", before=container)
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


@pytest.mark.parametrize(
    "fill",
    snippets("""
            super().__init__([Block() for _ in range(count)])

            super().__init__()
            self.extend([Block() for _ in range(count)])

            super().__init__(Block() for _ in range(count))

            blocks = [Block() for _ in range(count)]
            super().__init__(blocks)

            super().__init__()
            for index in range(count):
                self.append(Block(index))

            super().__init__()
            self.build(count)

            super().__init__()
            for index in range(count):
                self.add_module(str(index), Block())
            """),
)
def test_container_class_that_fills_itself(fill: str) -> None:
    fill = fill.replace("\n", "\n        ")
    container = f"""
class Blocks(nn.ModuleList):
    def __init__(self, count):
        {fill}

    def build(self, count):
        for index in range(count):
            self.append(Block(index))
"""
    source = model(LOOP, init="self.blocks = Blocks(3)", before=container)
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


def test_container_class_whose_append_wraps() -> None:
    """What is kept is what the override hands on, not what it is given."""
    container = """
        class Wrapped(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x, mask=None, depth=0):
                return self.inner(x)

        class Blocks(nn.ModuleList):
            def append(self, module):
                return super().append(Wrapped(module))

            def __init__(self, count):
                super().__init__()
                for _ in range(count):
                    self.append(Block())
        """
    source = model(LOOP, init="self.blocks = Blocks(3)", before=container)
    assert paths_of(source, of="Model") == ["eager: eager self.blocks[*]<Wrapped>(x=x, mask=mask)"]


def test_container_class_that_runs_its_own_blocks() -> None:
    container = """
        class Blocks(nn.ModuleList):
            def __init__(self, count):
                super().__init__([Block() for _ in range(count)])

            def forward(self, x, mask=None):
                for block in self:
                    x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
                return x
        """
    source = model("return self.blocks(x, mask)", init="self.blocks = Blocks(3)", before=container)
    assert paths_of(source, of="Blocks") == ["ck: checkpointed self[*](x=x, mask=mask)"]


def test_container_class_that_runs_what_it_is_given() -> None:
    """Who fills it isn't known inside it."""
    container = """
        class Blocks(nn.ModuleList):
            def forward(self, x, mask=None):
                for block in self:
                    x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
                return x
        """
    (text,) = paths_of(model("return x", before=container), of="Blocks")
    assert text.startswith("ck: checkpointed self[*](?) unknown: ")


def test_container_class_that_wraps_what_it_is_given() -> None:
    """The classes of the argument would be a guess."""
    container = """
        class Wrapped(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, x, mask=None, depth=0):
                return self.inner(x)

        class Blocks(nn.ModuleList):
            def __init__(self, modules):
                super().__init__()
                for module in modules:
                    self.append(Wrapped(module))
        """
    source = model(LOOP, init="self.blocks = Blocks([Block() for _ in range(3)])", before=container)
    assert paths_of(source, of="Model") == ["eager: eager self.blocks[*]<Wrapped>(x=x, mask=mask)"]


# Mappings


@pytest.mark.parametrize(
    ("init", "loop"),
    [
        ("nn.ModuleDict({'a': Block(), 'b': Block()})", "for block in self.blocks.values():"),
        ("nn.ModuleDict({'a': Block(), 'b': Block()})", "for name, block in self.blocks.items():"),
        ("nn.ModuleDict({str(i): Block() for i in range(3)})", "for block in self.blocks.values():"),
        ("nn.ModuleDict(dict(a=Block()))", "for block in self.blocks.values():"),
        ("nn.ModuleDict([('a', Block()), ('b', Block())])", "for block in self.blocks.values():"),
        ("{'a': Block()}", "for key, block in self.blocks.items():"),
    ],
)
def test_mapping(init: str, loop: str) -> None:
    source = model(f"{loop}\n    x = block(x, mask)  # <- eager\nreturn x", init=f"self.blocks = {init}")
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


def test_mapping_by_a_loop_over_its_keys() -> None:
    source = model(
        "for name in self.blocks:\n    x = self.blocks[name](x, mask)  # <- eager\nreturn x",
        init="self.blocks = nn.ModuleDict({'a': Block(), 'b': Block()})",
    )
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


def test_mapping_filled_item_by_item() -> None:
    source = model(
        "for name in ('a', 'b'):\n    x = self.blocks[name](x, mask)  # <- eager\nreturn x",
        init="self.blocks = nn.ModuleDict()\nfor name in ('a', 'b'):\n    self.blocks[name] = Block()",
    )
    (text,) = paths_of(source)
    assert text.startswith("eager: eager self.blocks[")
    assert text.endswith("](x=x, mask=mask)")


def test_one_key_of_a_mapping_has_its_class() -> None:
    source = model(
        "x = self.blocks['wide'](x, 3, mask)  # <- wide\nreturn self.blocks['plain'](x, mask)  # <- plain",
        init="self.blocks = nn.ModuleDict({'plain': Block(), 'wide': Wide()})",
        blocks=TWO,
    )
    assert [text.removesuffix(" -> return").removesuffix(" -> other") for text in paths_of(source)] == [
        "wide: eager self.blocks['wide']<Wide>(x=x, width=3, mask=mask)",
        "plain: eager self.blocks['plain'](x=self.blocks['wide'](x, 3, mask), mask=mask)",
    ]


def test_mapping_of_lists() -> None:
    source = model(
        """
        for block in self.stages["main"]:
            x = block(x, mask)  # <- main
        for name, blocks in self.stages.items():
            for block in blocks:
                x = block(x)  # <- all
        return x
        """,
        init="""
        self.stages = nn.ModuleDict({
            "main": nn.ModuleList([Block() for _ in range(3)]),
            "extra": nn.ModuleList([Block() for _ in range(2)]),
        })
        """,
    )
    assert paths_of(source) == [
        "main: eager self.stages['main'][*](x=x, mask=mask)",
        "all: eager self.stages[*][*](x=x)",
    ]


# Namespaces and nesting


@pytest.mark.parametrize(
    "init",
    snippets("""
            self.mid = nn.Module()
            self.mid.block = Block()

            mid = nn.Module()
            mid.block = Block()
            self.mid = mid

            self.mid = nn.Module()
            self.mid.add_module('block', Block())
            """),
)
def test_bare_module_as_a_namespace(init: str) -> None:
    source = model(
        """
        if self.gradient_checkpointing:
            x = checkpoint(self.mid.block, x, mask, use_reentrant=False)  # <- ck
        else:
            x = self.mid.block(x, mask)  # <- eager
        return x
        """,
        init=init,
    )
    assert paths_of(source) == [
        f"ck: checkpointed self.mid.block(x=x, mask=mask) if {FLAG}",
        f"eager: eager self.mid.block(x=x, mask=mask) if not {FLAG}",
    ]


def test_two_namespaces_keep_their_own() -> None:
    source = model(
        """
        y = checkpoint(self.first.block, x, use_reentrant=False)  # <- first
        z = checkpoint(self.second.block, x, 3, use_reentrant=False)  # <- second
        return y, z
        """,
        init="""
        self.first = nn.Module()
        self.first.block = Block()
        self.second = nn.Module()
        self.second.block = Wide()
        """,
        blocks=TWO,
    )
    assert paths_of(source) == [
        "first: checkpointed self.first.block(x=x)",
        "second: checkpointed self.second.block<Wide>(x=x, width=3)",
    ]


def test_list_of_namespaces() -> None:
    source = model(
        """
        for level in self.down:
            for block in level.blocks:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            x = level.shrink(x, 2)  # <- shrink
        return x
        """,
        init="""
        self.down = nn.ModuleList()
        for i in range(3):
            blocks = nn.ModuleList()
            for _ in range(2):
                blocks.append(Block())
            level = nn.Module()
            level.blocks = blocks
            if i != 2:
                level.shrink = Wide()
            self.down.append(level)
        """,
        blocks=TWO,
    )
    assert bindings_of(source) == [
        "ck: checkpointed self.down[*].blocks[*](x=x, mask=mask)",
        "shrink: eager self.down[*].shrink<Wide>(x=x, width=2)",
    ]


def test_stage_modules_that_hold_blocks() -> None:
    """The stages' own lists, reached from the model."""
    source = model(
        """
        for stage in self.stages:
            for block in stage.layers:
                x = block(x, mask)  # <- eager
        return x
        """,
        init="self.stages = nn.ModuleList([Stage() for _ in range(2)])",
        before="""
        class Stage(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([Block() for _ in range(2)])
        """,
    )
    assert paths_of(source) == ["eager: eager self.stages[*].layers[*](x=x, mask=mask)"]


def test_list_of_lists() -> None:
    source = model(
        """
        for pair in self.stages:
            for block in pair:
                x = block(x, mask)  # <- eager
        for first, second in self.stages:
            x = second(x)  # <- second
        x = self.stages[0][1](x)  # <- index
        return x
        """,
        init="self.stages = nn.ModuleList([nn.ModuleList([Block(), Block()]) for _ in range(2)])",
    )
    assert [text.split("(")[0] for text in paths_of(source)] == [
        "eager: eager self.stages[*][*]",
        "second: eager self.stages[*][1]",
        "index: eager self.stages[0][1]",
    ]


def test_pairs_of_different_classes_in_inner_lists() -> None:
    source = model(
        """
        for plain, wide in self.layers:
            x = plain(x, mask)  # <- plain
            x = wide(x, 3)  # <- wide
        return x
        """,
        init="self.layers = nn.ModuleList([nn.ModuleList([Block(), Wide()]) for _ in range(2)])",
        blocks=TWO,
    )
    texts = [text.split("(")[0] for text in paths_of(source)]
    assert texts == ["plain: eager self.layers[*][0]", "wide: eager self.layers[*][1]<Wide>"]


# Aliases and orders


@pytest.mark.parametrize(
    "loop",
    snippets("""
            for block in self.blocks:

            for index, block in enumerate(self.blocks):

            for index, block in enumerate(self.blocks, start=1):

            for index, (block, other) in enumerate(zip(self.blocks, self.states)):

            for block, other in zip(self.blocks, self.states):

            for other, block in zip(self.states, self.blocks, strict=True):

            for block in reversed(self.blocks):

            for block in self.blocks[::-1]:

            for block in self.blocks[1:]:

            for block in self.blocks[: self.depth]:

            for block in list(self.blocks):

            for block in tuple(reversed(list(self.blocks))):

            for block in iter(self.blocks):

            for block in (b for b in self.blocks):

            for block in [b for b in self.blocks if b.training]:

            for block in self.blocks if mask is None else self.blocks[1:]:

            for block in sorted(self.blocks, key=id):

            layers = self.blocks
            for block in layers:

            layers = list(self.blocks)
            random.shuffle(layers)
            for block in layers:

            layers = getattr(self, 'blocks')
            for block in layers:

            layers = [*self.blocks]
            for block in layers:

            for index in range(len(self.blocks)):
                block = self.blocks[index]

            for index in range(3):
                block = self.blocks[-index]

            for block in [self.blocks[i] for i in range(2)]:

            for block in filter(None, self.blocks):

            for block in itertools.islice(self.blocks, 2):

            for block in self.blocks.children():

            for _, block in self.blocks.named_children():
            """),
)
def test_way_of_running_over_a_container(loop: str) -> None:
    source = model(
        f"{loop}\n    x = block(x, mask)  # <- eager\nreturn x",
        before="import itertools\nimport random",
        init="self.blocks = nn.ModuleList([Block() for _ in range(3)])\nself.states = [1, 2, 3]",
    )
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


def test_index_in_the_call() -> None:
    source = model(
        "for i in range(3):\n    x = self.blocks[i](x, mask)  # <- loop\nreturn self.blocks[-1](x)  # <- last",
    )
    assert [text.removesuffix(" -> return").removesuffix(" -> other") for text in paths_of(source)] == [
        "loop: eager self.blocks[*](x=x, mask=mask)",
        "last: eager self.blocks[-1](x=x)",
    ]


@pytest.mark.parametrize(
    "joined",
    [
        "list(self.first) + list(self.second)",
        "[*self.first, *self.second]",
        "itertools.chain(self.first, self.second)",
    ],
)
def test_two_containers_run_as_one(joined: str) -> None:
    """Each container has the paths of the loop."""
    source = model(
        f"""
        layers = {joined}
        for block in layers:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            else:
                x = block(x, mask)  # <- eager
        return x
        """,
        before="import itertools",
        init="self.first = nn.ModuleList([Block()])\nself.second = nn.ModuleList([Block()])",
    )
    assert paths_of(source) == [
        f"ck: checkpointed self.first[*](x=x, mask=mask) if {FLAG}",
        f"ck: checkpointed self.second[*](x=x, mask=mask) if {FLAG}",
        f"eager: eager self.first[*](x=x, mask=mask) if not {FLAG}",
        f"eager: eager self.second[*](x=x, mask=mask) if not {FLAG}",
    ]


@pytest.mark.parametrize(
    "groups", ["(self.first, self.second)", "[self.first, self.second]", "{'a': self.first, 'b': self.second}.values()"]
)
def test_loop_over_containers(groups: str) -> None:
    """Each container has the paths of the inner loop."""
    source = model(
        f"""
        for group in {groups}:
            for block in group:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
        return x
        """,
        init="self.first = nn.ModuleList([Block()])\nself.second = nn.ModuleList([Block()])",
    )
    assert paths_of(source) == [
        "ck: checkpointed self.first[*](x=x, mask=mask)",
        "ck: checkpointed self.second[*](x=x, mask=mask)",
    ]


def test_key_of_a_mapping_as_an_attribute() -> None:
    """What a ModuleDict holds is a submodule by the name of its key."""
    source = model(
        """
        stages = {"a": self.parts.a, "b": self.parts.b}
        for name in stages:
            for block in stages[name]:
                x = block(x, mask)  # <- eager
        return x
        """,
        init="self.parts = nn.ModuleDict({'a': nn.ModuleList([Block()]), 'b': nn.ModuleList([Block()])})",
    )
    assert paths_of(source) == [
        "eager: eager self.parts.a[*](x=x, mask=mask)",
        "eager: eager self.parts.b[*](x=x, mask=mask)",
    ]


def test_attribute_that_names_a_part_of_another() -> None:
    source = model(
        "for block in self.tail:\n    x = block(x, mask)  # <- eager\nreturn x",
        init="self.blocks = nn.ModuleList([Block() for _ in range(4)])\nself.tail = self.blocks[2:]",
    )
    (text,) = paths_of(source)
    assert text.endswith("(x=x, mask=mask)")
    assert "unknown" not in text


def test_list_of_index_and_block() -> None:
    source = model(
        """
        todo = [(index, block) for index, block in enumerate(self.blocks) if index % 2]
        for index, block in todo:
            x = block(x, mask, index)  # <- eager
        return x
        """
    )
    (text,) = paths_of(source)
    assert text.startswith("eager: eager self.blocks[*](x=x, mask=mask, scale=index)")


def test_list_of_pairs_filled_in_a_loop() -> None:
    source = model(
        """
        todo = []
        for index, block in enumerate(self.blocks):
            todo.append((index, block))
        for block in self.others:
            todo.append((0, block))
        for index, block in todo:
            x = block(x, mask)  # <- eager
        return x
        """,
        init="self.blocks = nn.ModuleList([Block()])\nself.others = nn.ModuleList([Block()])",
    )
    texts = paths_of(source)
    assert texts
    assert all("(x=x, mask=mask)" in text and "unknown" not in text for text in texts)


def test_property_that_gives_the_blocks() -> None:
    source = model(
        "for block in self.layers:\n    x = block(x, mask)  # <- eager\nreturn x",
        methods="""
        @property
        def layers(self):
            return self.blocks
        """,
    )
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


# More than one class


def test_two_classes_in_one_list() -> None:
    """A call that fits one class and not the other binds the one it fits."""
    source = model(
        "for block in self.blocks:\n    x = block(x, mask=mask)  # <- both\nreturn x",
        init="self.blocks = nn.ModuleList([Block(), Narrow()])",
        before="""
        class Narrow(nn.Module):
            def forward(self, x, mask):
                return x
        """,
    )
    assert paths_of(source) == ["both: eager self.blocks[*]<Block|Narrow>(x=x, mask=mask)"]


@pytest.mark.parametrize(
    ("test", "one", "other"),
    [
        ("isinstance(block, Wide)", "Wide", "Block"),
        ("not isinstance(block, Block)", "Wide", "Block"),
        ("isinstance(block, (Wide,))", "Wide", "Block"),
        ("isinstance(block, Wide) and mask is not None", "Wide", "Block|Wide"),
        ("hasattr(block, 'only_wide')", "Wide", "Block"),
        pytest.param(
            "hasattr(block, 'only_wide') and block.only_wide",
            "Wide",
            "Block",
            marks=pytest.mark.xfail(reason="a literal that a class sets doesn't tell its instances"),
        ),
        ("type(block) is Wide", "Wide", "Block"),
        ("block.__class__ is Wide", "Wide", "Block"),
        ("type(block).__name__ == 'Wide'", "Wide", "Block"),
    ],
)
def test_dispatch_by_class(test: str, one: str, other: str) -> None:
    source = model(
        f"""
        for block in self.blocks:
            if {test}:
                x = block(x, 3, mask)  # <- one
            else:
                x = block(x, mask)  # <- other
        return x
        """,
        init="self.blocks = nn.ModuleList([Block(), Wide()])",
        blocks=TWO,
    )
    found = {
        path.call.line: "|".join(sorted(ref.name for ref in path.block.classes))
        for entry in entries_of(source)
        for path in entry.paths
    }
    assert [found[line] for line in sorted(found)] == [one, other]


PICKS = """
def get_block(kind, **kwargs):
    if kind == "plain":
        return Block(**kwargs)
    if kind == "wide":
        return Wide()
    raise ValueError(kind)
"""


def test_class_picked_by_a_helper_from_a_string() -> None:
    source = model(
        "for block in self.blocks:\n    x = block(x, mask=mask)  # <- eager\nreturn x",
        init="self.blocks = nn.ModuleList([get_block(kind) for kind in config])",
        before=PICKS,
        blocks=TWO.replace("width, mask=None", "mask=None, width=1"),
    )
    assert paths_of(source) == ["eager: eager self.blocks[*]<Block|Wide>(x=x, mask=mask)"]


def test_classes_that_bind_the_arguments_to_different_parameters() -> None:
    """The second argument is a mask to one class and a width to the other: only `x` is common."""
    source = model(
        LOOP, init="self.blocks = nn.ModuleList([get_block(kind) for kind in config])", before=PICKS, blocks=TWO
    )
    (path,) = (path for entry in entries_of(source) for path in entry.paths)
    assert path.binding is None or list(path.binding) == ["x"]


def test_class_picked_by_a_helper_from_a_literal() -> None:
    source = model(
        LOOP,
        init="self.blocks = nn.ModuleList([get_block('plain') for _ in range(2)])",
        before="""
        def get_block(kind):
            if kind == "plain":
                return Block()
            elif kind == "wide":
                return Wide()
            raise ValueError(kind)
        """,
        blocks=TWO,
    )
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x, mask=mask)"]


@pytest.mark.parametrize(
    "init",
    [
        *snippets(
            """
            cls = Wide if config else Block
            self.blocks = nn.ModuleList([cls() for _ in range(2)])

            self.blocks = nn.ModuleList([Wide() if i % 2 else Block() for i in range(2)])

            self.blocks = nn.ModuleList([(Wide if i else Block)() for i in range(2)])

            if config:
                cls = Wide
            else:
                cls = Block
            self.blocks = nn.ModuleList([cls() for _ in range(2)])

            self.blocks = nn.ModuleList([Block()])
            if config:
                self.blocks.append(Wide())

            if config:
                self.blocks = nn.ModuleList([Wide()])
            else:
                self.blocks = nn.ModuleList([Block()])

            blocks = [Block()]
            blocks[0] = Wide()
            blocks.append(Block())
            self.blocks = nn.ModuleList(blocks)

            self.blocks = nn.ModuleList([{'wide': Wide, 'plain': Block}[k]() for k in config])

            self.blocks = nn.ModuleList([KINDS[k]() for k in config])
            """,
        ),
        *snippets(
            """
            self.blocks = nn.ModuleList()
            for i in range(3):
                if i:
                    self.blocks.append(Wide())
                else:
                    self.blocks.append(Block())

            blocks = []
            for i in range(3):
                if i:
                    blocks.append(Wide())
                else:
                    blocks.append(Block())
            self.blocks = nn.ModuleList(blocks)
            """,
        ),
    ],
)
def test_class_chosen_by_a_condition(init: str) -> None:
    source = model(LOOP, init=init, blocks=TWO, before="KINDS = {'wide': Wide, 'plain': Block}")
    (path,) = (path for entry in entries_of(source) for path in entry.paths)
    assert sorted(ref.name for ref in path.block.classes) == ["Block", "Wide"]


# What can't be known

RUN_TIME = "the container is made at run time"


@pytest.mark.parametrize(
    ("init", "reason"),
    [
        ("self.blocks = config.blocks", RUN_TIME),
        ("self.blocks = nn.ModuleList([config.cls() for _ in range(2)])", RUN_TIME),
        ("self.blocks = nn.ModuleList([globals()['Block']() for _ in range(2)])", RUN_TIME),
        ("self.blocks = nn.ModuleList([config() for _ in range(2)])", RUN_TIME),
        ("self.width = 2", "no assignment of the container was found"),
    ],
)
def test_container_of_no_known_class(init: str, reason: str) -> None:
    source = model(
        "for block in self.blocks:\n    x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck\nreturn x",
        init=init,
    )
    (text,) = paths_of(source)
    assert text == f"ck: checkpointed self.blocks[*](?) unknown: {reason}"
    (entry,) = (entry for entry in entries_of(source) if entry.class_name == "Model")
    assert [place.line for place in entry.unresolved_loops] == [
        next(n for n, line in enumerate(source.split("\n"), 1) if "for block in self.blocks" in line)
    ]


def test_class_outside_the_tree() -> None:
    source = model(
        "for block in self.blocks:\n    x = checkpoint(block, x, use_reentrant=False)  # <- ck\nreturn x",
        init="self.blocks = nn.ModuleList([elsewhere.Layer() for _ in range(2)])",
        before="import elsewhere",
    )
    assert paths_of(source) == [
        "ck: checkpointed self.blocks[*]<Layer>(?) unknown: the class is outside the source root"
    ]


def test_container_given_from_outside() -> None:
    source = model(
        "for block in blocks:\n    x = checkpoint(block, x, use_reentrant=False)  # <- ck\nreturn x",
        signature="blocks, x",
    )
    assert paths_of(source) == ["ck: checkpointed blocks[*](?) unknown: the container is a parameter"]


def test_class_from_a_parameter() -> None:
    """The default is what is built unless a caller says otherwise, so the class isn't certain."""
    source = model(
        "for block in self.blocks:\n    x = checkpoint(block, x, use_reentrant=False)  # <- ck\nreturn x",
        init="self.blocks = nn.ModuleList([block_class() for _ in range(2)])",
    ).replace("config=None", "config=None, block_class=Block")
    (text,) = paths_of(source)
    assert text.startswith("ck: checkpointed self.blocks[*](?) unknown: ")


@pytest.mark.parametrize("loop", ["for block in tqdm(self.blocks):", "for block in order(self.blocks, mask):"])
def test_loop_over_what_something_makes_of_a_container(loop: str) -> None:
    source = model(
        f"{loop}\n    x = checkpoint(block, x, use_reentrant=False)  # <- ck\nreturn x",
        before="from elsewhere import order, tqdm",
    )
    (entry,) = (entry for entry in entries_of(source) if entry.class_name == "Model")
    assert len(entry.unresolved_loops) == 1
    (path,) = entry.paths
    assert path.route == "checkpointed"
    assert path.binding is None
    assert path.unknown
