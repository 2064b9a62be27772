"""Dicts and lists with two names, or handed on: known as long as nothing may have changed them."""

from __future__ import annotations

import pytest

from tests.callpaths.looking import assert_values, model, paths_of, snippets

KEPT = pytest.mark.xfail(reason="what is handed to a method is taken to stay as it is")


@pytest.mark.parametrize(
    "source",
    snippets("""
        d = {"k": a}
        e = d
        e["k"] = b
        probe(d["k"])  # == b
        ---
        d = {"k": a}
        e = d.copy()
        e["k"] = b
        probe(d["k"], e["k"])  # == a, b
        ---
        d = {"k": a}
        e = {**d}
        e["k"] = b
        probe(d["k"], e["k"])  # == a, b
        ---
        d = {"k": a}
        e = dict(d)
        e["k"] = b
        probe(d["k"], e["k"])  # == a, b
        ---
        d = {"k": a}
        def change():
            d["k"] = b
        change()
        probe(d["k"])  # == b
        ---
        # wrong: what a function makes of its argument isn't handed back
        d = {"k": a}
        def change(e):
            e["k"] = b
        change(d)
        probe(d["k"])  # == b
        ---
        d = {"k": a}
        def read(e):
            return e["k"]
        probe(read(d), d["k"])  # == a, a
        ---
        x = [a]
        y = x
        y.append(b)
        probe(len(x), x[1])  # == 2, b
        ---
        x = [a]
        y = list(x)
        y.append(b)
        probe(len(x), len(y))  # == 1, 2
        ---
        # wrong: what is appended to a copy is lost
        x = [a]
        y = x[:]
        y.append(b)
        probe(len(x), len(y))  # == 1, 2
        ---
        x = [a]
        x = x + [b]
        probe(x)  # == [a, b]
        ---
        x = [a]
        y = x
        y += [b]
        probe(x, y)  # == [a, b], [a, b]
        ---
        x = [a]
        y = x
        y = y + [b]
        probe(x, y)  # == [a], [a, b]
        ---
        x = (a,)
        y = x
        y += (b,)
        probe(x, y)  # == (a,), (a, b)
        ---
        x = [a]
        y = x
        def grow():
            x.append(b)
        grow()
        probe(x, y)  # == [a, b], [a, b]
        ---
        x = []
        y = []
        y.append(b)
        probe(x, y)  # == [], [b]
        ---
        x = y = []
        x.append(a)
        probe(x, y)  # == [a], [a]
        ---
        d = {}
        e = {}
        e["k"] = b
        probe(d, e)  # == {}, {'k': b}
        ---
        kwargs = dict(kwargs)
        kwargs["k"] = b
        probe(kwargs["k"])  # == b
        ---
        # wrong: a parameter with two names
        x = kwargs
        x["k"] = b
        probe(kwargs["k"])  # == b
    """),
)
def test_known(source: str) -> None:
    assert_values(source)


@pytest.mark.parametrize(
    "call",
    [
        "change(d)",
        "other(options=d)",
        "other(*[d])",
        "x = [d]\nother(x)",
        pytest.param("self.change(d)", marks=KEPT),
        pytest.param("keep.append(d)", marks=KEPT),
    ],
)
def test_dict_that_is_handed_to_what_is_not_known(call: str) -> None:
    """It may be changed there, so what it holds isn't certain any more: no parameter is said to be passed for sure."""
    source = model(
        f"""
        keep = self.keep
        d = {{"mask": None}}
        {call.replace(chr(10), chr(10) + "        ")}
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False, **d)  # <- ck
        return x
        """,
        before="from elsewhere import change, other",
    )
    (text,) = paths_of(source)
    assert text != "ck: checkpointed self.blocks[*](x=x, mask=None)"


def test_dict_that_is_only_read() -> None:
    source = model(
        """
        d = {"mask": mask}
        y = len(d)
        print(d["mask"])
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False, **d)  # <- ck
        return x
        """
    )
    assert paths_of(source) == ["ck: checkpointed self.blocks[*](x=x, mask=mask)"]


@pytest.mark.parametrize(
    ("getter", "text"),
    [
        ("return self.blocks[index]", "self.blocks[*]"),
        ("if index > 3:\n    raise ValueError\nreturn self.blocks[index]", "self.blocks[*]"),
        ("block = self.blocks[index]\nreturn block", "self.blocks[*]"),
        ("return self.table['a']", "self.table['a']"),
        ("return self.last", "self.last"),
    ],
)
def test_block_that_a_helper_returns(getter: str, text: str) -> None:
    lines = getter.replace("\n", "\n    ")
    source = model(
        """
        for index in range(3):
            if self.gradient_checkpointing:
                x = checkpoint(self.pick(index), x, mask, use_reentrant=False)  # <- ck
            else:
                x = self.pick(index)(x, mask)  # <- eager
        return x
        """,
        init="""
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.table = nn.ModuleDict({"a": Block()})
        self.last = Block()
        """,
        methods=f"def pick(self, index):\n    {lines}",
    )
    assert paths_of(source) == [
        f"ck: checkpointed {text}(x=x, mask=mask) if self.gradient_checkpointing",
        f"eager: eager {text}(x=x, mask=mask) if not self.gradient_checkpointing",
    ]
