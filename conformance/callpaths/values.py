"""Symbolic values: an expression together with the definitions that reach it.

Values are interned, so two spellings of one value are one object and comparing is `is`. A value is an operator and its
arguments; see `Values` for the makers, which also simplify what is certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

TEXT_LIMIT = 160
"""Longest rendering of a value, in characters."""


class Value:
    """One interned value. `op` tells the kind, `args` what it is made of; both are for this package."""

    __slots__ = ("_loops", "_parts", "_text", "_truth", "args", "op")

    def __init__(self, op: str, args: tuple[Any, ...]) -> None:
        self.op = op
        self.args = args
        self._text: str | None = None
        self._loops: frozenset[int] | None = None
        self._parts: tuple[Value, ...] | None = None
        self._truth: bool | None = None
        """For a chain of operands: the truth that it has for certain, found when it is made."""

    @property
    def text(self) -> str:
        """The value in the manner of source text, cut at `TEXT_LIMIT` characters."""
        if self._text is None:
            text = render(self, 0)
            self._text = text if len(text) <= TEXT_LIMIT else f"{text[: TEXT_LIMIT - 1]}…"
        return self._text

    @property
    def loops(self) -> frozenset[int]:
        """Serials of the loops on whose iteration the value depends."""
        if self._loops is None:
            # Bottom up without recursion: a chain of values may be thousands long.
            stack = [self]
            while stack:
                current = stack[-1]
                open_parts = [part for part in children(current) if part._loops is None]
                if open_parts:
                    stack.extend(open_parts)
                    continue
                stack.pop()
                if current._loops is None:
                    own = frozenset((current.args[0],)) if current.op in _LOOP_OPS else _NO_LOOPS
                    current._loops = own.union(*(part._loops or _NO_LOOPS for part in children(current)))
        return self._loops or _NO_LOOPS

    def __repr__(self) -> str:
        return f"<{self.op} {self.text}>"


_LOOP_OPS = frozenset({"mu", "elem", "index"})
_NO_LOOPS: frozenset[int] = frozenset()


def children(value: Value) -> tuple[Value, ...]:
    """Direct parts of a value."""
    parts = value._parts
    if parts is None:
        found: list[Value] = []
        for arg in value.args:
            if type(arg) is Value:
                found.append(arg)
            elif type(arg) is tuple:
                for item in arg:
                    if type(item) is Value:
                        found.append(item)
                    elif type(item) is tuple:
                        found.extend([part for part in item if type(part) is Value])
        parts = value._parts = tuple(found)
    return parts


def walk(value: Value, limit: int = 2000) -> Iterator[Value]:
    """The value and its parts, each once, at most `limit` of them."""
    seen: set[Value] = set()
    stack = [value]
    while stack and len(seen) < limit:
        current = stack.pop()
        if current not in seen:
            seen.add(current)
            yield current
            parts = children(current)
            if parts:
                stack.extend(parts)


def alternatives(value: Value) -> Iterator[Value]:
    """The values that a choice of choices is one of; the value itself where it is none."""
    if value.op == "phi":
        yield from alternatives(value.args[1])
        yield from alternatives(value.args[2])
    elif value.op == "pick":
        for part in value.args[1]:
            yield from alternatives(part)
    else:
        yield value


_BOOLEAN_OPS = frozenset({"not", "and", "or", "cmp"})


class Values:
    """Makes and interns the values of one run."""

    def __init__(self) -> None:
        self._pool: dict[tuple[Any, ...], Value] = {}
        self._canonical: dict[Value, Value] = {}
        self._compared: dict[Value, Value] = {}
        """`phi is None`, since choices of choices share their parts."""
        self.implied: dict[Value, tuple[tuple[Value, bool], ...]] = {}
        """What a truthy flag that a loop carries says: the conditions under which alone it is set."""
        self.kept: dict[Value, Value] = {}
        """What a loop changes in place only is the same object still: its symbol, and what it was before."""
        self.none = self.const(None)
        self.true = self.const(True)
        self.false = self.const(False)
        self.absent = self.make("absent")
        """A keyword that is not passed on one side of a condition."""

    def make(self, op: str, *args: Any) -> Value:
        """The one value of this operator and these arguments; the arguments must be hashable."""
        key = (op, *args)
        found = self._pool.get(key)
        if found is None:
            found = self._pool[key] = Value(op, args)
            if op in ("and", "or"):
                found._truth = _chain_truth(op, args)
        return found

    def canonical(self, value: Value) -> Value:
        """The value whatever the loop: symbols of an iteration become those of any iteration.

        Two loops over one container, one on either side of a gate, have different symbols for the same things.
        """
        if not value.loops:
            return value
        found = self._canonical.get(value)
        if found is None:
            self._canonical[value] = value
            args = value.args
            if value.op in _LOOP_OPS or value.op == "pick":
                args = (0, *args[1:])
            found = self.make(value.op, *(self._canonical_part(arg) for arg in args))
            self._canonical[value] = found
        return found

    def _canonical_part(self, part: Any) -> Any:
        if type(part) is Value:
            return self.canonical(part)
        if type(part) is tuple:
            return tuple(self._canonical_part(item) for item in part)
        return part

    def const(self, constant: object) -> Value:
        """A literal. 1, 1.0 and True are three values."""
        return self.make("const", type(constant).__name__, constant)

    def negate(self, value: Value) -> Value:
        """`not value`."""
        if value.op == "not":
            inner: Value = value.args[0]
            # `not not x` is a truth value, not x; as a condition both are one.
            return inner
        known = truth_of(value)
        if known is not None:
            return self.false if known else self.true
        return self.make("not", value)

    def all_of(self, parts: Iterable[Value]) -> Value:
        """`a and b and …`, as a condition."""
        flat: list[Value] = []
        for part in _spread("and", parts):
            known = truth_of(part)
            if known is False:
                return self.false
            if known is None:
                flat.append(part)
        flat = list(dict.fromkeys(flat))
        if not flat:
            return self.true
        return flat[0] if len(flat) == 1 else self.make("and", *flat)

    def any_of(self, parts: Iterable[Value]) -> Value:
        """`a or b or …`, as a condition."""
        flat: list[Value] = []
        for part in _spread("or", parts):
            known = truth_of(part)
            if known is True:
                return self.true
            if known is None:
                flat.append(part)
        flat = list(dict.fromkeys(flat))
        if not flat:
            return self.false
        return flat[0] if len(flat) == 1 else self.make("or", *flat)

    def chain(self, kind: str, parts: list[Value]) -> Value:
        """`a and b and …` or `a or b or …` as Python computes it: the value of the operand that decides."""
        decisive = kind == "or"
        kept: list[Value] = []
        for index, part in enumerate(parts):
            known = truth_of(part)
            if known is decisive or index == len(parts) - 1:
                kept.append(part)
                break
            if known is None and (not kept or kept[-1] is not part):
                kept.append(part)
        flat = list(_spread(kind, kept))
        return flat[0] if len(flat) == 1 else self.make(kind, *flat)

    def phi(self, test: Value, body: Value, orelse: Value) -> Value:
        """`body if test else orelse`."""
        if body is orelse:
            return body
        known = truth_of(test)
        if known is not None:
            return body if known else orelse
        if test.op == "not":
            test, body, orelse = test.args[0], orelse, body
        if body is self.true and orelse is self.false:
            return test
        if body is self.false and orelse is self.true:
            return self.negate(test)
        if orelse is self.false and (body.op in _BOOLEAN_OPS or body is self.true):
            return self.all_of((test, body))
        if body is self.false and orelse.op in _BOOLEAN_OPS:
            return self.all_of((self.negate(test), orelse))
        if body is self.true and orelse.op in _BOOLEAN_OPS:
            return self.any_of((test, orelse))
        if orelse is self.true and body.op in _BOOLEAN_OPS:
            return self.any_of((self.negate(test), body))
        return self.make("phi", test, body, orelse)

    def compare(self, kind: str, left: Value, right: Value) -> Value:
        """A comparison in one form: `is not`, `!=`, `not in`, `>`, `>=` and `<=` are spelled with the others."""
        if kind == "is not":
            return self.negate(self.compare("is", left, right))
        if kind == "!=":
            return self.negate(self.compare("==", left, right))
        if kind == "not in":
            return self.negate(self.compare("in", left, right))
        if kind == ">":
            return self.compare("<", right, left)
        if kind == ">=":
            return self.negate(self.compare("<", left, right))
        if kind == "<=":
            return self.negate(self.compare("<", right, left))
        if left.op == "const" and right.op == "const":
            known = _compare_constants(kind, left.args[1], right.args[1])
            if known is not None:
                return self.true if known else self.false
        if kind == "is" and right is self.none:
            left = self.kept.get(left, left)
            if left.op in _NEVER_NONE:
                return self.false
            if left.op == "phi":
                found = self._compared.get(left)
                if found is None:
                    test, body, orelse = left.args
                    found = self.phi(test, self.compare(kind, body, right), self.compare(kind, orelse, right))
                    self._compared[left] = found
                return found
        if kind == "==" and left is right and left.op == "const":
            return self.true
        return self.make("cmp", kind, left, right)


_NEVER_NONE = frozenset(
    {"tuple", "list", "dict", "closure", "function", "class", "bound", "partial", "inst", "many", "index"}
)


def _spread(kind: str, parts: Iterable[Value]) -> Iterator[Value]:
    """The operands with those of nested chains of the same kind."""
    for part in parts:
        if part.op == kind:
            yield from part.args
        else:
            yield part


def _compare_constants(kind: str, left: object, right: object) -> bool | None:
    try:
        if kind == "==":
            return bool(left == right)
        if kind == "is":
            if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
                return left is right
            return None
        if kind == "<":
            return bool(left < right)  # type: ignore[operator]
        if kind == "in":
            return bool(left in right)  # type: ignore[operator]
    except TypeError:
        return None
    return None


def truth_of(value: Value) -> bool | None:
    """Whether the value is truthy whatever the setting; None when that isn't certain."""
    op = value.op
    if op == "const":
        return bool(value.args[1])
    if op in ("tuple", "list"):
        return bool(value.args) if not any(item.op == "star" for item in value.args) else None
    if op == "dict":
        return bool(value.args[0])
    if op in ("closure", "function", "class", "bound", "partial"):
        return True
    if op == "absent":
        return False
    return value._truth


def _chain_truth(op: str, parts: Iterable[Value]) -> bool | None:
    decisive = op == "or"
    known = [truth_of(part) for part in parts]
    if decisive in known:
        return decisive
    return None if None in known else not decisive


# Rendering


def _operand(value: Value, depth: int) -> str:
    """A part of a larger expression, in parentheses where it needs them."""
    text = render(value, depth + 1)
    is_compound = value.op in ("cmp", "not") or (value.op == "op" and len(value.args[1]) == 2)
    return f"({text})" if is_compound else text


def _compared(value: Value, depth: int) -> str:
    """An operand of a comparison: arithmetic binds closer."""
    return render(value, depth + 1) if value.op == "op" else _operand(value, depth)


def render(value: Value, depth: int) -> str:
    """Source-like text of a value; deep parts become `…`."""
    if depth > 8:
        return "…"
    op, args = value.op, value.args
    if op == "const":
        return repr(args[1]) if not isinstance(args[1], type(...)) else "..."
    if op in ("param", "free", "name"):
        return str(args[-1])
    if op == "attr":
        return f"{_operand(args[0], depth)}.{args[1]}"
    if op == "item":
        return f"{_operand(args[0], depth)}[{render(args[1], depth + 1)}]"
    if op == "slice":
        lower, upper, step = ("" if p is None else render(p, depth + 1) for p in args)
        return f"{lower}:{upper}:{step}" if step else f"{lower}:{upper}"
    if op == "ref":
        return str(args[0]).rsplit(".", 1)[-1]
    if op in ("function", "class"):
        return str(args[0].facts.name)
    if op == "closure":
        return str(args[0].name)
    if op == "bound":
        return f"{render(args[0], depth + 1)}.{args[1].facts.name}"
    if op == "applied":
        block = "" if args[1] is None else render(args[1], depth + 1)
        return f"{render(args[0], depth + 1)}({block})"
    if op == "partial":
        return f"partial({render(args[0], depth + 1)}, …)"
    if op in ("tuple", "list", "many"):
        inside = ", ".join(render(item, depth + 1) for item in args)
        if op == "many":
            return f"[{inside}, …]"
        return f"({inside}{',' if len(args) == 1 else ''})" if op == "tuple" else f"[{inside}]"
    if op == "dict":
        return "{" + ", ".join(f"{render(k, depth + 1)}: {render(v, depth + 1)}" for k, v in args[0]) + "}"
    if op == "star":
        return f"*{render(args[0], depth + 1)}"
    if op == "elem":
        return f"{render(args[1], depth + 1)}[*]"
    if op == "index":
        return str(args[1])
    if op in ("mu", "out"):
        return str(args[1])
    if op == "escaped":
        return render(args[0], depth)
    if op == "state":
        return render(args[1], depth)
    if op == "pick":
        return " | ".join(render(part, depth + 1) for part in args[1])
    if op == "phi":
        test, body, orelse = (render(part, depth + 1) for part in args)
        return f"({body} if {test} else {orelse})"
    if op == "absent":
        return "absent"
    if op == "union":
        return "{" + ", ".join(f"**{_operand(part, depth)}" for part in args) + "}"
    if op == "merged":
        base, pairs = args
        if all(key.op == "const" and isinstance(key.args[1], str) for key, _ in pairs):
            inside = ", ".join(f"{render(k, depth + 1)}: {render(v, depth + 1)}" for k, v in pairs)
            return f"{{**{_operand(base, depth)}, {inside}}}"
        return render(base, depth)  # changed in place
    if op == "grown":
        inside = ", ".join(render(item, depth + 1) for item in args[1])
        return f"[*{_operand(args[0], depth)}, {inside}, …]" if inside else render(args[0], depth)
    if op in ("enumerate", "zip", "range", "items"):
        return f"{op}({', '.join(render(part, depth + 1) for part in args)})"
    if op == "not":
        inner = args[0]
        if inner.op == "cmp":
            kind, left, right = inner.args
            flipped = {"is": "is not", "==": "!=", "in": "not in"}.get(kind)
            if flipped:
                return f"{_compared(left, depth)} {flipped} {_compared(right, depth)}"
            if kind == "<":
                return f"{_compared(left, depth)} >= {_compared(right, depth)}"
        return f"not {_operand(inner, depth)}"
    if op in ("and", "or"):
        return "(" + f" {op} ".join(render(part, depth + 1) for part in args) + ")"
    if op == "cmp":
        return f"{_compared(args[1], depth)} {args[0]} {_compared(args[2], depth)}"
    if op == "call":
        function, arguments, keywords = args
        parts = [render(a, depth + 1) for a in arguments]
        parts += [f"{k}={render(v, depth + 1)}" if k else f"**{render(v, depth + 1)}" for k, v in keywords]
        return f"{_operand(function, depth)}({', '.join(parts)})"
    if op == "inst":
        return f"{render(args[0], depth + 1)}(…)"
    if op == "op":
        kind, operands = args
        if kind == "f-string":
            return 'f"…"'
        if kind == "set":
            return "{" + ", ".join(render(part, depth + 1) for part in operands) + "}"
        if kind == "dict-of":
            return f"{{{render(operands[0], depth + 1)}: {render(operands[1], depth + 1)}, …}}"
        if len(operands) == 2:
            return f"{_operand(operands[0], depth)} {kind} {_operand(operands[1], depth)}"
        if len(operands) == 1 and len(kind) == 1:
            return f"{kind}{_operand(operands[0], depth)}"
        return f"{kind}({', '.join(render(o, depth + 1) for o in operands)})" if operands else str(kind)
    if op == "unknown":
        return f"<{args[0]}>"
    if op == "raises":
        return "an exception is raised"
    if op == "iteration":
        return "an iteration returns"
    return op
