"""Imports and names across files."""

from __future__ import annotations

import pytest

from conformance.project.project import (
    ClassDef,
    Definition,
    External,
    FunctionDef,
    ModuleDef,
)
from tests.callpaths.looking import ROOT, paths_of, place_of, project_of, snippets

LEAF = """
from torch import nn

class Leaf(nn.Module):
    def forward(self, x):
        return x

def make():
    return Leaf()

LIMIT = 3
"""


def shown(definition: Definition | None) -> str:
    """A definition as text: its kind, its file and its name."""
    if definition is None:
        return "nothing"
    if isinstance(definition, External):
        return f"outside {definition.name}"
    if isinstance(definition, ModuleDef):
        return f"module {definition.path.removeprefix(ROOT + '/')}"
    path = definition.module.path.removeprefix(ROOT + "/")
    if isinstance(definition, ClassDef):
        return f"class {path}:{definition.facts.qualname}"
    if isinstance(definition, FunctionDef):
        return f"function {path}:{definition.facts.qualname}"
    return f"name {path}:{definition.name}"


def look_up(name: str, files: dict[str, str], start: str) -> str:
    """What a name, dotted or not, stands for at the level of a module."""
    project = project_of(files)
    module = project.module(place_of(start))
    assert module is not None, project.problems
    head, *rest = name.split(".")
    found = project.lookup(module, head)
    for part in rest:
        assert found is not None
        found = project.attribute(found, part)
    return shown(found)


PACKAGE = {
    "net/__init__.py": "",
    "net/layers/__init__.py": "from .leaf import Leaf, make as make_leaf\n",
    "net/layers/leaf.py": LEAF,
    "plain/leaf.py": LEAF,
    "leaf.py": LEAF,
}


@pytest.mark.parametrize(
    ("statement", "name", "wanted"),
    [
        # absolute
        ("from leaf import Leaf", "Leaf", "class leaf.py:Leaf"),
        ("import leaf", "leaf.Leaf", "class leaf.py:Leaf"),
        ("import leaf as l", "l.make", "function leaf.py:make"),
        ("from net.layers.leaf import Leaf", "Leaf", "class net/layers/leaf.py:Leaf"),
        ("import net.layers.leaf", "net.layers.leaf.Leaf", "class net/layers/leaf.py:Leaf"),
        ("import net.layers.leaf as l", "l.Leaf", "class net/layers/leaf.py:Leaf"),
        ("from net.layers import leaf", "leaf.LIMIT", "name net/layers/leaf.py:LIMIT"),
        ("from net import layers", "layers.leaf.make", "function net/layers/leaf.py:make"),
        # relative
        ("from .layers.leaf import Leaf", "Leaf", "class net/layers/leaf.py:Leaf"),
        ("from .layers import leaf", "leaf.Leaf", "class net/layers/leaf.py:Leaf"),
        ("from . import layers", "layers.Leaf", "class net/layers/leaf.py:Leaf"),
        ("from .. import leaf", "leaf.Leaf", "class leaf.py:Leaf"),
        ("from ..leaf import Leaf", "Leaf", "class leaf.py:Leaf"),
        # through an `__init__`
        ("from net.layers import Leaf", "Leaf", "class net/layers/leaf.py:Leaf"),
        ("from .layers import make_leaf", "make_leaf", "function net/layers/leaf.py:make"),
        ("from .layers import Leaf as Own", "Own", "class net/layers/leaf.py:Leaf"),
        # a folder without an `__init__`
        ("from plain.leaf import Leaf", "Leaf", "class plain/leaf.py:Leaf"),
        ("from plain import leaf", "leaf.make", "function plain/leaf.py:make"),
        ("import plain.leaf", "plain.leaf.Leaf", "class plain/leaf.py:Leaf"),
        # stars
        ("from leaf import *", "Leaf", "class leaf.py:Leaf"),
        ("from net.layers import *", "make_leaf", "function net/layers/leaf.py:make"),
        ("from net.layers.leaf import *", "nn", "outside torch.nn"),
        # aliases at module level
        ("from leaf import Leaf\nOwn = Leaf", "Own", "class leaf.py:Leaf"),
        ("import leaf\nOwn = leaf.Leaf", "Own", "class leaf.py:Leaf"),
        ("from leaf import Leaf\nOwn = Other = Leaf", "Other", "class leaf.py:Leaf"),
        # outside
        ("from torch.utils.checkpoint import checkpoint", "checkpoint", "outside torch.utils.checkpoint.checkpoint"),
        ("from torch.utils import checkpoint as ck", "ck.checkpoint", "outside torch.utils.checkpoint.checkpoint"),
        ("import torch", "torch.utils.checkpoint.checkpoint", "outside torch.utils.checkpoint.checkpoint"),
        (
            "import torch.utils.checkpoint",
            "torch.utils.checkpoint.checkpoint",
            "outside torch.utils.checkpoint.checkpoint",
        ),
        ("import torch.utils.checkpoint as ck", "ck.checkpoint", "outside torch.utils.checkpoint.checkpoint"),
        ("from elsewhere import thing", "thing", "outside elsewhere.thing"),
        # not there
        ("from leaf import missing", "missing", "outside leaf.missing"),
        ("x = 1", "y", "nothing"),
        # definitions in the file itself
        ("def make():\n    pass", "make", "function net/main.py:make"),
        ("class Own:\n    def run(self):\n        pass", "Own.run", "function net/main.py:Own.run"),
        ("class Own:\n    class Inner:\n        pass", "Own.Inner", "class net/main.py:Own.Inner"),
        ("LIMIT = 3", "LIMIT", "name net/main.py:LIMIT"),
        # a definition that comes after an import of the same name wins
        ("from leaf import make\ndef make():\n    pass", "make", "function net/main.py:make"),
        # guarded imports
        ("if True:\n    from leaf import Leaf", "Leaf", "class leaf.py:Leaf"),
        ("try:\n    from leaf import Leaf\nexcept ImportError:\n    Leaf = None", "Leaf", "class leaf.py:Leaf"),
        (
            "try:\n    from leaf import Leaf\nexcept ImportError:\n    class Leaf:\n        pass",
            "Leaf",
            "class leaf.py:Leaf",
        ),
        ("if TYPE_CHECKING:\n    from leaf import Leaf", "Leaf", "class leaf.py:Leaf"),
        ("with suppress(ImportError):\n    from leaf import Leaf", "Leaf", "class leaf.py:Leaf"),
    ],
)
def test_what_a_name_stands_for(statement: str, name: str, wanted: str) -> None:
    assert look_up(name, {**PACKAGE, "net/main.py": statement}, "net/main.py") == wanted


@pytest.mark.parametrize(
    "statement",
    snippets("""
        try:
            from missing import Leaf
        except ImportError:
            from leaf import Leaf

        try:
            from missing import Leaf
        except ImportError:
            Leaf = None

        try:
            from missing import Leaf
        except ImportError:
            class Leaf:
                pass
    """),
)
def test_import_with_a_fallback_stands_for_what_is_preferred(statement: str) -> None:
    """Whether the preferred one is installed isn't known, so the fallback would be a guess."""
    assert look_up("Leaf", {"leaf.py": LEAF, "main.py": statement}, "main.py") == "outside missing.Leaf"


def test_chain_of_re_exports() -> None:
    files = {
        "a/__init__.py": "from .b import Leaf",
        "a/b/__init__.py": "from ..c import *",
        "a/c.py": "from .d import Own as Leaf",
        "a/d.py": "from leaf import Leaf\n\nOwn = Leaf\n",
        "leaf.py": LEAF,
        "main.py": "from a import Leaf",
    }
    assert look_up("Leaf", files, "main.py") == "class leaf.py:Leaf"


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": "from other import x", "other.py": "from main import x"},
        {"main.py": "from other import *", "other.py": "from main import *"},
        {"main.py": "x = y\ny = x"},
        {"main.py": "x = x"},
        {"main.py": "import main as x", "other.py": ""},
        {"main.py": "from pkg import x", "pkg/__init__.py": "from pkg import x"},
        {"main.py": "from other import x", "other.py": "import main\nx = main.x"},
    ],
)
def test_import_cycle_ends(files: dict[str, str]) -> None:
    """Names that lead back to themselves: any answer is fine that comes to an end and is no definition."""
    found = look_up("x", files, "main.py")
    assert not found.startswith(("class", "function"))


def test_import_cycle_with_a_definition() -> None:
    files = {
        "main.py": "from other import Other\n\nclass Own:\n    pass\n",
        "other.py": "from main import Own\n\nclass Other(Own):\n    pass\n",
    }
    assert look_up("Other", files, "main.py") == "class other.py:Other"
    project = project_of(files)
    module = project.module(place_of("other.py"))
    assert module is not None
    assert [shown(base) for base in project.mro(project.class_def(module, "Other"))] == [
        "class other.py:Other",
        "class main.py:Own",
    ]


def test_file_beside_a_package_of_the_same_name() -> None:
    """Python takes the package."""
    files = {
        "net/__init__.py": "class Leaf:\n    pass\n",
        "net.py": "class Leaf:\n    pass\n",
        "main.py": "from net import Leaf",
    }
    assert look_up("Leaf", files, "main.py") == "class net/__init__.py:Leaf"


def test_name_of_an_init_before_a_submodule_of_the_same_name() -> None:
    files = {
        "net/__init__.py": "from .leaf import leaf",
        "net/leaf.py": "def leaf():\n    pass\n",
        "main.py": "from net import leaf",
    }
    assert look_up("leaf", files, "main.py") == "function net/leaf.py:leaf"


def test_unreadable_file_is_a_problem_and_its_names_are_outside() -> None:
    files = {"main.py": "from broken import Leaf", "broken.py": "def f(:\n"}
    project = project_of(files)
    module = project.module(place_of("main.py"))
    assert module is not None
    assert shown(project.lookup(module, "Leaf")) == "outside broken.Leaf"
    assert list(project.problems) == [place_of("broken.py")]


def test_files_are_parsed_only_when_a_link_asks() -> None:
    files = {"main.py": "from first import a\nfrom second import b\n", "first.py": "a = 1", "second.py": "b = 1"}
    project = project_of(files)
    module = project.module(place_of("main.py"))
    assert module is not None
    assert project.parsed == {place_of("main.py")}
    project.lookup(module, "a")
    assert project.parsed == {place_of("main.py"), place_of("first.py")}


def test_only_public_names_come_with_a_star() -> None:
    files = {
        "main.py": "from first import *\nfrom second import *",
        "first.py": "class _Hidden:\n    pass\n",
        "second.py": "__all__ = ['Shown']\n\nclass Shown:\n    pass\n\nclass Kept:\n    pass\n",
    }
    assert look_up("Shown", files, "main.py") == "class second.py:Shown"
    assert look_up("_Hidden", files, "main.py") == "nothing"
    assert look_up("Kept", files, "main.py") == "nothing"


def test_last_star_wins() -> None:
    files = {
        "main.py": "from first import *\nfrom second import *",
        "first.py": "class Leaf:\n    pass\n",
        "second.py": "class Leaf:\n    pass\n",
    }
    assert look_up("Leaf", files, "main.py") == "class second.py:Leaf"


def test_last_import_wins() -> None:
    files = {
        "main.py": "from first import Leaf\nfrom second import Leaf",
        "first.py": "class Leaf:\n    pass\n",
        "second.py": "class Leaf:\n    pass\n",
    }
    assert look_up("Leaf", files, "main.py") == "class second.py:Leaf"


# Imports inside functions, seen through the paths


@pytest.mark.parametrize(
    "body",
    snippets("""
        from torch.utils.checkpoint import checkpoint
        x = checkpoint(self.block, x, use_reentrant=False)  # <- ck

        import torch.utils.checkpoint
        x = torch.utils.checkpoint.checkpoint(self.block, x, use_reentrant=False)  # <- ck

        from torch.utils import checkpoint as ck
        x = ck.checkpoint(self.block, x, use_reentrant=False)  # <- ck

        from helpers import run
        x = run(self.block, x)  # <- ck

        if x is not None:
            from helpers import run
        x = run(self.block, x)  # <- ck
    """),
)
def test_import_in_a_function(body: str) -> None:
    indented = body.replace("\n", "\n        ")
    source = f"""
from torch import nn
from leaf import Leaf

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Leaf()

    def forward(self, x):
        {indented}
        return x
"""
    helpers = """
        from torch.utils.checkpoint import checkpoint

        def run(function, *inputs):
            return checkpoint(function, *inputs, use_reentrant=False)  # <- ck
        """
    (text,) = [t for t in paths_of(source, {"leaf.py": LEAF, "helpers.py": helpers}) if t.startswith("ck")]
    assert text.startswith("ck: checkpointed self.block<Leaf>(x=x)")


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("Leaf = None\nfrom leaf import Leaf\n", "class leaf.py:Leaf"),
        ("from leaf import Leaf\nLeaf = None\n", "name main.py:Leaf"),
        ("class Leaf: ...\nfrom leaf import Leaf\n", "class leaf.py:Leaf"),
        ("from leaf import Leaf\nclass Leaf: ...\n", "class main.py:Leaf"),
        ("def Leaf(): ...\nfrom leaf import Leaf\n", "class leaf.py:Leaf"),
        ("from leaf import Leaf\ndef Leaf(): ...\n", "function main.py:Leaf"),
        ("class Leaf: ...\ndef Leaf(): ...\n", "function main.py:Leaf"),
        ("def Leaf(): ...\nclass Leaf: ...\n", "class main.py:Leaf"),
        ("class Leaf: ...\nLeaf = 3\n", "name main.py:Leaf"),
        ("Leaf = 3\nclass Leaf: ...\n", "class main.py:Leaf"),
        ("class Leaf: ...\nLeaf = wrap(Leaf)\n", "class main.py:Leaf"),
    ],
)
def test_last_binding_wins(source: str, wanted: str) -> None:
    """But for a binding that only wraps what the name was."""
    assert look_up("Leaf", {"leaf.py": LEAF, "main.py": source}, "main.py") == wanted
