"""One defect in several places: each finding names the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from conformance.check import Options, check
from conformance.findings import Finding, Place, Related, Severity, with_fingerprints
from conformance.siblings import MOST, with_siblings

BLOCKS = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Double(nn.Module):
    def forward(self, x, mask=None):
        return x if mask is None else x * mask


class Single(nn.Module):
    def forward(self, x, mask=None):
        return x if mask is None else x + mask


"""
MODEL = """\
class NAME(nn.Module):
    def __init__(self):
        super().__init__()
        self.double = nn.ModuleList([Double()])
        self.single = nn.ModuleList([Single()])
        self.gradient_checkpointing = False

    def forward(self, x, mask=None):
        for block in self.double:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x, mask=mask)
        for block in self.single:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, MASK, use_reentrant=False)
            else:
                x = block(x, mask=mask)
        return x
"""


def source(name: str, mask: str = "mask") -> str:
    return BLOCKS + MODEL.replace("NAME", name).replace(" MASK,", f" {mask}," if mask else "")


def found(folder: Path, *paths: str) -> list[Finding]:
    """What a run finds in files, in the order of their places."""
    return list(check(Options(paths=paths or (".",), cwd=str(folder))).findings)


def named(finding: Finding) -> list[str]:
    """The siblings of a finding: file and line."""
    return [f"{Path(r.place.path).name}:{r.place.line}" for r in finding.related if r.role == "sibling"]


def test_two_loops_of_one_function(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(source("Model", mask=""), encoding="utf-8")
    first, second = found(tmp_path)
    assert (named(first), named(second)) == (["model.py:31"], ["model.py:26"])
    assert first.related[-1].fingerprint == second.fingerprint
    assert second.related[-1].fingerprint == first.fingerprint
    assert first.related[-1].message == "the same defect"
    assert [related.role for related in first.related] == ["counterpart", "sibling"]


def test_transformer_and_controlnet(tmp_path: Path) -> None:
    (tmp_path / "transformer.py").write_text(source("TinyTransformer2DModel"), encoding="utf-8")
    (tmp_path / "controlnet.py").write_text(source("TinyControlNetModel"), encoding="utf-8")
    controlnet, transformer = found(tmp_path)
    assert (named(controlnet), named(transformer)) == (["transformer.py:26"], ["controlnet.py:26"])
    assert controlnet.related[-1].message == "the same defect in `TinyTransformer2DModel.forward`"


def test_a_file_that_is_not_given_stays_out(tmp_path: Path) -> None:
    (tmp_path / "transformer.py").write_text(source("TinyTransformer2DModel"), encoding="utf-8")
    (tmp_path / "controlnet.py").write_text(source("TinyControlNetModel"), encoding="utf-8")
    (only,) = found(tmp_path, "controlnet.py")
    assert only.place.path.endswith("controlnet.py")
    assert named(only) == []


# Findings made by hand


def finding(path: str, line: int, name: str = "Model", **changes: object) -> Finding:
    base = Finding(
        code="CF101",
        name="argument-dropped",
        severity=Severity.ERROR,
        place=Place(path, line, 1, line, 9),
        message="It is dropped.",
        class_name=name,
        function=f"{name}.forward",
        parameter="mask",
        text="checkpoint(block, x)",
        module=path,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def pairs(*findings: Finding) -> dict[str, list[str]]:
    """The siblings of each finding by its place."""
    return {f"{Path(f.place.path).name}:{f.place.line}": named(f) for f in with_siblings(with_fingerprints(findings))}


def test_another_code_severity_or_parameter_is_another_defect() -> None:
    one = finding("/a/x.py", 1)
    for other in (
        finding("/a/x.py", 9, code="CF102"),
        finding("/a/x.py", 9, severity=Severity.WARNING),
        finding("/a/x.py", 9, parameter="scale"),
    ):
        assert pairs(one, other) == {"x.py:1": [], "x.py:9": []}
    assert pairs(one, finding("/a/x.py", 9)) == {"x.py:1": ["x.py:9"], "x.py:9": ["x.py:1"]}


def test_without_a_parameter_the_text_counts_outside_the_function() -> None:
    one = finding("/a/x.py", 1, parameter="")
    alike = finding("/a/x.py", 9, "Other", parameter="")
    unlike = finding("/a/x.py", 9, "Other", parameter="", text="checkpoint(layer, y)")
    same_function = finding("/a/x.py", 9, parameter="", text="checkpoint(layer, y)")
    assert pairs(one, alike)["x.py:1"] == ["x.py:9"]
    assert pairs(one, unlike)["x.py:1"] == []
    assert pairs(one, same_function)["x.py:1"] == ["x.py:9"]


def test_copies_in_other_files() -> None:
    one = finding("/a/x.py", 1, "OneTransformer2DModel")
    copied = finding("/b/y.py", 7, "Other", parameter="mask")
    changed = finding("/b/z.py", 8, "Another", text="checkpoint(layer, y)")
    elsewhere = finding("/b/w.py", 9, "Another", function="Another.encode", text="checkpoint(layer, y)")
    assert pairs(one, copied, changed, elsewhere)["x.py:1"] == ["y.py:7", "z.py:8"]


def test_the_nearest_first_and_not_too_many() -> None:
    here = [finding("/m/a/x.py", line) for line in (10, 20, 90)]
    family = [finding("/m/a/y.py", 5, "Other", family="a"), finding("/m/b/z.py", 5, "Third", family="b")]
    here = [replace(one, family="a") for one in here]
    assert pairs(*here, *family)["x.py:90"] == ["x.py:20", "x.py:10", "y.py:5", "z.py:5"]
    many = [finding("/m/a/x.py", line) for line in range(1, 30)]
    told = pairs(*many, finding("/m/a/y.py", 5))
    assert all(len(names) == MOST for names in told.values())
    assert told["x.py:15"] == ["x.py:14", "x.py:16", "x.py:13", "x.py:17", "x.py:12"]


def test_nothing_is_its_own_sibling() -> None:
    one = finding("/a/x.py", 1)
    assert pairs(one, replace(one, message="In other words.")) == {"x.py:1": []}
    unreadable = [finding(f"/a/{name}.py", 1, "", function="", parameter="", code="CF900") for name in "xy"]
    assert pairs(*unreadable) == {"x.py:1": [], "y.py:1": []}


def test_the_order_of_findings_does_not_matter() -> None:
    findings = with_fingerprints(finding(f"/a/{name}.py", line) for name in "xyz" for line in (1, 5, 9))
    expected = {f.fingerprint: f.related for f in with_siblings(findings)}
    Random(2).shuffle(findings)
    assert {f.fingerprint: f.related for f in with_siblings(findings)} == expected


def test_a_place_that_the_rule_names_is_named_once() -> None:
    """The rule's own words stay, and get the fingerprint of the finding there."""
    own = Related("sibling", Place("a.py", 9, 1, 9, 9), "the same gate")
    first = finding("a.py", 1)
    findings = with_fingerprints([replace(first, related=(own,)), finding("a.py", 9)])
    named, other = with_siblings(findings)
    assert named.related == (replace(own, fingerprint=other.fingerprint),)
