"""Controls and gates that go wrong, wherever they can: each is found once, at its place, as bad as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from conformance.findings import Finding, Severity
from tests.seeds.arguments import control_dropped
from tests.seeds.gates import literal_gate
from tests.seeds.measure import difference, findings, published, texts
from tests.seeds.recompute import forgetful_branch
from tests.seeds.text import Edit, Text

GUARDED = {
    "simpletuner chroma/transformer.py": 2,  # `and self.gradient_checkpointing` stands beside the helper
    "simpletuner cosmos/transformer.py": 1,  # the same
    "simpletuner sanavideo/transformer.py": 1,  # the branch that holds the loop tests the flag
}
"""The files in which something else tests the flag on the way to the gate helper: file to number of gates."""

COUNTS = {forgetful_branch: 29, control_dropped: 64, literal_gate: 30}
"""How many places there are for each edit; a change here means that the search for them changed."""


def brought(path: str, text: str) -> list[Finding]:
    """The findings that the new text of a file brings."""
    found, lost = difference(published(path), findings(path, text))
    assert not lost, "the edit took a finding away"
    return found


def every(make: Callable[[Text], Iterator[Edit]]) -> pytest.MarkDecorator:
    """One case for each place where an edit is possible."""
    edits = [edit for text in texts().values() for edit in make(text)]
    return pytest.mark.parametrize("edit", edits, ids=lambda edit: edit.place)


def check_once(edit: Edit, code: str, severity: Severity) -> None:
    """The edit brought one finding, of this code, at its place."""
    found = brought(edit.text.path, edit.new)
    assert [(finding.code, finding.severity) for finding in found] == [(code, severity)]
    assert any(first <= found[0].place.line <= last for first, last in edit.lines)


def text_of(name: str) -> Text:
    """The file of a name."""
    return next(text for text in texts().values() if text.name == f"simpletuner {name}")


# -- two defects as they were


def test_flux_wrappers_that_forget_the_control() -> None:
    text = text_of("flux/transformer.py")
    factory = "def create_custom_forward(module):"
    call = "return module(*inputs, offload_attention=self.gradient_checkpointing_offload_attention)"
    assert (text.text.count(factory), text.text.count(call)) == (2, 2)
    margin = " " * 24
    branch = f"if return_dict is not None:\n{margin}    return module(*inputs, return_dict=return_dict)\n{margin}{call}"
    new = text.text.replace(factory, "def create_custom_forward(module, return_dict=None):").replace(call, branch)
    found = brought(text.path, new)
    lines = [k for k, line in enumerate(new.split("\n"), 1) if "return_dict=return_dict" in line]
    assert [(f.code, f.severity, f.place.line) for f in found] == [("CF108", Severity.CONVENTION, k) for k in lines]


def test_chroma_gates_with_a_literal() -> None:
    text = text_of("chroma/transformer.py")
    edits = list(literal_gate(text))
    found = brought(text.path, text.edited([part for edit in edits for part in edit.replacements]))
    assert [(finding.code, finding.severity) for finding in found] == [("CF301", Severity.CONVENTION)] * 2
    for edit, finding in zip(edits, found, strict=True):
        assert any(first <= finding.place.line <= last for first, last in edit.lines)


# -- the same edits wherever they are possible


@every(forgetful_branch)
def test_wrapper_branch_that_forgets_the_control(edit: Edit) -> None:
    check_once(edit, "CF108", Severity.CONVENTION)


@every(control_dropped)
def test_call_that_drops_the_control(edit: Edit) -> None:
    check_once(edit, "CF108", Severity.WARNING)


@every(literal_gate)
def test_gate_with_a_literal(edit: Edit) -> None:
    check_once(edit, "CF301", Severity.CONVENTION if edit.text.name in GUARDED else Severity.ERROR)


def test_the_places_are_all_there() -> None:
    made = {make.__name__: [edit for text in texts().values() for edit in make(text)] for make in COUNTS}
    assert {name: len(edits) for name, edits in made.items()} == {make.__name__: n for make, n in COUNTS.items()}
    gates = Counter(edit.text.name for edit in made["literal_gate"])
    assert {name: gates[name] for name in GUARDED} == GUARDED
