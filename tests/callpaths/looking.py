"""Small sources in, call paths and values out, both as short text.

A line of a source is named by a comment: `# <- eager` marks the line that holds the call. `paths_of` gives one text for
each path:

    "ck: checkpointed self.blocks[*](x=x, mask=mask) if self.gradient_checkpointing"

that is marker, route, block, the parameters that are bound, and the conditions. What is usual is left out: the class
`Block`, the method `forward`, a result that is given a name. `dead` and the reason of what isn't known follow where
there are any.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import dedent, indent

import pytest
from _pytest.mark import ParameterSet

from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import CallPath, EntryPaths
from conformance.callpaths.trace import RawCall, Trace, literals
from conformance.callpaths.values import Value
from conformance.check import call_paths, make_project
from conformance.layout import allowlists_dir
from conformance.project.profile import load_profile
from conformance.project.project import Project
from conformance.sources.overlay import DiskOverlay, EditedOverlay

ROOT = os.path.join(os.sep, "tree")
"""The root folder of every small tree; it need not be on the disk."""

MARKER = re.compile(r"# <- ([\w-]+)\s*$")

IMPORTS = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
"""
BLOCK = """\
class Block(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, mask=None, scale=1.0):
        return self.linear(x)
"""
CONTAINER = "self.blocks = nn.ModuleList([Block() for _ in range(3)])"


def model(
    body: str,
    *,
    signature: str = "x, mask=None, scale=1.0",
    init: str = CONTAINER,
    before: str = "",
    methods: str = "",
    bases: str = "nn.Module",
    blocks: str = BLOCK,
) -> str:
    """A file with a block and a model whose forward has this body.

    `before` stands at module level before the model, `methods` in its class after `forward`.
    """
    init = f"super().__init__()\nself.gradient_checkpointing = False\n{dedent(init)}"
    parts = [
        IMPORTS,
        dedent(blocks),
        dedent(before),
        f"class Model({bases}):",
        indent(f"def __init__(self, config=None):\n{indent(init, '    ')}", "    "),
        indent(f"def forward(self, {signature}):\n{indent(dedent(body), '    ')}", "    "),
        indent(dedent(methods), "    "),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def snippets(text: str) -> list[ParameterSet]:
    """Parameters of a test: pieces of source, parted by lines of `---` where there are any, else by blank lines.

    A piece that starts with `# wrong: REASON` is expected to fail for that reason.
    """
    text = dedent(text).strip("\n")
    pieces = re.split(r"^---\n" if "\n---\n" in text else r"\n\s*\n", text, flags=re.MULTILINE)
    return [_snippet(piece.strip("\n")) for piece in pieces]


def _snippet(piece: str) -> ParameterSet:
    first, _, rest = piece.partition("\n")
    if not first.startswith("# wrong: "):
        return pytest.param(piece)
    return pytest.param(rest, marks=pytest.mark.xfail(reason=first.removeprefix("# wrong: ")))


def tree(files: Mapping[str, str]) -> EditedOverlay:
    """An overlay that holds these files, named relative to the root, and the mark of a root."""
    texts = {"pyproject.toml": "", **files}
    return EditedOverlay(
        DiskOverlay(), {os.path.join(ROOT, *name.split("/")): dedent(text).encode() for name, text in texts.items()}
    )


def project_of(files: Mapping[str, str], profile: str = "torch") -> Project:
    """The linked project of these files."""
    folder = allowlists_dir()
    return make_project(tree(files), load_profile(folder / f"{profile}.toml", folder))


def place_of(name: str) -> str:
    """The path of a file of the tree."""
    return os.path.join(ROOT, *name.split("/"))


# Call paths


def entries_of(source: str, files: Mapping[str, str] | None = None, name: str = "model.py") -> tuple[EntryPaths, ...]:
    """The entries of a file, all paths included."""
    result = call_paths(name, cwd=ROOT, overlay=tree({**(files or {}), name: source}))
    assert not result.problems, result.problems
    return result.entries


def paths_of(
    source: str,
    files: Mapping[str, str] | None = None,
    name: str = "model.py",
    *,
    of: str | None = None,
    conditions: bool = True,
) -> list[str]:
    """The paths of a file's entries as text, in the order of their lines, and what kept an entry from being followed.

    `files` are the other files of the tree by name; with `of` only the entries of that class count.
    """
    sources = {**(files or {}), name: source}
    entries = [entry for entry in entries_of(source, files, name) if of is None or entry.class_name == of]
    found = [path for entry in entries for path in entry.paths]
    texts = [text for _, text in sorted((_order(path), describe(path, sources, conditions)) for path in found)]
    return [*texts, *(f"{entry.function}: {problem}" for entry in entries for problem in entry.problems)]


def bindings_of(
    source: str, files: Mapping[str, str] | None = None, name: str = "model.py", *, of: str | None = None
) -> list[str]:
    """As `paths_of`, without the conditions: for shapes in which these are beside the point."""
    return paths_of(source, files, name, of=of, conditions=False)


def describe(path: CallPath, sources: Mapping[str, str], conditions: bool = True) -> str:
    """One path as text."""
    arguments = "?" if path.binding is None else ", ".join(f"{name}={v.text}" for name, v in path.binding.items())
    method = "" if path.block.method == "forward" else f".{path.block.method}"
    classes = "|".join(sorted(ref.name for ref in path.block.classes))
    shown = "" if classes == "Block" else f"<{classes}>" if classes else ""
    text = f"{marker_at(path, sources)}: {path.route} {path.block.text}{shown}{method}({arguments})"
    if conditions and path.conditions:
        text += f" if {conjunction((condition.value, condition.holds) for condition in path.conditions)}"
    if path.result != "name":
        text += f" -> {path.result}"
    if path.dead:
        text += " dead"
    if path.unknown:
        text += f" unknown: {path.unknown}"
    return text


def _order(path: CallPath) -> tuple[str, int, int]:
    return path.call.path, path.call.line, path.call.column


def marker_at(path: CallPath, sources: Mapping[str, str]) -> str:
    """The name that a comment gives to the line of the call; `line N` where it has none."""
    return marker(sources, path.call.path, path.call.line)


def marker(sources: Mapping[str, str], path: str, line: int) -> str:
    """The name that a comment gives to a line; `line N` where it has none."""
    name = os.path.relpath(path, ROOT).replace(os.sep, "/")
    match = MARKER.search(dedent(sources[name]).split("\n")[line - 1])
    return match[1] if match else f"line {line}"


def conjunction(conditions: Iterable[tuple[Value, bool]]) -> str:
    """Conditions as text. A conjunction that holds is shown by its parts, which are among the conditions too."""
    shown = []
    for value, holds in conditions:
        if value.op == ("and" if holds else "or"):
            continue
        shown.append(value.text if holds else f"not {value.text}")
    return " and ".join(dict.fromkeys(shown))


# Values


class Probe:
    """What the interpreter saw of one function that calls its parameter `probe`."""

    def __init__(self, interpreter: Interpreter, trace: Trace, sources: Mapping[str, str]) -> None:
        self.interpreter = interpreter
        self.values = interpreter.values
        self.trace = trace
        self._sources = sources
        self.calls = [call for call in trace.calls if _is_probe(call.callee)]

    def marked(self) -> Iterator[tuple[str, RawCall]]:
        """The calls of `probe` with their markers."""
        for call in self.calls:
            yield marker(self._sources, call.site.path, call.site.span.line), call

    def call(self, name: str) -> RawCall:
        """The one call of `probe` on a marked line."""
        (found,) = (call for marked, call in self.marked() if marked == name)
        return found

    def value(self, name: str, index: int = 0) -> Value:
        """The value that reaches an argument of the one call of `probe` on a marked line."""
        return self.call(name).arguments[index]

    def reduced(self, name: str, index: int = 0) -> str:
        """The value of an argument in the light of the call's conditions."""
        call = self.call(name)
        return Assumptions(self.values, literals(call.conditions)).reduce(call.arguments[index]).text


def _is_probe(callee: Value) -> bool:
    return callee.op == "param" and callee.args[-1] == "probe"


def probe(body: str, parameters: str = "a, b, c", before: str = "", files: Mapping[str, str] | None = None) -> Probe:
    """Runs `def run(probe, <parameters>)` with this body, on symbols; `before` stands at module level before it."""
    source = f"{dedent(before)}\n\ndef run(probe, {parameters}):\n{indent(dedent(body), '    ')}\n"
    sources = {**(files or {}), "probe.py": source}
    project = project_of(sources)
    module = project.module(place_of("probe.py"))
    assert module is not None, project.problems
    interpreter = Interpreter(project)
    trace = interpreter.run(project.function_def(module, module.functions["run"]), None)
    assert trace is not None
    return Probe(interpreter, trace, sources)


EXPECTED = re.compile(r"\s*# == (.*)$")


def assert_values(body: str, parameters: str = "a, b, c, d=None, *args, **kwargs", before: str = "") -> None:
    """Compares the arguments of every `probe(...)  # == x, y when condition` with what the comment says.

    ` when …` may be left out; `never` stands for a call that isn't reached, ` / ` parts the times it is.
    """
    lines = dedent(body).strip("\n").split("\n")
    seen = probe("\n".join(lines), parameters, before)
    first = seen.trace.function.span.line + 1
    calls: dict[int, list[RawCall]] = {}
    for call in seen.calls:
        calls.setdefault(call.site.span.line - first, []).append(call)
    wanted, found = [], []
    for number, line in enumerate(lines):
        match = EXPECTED.search(line)
        assert match or "probe(" not in line, f"what reaches `{line.strip()}` isn't stated"
        if not match:
            continue
        texts = []
        for call in calls.get(number, []):
            text = ", ".join(argument.text for argument in call.arguments)
            if " when " in match[1]:
                text += f" when {conjunction(literals(call.conditions)) or 'always'}"
            texts.append(text)
        wanted.append(line)
        found.append(f"{line[: match.start()]}  # == {' / '.join(texts) or 'never'}")
    assert wanted, "nothing is stated"
    assert found == wanted
