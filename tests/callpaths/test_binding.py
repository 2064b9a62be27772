"""Arguments are bound to a signature as Python binds them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.callpaths.binding import Misfit, bind, misfit
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


def missing_of(function: Callable[..., object], given: tuple[list[object], dict[str, object]]) -> tuple[str, ...]:
    """The required parameters that Python finds unbound."""
    signature = inspect.signature(function)
    bound = signature.bind_partial(*given[0], **given[1]).arguments
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(
        name
        for name, parameter in signature.parameters.items()
        if name not in bound and parameter.default is parameter.empty and parameter.kind not in optional
    )


@pytest.mark.parametrize(("signature", "call"), list(itertools.product(SIGNATURES, CALLS)))
def test_as_python_binds(signature: str, call: str) -> None:
    """What is bound is bound as by Python; what Python refuses for what it is given is a problem here, too.

    Missing arguments are no problem of a binding: they are told besides.
    """
    values = Values()
    scope: dict[str, object] = {}
    exec(f"def f({signature}): ...", scope)  # a signature of the list above
    function = scope["f"]
    assert callable(function)
    positional, keywords = arguments_of(call, values)
    found = bind(parameters_of(signature), positional, keywords)
    passed = [value.args[1] for value in positional], {name: value.args[1] for name, value in keywords if name}
    try:
        bound = inspect.signature(function).bind_partial(*passed[0], **passed[1])
    except TypeError:
        assert found.problem is not None
        return
    assert found.problem is None
    assert found.open is None
    assert found.missing == missing_of(function, passed)
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


NAMES = st.sampled_from("abcdef")


@st.composite
def signatures(draw: st.DrawFn) -> str:
    """A signature of up to six parameters of all kinds."""
    names = draw(st.lists(NAMES, unique=True, max_size=6))
    only, plain = sorted((draw(st.integers(0, len(names))), draw(st.integers(0, len(names)))))
    first_default = draw(st.integers(0, plain))
    parts = [name if i < first_default else f"{name}=0" for i, name in enumerate(names[:plain])]
    if only:
        parts.insert(only, "/")
    variadic = draw(st.booleans())
    if variadic:
        parts.append("*rest")
    elif names[plain:]:
        parts.append("*")
    parts += [f"{name}=0" if draw(st.booleans()) else name for name in names[plain:]]
    if draw(st.booleans()):
        parts.append("**more")
    return ", ".join(parts)


calls = st.tuples(st.integers(0, 6), st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=5))


@given(signatures(), calls)
@settings(max_examples=600)
def test_a_misfit_is_what_python_refuses(signature: str, call: tuple[int, list[str]]) -> None:
    scope: dict[str, Callable[..., object]] = {}
    exec(f"def f({signature}): ...", scope)
    count, names = call
    found = misfit(parameters_of(signature), count, False, names, False)
    try:
        scope["f"](*range(count), **dict.fromkeys(names, 0))
    except TypeError:
        assert found, (signature, call)
    else:
        assert not found, (signature, call, found)


@given(signatures(), calls, st.booleans(), st.booleans())
@settings(max_examples=600)
def test_what_splats_may_fill_is_no_misfit(
    signature: str, call: tuple[int, list[str]], starred: bool, splat: bool
) -> None:
    """A call with splats is a misfit exactly if no lengths and keys of theirs make it fit."""
    count, names = call
    parameters = parameters_of(signature)
    found = misfit(parameters, count, starred, names, splat)
    free = sorted({p.name for p in parameters} - set(names))
    fits = any(
        not misfit(parameters, count + more, False, (*names, *keys), False)
        for more in (range(7) if starred else (0,))
        for size in (range(len(free) + 1) if splat else (0,))
        for keys in itertools.combinations(free, size)
    )
    assert bool(found) is not fits, (signature, call, found)


def test_parts_of_a_misfit() -> None:
    parameters = parameters_of("a, b, *, c, d=1")
    assert misfit(parameters, 3, False, ("b", "z"), False) == Misfit(("z",), ("b",), 1, ("c",))
    assert misfit(parameters, 0, True, (), False) == Misfit(missing=("c",))
    assert misfit(parameters, 0, False, (), True) == Misfit()
    assert misfit(parameters, 2, False, ("c",), False) == Misfit()
    assert misfit(parameters_of("a, b"), 0, True, ("a",), False) == Misfit(missing=("b",))
    assert not misfit(parameters_of("a, /, **more"), 1, False, ("a",), False)
