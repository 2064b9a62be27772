"""The calls of a function in short."""

from __future__ import annotations

from textwrap import dedent

from conformance.facts.module import module_facts
from conformance.facts.sites import CallSite, FunctionSites


def sites_of(source: str, name: str = "f") -> FunctionSites:
    return module_facts(f"# checkpoint\n{dedent(source)}", "main.py").sites[name]


def calls(source: str, name: str = "f") -> list[str]:
    """Callees with their arguments, in the order of the source."""
    found = sorted(sites_of(source, name).calls, key=lambda call: (call.span[:2], call.span[2:]))
    return [f"{call.callee}({_arguments(call)})" for call in found]


def _arguments(call: CallSite) -> str:
    parts = ["_"] * call.positionals + ["*"] * call.starred + list(call.keywords) + ["**"] * call.splat
    return ", ".join(parts)


def test_what_is_noted() -> None:
    source = """
        import package.tools
        from package import run

        class Block: ...

        def helper(): ...

        def f(x, y):
            run(x, *y, key=1, **y)
            package.tools.other(run(1), [helper() for _ in x], {"a": helper(a=1)}, key=lambda: helper(b=1))
            Block(1).start(2)
            y.view(1)
            x.view(1)
            import local
            if (z := local.load(1)) and not f"{helper(c=1)}":
                with run(2) as x[helper(d=1)]:
                    return run
        """
    assert calls(source) == [
        "run(_, *, key, **)",
        "package.tools.other(_, _, _, key)",
        "run(_)",
        "helper()",
        "helper(a)",
        "helper(b)",
        "Block(_)",
        "Block().start(_)",
        "x.view(_)",
        "local.load(_)",
        "helper(c)",
        "run(_)",
        "helper(d)",
    ]


def test_methods_and_what_they_store() -> None:
    source = """
        class Base: ...

        class Model(Base):
            def __init__(self, flag):
                super().__init__(flag)
                self.part = Base(1) if flag else None
                self.other, self.flag = Base(), flag
                self.count: int = Base.count(2)
                self.count += 1

                class Inner:
                    def run(self):
                        self.nothing()

                def inner():
                    self.run(3)
        """
    assert calls(source, "Model.__init__") == [
        "super()",
        "super().__init__(_)",
        "Base(_)",
        "Base()",
        "Base.count(_)",
        "self.run(_)",
    ]
    assert sorted(sites_of(source, "Model.__init__").stores, key=str) == [
        ("count", "Base.count"),
        ("count", None),
        ("flag", None),
        ("other", None),
        ("part", ""),
        ("part", "Base"),
    ]


def test_only_where_a_word_of_checkpointing_stands() -> None:
    assert module_facts("def f():\n    return f()\n", "main.py").sites == {}


def test_foreign_packages_are_left_out() -> None:
    assert calls("import torch, os, mine\ndef f(x):\n    torch.cat(x), os.fspath(x), mine.run(x)\n") == ["mine.run(_)"]
