"""A function lowered from its own lines is the function lowered with its file."""

from __future__ import annotations

import ast
import pickle
import random
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.facts.ir import Function
from conformance.facts.lower import FunctionNode, Lowerer
from conformance.facts.module import FunctionFacts, ModuleFacts, Unparsable, function_summary, module_facts, parse
from conformance.sources.decode import decode
from conformance.sources.problems import Unreadable


def in_file(text: str) -> dict[tuple[str, int], Function]:
    """Each function at module and class level, lowered from the tree of its whole file, by name and line."""
    found: dict[tuple[str, int], Function] = {}

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, FunctionNode):
                name = f"{prefix}{node.name}"
                found[name, node.lineno] = Lowerer().function(node, name)
            elif isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}.")
            else:
                for field in ("body", "orelse", "finalbody"):
                    walk(getattr(node, field, []), prefix)
                for handler in getattr(node, "handlers", []):
                    walk(handler.body, prefix)

    walk(ast.parse(text).body, "")
    return found


def assert_same(text: str, path: str) -> int:
    """Compares all functions of a file; returns how many there were."""
    facts = module_facts(text, path)
    whole = in_file(text)
    count = 0
    for function in facts.all_functions():
        expected = whole[function.qualname, function.span.line]
        assert function_summary(function, text) == expected, f"{path}: {function.qualname}"
        kept = facts.summaries.get(function.qualname)
        assert kept is None or kept == expected, f"{path}: {function.qualname}"
        assert function.parameters == expected.parameters
        count += 1
    assert pickle.loads(pickle.dumps(facts)) == facts
    return count


STRANGE = {
    "plain": "def f(x):\n    return x\n",
    "no newline at the end": "def f(x):\n    return x",
    "one line": "def f(x): return x\n",
    "one line, several": "def f(x): y = x; return y\n",
    "decorators": "@a\n@b(\n    1,\n    # c\n)\n\n# d\n@c.d\ndef f(x):\n    return x\n",
    "method": "class A:\n    x = 1\n\n    def f(self, x):\n        return x\n\n    @p\n    def g(self): ...\n",
    "nested classes": "class A:\n    class B:\n        class C:\n            def f(self):\n                return 1\n",
    "tabs": "class A:\n\tdef f(self):\n\t\tif self:\n\t\t\treturn 1\n",
    "tabs and spaces": "class A:\n    def f(self):\n    \tif self:\n    \t    return 1\n",
    "one space": "class A:\n def f(self):\n  return 1\n",
    "CRLF": "class A:\r\n    @a\r\n    def f(self):\r\n        return '''x\r\ny'''\r\n",
    "CR": "class A:\r    def f(self):\r        return 1\r",
    "mixed line ends": "class A:\r\n    def f(self):\n        x = 1\r        return x\r\n",
    "form feed": "x = 1\n\f\nclass A:\n\f    def f(self):\n        x = 1\n\f\n        return x\n",
    "form feed in a string": "x = '''a\fb'''\n\ndef f():\n    return '\f'\n",
    "vertical tab and separators": "x = 'a\x0bb\u2028c\x85d'\n\ndef f():\n    return 'a\x0bb\u2028c\x85d'\n",
    "strings over lines": "class A:\n    def f(self):\n        x = '''\nleft\n    more\n'''\n        return x\n",
    "string that looks like code": "class A:\n    def f(self):\n        return '''\ndef g():\n    pass\n'''\n",
    "comment to the left": "class A:\n    def f(self):\n        x = 1\n# left\n        return x\n",
    "continuation": "class A:\n    def f(self):\n        x = 1 + \\\n2\n        return \\\n            x\n",
    "parentheses to the left": "class A:\n    def f(\nself,\n  x=(\n1)):\n        return (\nx)\n",
    "not ASCII": "class Ä:\n    def ö(self, ü='ß'):\n        return 'äöü', self.ö(ü)\n",
    "under a condition": "if X:\n    def f():\n        return 1\nelse:\n    @a\n    def f():\n        return 2\n",
    "in a try": "try:\n    import x\nexcept ImportError:\n    def f():\n        return 1\n",
    "async": "async def f():\n    async with a as b:\n        return await b\n",
    "docstring": 'class A:\n    def f(self):\n        """Text.\n\n  more\n"""\n        return 1\n',
    "type comments": "def f(x,  # type: int\n      y):\n    # type: (...) -> None\n    pass\n",
    "semicolon before": "x = 1; y = 2\ndef f(): return x\n",
    "property": "class A:\n    @property\n    def f(self):\n        return 1\n    @f.setter\n    def f(self, x): ...\n",
    "same name twice": "class A:\n    def f(self):\n        return 1\n    def f(self):\n        return 2\n",
    "lambda default": "class A:\n    def f(self, x=lambda y: y, *, z=[i for i in (1,)]):\n        return x\n",
    "scopes": "def f():\n    global x\n    y = 1\n    def g():\n        nonlocal y\n        y = 2\n    return g\n",
    "checkpoint": "class A:\n    def f(self, x):\n        return checkpoint(self.b, x)\n",
    "byte order mark": "\ufeffdef f(x):\n    return x\n",
    "nothing but a comment": "class A:\n    def f(self):\n        ...  # nothing\n",
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
def test_strange_layout(text: str) -> None:
    text = text.removeprefix("\ufeff")  # decoding takes it off
    assert assert_same(text, "main.py") > 0


@pytest.mark.parametrize("indent", ["    ", "\t", "  ", " \t "])
def test_any_indentation_of_a_class(indent: str) -> None:
    text = "class A:\n>@a\n>def f(self, x):\n>>if x:\n>>>return '''\n'''\n".replace(">", indent)
    assert assert_same(text, "main.py") == 1


def function_of(text: str, name: str) -> FunctionFacts:
    """The facts of one function."""
    facts: ModuleFacts = module_facts(text, "main.py")
    (found,) = (f for f in facts.all_functions() if f.name == name)
    return found


@pytest.mark.parametrize("changed", ["", "x = 1\n", "class A:\n    pass\n", "\n\n\n\n", "if 1:\n", "def f(:\n"])
def test_text_that_has_changed(changed: str) -> None:
    function = function_of("class A:\n    def f(self):\n        return 1\n", "f")
    with pytest.raises(Unparsable):
        function_summary(function, changed)


def stdlib() -> Iterator[Path]:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in sorted(root.rglob("*.py")) if "site-packages" not in path.parts]
    yield from random.Random(2).sample(files, 70)


def test_functions_of_the_standard_library() -> None:
    count = 0
    for path in stdlib():
        try:
            text = decode(path.read_bytes())
            parse(text, str(path))
        except (Unreadable, Unparsable):
            continue  # Python's own tests of broken files
        count += assert_same(text, str(path))
    assert count > 500


def test_functions_of_real_models(wheel: Callable[[str, str], Path]) -> None:
    root = wheel("simpletuner", "4.10.1") / "simpletuner" / "helpers" / "models"
    files = random.Random(3).sample(sorted(root.rglob("*.py")), 60)
    assert sum(assert_same(decode(path.read_bytes()), str(path)) for path in files) > 500
