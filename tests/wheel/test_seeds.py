"""Known defects, put into the text of a published release one at a time, are found: each exactly once, at its place."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterable, Iterator

import pytest

from conformance.check import Options, check
from conformance.findings import Finding, Severity
from tests.conftest import RELEASES
from tests.wheel.edits import MODELS, Edit, Text, dropped_control, forgetful_branch, literal_gate, model_files
from tests.wheels import Tree, unpacked

GUARDED = {
    f"{MODELS}/chroma/transformer.py": 2,  # `and self.gradient_checkpointing` stands beside the helper
    f"{MODELS}/cosmos/transformer.py": 1,  # the same
    f"{MODELS}/sanavideo/transformer.py": 1,  # the branch that holds the loop tests the flag
}
"""The files in which something else tests the flag on the way to the gate helper: file to number of gates."""

COUNTS = {forgetful_branch: 29, dropped_control: 64, literal_gate: 30}
"""How many places there are for each edit; a change here means that the search for them changed."""


def findings(path: str) -> tuple[Finding, ...]:
    """What the default check of one file says."""
    return tuple(check(Options(paths=(path,), cwd=path.rpartition("/simpletuner/")[0])).findings)


def new_findings(before: Iterable[Finding], after: Iterable[Finding]) -> list[Finding]:
    """The findings that an edit brought, whatever lines it moved."""
    known = collections.Counter(key(finding) for finding in before)
    result = []
    for finding in after:
        if known[key(finding)]:
            known[key(finding)] -= 1
        else:
            result.append(finding)
    return result


def key(finding: Finding) -> tuple[str, str, str, str]:
    """What tells two findings of one file apart without lines."""
    return finding.code, finding.function, finding.parameter, finding.text


@pytest.fixture(scope="module")
def unedited(simpletuner_tree: Tree) -> Callable[[str], tuple[Finding, ...]]:
    """The findings of a file as it was published."""
    return functools.cache(lambda relative: findings(str(simpletuner_tree.root / relative)))


@pytest.fixture
def brought(
    simpletuner_tree: Tree, unedited: Callable[[str], tuple[Finding, ...]]
) -> Callable[[str, str], list[Finding]]:
    """`brought(file, text)`: the findings that the new text of a file brings."""

    def run(relative: str, text: str) -> list[Finding]:
        before = unedited(relative)
        with simpletuner_tree.edited({relative: text}) as root:
            after = findings(str(root / relative))
        assert not new_findings(after, before), "the edit took a finding away"
        return new_findings(before, after)

    return run


def said(found: Iterable[Finding]) -> list[tuple[str, Severity, int]]:
    """The findings in short."""
    return [(finding.code, finding.severity, finding.place.line) for finding in found]


@functools.cache
def texts() -> tuple[Text, ...]:
    """The model files that can be edited."""
    return tuple(model_files(unpacked("simpletuner", RELEASES[0])))


def every(make: Callable[[Text], Iterator[Edit]]) -> pytest.MarkDecorator:
    """One case for each place where an edit is possible."""
    edits = [edit for text in texts() for edit in make(text)]
    return pytest.mark.parametrize("edit", edits, ids=lambda edit: edit.name)


def check_once(found: list[Finding], edit: Edit, code: str, severity: Severity) -> None:
    """The edit brought one finding, of this code, at its place."""
    assert [(finding.code, finding.severity) for finding in found] == [(code, severity)], said(found)
    assert edit.first <= found[0].place.line <= edit.last, (found[0].place, edit.first, edit.last)


# -- the two defects as they were


def test_flux_wrappers_that_forget_the_control(brought: Callable[[str, str], list[Finding]]) -> None:
    path = f"{MODELS}/flux/transformer.py"
    (text,) = (text for text in texts() if text.path == path)
    factory = "def create_custom_forward(module):"
    call = "return module(*inputs, offload_attention=self.gradient_checkpointing_offload_attention)"
    assert (text.text.count(factory), text.text.count(call)) == (2, 2)
    margin = " " * 24
    branch = f"if return_dict is not None:\n{margin}    return module(*inputs, return_dict=return_dict)\n{margin}{call}"
    new = text.text.replace(factory, "def create_custom_forward(module, return_dict=None):").replace(call, branch)
    found = brought(path, new)
    lines = [k for k, line in enumerate(new.splitlines(), 1) if "return_dict=return_dict" in line]
    assert said(found) == [("CF108", Severity.CONVENTION, line) for line in lines]


def test_chroma_gates_with_a_literal(brought: Callable[[str, str], list[Finding]]) -> None:
    path = f"{MODELS}/chroma/transformer.py"
    (text,) = (text for text in texts() if text.path == path)
    edits = list(literal_gate(text))
    new = text.text
    for edit in edits:
        new = "\n".join(
            edited if edited != old else kept
            for edited, old, kept in zip(edit.text.split("\n"), text.text.split("\n"), new.split("\n"), strict=True)
        )
    found = brought(path, new)
    assert [(finding.code, finding.severity) for finding in found] == [("CF301", Severity.CONVENTION)] * 2
    assert all(edit.first <= finding.place.line <= edit.last for edit, finding in zip(edits, found, strict=True))


# -- the same edits wherever they are possible


@every(forgetful_branch)
def test_wrapper_branch_that_forgets_the_control(edit: Edit, brought: Callable[[str, str], list[Finding]]) -> None:
    check_once(brought(edit.path, edit.text), edit, "CF108", Severity.CONVENTION)


@every(dropped_control)
def test_call_that_drops_the_control(edit: Edit, brought: Callable[[str, str], list[Finding]]) -> None:
    check_once(brought(edit.path, edit.text), edit, "CF108", Severity.WARNING)


@every(literal_gate)
def test_gate_with_a_literal(edit: Edit, brought: Callable[[str, str], list[Finding]]) -> None:
    severity = Severity.CONVENTION if edit.path in GUARDED else Severity.ERROR
    check_once(brought(edit.path, edit.text), edit, "CF301", severity)


def test_the_places_are_all_there() -> None:
    made = {make.__name__: [edit for text in texts() for edit in make(text)] for make in COUNTS}
    assert {name: len(edits) for name, edits in made.items()} == {make.__name__: n for make, n in COUNTS.items()}
    gates = collections.Counter(edit.path for edit in made["literal_gate"])
    assert {path: gates[path] for path in GUARDED} == GUARDED
