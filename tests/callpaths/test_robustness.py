"""No source makes the engine raise, run on without end, or guess."""

from __future__ import annotations

import gc
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.callpaths.interpreter import Interpreter
from conformance.check import make_project
from conformance.layout import allowlists_dir
from conformance.project.profile import load_profile
from conformance.project.project import ClassDef, FunctionDef, Project
from conformance.sources.overlay import DiskOverlay
from tests.callpaths.looking import BLOCK, model, paths_of

LOOP = "for block in self.blocks:\n    x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck\nreturn x\n"
BOUND = "ck: checkpointed self.blocks[*](x=x, mask=mask)"
SEED = 20
SAMPLE = 100


def sample() -> list[Path]:
    """Some files of the standard library, tests of Python's own syntax among them."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in sorted(root.rglob("*.py")) if "site-packages" not in path.parts]
    return random.Random(SEED).sample(files, SAMPLE)


def functions(project: Project, path: Path) -> Iterator[tuple[ClassDef | None, FunctionDef]]:
    """Functions and methods of a file; none where it can't be parsed."""
    module = project.module(str(path))
    if module is None:
        return
    for facts in module.functions.values():
        yield None, project.function_def(module, facts)
    for class_facts in module.classes.values():
        owner = project.class_def(module, class_facts.qualname)
        for facts in class_facts.methods.values():
            yield owner, project.function_def(module, facts, owner)


@pytest.fixture
def without_collector() -> Iterator[None]:
    """The garbage collector is off, as it is in every run of the engine."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
def test_any_function_can_be_run() -> None:
    folder = allowlists_dir()
    project = make_project(DiskOverlay(), load_profile(folder / "torch.toml", folder))
    interpreter = Interpreter(project)
    ran = 0
    for path in sample():
        for owner, function in functions(project, path):
            trace = interpreter.run(function, owner)
            assert trace is not None, f"{path}: {function.facts.qualname} can't be read"
            assert not trace.problems, f"{path}: {function.facts.qualname}: {trace.problems}"
            ran += 1
            if owner is not None:
                interpreter.attribute_value(owner, "value")
        project.forget_text(str(path))
    assert ran > 10 * SAMPLE


def repeated(line: str, count: int) -> str:
    """A line for each number, which stands for `#`."""
    return "".join(f"{line.replace('#', str(number))}\n" for number in range(count))


def nested(head: str, depth: int, inside: str) -> str:
    """Statements inside each other."""
    return "".join(f"{'    ' * level}{head.replace('#', str(level))}\n" for level in range(depth)) + (
        "    " * depth + f"{inside}\n"
    )


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(repeated("y = y + 1", 5000), id="statements"),
        pytest.param(repeated("y = self.f(y)", 5000), id="calls"),
        pytest.param(repeated("y = f(y, y)", 60), id="doubling calls"),
        pytest.param(repeated("y = (y, y)", 60), id="doubling tuples"),
        pytest.param(repeated("if scale == #:\n    y = y + #", 3000), id="branches"),
        pytest.param(repeated("y = (y, #) if scale == # else y", 60), id="choices"),
        pytest.param(repeated("ok = ok and a# is not None", 300), id="conjunction"),
        pytest.param(repeated("ok = (ok or b#) and a#", 60), id="mixed conditions"),
        pytest.param("y = (x, x)\n" + repeated("if a#:\n    y = (y[1], y[0])", 60), id="swaps"),
        pytest.param(nested("if y == #:", 80, "pass"), id="ifs"),
        pytest.param(nested("for i# in y:", 18, "y = i0"), id="loops"),
        pytest.param(nested("while i#:", 18, "y = i0"), id="whiles"),
        pytest.param(nested("with a#:", 18, "y = i0"), id="withs"),
        pytest.param(nested("def f#():", 40, "return y"), id="functions"),
        pytest.param("y = " + "(" * 90 + "y" + ")" * 90, id="parentheses"),
        pytest.param("y = " + "[" * 90 + "]" * 90, id="lists"),
        pytest.param("y = " + " or ".join(f"a{number}" for number in range(2000)), id="or"),
        pytest.param("y = f(" + ", ".join(["*y"] * 500) + ")", id="stars"),
        pytest.param("match y:\n" + repeated("    case #:\n        y = #", 400), id="match"),
        pytest.param("f = lambda g: g(g)\nf(f)", id="function given itself"),
        pytest.param("def f(n):\n    return f(n - 1) + f(n - 2)\ny = f(y)", id="recursion"),
        pytest.param("y = [y]\ny.append(y)\ny[0] = y", id="list in itself"),
        pytest.param("y = {}\ny['a'] = y\ny.update(y)", id="dict in itself"),
        pytest.param("y.a = y\ny.a.a.a = y", id="attribute of itself"),
    ],
)
def test_what_stands_before_the_blocks_does_not_matter(before: str) -> None:
    assert paths_of(model(f"y = x\n{before}\n{LOOP}"), conditions=False) == [BOUND]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("k = {}\n" + repeated("if a#:\n    k['k#'] = #", 60) + "y = checkpoint(f, x, **k)", id="keywords"),
        pytest.param(
            "f = lambda h: h\n"
            + repeated("def f#(h, f=f):\n    return f(h)\nif a#:\n    f = f#", 40)
            + "y = checkpoint(f, x)",
            id="functions",
        ),
        pytest.param(
            "f = self\n" + repeated("if a#:\n    f = f.x#", 60) + "y = checkpoint(f.block, x)", id="attributes"
        ),
        pytest.param(
            "d = {'a': x}\n" + repeated("if a#:\n    d['a'] = (d['a'], d['a'])", 60) + "y = checkpoint(f, d['a'], **d)",
            id="items",
        ),
        pytest.param(repeated("c = (c and a#) or (c and b#)", 60) + "if c:\n    y = checkpoint(f, x)", id="conditions"),
        pytest.param("y = list(self.blocks)\n" + "y = [y, y]\n" * 60 + "for z in y:\n    checkpoint(z, x)", id="lists"),
    ],
)
def test_values_that_share_their_parts(body: str) -> None:
    """Written out, each of these values has 2 to the power of 40 parts or more; the loop after them is still seen."""
    source = model(f"{body}\n{LOOP}", signature="x, mask=None, c=None, f=None")
    assert BOUND in paths_of(source, conditions=False)


@pytest.mark.parametrize(
    "init",
    [
        "self.blocks = nn.ModuleList([b for b in self.blocks])",
        "self.blocks = self.others\nself.others = self.blocks",
        "blocks = nn.ModuleList()\nblocks.append(blocks)\nself.blocks = blocks",
        "self.blocks = [self.blocks]",
        "def build():\n    return build()\nself.blocks = build()",
    ],
)
def test_container_that_leads_back_to_itself(init: str) -> None:
    (text,) = paths_of(model(LOOP, init=init))
    assert "(?) unknown: " in text


def test_model_that_holds_itself() -> None:
    for element in ("Model()", "self"):
        source = model(LOOP, init=f"self.blocks = nn.ModuleList([{element}])")
        assert paths_of(source) == ["ck: checkpointed self.blocks[*]<Model>(x=x, mask=mask)"]


def test_mutual_recursion_between_helpers() -> None:
    source = model(
        "return self.first(self.blocks, x)",
        methods="""
        def first(self, blocks, x):
            return self.second(blocks, x)

        def second(self, blocks, x):
            x = checkpoint(blocks[0], x, use_reentrant=False)  # <- ck
            return self.first(blocks, x)
        """,
    )
    assert paths_of(source) == ["ck: checkpointed self.blocks[0](x=x)"]


def test_entry_that_is_too_large_says_so() -> None:
    """Twelve helpers that call the next one three times each: half a million calls."""
    helpers = "".join(
        f"def h{number}(self, blocks, x):\n" + f"    x = self.h{number + 1}(blocks, x)\n" * 3 + "    return x\n"
        for number in range(12)
    )
    last = "def h12(self, blocks, x):\n    return checkpoint(blocks[0], x)  # <- ck\n"
    source = model("return self.h0(self.blocks, x)", methods=helpers + last)
    assert "Model.forward: too large to follow" in paths_of(source, of="Model")


def test_many_loops_and_many_classes() -> None:
    body = LOOP.removesuffix("return x\n") * 100
    texts = paths_of(model(body))
    assert len(texts) == 100
    assert len({text.split("(")[0] for text in texts}) == 1

    classes = [f"Block{number}" for number in range(100)]
    blocks = BLOCK + "".join(
        f"\n\nclass {name}(nn.Module):\n    def forward(self, x, mask):\n        return x\n" for name in classes
    )
    made = ", ".join(f"{name}()" for name in classes)
    (text,) = paths_of(model(LOOP, blocks=blocks, init=f"self.blocks = nn.ModuleList([{made}])"))
    assert text == f"ck: checkpointed self.blocks[*]<{'|'.join(sorted(classes))}>(x=x, mask=mask)"


def test_many_early_exits() -> None:
    body = repeated("if scale == #:\n    return x", 1000) + LOOP
    (text,) = paths_of(model(body))
    assert text.startswith(BOUND)
    assert text.count(" and ") == 999


@pytest.mark.parametrize("source", ["", "\n", "# nothing\n", "class Model: pass\n", "import torch\n", "x = 1\n"])
def test_file_without_entries(source: str) -> None:
    assert paths_of(source) == []


def test_class_that_inherits_from_itself() -> None:
    source = model(LOOP, bases="Model, nn.Module")
    assert paths_of(source, of="Model") == [BOUND]
