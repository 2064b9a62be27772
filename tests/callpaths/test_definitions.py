"""Reaching definitions: which values can reach a use, and under which conditions.

In each piece of source a comment says what reaches the call: `probe(x)  # == (c if b else a)`; a name that stands for
itself after a loop is whatever the loop left in it.
"""

from __future__ import annotations

import pytest

from tests.callpaths.looking import assert_values, snippets


@pytest.mark.parametrize(
    "source",
    snippets("""
            x = a
            probe(x)  # == a
            x = b
            probe(x)  # == b

            x = y = a
            probe(x, y)  # == a, a

            x: int = a
            y: int
            probe(x)  # == a

            x, y = a, b
            probe(x, y)  # == a, b
            x, y = y, x
            probe(x, y)  # == b, a

            (x, (y, z)) = a, (b, c)
            probe(x, y, z)  # == a, b, c

            [x, y] = (a, b)
            probe(x, y)  # == a, b

            first, *rest = a, b, c
            probe(first, rest)  # == a, [b, c]

            *rest, last = [a, b, c]
            probe(rest, last)  # == [a, b], c

            first, *middle, last = (a, b)
            probe(first, middle, last)  # == a, [], b

            x, y = a
            probe(x, y)  # == a[0], a[1]

            x = a.split(2)
            y, z = x
            probe(y, z, x[0])  # == a.split(2)[0], a.split(2)[1], a.split(2)[0]

            x = a
            x += b
            probe(x)  # == a + b

            x = [a]
            x += [b]
            probe(x)  # == [a, b]

            probe(x := a)  # == a
            probe(x)  # == a

            if (x := a) is None:
                x = b
            probe(x)  # == (b if a is None else a)

            if (n := len(a)) > 3 and (m := n):
                probe(n, m)  # == len(a), (len(a) if 3 < len(a) else unbound)

            x = a
            del x
            probe(x)  # == unbound

            if b:
                del a
            probe(a)  # == (unbound if b else a)

            global g
            g = a
            probe(g)  # == g

            import math
            from os import path as p
            probe(math.pi, p)  # == pi, path

            first, *rest = a
            probe(first, rest)  # == a[0], a[1:]

            first, *middle, last = a
            probe(first, middle, last)  # == a[0], a[1:-1], a[-1]

            x = c
            y = b and (x := a)
            probe(x)  # == (a if b else c)

            x = c
            y = b or (x := a)
            probe(x)  # == (c if b else a)

            x = c
            y = (x := a) if b else 1
            probe(x)  # == (a if b else c)
            """),
)
def test_assignment(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
            x = a
            if b:
                x = c
            probe(x)  # == (c if b else a)

            if b:
                x = a
            else:
                x = c
            probe(x)  # == (a if b else c)

            if b:
                x = a
            elif c:
                x = b
            else:
                x = c
            probe(x)  # == (a if b else (b if c else c))

            if b:
                x = a
            probe(x)  # == (a if b else unbound)

            x = a
            if b:
                x = a
            probe(x)  # == a

            x = a if b else c
            probe(x)  # == (a if b else c)

            probe(a if b else c if d else None)  # == (a if b else (c if d else None))

            if not b:
                x = a
            else:
                x = c
            probe(x)  # == (c if b else a)

            x = True
            probe(a if x else b)  # == a

            if b:
                x = a
                probe(x)  # == a when b
            else:
                x = c
                probe(x)  # == c when not b

            if a:
                if b:
                    probe(c)  # == c when a and b
                else:
                    probe(c)  # == c when a and not b

            if a and b:
                probe(c)  # == c when a and b
            else:
                probe(c)  # == c when not (a and b)

            if a or b:
                probe(c)  # == c when (a or b)
            else:
                probe(c)  # == c when not a and not b

            if 1 < a < 3:
                probe(c)  # == c when 1 < a and a < 3

            if a:
                if not a:
                    probe(b)  # == never
                probe(c)  # == c when a

            if a and b:
                if a:
                    probe(c)  # == c when a and b
                else:
                    probe(d)  # == never

            if a:
                x = b
            if a:
                probe(x)  # == (b if a else unbound) when a
        """),
)
def test_branch(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
        if b:
            return
        probe(a)  # == a when not b

        if not b:
            raise ValueError
        probe(a)  # == a when b

        assert b is not None
        probe(a)  # == a when not b is None

        if b:
            pass
        else:
            return
        if not b:
            probe(a)  # == never
        probe(c)  # == c when b

        if not (a and b):
            return
        if a:
            probe(c)  # == c when a and b

        if a or b:
            raise ValueError
        probe(c)  # == c when not a and not b

        if b:
            if c:
                return
        probe(a)  # == a when ((b and not c) or not b)

        if b:
            if c:
                return
            x = a
        else:
            x = c
        probe(x)  # == (a if b else c) when ((b and not c) or not b)

        if b:
            x = a
            return x
        else:
            x = c
        probe(x)  # == c when not b

        for i in a:
            if b:
                continue
            probe(i)  # == a[*] when not b
        probe(c)  # == c when always

        for i in a:
            if i is None:
                break
            probe(i)  # == a[*] when not a[*] is None
        probe(c)  # == c when always

        for i in a:
            if b:
                raise ValueError
            probe(i)  # == a[*] when not b

        while a():
            if b:
                break
            probe(c)  # == c when a() and not b

        while True:
            if b:
                continue
            probe(c)  # == c when not b

        return
        probe(a)  # == never

        raise ValueError
        probe(a)  # == never
    """),
)
def test_what_holds_after_an_early_exit(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
            for x in a:
                probe(x)  # == a[*]
            probe(x)  # == x

            x = b
            for i in a:
                probe(x)  # == x
                x = x + i
                probe(x)  # == x + a[*]
            probe(x)  # == x

            x = b
            for i in a:
                y = x
                x = i
                probe(y, x)  # == x, a[*]

            for i in a:
                if i:
                    x = b
                else:
                    x = c
                probe(x)  # == (b if a[*] else c)

            x = None
            for i in a:
                if x is None:
                    x = b
                probe(x)  # == (b if x is None else x)

            for i, (j, k) in enumerate(zip(b, c)):
                probe(i, j, k)  # == index, b[*], c[*]

            for k, v in a.items():
                probe(k, v)  # == key, a[*]

            for i in range(3):
                probe(i)  # == index

            for x in [a]:
                probe(x)  # == a

            for x, y in [(a, b), (a, b)]:
                probe(x, y)  # == a, b

            for a.x in b:
                probe(a.x)  # == b[*]

            x = b
            for i in a:
                pass
            else:
                x = c
            probe(x)  # == c

            while (x := a()):
                probe(x)  # == a() when a()

            x = b
            for i in a:
                for j in i:
                    x = j
                    probe(x)  # == a[*][*]
                probe(x)  # == x
            probe(x)  # == x

            for i in a:
                x = b
                probe(x)  # == b

            for i in a:
                for j in a:
                    probe(i, j)  # == a[*], a[*]

            x = b
            for i in a:
                if i:
                    x = c
                    break
            else:
                x = d
            probe(x)  # == (d if finished else x)
            """),
)
def test_loop(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
            try:
                x = a()
            except ValueError:
                x = b
            else:
                x = c
            probe(x)  # == (b if an exception is raised else c)

            try:
                x = a
            finally:
                x = b
            probe(x)  # == b

            try:
                x = a
            finally:
                pass
            probe(x)  # == a

            x = a
            try:
                x = b
                c()
            except ValueError:
                raise
            probe(x)  # == b

            try:
                x = a()
            except ValueError:
                return
            probe(x)  # == a()

            try:
                return a
            finally:
                probe(b)  # == b

            try:
                if a:
                    return
            except ValueError:
                pass
            probe(b)  # == b

            try:
                x = a()
            except* ValueError:
                x = b
            probe(x)  # == (b if an exception is raised else a())

            try:
                a()
            except ValueError as error:
                probe(error)  # == error

            def f(x):
                try:
                    return x()
                except ValueError:
                    return b
            probe(f(a))  # == (b if an exception is raised else a())
            """),
)
def test_try(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
        with a as x:
            probe(x)  # == a['entered']
        probe(x)  # == a['entered']

        with a as (x, y), b as z:
            probe(x, y, z)  # == a['entered'][0], a['entered'][1], b['entered']

        with a, b:
            x = c
        probe(x)  # == c

        async with a as x:
            probe(x)  # == a['entered']

        with a:
            if b:
                return
        probe(c)  # == c when not b
    """),
)
def test_with(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
            x = [i for i in a]
            probe(x, a)  # == [a[*], …], a

            i = b
            x = [i for i in a]
            probe(i)  # == b

            x = b
            y = [x for x in a]
            z = {x: 1 for x in a}
            v = (x for x in a)
            probe(x)  # == b

            x = [b for i in a if i]
            probe(x)  # == [b, …]

            [probe(i, x) for i in a for x in i]  # == a[*], a[*][*]

            [probe(i) for i in a if i is not None]  # == a[*] when not a[*] is None

            x = [i + b for i in a]
            for y in x:
                probe(y)  # == a[*] + b

            [(x := i) for i in a]
            y = lambda: x
            probe(x)  # == a[*]

            # wrong: a walrus in a comprehension binds even when nothing is iterated
            x = b
            y = [x := i for i in a]
            probe(x)  # == x
            """),
)
def test_comprehension(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
        def inner():
            nonlocal a
            a = b
        inner()
        probe(a)  # == b
        ---
        def inner():
            nonlocal a
            if c:
                a = b
        inner()
        probe(a)  # == (b if c else a)
        ---
        def inner():
            a = b
        inner()
        probe(a)  # == a
        ---
        def inner():
            return a
        a = b
        probe(inner())  # == b
        ---
        def inner(x=a):
            return x
        a = b
        probe(inner())  # == a
        ---
        f = lambda x, y=b: (x, y)
        probe(f(a))  # == (a, b)
        ---
        def outer():
            x = a
            def inner():
                nonlocal x
                x = b
            inner()
            return x
        probe(outer())  # == b
        ---
        x = a
        def f():
            return x
        probe(f())  # == a
        x = b
        probe(f())  # == b
        ---
        def f():
            probe(a)  # == unbound
            a = b
        f()
        ---
        class C:
            a = b
        probe(a)  # == a
        ---
        def f(*xs, k=b, **more):
            probe(xs, k, more)  # == (a, b), c, {'z': a} / (), b, {} / (*args,), b, {} / (a,), b, kwargs
        f(a, b, k=c, z=a)
        f()
        f(*args)
        f(a, **kwargs)
        ---
        def f(x, y=b, /, *, z):
            probe(x, y, z)  # == a, b, c
        f(a, z=c)
        ---
        def f(x):
            if x is None:
                return b
            return x
        probe(f(a), f(None))  # == (b if a is None else a), b
        ---
        def f(x):
            if x:
                y = b
                return y
            elif c:
                return c
        probe(f(a))  # == (b if a else (c if (not a and c) else None))
        ---
        def f(x):
            with b:
                return x
        probe(f(a))  # == a
        ---
        def f():
            return a, b
        x, y = f()
        probe(x, y)  # == a, b
        ---
        def f():
            pass
        probe(f())  # == None
        ---
        def f(n):
            return f(n - 1) if n else b
        probe(f(a))  # == (<recursion> if a else b)
        ---
        async def f():
            await a
            return b
        probe(await f())  # == b
        ---
        def f():
            if c:
                return
            nonlocal a
            a = b
        f()
        probe(a)  # == (a if c else b)
        ---
        d = {}
        def f():
            if False:
                d["k"] = 2
        f()
        probe(d)  # == {}
        ---
        def f(p):
            nonlocal a
            if p:
                a = b
        f(None)
        probe(a)  # == a
        ---
        d = {"k": a}
        def f():
            if c:
                pass
            else:
                d["k"] = b
        f()
        probe(d["k"])  # == (a if c else b)
        ---
        d = {"k": a}
        def f():
            if c:
                return
            d["k"] = b
        f()
        probe(d["k"])  # == (a if c else b)
    """),
)
def test_nested_function(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
            match a:
                case 1:
                    x = b
                case None:
                    x = c
                case _:
                    x = d
            probe(x)  # == (b if a == 1 else (c if a is None else d))

            match a:
                case 1:
                    x = b
            probe(x)  # == (b if a == 1 else unbound)

            match a:
                case "x":
                    probe(b)  # == b when a == 'x'
                case other:
                    probe(b)  # == b when not a == 'x'

            match a:
                case 1 if b:
                    probe(c)  # == c when a == 1 and b
                case _:
                    probe(c)  # == c when not (a == 1 and b)

            match a:
                case 1 | 2:
                    return
            probe(b)  # == b when not match 1 | 2(a)

            match a:
                case other:
                    probe(other)  # == a

            match a:
                case str() as s if s:
                    probe(s)  # == capture s(a) when match str() as s(a) and capture s(a)
            """),
)
def test_match(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
            x = {"k": a}
            x["k"] = b
            probe(x["k"])  # == b

            x = {"k": a}
            if b:
                x["k"] = c
            probe(x["k"])  # == (c if b else a)

            x = {**{"k": a}, "k": b}
            probe(x["k"])  # == b

            x = {"k": a}
            x.update(k=b)
            probe(x["k"], x.get("k"), x.get("z"), x.get("z", c))  # == b, b, None, c

            x = dict(k=a)
            y = x.pop("k")
            probe(x, y)  # == {}, a

            x = {}
            if a:
                x = {"k": b}
            probe(x)  # == ({'k': b} if a else {})

            x = [a, b]
            x.append(c)
            probe(x[2], x[-1], len(x))  # == c, c, 3

            x = (a, b, c)
            probe(x[1:], x[::-1], x[-1])  # == (b, c), (c, b, a), c

            probe(*[a, b], *(c,))  # == a, b, c

            probe(args[0], kwargs["k"])  # == args[0], kwargs['k']

            x = a + (b,)
            probe((a, b) + (c,), [a] + [b])  # == (a, b, c), [a, b]

            x = {"k": a, **kwargs}
            x["k"] = b
            probe(x["k"])  # == b

            kwargs["k"] = b
            probe(kwargs["k"])  # == b

            a["k"] = b
            probe(a["k"])  # == b

            # wrong: an item that is set is read as before
            x = [None] * 3
            x[0] = a
            probe(x[0])  # == a

            x = [a, b]
            x[0] = c
            probe(x[0], x[1])  # == c, b

            x = {"k": a}
            y = x
            y["k"] = b
            probe(x["k"])  # == b
            """),
)
def test_items(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
            a.x = b
            probe(a.x)  # == b

            y = a
            a.x = b
            probe(y.x)  # == b

            a.x = b
            a.x += c
            probe(a.x)  # == b + c

            a.x, a.y = b, c
            probe(a.x, a.y)  # == b, c

            a.x = b
            if c:
                a.x = d
            probe(a.x)  # == (d if c else b)

            probe(a.x, a.x.y, getattr(a, "x"), getattr(a, "x", None))  # == a.x, a.x.y, a.x, a.x

            a.x = b
            for i in c:
                probe(a.x)  # == a.x
                a.x = i
                probe(a.x)  # == c[*]
            probe(a.x)  # == a.x

            if b:
                a.x = c
            probe(a.x)  # == (c if b else a.x)

            if b:
                pass
            else:
                a.x = c
            probe(a.x)  # == (a.x if b else c)
            """),
)
def test_attribute(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "source",
    snippets("""
            x = a and b
            probe(x)  # == (a and b)

            x = a or b
            probe(x)  # == (a or b)

            probe(None or a, False or a, True and a, 0 or a)  # == a, a, a, a

            probe(a and (b and c), a or (b or c))  # == (a and b and c), (a or b or c)

            if a:
                probe(a and b, a or b, not a)  # == (a and b), a, not a

            probe(a == b, not a == b, a != b)  # == a == b, a != b, a != b

            probe(a is None, a is not None)  # == a is None, a is not None

            probe(isinstance((a,), tuple), isinstance([a], tuple))  # == True, False

            probe("s", 1.5, True, None, ..., b"x", 1j, -1)  # == 's', 1.5, True, None, ..., b'x', 1j, -1

            x = a or 2
            probe(x)  # == (a or 2)

            x = a or 1.0
            probe(x)  # == (a or 1.0)

            x = a or None
            probe(x)  # == (a or None)

            x = a and 2
            probe(x)  # == (a and 2)

            x = a and None
            probe(x)  # == (a and None)

            x = a or [b]
            probe(x)  # == (a or [b])

            x = a or (lambda y: y)
            probe(x)  # == (a or <lambda>)

            x = a
            x += b
            x *= 2
            probe(x)  # == (a + b) * 2

            probe((a - b) - c, a - (b - c))  # == (a - b) - c, a - (b - c)

            probe(a % 2 == 0, a + b < c, a.b(c) is None)  # == a % 2 == 0, a + b < c, a.b(c) is None

            probe(-(a + b), (a + b)[0], (a or b).c)  # == -(a + b), (a + b)[0], (a or b).c

            # wrong: the text isn't source-like
            probe(a[1:2], a[:], a[::2], a[:, b])  # == a[1:2], a[:], a[::2], a[:, b]

            probe(f"{a}{b!r}", {a, b}, {i: b for i in a})  # == f"…", {a, b}, {a[*]: b, …}

            for x in (a, b):
                probe(x)  # == a | b
            """),
)
def test_operator(source: str) -> None:
    assert_values(source)
