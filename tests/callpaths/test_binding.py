"""Arguments are bound to a signature as Python binds them."""

from __future__ import annotations

import inspect
import itertools

import pytest

from conformance.callpaths.binding import bind
from conformance.callpaths.values import Value, Values
from conformance.facts.ir import Parameter
from conformance.facts.module import module_facts

SIGNATURES = [
    "",
    "a",
    "a, b=2",
    "a, /, b",
    "a, /, *, b",
    "*rest",
    "**more",
    "a, *rest",
    "a, *rest, b",
    "a, b=2, *rest, c, d=4, **more",
    "q, /, b=2, **more",
    "*, a, b=2",
    "self, x",
]
CALLS = [
    *("", "1", "1, 2", "1, 2, 3", "a=1", "b=1", "1, a=2", "1, b=2", "a=1, b=2", "b=2, a=1", "1, 2, c=3", "1, c=3"),
    *("z=1", "1, 2, 3, 4, c=5", "1, 2, c=3, z=4", "self=1, x=2", "a=1, b=2, c=3, d=4"),
]


def parameters_of(signature: str) -> tuple[Parameter, ...]:
    return module_facts(f"def f({signature}): ...\n", "main.py").functions["f"].parameters


def arguments_of(call: str, values: Values) -> tuple[list[Value], list[tuple[str | None, Value]]]:
    """The arguments of a call as values; every argument is a number."""
    positional, keywords = [], []
    for part in filter(None, call.split(", ")):
        name, _, number = part.rpartition("=")
        value = values.const(int(number))
        if name:
            keywords.append((name, value))
        else:
            positional.append(value)
    return positional, list(keywords)


@pytest.mark.parametrize(("signature", "call"), list(itertools.product(SIGNATURES, CALLS)))
def test_as_python_binds(signature: str, call: str) -> None:
    """What is bound is bound as by Python; what Python refuses for what it is given is a problem here, too.

    Missing arguments are no problem of a binding: another rule asks for them.
    """
    values = Values()
    scope: dict[str, object] = {}
    exec(f"def f({signature}): ...", scope)  # a signature of the list above
    function = scope["f"]
    assert callable(function)
    positional, keywords = arguments_of(call, values)
    found = bind(parameters_of(signature), positional, keywords)
    given = [value.args[1] for value in positional], {name: value.args[1] for name, value in keywords if name}
    try:
        bound = inspect.signature(function).bind_partial(*given[0], **given[1])
    except TypeError:
        assert found.problem is not None
        return
    assert found.problem is None
    assert found.open is None
    wanted: dict[str, object] = {}
    for name, value in bound.arguments.items():
        kind = inspect.signature(function).parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            wanted |= {f"**{key}": item for key, item in value.items()}
        elif kind is not inspect.Parameter.VAR_POSITIONAL:
            wanted[name] = value
    assert {name: value.args[1] for name, value in found.values.items()} == wanted
    assert sorted(f"**{name}" for name in found.extra) == sorted(name for name in wanted if name.startswith("**"))


def test_splat_of_unknown_length_leaves_the_rest_open() -> None:
    values = Values()
    name = values.make("name", "main.py", "xs")
    found = bind(parameters_of("a, b=2, c=3"), [values.const(1), values.make("star", name)], [])
    assert {key: value.args[1] for key, value in found.values.items()} == {"a": 1}
    assert found.open == "*xs has an unknown length"
    assert found.problem is None


def test_splat_of_unknown_keys_leaves_the_rest_open() -> None:
    values = Values()
    name = values.make("name", "main.py", "options")
    found = bind(parameters_of("a, b=2"), [values.const(1)], [(None, name)])
    assert list(found.values) == ["a"]
    assert found.open == "**options has unknown keys"
    assert found.rest == (name,)


def test_keyword_after_a_splat_of_unknown_length() -> None:
    values = Values()
    star = values.make("star", values.make("name", "main.py", "xs"))
    found = bind(parameters_of("a, b=2, c=3"), [star], [("c", values.const(5))])
    assert {key: value.args[1] for key, value in found.values.items()} == {"c": 5}
    assert found.open is not None
