"""What follows from the conditions of a path: truth, values in their light, and which paths exclude each other."""

from __future__ import annotations

import pytest

from conformance.callpaths.conditions import Assumptions, consequences, exclusive
from conformance.callpaths.trace import literals
from conformance.callpaths.values import Value
from tests.callpaths.looking import Probe, probe, snippets

WEAK = pytest.mark.xfail(reason="it follows, but that isn't seen")
PARAMETERS = "a, b, c, d=None, *args, **kwargs"


def values_of(*expressions: str) -> tuple[Probe, list[Value]]:
    """The values of some expressions, made in one run."""
    lines = [f"probe({expression})  # <- v{number}" for number, expression in enumerate(expressions)]
    seen = probe("\n".join(lines), PARAMETERS)
    return seen, [seen.value(f"v{number}") for number in range(len(expressions))]


@pytest.mark.parametrize(
    ("given", "asked", "truth"),
    [
        ("a", "a", True),
        ("a", "not a", False),
        ("not a", "a", False),
        ("a", "b", None),
        # and, or
        ("a and b", "a", True),
        ("a and b", "b and a", True),
        ("a and b", "a or c", True),
        ("not (a or b)", "a", False),
        ("not (a or b)", "not b", True),
        ("a or b", "a", None),
        ("not (a and b)", "a", None),
        ("a and not b", "b", False),
        ("a and (b or c)", "c", None),
        ("not a", "a and b", False),
        ("b", "a or b", True),
        # unit propagation
        ("(a or b) and not a", "b", True),
        ("not (a and b) and a", "b", False),
        ("(a or b) and (not b or c) and not a", "c", True),
        ("(a or b) and not b", "a", True),
        # None
        ("a is None", "a is None", True),
        ("a is None", "a is not None", False),
        ("a is None", "a", False),
        ("a", "a is None", False),
        ("a is not None", "a", None),
        ("a == 1", "a is None", False),
        ("a > 3", "a is None", False),
        pytest.param("a in (1, 2)", "a is None", False, marks=WEAK),
        ("a is not None and b", "a is None", False),
        ("isinstance(a, b)", "isinstance(a, b)", True),
        # conditional values
        ("a", "b if a else c", None),
        ("a and b", "b if a else c", True),
        ("not a and not c", "b if a else c", False),
        ("b and c", "b if a else c", True),
        ("(b if a else c) and a", "b", True),
        ("(b if a else c) and not b", "a", False),
        ("(b if a else None)", "a", True),
        ("(b if a else None)", "b", True),
        ("(b if a else None) is not None", "a", True),
        ("(b if a else None) is None", "a", None),
        ("((b if a else None) is None) and a", "b is None", True),
        # comparisons under what is known
        ("a == 1", "a == 1", True),
        ("a == 1", "a == 2", False),
        ("a == 'x'", "a != 'y'", True),
        ("a is None", "a == 1", False),
        ("a < 3", "a >= 3", False),
        ("a", "bool(a)", True),
        ("not a", "bool(a)", False),
        ("bool(a)", "a", True),
        pytest.param("a == 1 and b", "a in (1, 2)", True, marks=WEAK),
        pytest.param("a in (1, 2)", "a == 3", False, marks=WEAK),
        # contradictions tell nothing wrong of others
        ("1 < a", "a > 1", True),
    ],
)
def test_truth(given: str, asked: str, truth: bool | None) -> None:
    seen, (condition, question) = values_of(given, asked)
    assert Assumptions(seen.values, [(condition, True)]).truth(question) is truth


@pytest.mark.parametrize(
    ("given", "contradictory"),
    [
        ("a and not a", True),
        ("a is None and a is not None", True),
        ("a is None and a", True),
        ("(a or b) and not a and not b", True),
        ("not (a and b) and a and b", True),
        ("a == 1 and a == 2", True),
        ("a == 1 and a is None", True),
        ("(b if a else None) and not a", True),
        ("a and b", False),
        ("a and (not a or b)", False),
        ("a is None and not a", False),
    ],
)
def test_contradiction(given: str, contradictory: bool) -> None:
    seen, (condition,) = values_of(given)
    found = Assumptions(seen.values, [(condition, True)])
    assert found.contradictory is contradictory or condition is seen.values.false


@pytest.mark.parametrize(
    ("given", "value", "reduced"),
    [
        ("a", "b if a else c", "b"),
        ("not a", "b if a else c", "c"),
        ("a is None", "a", "None"),
        ("a is None", "b if a is None else a", "b"),
        ("a is not None", "b if a is None else a", "a"),
        ("a", "b", "b"),
        ("a and b", "(1 if b else 2) if a else 3", "1"),
        ("not b", "(1 if b else 2) if a else 3", "(2 if a else 3)"),
        ("a is None", "a if b else c", "(None if b else c)"),
        ("c", "a if (b or c) else d", "a"),
        ("not a", "b if (a and c) else d", "d"),
        ("d", "d if d else None", "d"),
        ("a", "None if not a else b", "b"),
    ],
)
def test_reduce(given: str, value: str, reduced: str) -> None:
    seen, (condition, subject) = values_of(given, value)
    assert Assumptions(seen.values, [(condition, True)]).reduce(subject).text == reduced


@pytest.mark.parametrize(
    ("first", "second", "excluded"),
    [
        ("a", "not a", True),
        ("a and b", "not (a and b)", True),
        ("a and b", "not a or not b", True),
        ("a or b", "not (not (not a and not b))", True),
        ("a and (b or c)", "(not b and not c) or not a", True),
        ("a and b", "not (b and a)", True),
        ("a and b", "a and not b", True),
        ("a or b", "not a and not b", True),
        ("a is None", "a is not None", True),
        ("a is None", "a", True),
        ("a == 1", "a == 2", True),
        ("a == 1", "a is None", True),
        ("a and c", "b and not c", True),
        ("a", "b", False),
        ("a or b", "a and not b", False),
        ("not (a and b)", "a", False),
        ("a", "a", False),
        ("a is not None", "not a", False),
    ],
)
def test_exclusive(first: str, second: str, excluded: bool) -> None:
    seen, (one, two) = values_of(first, second)
    assert exclusive(seen.values, [(one, True)], [(two, True)]) is excluded
    assert exclusive(seen.values, [(two, True)], [(one, True)]) is excluded


@pytest.mark.parametrize(
    ("given", "holds", "follows"),
    [
        ("a and b", True, {"a", "b"}),
        ("a and b", False, set()),
        ("a or b", False, {"not a", "not b"}),
        ("a or b", True, set()),
        ("(a and b) or (a and c)", True, {"a"}),
        ("b if a else None", True, {"a", "b"}),
        ("None if a else b", True, {"not a", "b"}),
        ("b if a else c", True, set()),
        ("(a and b) if a else (c and b)", True, {"b"}),
        ("not (a and b)", False, {"a", "b"}),
    ],
)
def test_consequences(given: str, holds: bool, follows: set[str]) -> None:
    seen, (value, *names) = values_of(given, "a", "b", "c")
    found = consequences(seen.values, value, holds)
    assert {value.text if state else f"not {value.text}" for value, state in found if value in names} == follows


# Conditions of a call, in the light of which its arguments are read


@pytest.mark.parametrize(
    ("source", "reduced"),
    [
        ("if b is None:\n    probe(b)  # <- here", "None"),
        ("if b is not None:\n    probe(b)  # <- here", "b"),
        ("x = b if a else None\nif a:\n    probe(x)  # <- here", "b"),
        ("x = b if a else None\nif not a:\n    probe(x)  # <- here", "None"),
        ("x = b if a else None\nif x is not None:\n    probe(x)  # <- here", "b"),
        ("x = None\nif a:\n    x = b\nif x is None:\n    return\nprobe(x)  # <- here", "b"),
        ("use = a is not None\nif use:\n    probe(a if a is not None else c)  # <- here", "a"),
        ("use = a is not None\nif not use:\n    probe(a)  # <- here", "None"),
        ("use = a and b is None\nif use:\n    probe(b)  # <- here", "None"),
        ("skip = not (a and b is None)\nif not skip:\n    probe(b)  # <- here", "None"),
        ("if a or b is None:\n    if not a:\n        probe(b)  # <- here", "None"),
        ("assert b is None\nprobe(b)  # <- here", "None"),
        ("if b is not None:\n    raise ValueError\nprobe(b)  # <- here", "None"),
        (
            "if a is not None and b is not None:\n    raise ValueError\nif a is not None:\n    probe(b)  # <- here",
            "None",
        ),
        ("for i in c:\n    if b is not None:\n        continue\n    probe(b)  # <- here", "None"),
        ("x = {'k': b if a else None}\nif not a:\n    probe(x['k'])  # <- here", "None"),
        ("def f(x=None):\n    if x is None:\n        probe(x)  # <- here\nf()", "None"),
        ("def f(x):\n    if x is None:\n        probe(x)  # <- here\nf(b)", "None"),
    ],
)
def test_argument_under_the_conditions_of_its_call(source: str, reduced: str) -> None:
    assert probe(source, PARAMETERS).reduced("here") == reduced


def test_argument_in_a_handler_is_either() -> None:
    """The body may have stopped before or after the binding."""
    seen = probe("x = a\ntry:\n    x = b\n    c()\nexcept ValueError:\n    probe(x)  # <- here", PARAMETERS)
    assert seen.reduced("here") not in ("a", "b")


@pytest.mark.parametrize(
    "source",
    snippets("""
        routing = False
        for i in a:
            if b is not None and i > 3:
                routing = True
            if routing:
                probe(b)  # <- here

        routing = False
        for i in a:
            if routing:
                probe(b)  # <- here
            if b is not None and i > 3:
                routing = True

        routing = False
        for i in a:
            if b is not None and i > 3:
                routing = True
            if i > 5:
                routing = False
            if routing:
                probe(b)  # <- here

        routing = False
        for i in a:
            if i:
                routing = b is not None
            if routing:
                probe(b)  # <- here

        routing = False
        for i in a:
            if b is not None and i > 3:
                routing = True
        if routing:
            probe(b)  # <- here

        routing = b is not None
        for i in a:
            if routing:
                probe(b)  # <- here
            if i > 3:
                routing = False

        for i in a:
            if b is not None:
                probe(b)  # <- here
            b[i] = c

    """),
)
def test_flag_that_a_loop_carries(source: str) -> None:
    """Where only one condition sets the flag, the flag says that the condition held."""
    seen = probe(source, PARAMETERS)
    call = seen.call("here")
    is_none = seen.values.compare("is", call.arguments[0], seen.values.none)
    assert Assumptions(seen.values, literals(call.conditions)).truth(is_none) is False


@pytest.mark.parametrize(
    "source",
    snippets("""
        routing = c
        for i in a:
            if b is not None:
                routing = True
            if routing:
                probe(b)  # <- here

        routing = False
        for i in a:
            if b is not None:
                routing = True
            if i:
                routing = c
            if routing:
                probe(b)  # <- here

        routing = True
        for i in a:
            if b is not None:
                routing = True
            if routing:
                probe(b)  # <- here

        routing = False
        for i in a:
            if b is not None:
                routing = False
            if c:
                routing = True
            if routing:
                probe(b)  # <- here

        routing = False
        for i in a:
            if b is not None:
                routing |= True
            routing += c
            if routing:
                probe(b)  # <- here

        routing = False
        def switch():
            nonlocal routing
            routing = True
        for i in a:
            if b is not None:
                routing = True
            switch()
            if routing:
                probe(b)  # <- here

        routing = False
        for i in a:
            if b is not None:
                routing = True
            for routing in c:
                pass
            if routing:
                probe(b)  # <- here
    """),
)
def test_flag_that_something_else_sets_too(source: str) -> None:
    """Then the flag says nothing of the condition."""
    seen = probe(source, PARAMETERS)
    call = seen.call("here")
    is_none = seen.values.compare("is", call.arguments[0], seen.values.none)
    assert Assumptions(seen.values, literals(call.conditions)).truth(is_none) is None
