"""Conditions under a concrete setting: what values become, and which paths can still run."""

from __future__ import annotations

import pytest

from conformance.callpaths.settings import Fails, Setting, can_run
from conformance.callpaths.values import Value, Values

V = Values()
CONST = V.const


def name(text: str) -> Value:
    return V.make("name", "m.py", text)


def method(value: Value, called: str, *arguments: Value) -> Value:
    return V.make("call", V.make("attr", value, called), arguments, ())


def remainder(left: Value, right: Value) -> Value:
    return V.make("op", "%", (left, right))


INTERVAL, BACKEND, INDEX, ON = map(name, ("interval", "backend", "index", "on"))
SOME = V.negate(V.compare("is", INTERVAL, V.none))


@pytest.mark.parametrize(
    ("value", "given", "expected"),
    [
        (SOME, 3, True),
        (SOME, None, False),
        (V.compare(">", INTERVAL, CONST(1)), 3, True),
        (V.compare(">", V.chain("or", [INTERVAL, CONST(1)]), CONST(1)), None, False),
        (V.compare("==", remainder(CONST(6), INTERVAL), CONST(0)), 3, True),
        (V.compare("==", remainder(CONST(7), INTERVAL), CONST(0)), 3, False),
        (V.chain("or", [V.negate(SOME), V.compare("==", remainder(CONST(7), INTERVAL), CONST(0))]), None, True),
        (V.phi(SOME, V.compare("<", INTERVAL, CONST(9)), V.false), 3, True),
        (V.make("call", V.make("ref", "builtins.bool"), (INTERVAL,), ()), 0, False),
        (V.compare("in", INTERVAL, V.make("tuple", CONST(1), CONST(2))), 2, True),
        (V.compare("in", INTERVAL, V.make("tuple", CONST(1), CONST(2))), 3, False),
    ],
)
def test_value_of_a_number(value: Value, given: object, expected: bool) -> None:
    assert Setting(V, {INTERVAL: CONST(given)}).value(value) is CONST(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (method(BACKEND, "endswith", CONST("-part")), True),
        (method(BACKEND, "startswith", CONST("other")), False),
        (V.compare("==", method(BACKEND, "removesuffix", CONST("-part")), CONST("plain")), True),
        (V.compare("==", method(BACKEND, "lower"), CONST("plain-part")), True),
        (V.negate(method(BACKEND, "endswith", CONST("-part"))), False),
    ],
)
def test_value_of_a_text(value: Value, expected: bool) -> None:
    assert Setting(V, {BACKEND: CONST("plain-part")}).value(value) is CONST(expected)


def test_what_is_not_given_stays() -> None:
    setting = Setting(V, {INTERVAL: CONST(3)})
    assert setting.value(ON) is ON
    assert setting.value(V.compare("==", remainder(INDEX, INTERVAL), CONST(0))) is V.compare(
        "==", remainder(INDEX, CONST(3)), CONST(0)
    )
    assert setting.value(V.all_of((SOME, ON))) is ON


def test_what_python_refuses() -> None:
    value = V.compare("==", remainder(CONST(4), INTERVAL), CONST(0))
    for refused in (None, 0):
        given = {INTERVAL: CONST(refused)}
        assert Setting(V, given).value(value).op == "cmp"
        with pytest.raises(Fails):
            Setting(V, given, strict=True).value(value)
    guarded = V.chain("or", [V.negate(SOME), value])
    assert Setting(V, {INTERVAL: V.none}, strict=True).value(guarded) is V.true, "what follows isn't computed"


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([(ON, True)], True),
        ([(ON, True), (V.negate(ON), True)], False),
        ([(SOME, False)], False),
        ([(V.all_of((ON, SOME)), False)], True),
        ([(ON, True), (V.all_of((ON, SOME)), False)], False),
        ([(ON, True), (V.all_of((ON, SOME, name("other"))), False)], True),
        ([(V.any_of((ON, V.negate(SOME))), True)], True),
        ([(V.compare("==", name("mode"), CONST("a")), True), (V.compare("==", name("mode"), CONST("b")), True)], False),
    ],
)
def test_can_run(conditions: list[tuple[Value, bool]], expected: bool) -> None:
    assert can_run(V, conditions, Setting(V, {INTERVAL: CONST(3)})) is expected


def test_free_tests_must_not_matter() -> None:
    """`due or not routed` can hold whatever `due` is; `due and not routed` can't."""
    due, routed = V.compare("==", remainder(INDEX, INTERVAL), CONST(0)), name("routed")
    setting = Setting(V, {INTERVAL: CONST(3)})

    def is_due(value: Value) -> bool:
        return value is due

    either = V.any_of((due, V.negate(routed)))
    assert can_run(V, [(either, True)], setting, is_due)
    assert not can_run(V, [(either, True), (routed, True)], setting, is_due)
    assert not can_run(V, [(V.all_of((due, V.negate(routed))), True)], setting, is_due)


def test_too_many_choices_are_not_known() -> None:
    tests = [V.any_of((name(f"a{n}"), name(f"b{n}"))) for n in range(40)]
    impossible = [(test, True) for test in tests] + [(name(f"{x}39"), False) for x in "ab"]
    assert not can_run(V, impossible, Setting(V, {INTERVAL: CONST(3)}))
