"""Two spellings of one value are one value; one spelling of two values is two."""

from __future__ import annotations

import pytest

from conformance.callpaths.values import TEXT_LIMIT, Values, truth_of, walk
from tests.callpaths.looking import probe, snippets

PARAMETERS = "a, b, c, d=None, *args, **kwargs"


@pytest.mark.parametrize(
    "source",
    snippets("""
        x = a
        probe(x)  # <- one
        probe(a)  # <- two

        if b:
            x = c
        else:
            x = a
        probe(x)  # <- one
        probe(c if b else a)  # <- two

        x = a
        if not b:
            x = c
        probe(x)  # <- one
        probe(a if b else c)  # <- two

        probe(a if b is not None else c)  # <- one
        probe(c if b is None else a)  # <- two

        probe(a > b)  # <- one
        probe(b < a)  # <- two

        probe(not a <= b)  # <- one
        probe(a > b)  # <- two

        probe(a is not None)  # <- one
        probe(not a is None)  # <- two

        probe(a not in b)  # <- one
        probe(not (a in b))  # <- two

        probe(a != b)  # <- one
        probe(not a == b)  # <- two

        probe(1 < a < 3)  # <- one
        probe(1 < a and a < 3)  # <- two

        probe(getattr(a, "x"))  # <- one
        probe(a.x)  # <- two

        x, y = b, c
        probe(x)  # <- one
        probe(b)  # <- two

        pair = (b, c)
        probe(pair[1])  # <- one
        probe(c)  # <- two

        options = {"mask": b}
        options["mask"] = c
        probe(options["mask"])  # <- one
        probe(c)  # <- two

        def keep(x, extra=None):
            return x
        probe(keep(a, b))  # <- one
        probe(a)  # <- two

        probe((lambda x: x.y)(a))  # <- one
        probe(a.y)  # <- two

        x = a if True else b
        probe(x)  # <- one
        probe(a)  # <- two

        x = a
        for i in b:
            pass
        probe(x)  # <- one
        probe(a)  # <- two

        y = (x := a.b)
        probe(x)  # <- one
        probe(y)  # <- two

        probe(a(b, *(c,)))  # <- one
        probe(a(b, c))  # <- two

        probe(a(**{"x": b}))  # <- one
        probe(a(x=b))  # <- two

        probe(a and (b and c))  # <- one
        probe((a and b) and c)  # <- two

        if b:
            x = True
        else:
            x = False
        probe(x)  # <- one
        probe(True if b else False)  # <- two

        x = False
        if b is None and c:
            x = True
        probe(x)  # <- one
        probe(b is None and c)  # <- two

        probe(list([a, b])[0])  # <- one
        probe(a)  # <- two

        for i, x in enumerate(a):
            probe(x)  # <- one
            for y in [x]:
                probe(y)  # <- two

        probe(a(x=b, y=c))  # <- one
        probe(a(y=c, x=b))  # <- two
    """),
)
def test_same_value(source: str) -> None:
    seen = probe(source, PARAMETERS)
    assert seen.value("one") is seen.value("two")


@pytest.mark.parametrize(
    "source",
    snippets("""
        probe(a)  # <- one
        a = b
        probe(a)  # <- two

        probe(a)  # <- one
        a = a.to(b)
        probe(a)  # <- two

        probe(a)  # <- one
        a += b
        probe(a)  # <- two

        x = a
        for i in b:
            probe(x)  # <- one
            x = x + i
        probe(x)  # <- two

        probe(x := a)  # <- one
        for i in b:
            probe(x)  # <- two
            x = i

        for x in a:
            probe(x)  # <- one
        for x in a:
            probe(x)  # <- two

        for i in a:
            probe(i)  # <- one
            for i in b:
                pass
            probe(i)  # <- two

        x = a
        if b:
            x = c
        probe(x)  # <- one
        probe(a)  # <- two

        def inner():
            nonlocal a
            a = b
        probe(a)  # <- one
        inner()
        probe(a)  # <- two

        probe(a.x)  # <- one
        a.x = b
        probe(a.x)  # <- two

        probe(a.x)  # <- one
        a = b
        probe(a.x)  # <- two

        options = {"mask": a}
        probe(options)  # <- one
        options["mask"] = b
        probe(options)  # <- two

        probe(a)  # <- one
        try:
            a = b()
        except ValueError:
            pass
        probe(a)  # <- two

        probe(a)  # <- one
        with b as a:
            pass
        probe(a)  # <- two

        probe(1)  # <- one
        probe(True)  # <- two

        probe(1)  # <- one
        probe(1.0)  # <- two

        probe("1")  # <- one
        probe(1)  # <- two

        probe(a[0])  # <- one
        probe(a[False])  # <- two

        probe((a,))  # <- one
        probe([a])  # <- two

        probe(a and b)  # <- one
        probe(a or b)  # <- two

        probe(a - b)  # <- one
        probe(b - a)  # <- two

        probe(a < b)  # <- one
        probe(b < a)  # <- two

        def f():
            return a
        probe(f)  # <- one
        def f():
            return a
        probe(f)  # <- two

        probe(not not a)  # <- one
        probe(not a)  # <- two

        x = a
        while b:
            x = c
        probe(x)  # <- one
        probe(a)  # <- two

        probe(kwargs)  # <- one
        kwargs["mask"] = a
        probe(kwargs)  # <- two

        probe(kwargs)  # <- one
        kwargs.pop("mask", None)
        probe(kwargs)  # <- two

        # wrong: what is added leaves the object as it was
        probe(kwargs)  # <- one
        kwargs.update(mask=a)
        probe(kwargs)  # <- two

        probe(a or 2)  # <- one
        probe(True)  # <- two

        probe(a or 2)  # <- one
        probe(a or 3)  # <- two
    """),
)
def test_different_values(source: str) -> None:
    seen = probe(source, PARAMETERS)
    assert seen.value("one") is not seen.value("two")


@pytest.mark.parametrize(
    "source",
    snippets("""
        for x in a:
            probe(x)  # <- one
        for x in a:
            probe(x)  # <- two

        for i, x in enumerate(a):
            probe(i)  # <- one
        for i, x in enumerate(a):
            probe(i)  # <- two

        x = b
        for i in a:
            probe(x + 1)  # <- one
            x = x + i
        x = b
        for j in a:
            probe(x + 1)  # <- two
            x = x + j
    """),
)
def test_one_canonical_value_for_all_loops(source: str) -> None:
    """Two loops over one container, one on either side of a gate, have different symbols for the same things."""
    seen = probe(source, PARAMETERS)
    one, two = seen.value("one"), seen.value("two")
    assert one is not two
    assert seen.values.canonical(one) is seen.values.canonical(two)


def test_canonical_keeps_what_differs() -> None:
    seen = probe(
        """
        for x in a:
            probe(x)  # <- one
        for x in b:
            probe(x)  # <- two
        """
    )
    assert seen.values.canonical(seen.value("one")) is not seen.values.canonical(seen.value("two"))


def test_values_are_interned() -> None:
    values = Values()
    name = values.make("name", "module", "x")
    assert values.make("name", "module", "x") is name
    assert values.make("attr", name, "y") is values.make("attr", name, "y")
    assert values.const(1) is not values.const(True)
    assert values.const(1) is not values.const(1.0)
    assert values.const("a") is values.const("a")


def test_conditions_simplify() -> None:
    values = Values()
    x, y, z = (values.make("name", "module", name) for name in "xyz")
    assert values.negate(values.negate(x)) is x
    assert values.negate(values.true) is values.false
    assert values.all_of([]) is values.true
    assert values.any_of([]) is values.false
    assert values.all_of([x, x]) is x
    assert values.all_of([x, values.true]) is x
    assert values.all_of([x, values.false, y]) is values.false
    assert values.any_of([x, values.true]) is values.true
    assert values.all_of([x, values.all_of([y, z])]) is values.all_of([x, y, z])
    assert values.any_of([values.any_of([x, y]), z]) is values.any_of([x, y, z])
    assert values.phi(x, y, y) is y
    assert values.phi(values.true, x, y) is x
    assert values.phi(values.negate(x), y, z) is values.phi(x, z, y)
    assert values.phi(x, values.true, values.false) is x
    assert values.phi(x, values.false, values.true) is values.negate(x)


def test_comparisons_simplify() -> None:
    values = Values()
    x = values.make("name", "module", "x")
    one, two = values.const(1), values.const(2)
    assert values.compare("==", one, one) is values.true
    assert values.compare("==", one, two) is values.false
    assert values.compare("<", one, two) is values.true
    assert values.compare(">=", one, two) is values.false
    assert values.compare("is", values.none, values.none) is values.true
    assert values.compare("is", values.make("tuple", x), values.none) is values.false
    assert values.compare("is not", x, values.none) is values.negate(values.compare("is", x, values.none))
    assert values.compare(">", x, one) is values.compare("<", one, x)
    assert values.compare("<", values.const("a"), one) is values.make("cmp", "<", values.const("a"), one)
    phi = values.phi(x, values.none, one)
    assert values.compare("is", phi, values.none) is x
    assert values.compare("is", values.phi(x, one, two), values.none) is values.false


def test_truth() -> None:
    values = Values()
    x = values.make("name", "module", "x")
    assert truth_of(values.const(0)) is False
    assert truth_of(values.const("no")) is True
    assert truth_of(values.none) is False
    assert truth_of(values.make("tuple")) is False
    assert truth_of(values.make("tuple", x)) is True
    assert truth_of(values.make("tuple", values.make("star", x))) is None
    assert truth_of(values.absent) is False
    assert truth_of(x) is None


def test_text_is_cut() -> None:
    values = Values()
    value = values.make("tuple", *(values.const(f"item {number}") for number in range(100)))
    assert len(value.text) == TEXT_LIMIT
    assert value.text.endswith("…")
    deep = values.const(1)
    for _ in range(2000):
        deep = values.make("attr", deep, "x")
    assert "…" in deep.text


def test_walk_is_bounded() -> None:
    values = Values()
    deep = values.const(1)
    for _ in range(5000):
        deep = values.make("attr", deep, "x")
    assert sum(1 for _ in walk(deep, limit=100)) == 100
    assert values.const(1) in list(walk(values.make("tuple", values.const(1), values.const(1))))


def test_loops_on_which_a_value_depends() -> None:
    seen = probe(
        """
        for x in a:
            for y in x:
                probe(y, x, b)  # <- here
        """
    )
    inner, outer, free = (seen.value("here", index) for index in range(3))
    assert len(inner.loops) == 2
    assert len(outer.loops) == 1
    assert outer.loops < inner.loops
    assert not free.loops
