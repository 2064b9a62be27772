"""What one function says, without Python's syntax: a small tree of statements and expressions.

The nodes are named tuples: immutable, picklable, cheap to make. An expression that no analysis looks into is an `Op`
with its operands, so that equal expressions stay equal. Lines count from 1; columns are UTF-8 byte offsets as in `ast`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Span(NamedTuple):
    """Where a node stands."""

    line: int
    column: int
    end_line: int
    end_column: int


class Const(NamedTuple):
    value: object


class Name(NamedTuple):
    id: str


class Attr(NamedTuple):
    base: Expr
    name: str


class Item(NamedTuple):
    base: Expr
    key: Expr


class Slice(NamedTuple):
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


class Star(NamedTuple):
    """`*value` in a call, a display or a target."""

    value: Expr


class Keyword(NamedTuple):
    """`name=value` of a call; `**value` when the name is None."""

    name: str | None
    value: Expr


class Call(NamedTuple):
    function: Expr
    arguments: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    span: Span


class Display(NamedTuple):
    """A tuple, list or set display."""

    kind: str
    items: tuple[Expr, ...]


class Mapping(NamedTuple):
    """A dict display; a key of None is `**value`."""

    items: tuple[tuple[Expr | None, Expr], ...]


class Bool(NamedTuple):
    """`and` or `or`."""

    kind: str
    values: tuple[Expr, ...]


class Not(NamedTuple):
    value: Expr


class Compare(NamedTuple):
    """One comparison; chains are split."""

    kind: str
    left: Expr
    right: Expr


class Choice(NamedTuple):
    """`body if test else orelse`."""

    test: Expr
    body: Expr
    orelse: Expr


class Bind(NamedTuple):
    """`(name := value)`."""

    name: str
    value: Expr


class Generator(NamedTuple):
    target: Target
    iterable: Expr
    conditions: tuple[Expr, ...]


class Comprehension(NamedTuple):
    kind: str
    element: Expr
    key: Expr | None
    generators: tuple[Generator, ...]
    names: frozenset[str]
    """Names that the comprehension's own scope binds."""


class Lambda(NamedTuple):
    function: Function


class Yield(NamedTuple):
    value: Expr | None
    many: bool


class Op(NamedTuple):
    """Any other expression: an operator's name and its operands."""

    kind: str
    operands: tuple[Expr, ...]


Expr: TypeAlias = (
    Const
    | Name
    | Attr
    | Item
    | Slice
    | Star
    | Call
    | Display
    | Mapping
    | Bool
    | Not
    | Compare
    | Choice
    | Bind
    | Comprehension
    | Lambda
    | Yield
    | Op
)
"""Any expression."""

Target: TypeAlias = Name | Attr | Item | Display | Star
"""What can be assigned to."""


class Assign(NamedTuple):
    targets: tuple[Target, ...]
    value: Expr
    line: int
    augmented: bool = False
    """True for `x += y`, where the value is the sum: a list grows in place, under all of its names."""


class Evaluate(NamedTuple):
    """An expression statement."""

    value: Expr
    line: int


class If(NamedTuple):
    test: Expr
    body: Block
    orelse: Block
    line: int


class For(NamedTuple):
    target: Target
    iterable: Expr
    body: Block
    orelse: Block
    changed: frozenset[str]
    """Names and dotted attributes that the body, the target included, may re-bind or mutate."""
    kept: frozenset[str]
    """Those of them that nothing in the body re-binds: the object stays, whatever is done to it."""
    span: Span


class While(NamedTuple):
    test: Expr
    body: Block
    orelse: Block
    changed: frozenset[str]
    kept: frozenset[str]
    line: int


class Try(NamedTuple):
    body: Block
    handlers: tuple[Block, ...]
    orelse: Block
    final: Block
    line: int


class With(NamedTuple):
    items: tuple[tuple[Expr, Target | None], ...]
    body: Block
    line: int


class Return(NamedTuple):
    value: Expr | None
    line: int


class Raise(NamedTuple):
    line: int


class Jump(NamedTuple):
    """`break` or `continue`."""

    kind: str
    line: int


class Define(NamedTuple):
    """A nested `def`; `decorated` when its value isn't the plain function."""

    function: Function
    decorators: tuple[Expr, ...]
    line: int


class Delete(NamedTuple):
    names: tuple[str, ...]
    line: int


class Assert(NamedTuple):
    test: Expr
    line: int


class Import(NamedTuple):
    """An import inside a function: local name and what it stands for."""

    bindings: tuple[tuple[str, Imported], ...]
    line: int


Statement: TypeAlias = (
    Assign | Evaluate | If | For | While | Try | With | Return | Raise | Jump | Define | Delete | Assert | Import
)
Block: TypeAlias = tuple[Statement, ...]


class Imported(NamedTuple):
    """What an import binds: the module, and the attribute of it for `from` imports. `level` counts leading dots."""

    module: str
    attribute: str | None
    level: int


class Parameter(NamedTuple):
    name: str
    kind: str
    """`positional` (only), `any`, `variadic`, `keyword` (only) or `keywords`."""
    default: Expr | None
    annotation: str | None = None


class Function(NamedTuple):
    """A function summary."""

    name: str
    qualname: str
    parameters: tuple[Parameter, ...]
    body: Block
    locals: frozenset[str]
    globals: frozenset[str]
    nonlocals: frozenset[str]
    captured: frozenset[str]
    """Its own names that functions inside it read."""
    is_generator: bool
    is_async: bool
    span: Span
