"""Whether two values of one iteration are the same, are not, or may be either.

A value is compared by what it is made of. `False` is said only where the values differ for certain in some run: two
inputs, a literal against something that isn't one, a value against what an operation makes of it. What is merely
spelled in another way (a view against a reshape, a helper that may return what it is given) stays open.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.machine import METADATA, TYPE_TESTS
from conformance.callpaths.trace import Trace
from conformance.callpaths.values import Value, children, walk

KEEP = frozenset(
    """
    to type type_as contiguous clone detach cuda cpu npu float half double bfloat16 long int bool requires_grad_
    """.split()  # noqa: SIM905
)
"""Methods that give the tensor that they are called on, maybe elsewhere or of another type."""
_CHANGE = frozenset(
    """
    add sub mul div neg abs exp log pow sqrt rsqrt square sin cos sigmoid tanh relu softmax clamp clip round
    floor mean sum max min std var norm cumsum matmul mm bmm addmm lerp masked_fill where unsqueeze squeeze view
    reshape flatten unflatten permute transpose t movedim repeat repeat_interleave expand expand_as chunk split
    unbind select narrow roll flip gather index_select scatter tile pad sort topk argmax argmin fill_ zero_ add_
    sub_ mul_ div_ copy_ logical_not logical_and logical_or eq ne lt le gt ge bitwise_not new_zeros new_ones
    new_full new_empty
    """.split()  # noqa: SIM905
)
"""Methods that give another tensor."""
_ARITHMETIC = frozenset("+ - * / // % ** @ << >> & | ^ u- ~".split())  # noqa: SIM905
_OPEN = frozenset(
    """
    unknown unbound escaped absent iteration raises finished stopped pick star union merged grown name
    """.split()  # noqa: SIM905
)
"""Values of which too little is known."""
_LEAVES = frozenset({"param", "free"})
_CARRIED = frozenset({"mu", "out"})
_MOST = 400
"""Pairs of parts that are looked at for one answer."""


class Sameness:
    """Compares values of two paths that stand for one another.

    `loops` are those that both paths run in: what such a loop carries is one value for both. What another loop carries
    is taken for what it starts with, since both paths' first iteration gets the same. `start` is the serial of the
    first loop that isn't common; None where all are.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        loops: Iterable[int],
        mine: Assumptions,
        theirs: Assumptions,
        start: int | None,
        trace: Trace,
    ) -> None:
        self._interpreter = interpreter
        self._values = interpreter.values
        self._loops = frozenset(loops)
        self._assumptions = self._sides = (mine, theirs)
        self._start = start
        self._trace = trace
        self._plain: dict[Value, Value] = {}
        self._answers: dict[tuple[Value, Value], bool | None] = {}
        self._origins: dict[Value, frozenset[Value] | None] = {}
        self._makings: dict[tuple[Value, Value], bool | None] = {}
        self._left = 0

    def same(self, first: Value, second: Value) -> bool | None:
        """True, False, or None where that isn't certain."""
        if first is second:
            return True
        mine, theirs = self._assumptions
        answers = set()
        # What the one path passes, were it taken, against the other; and both under what holds on either.
        for self._sides in ((mine, theirs), (mine, mine), (theirs, theirs)):
            self._left = _MOST
            self._answers.clear()
            answer = self._compare(first, second)
            if answer is True:
                return True
            answers.add(answer)
        return False if answers == {False} else None

    def is_one(self, first: Value, second: Value) -> bool:
        """Whether the values are plainly one, without a look at what they are made of: far cheaper than `same`."""
        if first is second:
            return True
        mine, theirs = self._assumptions
        values = self._values
        for one, other in ((mine, theirs), (mine, mine), (theirs, theirs)):
            left, right = self._simple(one.reduce(first)), self._simple(other.reduce(second))
            if left is right:
                return True
            if left.op == right.op and values.canonical(left) is values.canonical(right):
                return not (left.loops | right.loops) & self._loops and not self._carries(left)
        return False

    def _compare(self, first: Value, second: Value) -> bool | None:
        first = self._simple(self._sides[0].reduce(first))
        second = self._simple(self._sides[1].reduce(second))
        if first is second:
            return True
        key = (first, second)
        if key not in self._answers:
            self._left -= 1
            if self._left < 0:
                return None
            self._answers[key] = None  # while it leads back to itself
            self._answers[key] = self._find(first, second)
        return self._answers[key]

    def _simple(self, value: Value) -> Value:
        """The value without what changes nothing, and what a loop of one path carries as it was before the loop."""
        found = self._plain.get(value)
        if found is not None:
            return found
        self._plain[value] = value
        result = value
        op = value.op
        if op == "call" and value.args[0].op == "attr" and value.args[0].args[1] in KEEP:
            result = self._simple(value.args[0].args[0])
        elif op == "mu" and value.args[0] not in self._loops and not self._comes_from_loop(value.args[2]):
            result = self._simple(value.args[2])
        elif op == "state":
            result = self._simple(value.args[1])
        elif op == "item":
            base = self._simple(value.args[0])
            if base.op == "many" and len(base.args) == 1 and value.args[1].op == "index":
                result = self._simple(base.args[0])  # as a loop over the list gives it
            elif base is not value.args[0]:
                result = self._interpreter.item(base, value.args[1])
                result = self._simple(result) if result is not value else result
        elif op == "elem" and value.args[0] not in self._loops:
            result = self._values.canonical(value)
        self._plain[value] = result
        return result

    def _find(self, first: Value, second: Value) -> bool | None:
        values = self._values
        if values.canonical(first) is values.canonical(second) and not (first.loops | second.loops) & self._loops:
            return True if not self._carries(first) else None
        if first.op == "phi" or second.op == "phi":
            return self._choices(first, second)
        if first.op in _OPEN or second.op in _OPEN:
            return self._open(first, second)
        if self._is_foreign(first) or self._is_foreign(second):
            return None
        results = self._result_of(first), self._result_of(second)
        if None not in results and results != (first, second) and _callee(results[0]) is _callee(results[1]):
            return None  # how the result of a block is taken apart is said where it is called
        made = self._made_of(first, second), self._made_of(second, first)
        if True in made:
            return False
        if first.op in _CARRIED or second.op in _CARRIED:
            if self._is_state(first, second) or self._is_state(second, first):
                return False
            # What a loop carries may still be what it started with.
            before = [value.args[2] if value.op in _CARRIED else value for value in (first, second)]
            return False if self._compare(*before) is False else None
        if first.op == "const" or second.op == "const":
            return self._constants(first, second)
        if {first.op, second.op} == {"elem", "item"}:
            elem, item = (first, second) if first.op == "elem" else (second, first)
            if item.args[1].op == "index":
                return self._compare(elem.args[1], item.args[0])
            return None
        if first.op == second.op:
            answer = self._alike(first, second)
            if answer is not None:
                return answer
        return None if False in made else self._by_inputs(first, second)

    def _comes_from_loop(self, value: Value) -> bool:
        """Whether a value was made in a loop that only one path runs in, or after it."""
        return any(part.op in ("out", "elem", "index") and self._is_inside(part.args[0]) for part in walk(value, _MOST))

    def _is_inside(self, loop: int) -> bool:
        return self._start is not None and loop >= self._start

    def _is_state(self, value: Value, other: Value) -> bool:
        """Whether each iteration of a common loop makes a value anew, by a block, and the other isn't made of that."""
        if value.op != "mu" or value.args[0] not in self._loops:
            return False
        loop, name = value.args[:2]
        left = self._trace.left.get((loop, name))
        if left is None:
            return False
        mine = [self._result_of(side.reduce(left)) for side in self._assumptions]
        if None in mine:
            return False
        parts = [part for part in walk(other, _MOST) if part.op in _CARRIED and part.args[0] == loop]
        if not parts:
            return not any(part.op in _OPEN for part in walk(other, _MOST))
        if other.op != "mu":
            return False
        # Two names of which each gets its own item of one result.
        theirs = self._trace.left.get((loop, other.args[1]))
        if theirs is None or theirs is left:
            return False
        return all(self._are_two_items(side.reduce(left), side.reduce(theirs)) for side in self._assumptions)

    @staticmethod
    def _are_two_items(first: Value, second: Value) -> bool:
        return (
            first.op == second.op == "item"
            and first.args[0] is second.args[0]
            and first.args[1].op == second.args[1].op == "const"
            and first is not second
        )

    def _open(self, first: Value, second: Value) -> bool | None:
        """Values of which little is known: a literal is neither a filled container nor any of known alternatives."""
        for value, other in ((first, second), (second, first)):
            if other.op != "const":
                continue
            if value.op in ("grown", "merged", "union"):
                return False
            if value.op == "pick":
                return False if all(self._compare(part, other) is False for part in value.args[1]) else None
        return None

    def _result_of(self, value: Value) -> Value | None:
        """The call of a block of which a value is the result, or a part of it."""
        while value.op in ("item", "attr"):
            value = value.args[0]
        return value if value.op == "call" and value.args[0] in self._trace.judged else None

    def _carries(self, value: Value) -> bool:
        return any(part.op in _CARRIED for part in walk(value, _MOST))

    def _is_foreign(self, value: Value) -> bool:
        """Whether a value is one, or a part of one, of a loop that only one path runs in."""
        while value.op in ("item", "attr"):
            value = value.args[0]
        return value.op in (*_CARRIED, "index") and value.args[0] not in self._loops

    def _choices(self, first: Value, second: Value) -> bool | None:
        if first.op == second.op and self._compare(first.args[0], second.args[0]) is True:
            return _all(self._compare(a, b) for a, b in zip(first.args[1:], second.args[1:], strict=True))
        found: bool | None = None
        for choice, other in ((first, second), (second, first)):
            if choice.op != "phi":
                continue
            sides = {self._compare(side, other) for side in choice.args[1:] if side.op not in ("unbound", "absent")}
            if sides == {True}:
                return True
            if sides == {False} or (not self._is_lenient(choice) and self._differs_where(sides, other)):
                found = False
        return found

    def _is_lenient(self, choice: Value) -> bool:
        """Whether a choice with one equal side is let go: other loops, and tests of a type, tell too little."""
        return self._start is not None or any(_is_type_test(part) for part in walk(choice.args[0], _MOST))

    @staticmethod
    def _differs_where(sides: set[bool | None], other: Value) -> bool:
        """Whether one side of a choice differs, and the other value isn't a choice that may go with it."""
        return False in sides and (other.op != "phi" or True in sides)

    def _constants(self, first: Value, second: Value) -> bool | None:
        if first.op == second.op:
            return _are_equal_numbers(first, second)
        other = second if first.op == "const" else first
        literal = first if first.op == "const" else second
        if other.op == "attr" and other.args[0].op == "self":
            stored = self._interpreter.attribute_values(other.args[0].args[0], other.args[1])
            if literal in stored and not self._interpreter.stores(other.args[0].args[0]).get(other.args[1]):
                return None
        return False

    def _alike(self, first: Value, second: Value) -> bool | None:
        """Values of one kind: the same where all parts are, different where one part is."""
        op = first.op
        if op == "param":
            return False if "init" not in (first.args[0], second.args[0]) else None
        if op == "attr":
            return self._attributes(first, second)
        if op == "call":
            return self._calls(first, second)
        if op in ("op", "cmp"):
            kind, *left = first.args
            other, *right = second.args
            if kind != other:
                return None
            pairs = (left[0], right[0]) if op == "op" else (tuple(left), tuple(right))
            return self._pairwise(*pairs)
        if op == "not":
            return self._compare(first.args[0], second.args[0])
        if op == "item":
            parts = [self._compare(a, b) for a, b in zip(first.args, second.args, strict=True)]
            return None if parts == [False, False] or (False in parts and None in parts) else _all(parts)
        if op == "elem":
            return self._compare(first.args[1], second.args[1])
        if op in ("and", "or", "tuple", "list", "many"):
            if len(first.args) != len(second.args):
                is_open = any(part.op == "star" for part in (*first.args, *second.args))
                return False if op in ("tuple", "list") and not is_open else None
            return self._pairwise(first.args, second.args)
        if op == "dict":
            left_keys, right_keys = dict(first.args[0]), dict(second.args[0])
            if left_keys.keys() != right_keys.keys():
                return False if all(key.op == "const" for key in (*left_keys, *right_keys)) else None
            return self._pairwise(tuple(left_keys.values()), tuple(right_keys[key] for key in left_keys))
        if op == "slice":
            bounds = [
                (a or self._values.none, b or self._values.none) for a, b in zip(first.args, second.args, strict=True)
            ]
            return _all(self._compare(a, b) for a, b in bounds)
        return None

    def _pairwise(self, first: tuple[Value, ...], second: tuple[Value, ...]) -> bool | None:
        if len(first) != len(second):
            return None
        return _all(self._compare(a, b) for a, b in zip(first, second, strict=True))

    def _attributes(self, first: Value, second: Value) -> bool | None:
        owner, name = first.args
        other, another = second.args
        base = self._compare(owner, other)
        if name == another or base is not True:
            return base if name == another else None
        if owner.op != "self":
            return None if owner.op in ("ref", "module") else False
        cls = owner.args[0]
        stored = [self._interpreter.attribute_value(cls, n) for n in (name, another)]
        if None in stored or stored[0] is stored[1]:
            return None
        return False

    def _calls(self, first: Value, second: Value) -> bool | None:
        (callee, given, named), (other, taken, others) = first.args, second.args
        which = self._compare(callee, other) if callee is not other else True
        if which is not True:
            is_module = all(c.op == "attr" and c.args[0].op == "self" for c in (callee, other))
            return which if is_module or self._is_method(callee, other) else None
        if len(given) != len(taken) or [n for n, _ in named] != [n for n, _ in others]:
            common = _all(self._compare(a, b) for a, b in zip(given, taken, strict=False))
            return False if common is False and callee not in self._trace.judged else None
        parts = [self._compare(a, b) for a, b in zip(given, taken, strict=True)]
        parts += [self._compare(a[1], b[1]) for a, b in zip(named, others, strict=True)]
        # What a block gives differs where what it gets does: that is said where it is called.
        return None if callee in self._trace.judged and _all(parts) is False else _all(parts)

    def _is_method(self, first: Value, second: Value) -> bool:
        """The same method of two values: of different values it gives different ones, unless it asks for metadata."""
        return (
            first.op == second.op == "attr"
            and first.args[1] == second.args[1]
            and first.args[1] not in METADATA
            and self._by_inputs(first, second) is False
        )

    def _made_of(self, whole: Value, part: Value) -> bool | None:
        """Whether one value is made of another by something that changes it; None when it isn't made of it at all."""
        key = (whole, part)
        if key not in self._makings:
            self._makings[key] = self._find_making(whole, part)
        return self._makings[key]

    def _find_making(self, whole: Value, part: Value) -> bool | None:
        best: bool | None = None
        stack = [(whole, False)]
        seen: set[tuple[Value, bool]] = set()
        while stack:
            value, changed = stack.pop()
            value = self._simple(value)
            if value is part:
                if changed:
                    return True
                best = False
                continue
            if (value, changed) in seen or len(seen) > _MOST:
                continue
            seen.add((value, changed))
            op = value.op
            if op == "attr":
                if value.args[1] not in METADATA:
                    stack.append((value.args[0], True))
            elif op == "item":
                stack.append((value.args[0], True))
            elif op == "elem":
                stack.append((value.args[1], True))
            elif op in ("tuple", "list", "many"):
                stack.extend((item, True) for item in value.args)
            elif op == "op":
                stack.extend((operand, changed or value.args[0] in _ARITHMETIC) for operand in value.args[1])
            elif op in ("phi", "or", "and"):
                stack.extend((side, changed) for side in (value.args[1:] if op == "phi" else value.args))
            elif op == "call":
                callee, given, named = value.args
                if callee.op == "attr" and callee.args[0].op not in ("ref", "module", "class"):
                    is_module = self._is_module(callee)
                    stack.append((callee.args[0], changed or callee.args[1] in _CHANGE))
                    stack.extend((argument, changed or is_module) for argument in given)
                    stack.extend((argument, changed or is_module) for _, argument in named)
                else:
                    is_torch = callee.op == "ref" and callee.args[0].startswith("torch.")
                    stack.extend((argument, changed or is_torch) for argument in given)
                    stack.extend((argument, changed or is_torch) for _, argument in named)
        return best

    def _is_module(self, callee: Value) -> bool:
        return bool(self._interpreter.classes_of(callee))

    def _by_inputs(self, first: Value, second: Value) -> bool | None:
        """Values that are made of different inputs differ; of the same ones they may be equal."""
        mine, theirs = self._inputs(first), self._inputs(second)
        if mine is None or theirs is None or not mine or not theirs:
            return None
        return False if mine != theirs else None

    def _inputs(self, value: Value) -> frozenset[Value] | None:
        """The parameters and attributes of the model that a value is made of; None where some of it isn't known."""
        if value not in self._origins:
            self._origins[value] = self._find_inputs(value)
        return self._origins[value]

    def _find_inputs(self, value: Value) -> frozenset[Value] | None:
        found: set[Value] = set()
        seen: set[Value] = set()
        stack = [value]
        while stack:
            current = self._simple(stack.pop())
            if current in seen:
                continue
            seen.add(current)
            if len(seen) > _MOST or current.op in _OPEN or self._is_foreign(current):
                return None
            if current.op in _LEAVES:
                found.add(current)
            elif current.op in _CARRIED:
                stack.append(current.args[2])
            elif current.op == "attr":
                if current.args[1] in METADATA:
                    continue
                if current.args[0].op == "self" and not self._is_module(current):
                    found.add(current)
                stack.append(current.args[0])
            elif current.op == "call":
                callee, given, named = current.args
                if callee.op == "attr" and callee.args[1] in METADATA:
                    continue
                if callee in self._trace.judged:
                    # All elements in a row are what a call of their container runs.
                    found.add(self._simple(callee.args[1]) if callee.op == "elem" else callee)
                    continue
                stack.extend((callee, *given, *(argument for name, argument in named if name not in METADATA)))
            else:
                stack.extend(children(current))
        return frozenset(found)


def _callee(value: Value | None) -> object:
    return None if value is None else value.args[0]


def _is_type_test(value: Value) -> bool:
    """`isinstance(x, C)` and the like: what a helper does for whatever it may get."""
    return value.op == "call" and value.args[0].op == "ref" and value.args[0].args[0] in TYPE_TESTS


def _all(answers: Iterable[bool | None]) -> bool | None:
    """True where all are, False where one is."""
    result: bool | None = True
    for answer in answers:
        if answer is False:
            return False
        if answer is None:
            result = None
    return result


def _are_equal_numbers(first: Value, second: Value) -> bool:
    """1 and 1.0, but not True."""
    numbers = (first.args[1], second.args[1])
    return all(type(number) in (int, float) for number in numbers) and numbers[0] == numbers[1]
