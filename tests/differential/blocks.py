"""Block classes: random signatures, with bodies in which every parameter counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.differential.sheet import Lines, Sheet, indent

WORDS = ("mask", "temb", "rope", "gain", "tone", "grid", "seam", "dye", "heat", "cue", "glow", "hue", "wind", "tide")
NAMES = ("Alder", "Birch", "Cedar", "Dogwood")
DEFAULTS = {"tensor": "None", "flag": "False", "number": "1"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a block's forward."""

    name: str
    kind: str
    """`state`, `tensor`, `flag` or `number`."""
    default: str | None = None
    """None when the parameter is required."""
    keyword_only: bool = False

    @property
    def declared(self) -> str:
        """As a signature has it."""
        return self.name if self.default is None else f"{self.name}={self.default}"


@dataclass(frozen=True)
class BlockClass:
    """One block class."""

    name: str
    states: tuple[Parameter, ...]
    """What runs through the loop: one tensor or two."""
    parameters: tuple[Parameter, ...]
    """The other parameters, in the order of the signature."""
    result: str
    """`value`, `tuple` (one state in a tuple), `pair` or `swapped`."""
    method: str | None
    """The name of another entry than forward, with the same signature."""
    scoped: bool
    """Whether it also takes `checkpoint_ffn` and `checkpoint_fn`."""
    decorated: bool = False
    """Whether a decorator stands at the class."""
    base: str | None = None
    """The block class that it takes everything from."""

    @property
    def signature(self) -> str:
        """The parameters with self."""
        positional = [p.declared for p in (*self.states, *self.parameters) if not p.keyword_only]
        keyword = [p.declared for p in self.parameters if p.keyword_only]
        if self.scoped:
            keyword += ["checkpoint_ffn=False", "checkpoint_fn=None"]
        return ", ".join(["self", *positional, *(["*", *keyword] if keyword else [])])

    def source(self) -> Lines:
        """The class's code."""
        if self.base:
            return [f"class {self.name}({self.base}):", '    label = "other"']
        state = self.states[0].name
        body: Lines = []
        for p in self.parameters:
            if p.kind == "number":
                body.append(f"{state} = {state} * {p.name}")
            elif p.kind == "flag":
                body += [f"if {p.name}:", f"    {state} = {state} * 2"]
            elif p.default is None:
                body.append(f"{state} = {state} + {p.name}")
            else:
                body += [f"if {p.name} is not None:", f"    {state} = {state} + {p.name}"]
        value = f"self.lin({state})"
        if self.scoped:
            body += ["if checkpoint_ffn:", f"    {state} = checkpoint_fn(self._feed, {state}, use_reentrant=False)"]
            body += ["else:", f"    {state} = self._feed({state})"]
        if len(self.states) == 2:
            other = self.states[1].name
            pair = [value, f"{other} + self.lin({other})"]
            value = ", ".join(reversed(pair) if self.result == "swapped" else pair)
        elif self.result == "tuple":
            value = f"({value},)"
        lines = ["@registered"] if self.decorated else []
        lines += [f"class {self.name}(nn.Module):", "    def __init__(self, width=2):", "        super().__init__()"]
        lines.append("        self.lin = nn.Linear(width, width)")
        if self.scoped:
            lines.append("        self.feed = Feed(width)")
        lines += ["", f"    def forward({self.signature}):", *indent([*body, f"return {value}"], 2)]
        if self.scoped:
            lines += ["", "    def _feed(self, value):", "        return self.feed(value)"]
        if self.method:
            names = [f"{p.name}={p.name}" if p.keyword_only else p.name for p in (*self.states, *self.parameters)]
            if self.scoped:
                names += ["checkpoint_ffn=checkpoint_ffn", "checkpoint_fn=checkpoint_fn"]
            lines += ["", f"    def {self.method}({self.signature}):"]
            lines.append(f"        return self.forward({', '.join(names)})")
        return lines


FEED = """\
class Feed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, width)

    def forward(self, value):
        return value + self.lin(value)""".splitlines()
"""The feed-forward part of blocks that can checkpoint only that."""


REGISTERED = """\
KNOWN = {}


def registered(cls):
    KNOWN[cls.__name__] = cls
    return cls""".splitlines()
"""A class decorator that gives the class back."""


def random_block(sheet: Sheet, states: tuple[str, ...]) -> BlockClass:
    """A block class of its own; `states` are the model's names for them, which the block may share."""
    own = states if sheet.chance(0.5) else ("h", "c")[: len(states)]
    parameters = []
    for word in sheet.random.sample(WORDS, sheet.random.randint(1, 4)):
        kind = sheet.random.choice(("tensor", "tensor", "tensor", "flag", "number"))
        default = None if sheet.chance(0.35) else DEFAULTS[kind]
        parameters.append(Parameter(word, kind, default, keyword_only=sheet.chance(0.25)))
    parameters.sort(key=lambda p: (p.keyword_only, p.default is not None))
    if len(states) == 2:
        result = sheet.choose("result", "pair", "swapped")
    else:
        result = sheet.choose("result", "value*4", "tuple")
    return BlockClass(
        sheet.name(NAMES[0]) if NAMES[0] not in sheet.used else sheet.name(NAMES[2]),
        tuple(Parameter(name, "state") for name in own),
        tuple(parameters),
        result,
        "run" if sheet.chance(0.3) else None,
        scoped=sheet.chance(0.35),
        decorated=sheet.choose("block", "plain*4", "decorated") == "decorated",
    )


def variant(sheet: Sheet, block: BlockClass) -> BlockClass:
    """Another class that can be called as the first is."""
    if sheet.choose("block", "inherits", "extra-parameter") == "inherits":
        return replace(block, name=sheet.name(NAMES[1]), base=block.name)
    extra = Parameter("knob", "number", "1", keyword_only=True)
    return replace(block, name=sheet.name(NAMES[1]), parameters=(*block.parameters, extra))
