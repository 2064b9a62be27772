"""What stands around one call, and how often names are bound."""

from __future__ import annotations

import ast
from textwrap import dedent

from conformance.facts.ir import Span
from conformance.facts.module import split_lines
from conformance.facts.scopes import Surroundings, module_scopes, surroundings


def around(source: str, call: str = "call()") -> Surroundings:
    """What stands around the only call of this text."""
    text = dedent(source)
    tree = ast.parse(text)
    (node,) = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n) == call)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    span = Span(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    found = surroundings(tree, split_lines(text), span)
    assert found is not None
    return found


def test_conditions() -> None:
    found = around(
        """
        def f(a, b):
            if a:
                pass
            elif b > 1:
                return a and not b and (1 if a else call())
        """
    )
    assert found.conditions == ("not (a)", "b > 1", "a", "not b", "not (a)")
    assert not found.is_unreachable
    assert not found.is_expected


def test_a_function_inside_forgets_the_tests_around_it() -> None:
    assert around("def f(a):\n    if a:\n        def g():\n            call()\n").conditions == ()


def test_unreachable() -> None:
    assert around("def f():\n    return 1\n    call()\n").is_unreachable
    assert around("def f():\n    if False:\n        call()\n").is_unreachable
    assert not around("def f():\n    if True:\n        call()\n    return 1\n").is_unreachable


def test_who_takes_the_failure() -> None:
    template = "def f():\n    try:\n        call()\n    except {}:\n        pass\n"
    for kinds, expected, swallowed in [
        ("Exception", False, True),
        ("ValueError", False, False),
        ("(KeyError, TypeError)", True, False),
        ("(TypeError, Exception)", True, True),
        ("module.Special", True, False),
    ]:
        found = around(template.format(kinds))
        assert (found.is_expected, found.is_swallowed) == (expected, swallowed), kinds
    assert not around("def f():\n    try:\n        pass\n    except TypeError:\n        call()\n").is_expected
    assert around("def f():\n    with pytest.raises(TypeError):\n        call()\n").is_expected
    assert around("def f():\n    raises(TypeError, lambda: call())\n").is_expected
    assert around("@pytest.mark.xfail\ndef f():\n    call()\n").is_expected


def test_bound_names_of_all_scopes() -> None:
    found = around("def f(a):\n    a = [b for b in a]\n    def c(a): import d as e\n    call()\n")
    assert found.bound == {"a": 3, "b": 1, "c": 1, "e": 1}


def test_no_call_at_the_place() -> None:
    tree = ast.parse("def f():\n    call()\n")
    assert surroundings(tree, [], Span(2, 4, 2, 9)) is None


def test_bindings_of_a_module() -> None:
    scopes = module_scopes(
        ast.parse(
            dedent(
                """
                from a import one, two
                try:
                    from b import three
                except ImportError:
                    three = None
                if one:
                    def four(): ...
                else:
                    def four(): ...
                for five, (six, *seven) in one: ...
                with one as eight: ...
                @overload
                def nine(): ...
                def nine():
                    global two
                class C:
                    from c import d
                    def e(self): ...
                    @property
                    def g(self): ...
                    @g.setter
                    def g(self, value): ...
                    f = h = 1
                    class I:
                        j = 1
                match one:
                    case {"k": k, **rest}: ...
                """
            )
        )
    )
    assert scopes.names == {
        **dict.fromkeys(("one", "two", "three", "five", "six", "seven", "eight", "nine", "C", "k", "rest"), 1),
        "four": 2,
    }
    assert scopes.members == {
        **dict.fromkeys((("C", "d"), ("C", "e"), ("C", "g"), ("C", "f"), ("C", "h"), ("C", "I"), ("C.I", "j")), 1)
    }
    assert scopes.rebound == {"two"}
    assert not scopes.is_dynamic
    assert module_scopes(ast.parse("globals()[name] = 1")).is_dynamic
