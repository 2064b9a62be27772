"""The spellings of containers of blocks, and of loops over them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.blocks import BlockClass, variant
from tests.differential.sheet import Lines, Sheet, indent

COUNT = 3
"""Blocks in a container."""


@dataclass(frozen=True)
class Container:
    """Where blocks are kept."""

    expression: str
    """A list-like of blocks, or the one block, as the model's methods read it."""
    block: BlockClass
    """The class of the elements; a second class may stand beside it that is called the same way."""
    kind: str
    """`list`, `whole` (a list that can't be sliced), `dict` (of blocks), `nested` (a list of lists) or `one`."""


@dataclass(frozen=True)
class Iteration:
    """A loop over a container, without its body."""

    before: Lines
    """Statements before the loop."""
    header: Lines
    """The loop's first lines, each one level deeper than the one before."""
    first: Lines
    """The first statements of its body."""
    block: str
    """The expression of the block inside the body."""
    index: str | None
    """The expression of the block's number, where the loop has one."""
    item: str | None
    """Another thing that the loop hands out beside the block: a tensor."""
    partner: str | None = None
    """The expression of a second block that the loop hands out."""
    numbered: bool = False
    """Whether the block's number is its place in the container."""


def container(sheet: Sheet, block: BlockClass, classes: list[BlockClass]) -> Container:
    """Adds a container to the model's `__init__`. A second class that it needs is added to `classes`."""
    name = sheet.name(sheet.random.choice(("blocks", "layers", "double_blocks", "single_blocks")))
    here, made, count = f"self.{name}", f"{block.name}()", f"range({COUNT})"
    listed = f"[{made} for _ in {count}]"
    spelling = sheet.choose(
        "container",
        *("comprehension*3", "generator", "append", "extend", "local-list", "builder-function", "builder-method"),
        *("local-builder", "subclass", "subclass-built", "sequential", "dict-of-lists", "dict-of-blocks*2", "nested"),
        *("two-classes", "two-classes-append", "concatenated", "class-by-name", "namespace", "submodule"),
        *("class-alias", "class-table", "either-branch", "dict-of-lists-nested"),
    )
    other = None
    if spelling in (
        "two-classes",
        "two-classes-append",
        "concatenated",
        "class-by-name",
        "class-table",
        "either-branch",
    ):
        other = variant(sheet, block)
        classes.append(other)
    kind, expression = "list", here
    match spelling:
        case "comprehension":
            sheet.init.append(f"{here} = nn.ModuleList({listed})")
        case "generator":
            sheet.init.append(f"{here} = nn.ModuleList({made} for _ in {count})")
        case "append":
            sheet.init += [f"{here} = nn.ModuleList()", f"for _ in {count}:", f"    {here}.append({made})"]
        case "extend":
            sheet.init += [f"{here} = nn.ModuleList([{made}])", f"{here}.extend([{made} for _ in range({COUNT - 1})])"]
        case "local-list":
            made_list = sheet.name("made")
            sheet.init += [f"{made_list} = []", f"for _ in {count}:", f"    {made_list}.append({made})"]
            sheet.init.append(f"{here} = nn.ModuleList({made_list})")
        case "builder-function":
            builder = sheet.name("build")
            sheet.function([f"def {builder}(count):", f"    return nn.ModuleList([{made} for _ in range(count)])"])
            sheet.init.append(f"{here} = {builder}({COUNT})")
        case "builder-method":
            builder = sheet.name("_build")
            lines = [f"def {builder}(self, count):", f"    blocks = [{made} for _ in range(count)]"]
            sheet.method([*lines, "    return nn.ModuleList(blocks)"])
            sheet.init.append(f"{here} = self.{builder}({COUNT})")
        case "local-builder":
            builder = sheet.name("build")
            sheet.init += [f"def {builder}(count):", "    result = nn.ModuleList()", "    for _ in range(count):"]
            sheet.init += [f"        result.append({made})", "    return result", f"{here} = {builder}({COUNT})"]
        case "subclass":
            subclass = sheet.name("Stack")
            sheet.function([f"class {subclass}(nn.ModuleList):", "    label = 0"])
            sheet.init.append(f"{here} = {subclass}({listed})")
        case "subclass-built":
            subclass = sheet.name("Stack")
            lines = [f"class {subclass}(nn.ModuleList):", "    def __init__(self, count):"]
            sheet.function([*lines, f"        super().__init__([{made} for _ in range(count)])"])
            sheet.init.append(f"{here} = {subclass}({COUNT})")
            kind = "whole"
        case "sequential":
            sheet.init.append(f"{here} = nn.Sequential(*{listed})")
        case "dict-of-lists":
            sheet.init.append(f'{here} = nn.ModuleDict({{"early": nn.ModuleList({listed})}})')
            expression = f'{here}["early"]'
        case "dict-of-blocks":
            sheet.init.append(f"{here} = nn.ModuleDict({{str(i): {made} for i in {count}}})")
            kind = "dict"
        case "nested":
            sheet.init.append(f"{here} = nn.ModuleList([nn.ModuleList([{made}, {made}]) for _ in range(2)])")
            kind = "nested"
        case "two-classes":
            assert other is not None
            sheet.init.append(f"{here} = nn.ModuleList([{made} if i % 2 else {other.name}() for i in {count}])")
        case "two-classes-append":
            assert other is not None
            sheet.init += [f"{here} = nn.ModuleList()", f"for i in {count}:", "    if i % 2 == 0:"]
            sheet.init += [f"        {here}.append({made})", "    else:", f"        {here}.append({other.name}())"]
        case "concatenated":
            assert other is not None
            sheet.init.append(f"{here} = nn.ModuleList([{other.name}()] + [{made} for _ in range({COUNT - 1})])")
        case "class-by-name":
            assert other is not None
            getter = sheet.name("get_block")
            lines = [f"def {getter}(kind):", '    if kind == "plain":', f"        return {made}"]
            sheet.function(
                [*lines, '    elif kind == "knobbed":', f"        return {other.name}()", "    raise ValueError"]
            )
            kinds = '("plain", "knobbed", "plain")'
            sheet.init.append(f"{here} = nn.ModuleList([{getter}(kind) for kind in {kinds}])")
        case "namespace":
            sheet.init += [f"{here} = nn.Module()", f"{here}.blocks = nn.ModuleList({listed})"]
            expression = f"{here}.blocks"
        case "class-alias":
            alias = sheet.name("block_class")
            sheet.init += [f"{alias} = {block.name}", f"{here} = nn.ModuleList([{alias}() for _ in {count}])"]
        case "class-table":
            assert other is not None
            table = sheet.name("TABLE")
            sheet.function([f'{table} = {{"plain": {block.name}, "knobbed": {other.name}}}'])
            sheet.init.append(f'{here} = nn.ModuleList([{table}[k]() for k in ("plain", "knobbed", "plain")])')
        case "either-branch":
            assert other is not None
            made_other = f"nn.ModuleList([{other.name}() for _ in {count}])"
            sheet.init += ["if torch.get_num_threads() > 0:", f"    {here} = nn.ModuleList({listed})", "else:"]
            sheet.init.append(f"    {here} = {made_other}")
        case "dict-of-lists-nested":
            sheet.init.append(f'{here} = nn.ModuleDict({{"a": nn.ModuleList({listed}), "b": nn.ModuleList([{made}])}})')
            expression, kind = f"{here}.values()", "nested"
        case "submodule":
            sheet.init.append(f"{here} = {made}")
            kind = "one"
    return Container(expression, block, kind)


def iteration(sheet: Sheet, where: Container) -> Iteration:
    """A loop over the container. The names that it binds are new."""
    source, block, i = where.expression, sheet.name("block"), sheet.name("i")
    if where.kind == "one":
        return Iteration([], [], [], source, None, None)
    if where.kind == "nested":
        sheet.note("iteration/nested")
        stage = sheet.name("stage")
        return Iteration([], [f"for {stage} in {source}:", f"    for {block} in {stage}:"], [], block, None, None)
    if where.kind == "dict":
        spelling = sheet.choose("iteration", "dict-values", "dict-items", "dict-keys")
        key = sheet.name("key")
        if spelling == "dict-values":
            return Iteration([], [f"for {block} in {source}.values():"], [], block, None, None)
        if spelling == "dict-items":
            return Iteration([], [f"for {key}, {block} in {source}.items():"], [], block, None, None)
        return Iteration([], [f"for {i} in range({COUNT}):"], [], f"{source}[str({i})]", i, None)
    spellings = ["plain*3", "enumerate*4", "enumerate-start", "reversed", "zip-item", "enumerate-zip", "range-zip"]
    spellings += [
        "index",
        "index-inline",
        "pairs",
        "pairs-comprehension",
        "alias",
        "filtered",
        "starred-alias",
        "while*2",
    ]
    spellings += ["kept-list*2", "two-containers", "two-containers-kept", "zip-two", "chain-two"]
    if where.kind == "list":
        spellings += ["slice", "slice-enumerate", "chain-slices"]
    spelling = sheet.choose("iteration", *spellings)
    alias, item, items = sheet.name("chosen"), sheet.name("item"), sheet.name("items")
    before: Lines = []
    given_index = given_item = partner = None
    if spelling.endswith("zip-item") or spelling == "enumerate-zip":
        before = [f"{items} = [torch.ones(2) * k for k in range(len({source}))]"]
        given_item = item
    if "two" in spelling:
        other = sheet.name("others")
        sheet.init.append(f"self.{other} = nn.ModuleList([{where.block.name}() for _ in range({COUNT})])")
        other = f"self.{other}"
    match spelling:
        case "plain":
            header = f"for {block} in {source}:"
        case "enumerate":
            header, given_index = f"for {i}, {block} in enumerate({source}):", i
        case "enumerate-start":
            header, given_index = f"for {i}, {block} in enumerate({source}, start=1):", i
        case "reversed":
            header = f"for {block} in reversed({source}):"
        case "slice":
            header = f"for {block} in {source}[1:]:"
        case "slice-enumerate":
            header, given_index = f"for {i}, {block} in enumerate({source}[:{COUNT}]):", i
        case "zip-item":
            header = f"for {block}, {item} in zip({source}, {items}):"
        case "enumerate-zip":
            header, given_index = f"for {i}, ({block}, {item}) in enumerate(zip({source}, {items})):", i
        case "range-zip":
            header, given_index = f"for {i}, {block} in zip(range(len({source})), {source}):", i
        case "index":
            return Iteration([], [f"for {i} in range(len({source})):"], [f"{block} = {source}[{i}]"], block, i, None)
        case "while":
            first = [f"{block} = {source}[{i}]", f"{i} += 1"]
            return Iteration([f"{i} = 0"], [f"while {i} < len({source}):"], first, block, None, None)
        case "index-inline":
            return Iteration([], [f"for {i} in range(len({source})):"], [], f"{source}[{i}]", i, None)
        case "pairs":
            before = [f"{alias} = list(enumerate({source}))"]
            header, given_index = f"for {i}, {block} in {alias}:", i
        case "pairs-comprehension":
            before = [f"{alias} = [(k, b) for k, b in enumerate({source})]"]
            header, given_index = f"for {i}, {block} in {alias}:", i
        case "alias":
            before, header = [f"{alias} = {source}"], f"for {block} in {alias}:"
        case "filtered":
            before, header = [f"{alias} = [b for b in {source} if b is not None]"], f"for {block} in {alias}:"
        case "starred-alias":
            before, header = [f"{alias} = [*{source}]"], f"for {block} in {alias}:"
        case "kept-list":
            sheet.init.append(f"self.{alias} = list({source})")
            header, given_index = f"for {i}, {block} in enumerate(self.{alias}):", i
        case "two-containers":
            before = [f"{alias} = list({source}) + list({other})"]
            header, given_index = f"for {i}, {block} in enumerate({alias}):", i
        case "two-containers-kept":
            sheet.init.append(f"self.{alias} = [*{source}, *{other}]")
            header = f"for {block} in self.{alias}:"
        case "zip-two":
            partner = sheet.name("partner")
            header = f"for {block}, {partner} in zip({source}, {other}):"
        case "chain-two":
            header = f"for {block} in itertools.chain({source}, {other}):"
        case _:
            header = f"for {block} in itertools.chain({source}[:1], {source}[1:]):"
    numbered = given_index is not None and spelling not in ("enumerate-start", "two-containers")
    return Iteration(before, [header], [], block, given_index, given_item, partner, numbered)


def looped(how: Iteration, body: Lines) -> Lines:
    """The whole loop."""
    return [*how.before, *how.header, *indent([*how.first, *body], len(how.header))]
