"""Gate helpers, recognised by what they are: a modulo test on an index, and nothing without the flag."""

from __future__ import annotations

import pytest

from conformance.callpaths.interpreter import Interpreter
from tests.callpaths.looking import IMPORTS, model, paths_of, place_of, project_of, snippets


def flag_of(source: str, name: str | None = None) -> str | None:
    """The flag parameter of the last function of a file, if it is a gate helper."""
    project = project_of({"main.py": source})
    module = project.module(place_of("main.py"))
    assert module is not None, project.problems
    facts = module.functions[name or list(module.functions)[-1]]
    return Interpreter(project).gate_flag(project.function_def(module, facts))


@pytest.mark.parametrize(
    "source",
    snippets("""
        def gate(index, flag, interval):
            return flag and index % interval == 0

        def gate(index, flag, interval):
            return flag and not index % interval

        def gate(index, flag, interval=1):
            if not flag:
                return False
            return index % interval == 0

        def gate(index, flag, interval=None):
            if not flag:
                return False
            if interval is None:
                return True
            return index % interval == 0

        def gate(index, flag, interval=None):
            if flag:
                if interval is None or interval <= 1:
                    return True
                return index % interval == 0
            return False

        def gate(index, flag, interval=None, stride=None):
            if not flag:
                return False
            if stride is not None:
                return index % stride < interval
            return interval is None or index % interval == 0

        def gate(index, flag, interval):
            return bool(flag) and (index % interval) == 0

        def gate(index, flag, interval):
            return index % max(1, interval) == 0 if flag else False

        def gate(index, flag, interval):
            if flag and index % interval == 0:
                return True
            return False

        def gate(index, flag, interval):
            if not flag or index % interval != 0:
                return False
            return True

        def gate(index, interval, flag):
            skip = not flag or interval < 1
            if skip:
                return False
            return (index % interval) == 0

        def gate(index, *, flag, interval=2):
            chosen = index % interval == 0
            return flag and chosen

        def gate(index, flag, interval=2):
            remainder = index % interval
            return flag and remainder == 0

        # wrong: this spelling isn't recognised
        def gate(index, flag, interval=2):
            return all((flag, index % interval == 0))

        # wrong: this spelling isn't recognised
        def gate(index, flag, interval=2):
            return flag and divmod(index, interval)[1] == 0

        def gate(index, flag, interval=2):
            return flag and (index + 1) % interval == 0

        # wrong: this spelling isn't recognised
        def gate(index, flag, interval=2):
            return flag and index // interval * interval == index

        def gate(index, flag, interval, /):
            return flag and index % interval == 0

        # wrong: this spelling isn't recognised
        def gate(index: int, flag: bool, interval: int = 1) -> bool:
            '''Whether a block is checkpointed.'''
            import math
            return flag and math.fmod(index, interval) == 0
    """),
)
def test_gate(source: str) -> None:
    assert flag_of(source) == "flag"


@pytest.mark.parametrize(
    "source",
    snippets("""
        def no_flag(index, interval):
            return index % interval == 0

        def no_flag(index, interval=None):
            return interval is not None and index % interval == 0

        def no_flag(index, interval):
            if interval:
                return index % interval == 0
            return False

        def no_modulo(index, flag, limit):
            return flag and index < limit

        def flag_does_not_decide(index, flag, interval):
            return flag or index % interval == 0

        def flag_does_not_decide(index, flag, interval):
            if flag:
                print(index)
            return index % interval == 0

        def opposite(index, flag, interval):
            return not flag and index % interval == 0

        def text(name, flag):
            return flag and "%s" % name

        def padding(size, pad, flag):
            if not flag:
                return size
            return size + size % pad

        def log_step(step, flag, interval):
            if flag and step % interval == 0:
                print(step)

        def one_argument(flag):
            return flag and 7 % 2

        def variadic(*args):
            return args[1] and args[0] % args[2] == 0

        def unrelated(index, flag, interval):
            rest = index % interval
            return flag

        def both_ways(index, flag, interval):
            if index % interval == 0:
                return flag
            return True
    """),
)
def test_look_alike(source: str) -> None:
    assert flag_of(source) is None


@pytest.mark.xfail(reason="a helper that hands on to a gate isn't recognised")
def test_gate_that_calls_another_is_one() -> None:
    source = """
        def inner(index, flag, interval):
            return flag and index % interval == 0

        def outer(number, enabled, interval=4):
            return inner(number, enabled, interval)
        """
    assert flag_of(source) == "enabled"


@pytest.mark.parametrize(
    ("call", "flag"),
    [
        ("gate(index, self.gradient_checkpointing, 2)", "self.gradient_checkpointing"),
        ("gate(index, flag=self.gradient_checkpointing, interval=self.every)", "self.gradient_checkpointing"),
        ("gate(flag=True, index=index, interval=2)", "True"),
        ("gate(index, True, 2)", "True"),
        (
            "gate(index, self.training and self.gradient_checkpointing, 2)",
            "(self.training and self.gradient_checkpointing)",
        ),
        ("gate(index, *options)", None),
        ("gate(index, **options)", None),
        ("gate(index)", None),
    ],
)
def test_what_is_passed_for_the_flag(call: str, flag: str | None) -> None:
    source = f"""{IMPORTS}

def gate(index, flag=None, interval=1):
    return flag and index % interval == 0


class Model(nn.Module):
    def forward(self, x, options):
        for index in range(3):
            if {call}:
                x = x + 1
        return x
"""
    project = project_of({"main.py": source})
    module = project.module(place_of("main.py"))
    assert module is not None
    owner = project.class_def(module, "Model")
    forward = project.method(owner, "forward")
    assert forward is not None
    trace = Interpreter(project).run(forward, owner)
    assert trace is not None
    (gate,) = trace.gates
    assert gate.helper.name == "gate"
    assert gate.flag == "flag"
    assert (None if gate.value is None else gate.value.text) == flag
    assert source.split("\n")[gate.site.span.line - 1].strip() == f"if {call}:"


GATED = """
for index, block in enumerate(self.blocks):
    if torch.is_grad_enabled() and gate(index, {flag}, self.every):
        x = checkpoint(block, x, use_reentrant=False)  # <- ck
    else:
        x = block(x)  # <- eager
return x
"""
GATE = "def gate(index, flag, interval=None):\n    return bool(flag) and (interval is None or index % interval == 0)\n"


def test_gate_implies_its_flag() -> None:
    """The helper stays one condition, beside the flag that it can't do without."""
    source = model(GATED.format(flag="self.gradient_checkpointing"), before=GATE)
    ck, eager = paths_of(source)
    assert ck == (
        "ck: checkpointed self.blocks[*](x=x) if is_grad_enabled() and self.gradient_checkpointing"
        " and gate(index, self.gradient_checkpointing, self.every)"
    )
    assert eager.startswith("eager: eager self.blocks[*](x=x) if not (is_grad_enabled() and ")


def test_gate_whose_flag_is_off_never_opens() -> None:
    source = model(GATED.format(flag="False"), before=GATE)
    assert paths_of(source) == ["eager: eager self.blocks[*](x=x)"]


def test_gate_whose_flag_is_a_literal() -> None:
    """`True` leaves the helper's own test."""
    source = model(GATED.format(flag="True"), before=GATE)
    ck, _ = paths_of(source)
    assert ck == "ck: checkpointed self.blocks[*](x=x) if is_grad_enabled() and gate(index, True, self.every)"


def test_gate_in_another_file_and_as_a_method() -> None:
    files = {"gates.py": GATE}
    imported = model(
        GATED.format(flag="self.gradient_checkpointing").replace("gate(", "gates.gate("), before="import gates"
    )
    method = model(
        GATED.format(flag="self.gradient_checkpointing").replace("gate(", "self._gate("),
        methods="""
        @staticmethod
        def _gate(index, flag, interval=None):
            return bool(flag) and (interval is None or index % interval == 0)
        """,
    )
    for source in (imported, method):
        ck, eager = paths_of(source, files)
        assert ck.startswith("ck: checkpointed self.blocks[*](x=x) if is_grad_enabled() and ")
        assert "self.gradient_checkpointing" in ck.split(" if ")[1]
        assert eager.startswith("eager: eager self.blocks[*](x=x) if not ")


def test_modulo_without_a_helper() -> None:
    source = model(
        """
        for index, block in enumerate(self.blocks):
            if self.gradient_checkpointing and index % self.every == 0:
                x = checkpoint(block, x, use_reentrant=False)  # <- ck
            else:
                x = block(x)  # <- eager
        return x
        """
    )
    test = "self.gradient_checkpointing and index % self.every == 0"
    assert paths_of(source) == [
        f"ck: checkpointed self.blocks[*](x=x) if {test}",
        f"eager: eager self.blocks[*](x=x) if not ({test})",
    ]


@pytest.mark.parametrize(
    ("gate", "more"),
    [
        ("self.on", "@property\ndef on(self):\n    return self.gradient_checkpointing and self.training"),
        ("self.on()", "def on(self):\n    return self.gradient_checkpointing and self.training"),
        ("self.on(block)", "def on(self, b):\n    return self.gradient_checkpointing and self.training"),
        ("is_on(self)", ""),
        ("use", ""),
        ("self._use", ""),
        ("(flag := self.gradient_checkpointing) and self.training", ""),
        ("check()", ""),
        ("bool(self.gradient_checkpointing and self.training)", ""),
        ("getattr(self, 'gradient_checkpointing', False) and self.training", ""),
    ],
)
def test_gate_behind_a_name(gate: str, more: str) -> None:
    """A property, a method, a function, a local, an attribute: the conditions are those that they stand for."""
    source = model(
        f"""
        use = self.gradient_checkpointing and self.training
        self._use = use
        check = lambda: self.gradient_checkpointing and self.training
        for block in self.blocks:
            if {gate}:
                x = checkpoint(block, x)  # <- ck
            else:
                x = block(x)  # <- eager
        return x
        """,
        before="def is_on(model):\n    return model.gradient_checkpointing and model.training",
        methods=more,
    )
    test = "self.gradient_checkpointing and self.training"
    assert paths_of(source) == [
        f"ck: checkpointed self.blocks[*](x=x) if {test}",
        f"eager: eager self.blocks[*](x=x) if not ({test})",
    ]
