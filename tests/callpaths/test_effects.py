"""What statements change: noted with the conditions under which they do, and where the sides of a test meet again."""

from __future__ import annotations

import pytest

from conformance.callpaths.trace import literals
from tests.callpaths.looking import conjunction, probe, snippets

BRANCHES = """
if a:
    probe(1)
    {body}
else:
    probe(2)
    {orelse}
{rest}
"""


@pytest.mark.parametrize(
    ("statement", "kind", "target", "value"),
    [
        ("x = b", "bind", "x", "b"),
        ("b.count = c", "set", "b.count", "c"),
        ("b['k'] = c", "change", "b", "('k', c)"),
        ("b.append(c)", "change", "b", "(c,)"),
        ("b.add_(c)", "change", "b", "(c,)"),
        ("b.update(k=c)", "change", "b", "()"),
    ],
)
def test_changes(statement: str, kind: str, target: str, value: str) -> None:
    (found,) = probe(f"if a:\n    {statement}").trace.effects
    assert (found.kind, found.target, found.value.text) == (kind, target, value)
    assert conjunction(literals(found.conditions)) == "a"
    assert found.site.span.line == 5


@pytest.mark.parametrize("statement", ["b.add(c)", "b.size()", "b.requires_grad_()", "b.__setattr__('k', c)", "b = b"])
def test_no_change(statement: str) -> None:
    assert not probe(f"if a:\n    {statement}").trace.effects


def test_a_copy_is_another_object() -> None:
    of_parameter, of_copy = probe("b.append(c)\nx = list(b)\nx.append(c)").trace.effects
    assert of_parameter.base is not None
    assert of_copy.base is None


@pytest.mark.parametrize(
    ("body", "orelse", "differs"),
    [
        ("x = b", "x = c", {"x"}),
        ("x = b", "x = b", set()),
        ("pass", "x = b", {"x"}),
        ("b.count = 1", "pass", {"b.count"}),
    ],
)
def test_where_sides_meet(body: str, orelse: str, differs: set[str]) -> None:
    (join,) = probe(BRANCHES.format(body=body, orelse=orelse, rest="")).trace.joins.values() or [None]
    assert {name for _, name in (join.joined if join is not None else ())} == differs


@pytest.mark.parametrize(
    ("source", "is_read"),
    [
        (piece.values[0], "# read" in str(piece.values[0]))
        for piece in snippets("""
            if a:
                probe(1)
                x = b
            else:
                probe(2)
                x = c
            probe(x)  # read
            ---
            if a:
                probe(1)
                x = b
            else:
                probe(2)
                x = c
            x = b
            probe(x)
            ---
            if a:
                probe(1)
                x = b
            else:
                probe(2)
                x = c
            print(x)
            ---
            x = b
            for i in c:
                probe(x)  # read
                if a:
                    probe(1)
                else:
                    probe(2)
                    x = i
            ---
            x = b
            for i in c:
                if a:
                    probe(1)
                    continue
                probe(2)
                x = i
            probe(x)  # read
        """)
    ],
)
def test_reads_after_the_sides_have_met(source: str, is_read: bool) -> None:
    trace = probe(source).trace
    (join,) = trace.joins.values()
    joined = {value for (_, name), value in join.joined.items() if name == "x"}
    assert len(joined) == 1
    carried = {symbol for symbol in trace.reads if symbol.op in ("mu", "out") and symbol.args[1] == "x"}
    left = {(symbol.args[0], "x") for symbol in carried}
    assert bool(joined & set(trace.reads) or joined & {trace.carried.get(key) for key in left}) is is_read
