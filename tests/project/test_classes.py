"""Classes, their bases and their methods across files."""

from __future__ import annotations

import pytest

from conformance.project.project import ClassDef, External, Project
from tests.callpaths.looking import place_of, project_of, snippets


def linked(files: dict[str, str], name: str) -> tuple[Project, ClassDef]:
    """The project of these files, and a class of `main.py`."""
    project = project_of(files)
    module = project.module(place_of("main.py"))
    assert module is not None, project.problems
    return project, project.class_def(module, name)


def line(files: dict[str, str], name: str) -> list[str]:
    """The names of a class and its bases in order; those outside the tree dotted."""
    project, cls = linked(files, name)
    return [base.name if isinstance(base, External) else base.facts.qualname for base in project.mro(cls)]


def owner_of(files: dict[str, str], name: str, method: str) -> str | None:
    """The class that a method is found in."""
    project, cls = linked(files, name)
    found = project.method(cls, method)
    return None if found is None or found.owner is None else found.owner.facts.qualname


def test_bases_across_files() -> None:
    files = {
        "main.py": "from middle import Middle\n\nclass Own(Middle):\n    pass\n",
        "middle.py": "import base\n\nclass Middle(base.Base):\n    def run(self):\n        pass\n",
        "base.py": "from torch import nn\n\nclass Base(nn.Module):\n    def run(self): ...\n    def stop(self): ...\n",
    }
    assert line(files, "Own") == ["Own", "Middle", "Base", "torch.nn.Module"]
    assert owner_of(files, "Own", "run") == "Middle"
    assert owner_of(files, "Own", "stop") == "Base"
    assert owner_of(files, "Own", "nothing") is None


DIAMOND = """
class Top:
    def run(self): ...
class Left(Top): ...
class Right(Top):
    def run(self): ...
class Own(Left, Right): ...
"""


def test_diamond() -> None:
    """`Right` comes before `Top`, as in Python."""
    assert line({"main.py": DIAMOND}, "Own") == ["Own", "Left", "Right", "Top"]
    assert owner_of({"main.py": DIAMOND}, "Own", "run") == "Right"


@pytest.mark.parametrize(
    "source",
    snippets("""
        class Top: ...
        class Left(Top): ...
        class Right(Top): ...
        class Own(Left, Right): ...

        class A: ...
        class B(A): ...
        class C(A): ...
        class D(B): ...
        class Own(D, C): ...

        class Mixin: ...
        class Base: ...
        class Left(Mixin, Base): ...
        class Own(Left, Base): ...

        class F: ...
        class D(F): ...
        class E(F): ...
        class B(D, E): ...
        class C(D, F): ...
        class Own(B, C): ...

        class A: ...
        class B: ...
        class C: ...
        class D: ...
        class E: ...
        class K1(A, B, C): ...
        class K2(D, B, E): ...
        class K3(D, A): ...
        class Own(K1, K2, K3): ...
    """),
)
def test_order_of_bases_is_pythons(source: str) -> None:
    scope: dict[str, type] = {}
    exec(source, scope)  # the sources above, which define classes only
    wanted = [cls.__name__ for cls in scope["Own"].__mro__ if cls is not object]
    assert line({"main.py": source}, "Own") == wanted


@pytest.mark.parametrize(
    "source",
    [
        "class Own(Own):\n    pass\n",
        "class Own(Other):\n    pass\n\nclass Other(Own):\n    pass\n",
        "from main import Own as Base\n\nclass Own(Base):\n    pass\n",
    ],
)
def test_class_that_inherits_from_itself(source: str) -> None:
    """It can't run, and must not keep the checker from ending."""
    found = line({"main.py": source}, "Own")
    assert found[0] == "Own"
    assert len(found) == len(set(found))
    assert owner_of({"main.py": source}, "Own", "run") is None


def test_bases_outside_the_tree() -> None:
    files = {
        "main.py": "import torch\nfrom torch import nn\nfrom diffusers import ModelMixin\n\n"
        "class Own(ModelMixin, nn.Module, torch.nn.ModuleList):\n    pass\n"
    }
    project, cls = linked(files, "Own")
    assert project.externals(cls) == ("diffusers.ModelMixin", "torch.nn.Module", "torch.nn.ModuleList")
    assert project.inherits(cls, ("torch.nn.ModuleList",))
    assert not project.inherits(cls, ("torch.nn.Sequential",))


def test_base_that_is_made_by_a_call_is_unknown() -> None:
    assert line({"main.py": "class Own(make_base(3)):\n    pass\n"}, "Own") == ["Own", "?"]
    assert line({"main.py": "from typing import Generic\n\nclass Own(Generic[int]):\n    pass\n"}, "Own")[0] == "Own"


def test_nested_class() -> None:
    source = """
class Outer:
    class Inner:
        def run(self):
            pass

        class Innermost(Base):
            def stop(self):
                pass

class Base:
    def go(self):
        pass

class Own(Outer.Inner):
    pass
"""
    assert line({"main.py": source}, "Own") == ["Own", "Outer.Inner"]
    assert owner_of({"main.py": source}, "Own", "run") == "Outer.Inner"
    assert owner_of({"main.py": source}, "Outer.Inner.Innermost", "go") == "Base"


def test_class_redefined_under_a_condition() -> None:
    """Which of the two it is isn't known when the code is read; the last one stands, as without the condition."""
    source = """
if FAST:
    class Own:
        def first(self): ...
else:
    class Own:
        def second(self): ...
"""
    assert owner_of({"main.py": source}, "Own", "second") == "Own"


def test_method_defined_twice() -> None:
    source = """
class Own:
    if FAST:
        def run(self, x): ...
    else:
        def run(self, x, y): ...

    def once(self): ...
"""
    _, cls = linked({"main.py": source}, "Own")
    assert cls.facts.redefined == {"run"}


def test_overloads_and_accessors_are_no_redefinition() -> None:
    source = """
from typing import overload

class Own:
    @overload
    def run(self, x: int): ...
    @overload
    def run(self, x: str): ...
    def run(self, x): ...

    @property
    def size(self): ...
    @size.setter
    def size(self, value): ...
    @size.deleter
    def size(self): ...
"""
    project, cls = linked({"main.py": source}, "Own")
    assert cls.facts.redefined == frozenset()
    size = project.method(cls, "size")
    assert size is not None
    assert [p.name for p in size.facts.parameters] == ["self"]


def test_class_attribute_by_the_order_of_bases() -> None:
    files = {
        "main.py": "from base import Base\n\nclass Own(Base):\n    near = 2\n",
        "base.py": "class Base:\n    near = 1\n    far: int = 3\n    bare: int\n",
    }
    project, cls = linked(files, "Own")
    for name, owner in (("near", "Own"), ("far", "Base")):
        found = project.class_attribute(cls, name)
        assert found is not None
        assert found[0].name == owner
    assert project.class_attribute(cls, "bare") is None
    assert project.class_attribute(cls, "none") is None


def test_method_and_attribute_of_one_name_in_two_bases() -> None:
    """The nearer one counts: here an assignment hides the base's method."""
    source = "class Base:\n    def run(self): ...\n\ndef other(self): ...\n\nclass Own(Base):\n    run = other\n"
    assert owner_of({"main.py": source}, "Own", "run") is None


def test_definitions_are_made_once() -> None:
    files = {
        "main.py": "from base import Base\nfrom base import Base as Other\n",
        "base.py": "class Base:\n    def run(self): ...\n",
    }
    project = project_of(files)
    module = project.module(place_of("main.py"))
    assert module is not None
    first, second = project.lookup(module, "Base"), project.lookup(module, "Other")
    assert first is second
    assert isinstance(first, ClassDef)
    assert project.method(first, "run") is project.method(first, "run")
