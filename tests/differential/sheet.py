"""What the parts of the maker share: the random choices, and the sections of the file that is being made."""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

Lines = list[str]
COMBINATIONS = 8
"""Beyond so many combinations of settings, attributes are shared."""


def indent(lines: Iterable[str], by: int = 1) -> Lines:
    """The lines, deeper."""
    return ["    " * by + line if line else line for line in lines]


@dataclass
class Sheet:
    """The file in the making. Every choice of a shape goes through `choose`, which notes it."""

    seed: int
    shapes: set[str] = field(default_factory=set)
    """The shapes that the file is made of: `group/name`."""
    functions: list[Lines] = field(default_factory=list)
    """Module-level functions and classes before the model."""
    methods: Lines = field(default_factory=list)
    """The model's methods besides `__init__` and `forward`."""
    init: Lines = field(default_factory=list)
    """Statements of the model's `__init__`."""
    before: Lines = field(default_factory=list)
    """Statements of the model's `forward` before its first loop."""
    settings: dict[str, str] = field(default_factory=dict)
    """Attribute to the values to try, as source."""
    arguments: dict[str, bool] = field(default_factory=dict)
    """The model's arguments besides its states: whether each is required."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.used: set[str] = set()

    def choose(self, group: str, *options: str) -> str:
        """One of the options, noted as the shape `group/option`; `option*3` is three times as likely."""
        names = [option.partition("*")[0] for option in options]
        weights = [int(option.partition("*")[2] or 1) for option in options]
        chosen = self.random.choices(names, weights)[0]
        self.shapes.add(f"{group}/{chosen}")
        return chosen

    def note(self, shape: str) -> None:
        """Notes a shape that was not chosen from a group."""
        self.shapes.add(shape)

    def chance(self, probability: float) -> bool:
        """True now and then."""
        return self.random.random() < probability

    def name(self, stem: str) -> str:
        """The stem, numbered when it is taken."""
        name, number = stem, 1
        while name in self.used:
            number += 1
            name = f"{stem}{number}"
        self.used.add(name)
        return name

    def setting(self, stem: str, values: str, initial: str) -> str:
        """An attribute of the model that takes several values; returns the expression that reads it.

        An earlier attribute does it when the combinations become too many.
        """
        same = [name for name, others in list(self.settings.items())[1:] if others == values]
        if same and self.combinations() >= COMBINATIONS:
            return f"self.{self.random.choice(same)}"
        name = self.name(stem)
        self.settings[name] = values
        self.init.append(f"self.{name} = {initial}")
        return f"self.{name}"

    def combinations(self) -> int:
        """How many choices of the settings there are."""
        return math.prod(len(ast.literal_eval(values)) for values in self.settings.values())

    def function(self, lines: Lines) -> None:
        """Adds a module-level function or class."""
        self.functions.append(lines)

    def method(self, lines: Lines) -> None:
        """Adds a method to the model."""
        self.methods += ["", *lines]
