"""Profiles: names of a project as data, checked when they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.layout import allowlists_dir
from conformance.project.profile import (
    CheckpointCallable,
    Control,
    Exemption,
    GateHelper,
    Profile,
    ProfileError,
    load_profile,
)

INSTALLED = sorted(allowlists_dir().glob("*.toml"))


def load(folder: Path, text: str, **others: str) -> Profile:
    """The profile `main` with this text; others lie beside it."""
    for name, content in {**others, "main": text}.items():
        (folder / f"{name}.toml").write_text(content, encoding="utf-8")
    return load_profile(folder / "main.toml", folder)


@pytest.mark.parametrize("path", INSTALLED, ids=lambda path: path.stem)
def test_installed_profiles(path: Path) -> None:
    profile = load_profile(path, allowlists_dir())
    assert profile.name == path.stem
    assert any(found.name == "torch.utils.checkpoint.checkpoint" for found in profile.checkpoints)
    assert "torch.nn.Module" in profile.module_bases
    assert "torch.nn.ModuleList" in profile.containers


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    profile = load(
        tmp_path,
        """
        name = "main"
        description = "All there is."
        [project]
        markers = ["src/models"]
        [checkpoint]
        own = ["use_reentrant"]
        [[checkpoint.callables]]
        name = "tools.ckpt"
        kind = "wrapper"
        own = ["device"]
        [[checkpoint.callables]]
        name = "_hook"
        kind = "hook"
        attribute = true
        [[checkpoint.callables]]
        name = "tools.run_all"
        kind = "torch"
        sequential = true
        [gate]
        flags = ["remat"]
        grad_tests = ["torch.is_grad_enabled"]
        grad_off = ["torch.no_grad"]
        grad_mode = true
        [[gate.helpers]]
        name = "tools.due"
        index = "i"
        flag = "on"
        interval = "every"
        stride = "window"
        [[control]]
        parameter = "offload"
        attribute = "offload_attention"
        [[control]]
        kind = "scope"
        parameter = "part"
        attribute = "backend"
        setter = "set_backend"
        capability = "_has_parts"
        values = ["torch-part"]
        [families]
        folder = "src/models"
        [[families.registry]]
        callable = "Registry.add"
        network = "NET"
        [families.aliases]
        one = ["uno", "eins"]
        [module]
        bases = ["torch.nn.Module"]
        containers = ["torch.nn.ModuleList"]
        mappings = ["torch.nn.ModuleDict"]
        [[exempt]]
        code = "CF101"
        path = "src/models/one.py"
        reason = "Intended."
        function = "Model.forward"
        parameter = "mask"
        version = "1.0"
        """,
    )
    assert profile.markers == ("src/models",)
    assert profile.checkpoints == (
        CheckpointCallable("tools.ckpt", "wrapper", own=("device",)),
        CheckpointCallable("_hook", "hook", attribute=True, own=("use_reentrant",)),
        CheckpointCallable("tools.run_all", "torch", own=("use_reentrant",), sequential=True),
    )
    assert profile.flags == ("remat",)
    assert profile.grad_tests == ("torch.is_grad_enabled",)
    assert profile.grad_contexts == ("torch.no_grad",)
    assert profile.grad_mode
    assert profile.gate_helpers == (GateHelper("tools.due", "i", "on", "every", "window"),)
    assert profile.controls == (
        Control("offload", "offload_attention"),
        Control("part", "backend", "scope", "set_backend", "_has_parts", ("torch-part",)),
    )
    assert profile.families_folder == "src/models"
    assert profile.registries[0].callable == "Registry.add"
    assert profile.aliases == {"one": ("uno", "eins")}
    assert profile.exemptions == (Exemption("CF101", "src/models/one.py", "Intended.", "Model.forward", "mask", "1.0"),)


def test_what_a_profile_extends_comes_after_its_own(tmp_path: Path) -> None:
    base = """
        name = "base"
        [gate]
        flags = ["near"]
        [families]
        folder = "base/models"
        [families.aliases]
        one = ["uno"]
        two = ["due"]
        """
    own = """
        name = "main"
        extends = "base"
        [gate]
        flags = ["own"]
        [families.aliases]
        one = ["eins"]
        """
    profile = load(tmp_path, own, base=base)
    assert profile.name == "main"
    assert profile.flags == ("own", "near")
    assert profile.families_folder == "base/models"
    assert profile.aliases == {"one": ("eins",), "two": ("due",)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["`name`", "text"]),
        ("name = 3", ["`name`", "text"]),
        ("name = 'main'\nunknown = 1", ["unknown key `unknown`"]),
        ("name = 'main'\n[checkpoint]\nown = 'x'", ["`checkpoint.own`", "list of texts"]),
        ("name = 'main'\n[checkpoint]\nown = [1]", ["`checkpoint.own`", "list of texts"]),
        ("name = 'main'\ncheckpoint = 1", ["`checkpoint`", "table"]),
        ("name = 'main'\n[[checkpoint.callables]]\nkind = 'torch'", ["`checkpoint.callables[0].name`"]),
        (
            "name = 'main'\n[[checkpoint.callables]]\nname = 'x'\nkind = 'magic'",
            ["`checkpoint.callables[0].kind`", "torch", "hook", "wrapper"],
        ),
        (
            "name = 'main'\n[[checkpoint.callables]]\nname = 'x'\nkind = 'hook'\nattribute = 'yes'",
            ["`checkpoint.callables[0].attribute`", "true or false"],
        ),
        ("name = 'main'\n[[control]]\nparameter = 'x'", ["`control[0].attribute`"]),
        ("name = 'main'\n[[exempt]]\ncode = 'CF101'\npath = 'x.py'", ["`exempt[0].reason`"]),
        ("name = 'main'\nextends = 'main'", ["circle"]),
        ("name = 'main'\nextends = 'missing'", ["missing.toml"]),
        ("name = ", ["main.toml"]),
        ("name = 'main'\n[gate]\nflag = ['typo']", ["unknown key `gate.flag`", "did you mean `flags`?"]),
        ("name = 'main'\n[gate]\nzzz = 1", ["unknown key `gate.zzz`", "known: flags, grad_mode"]),
        (
            "name = 'main'\n[[control]]\nparameter = 'x'\nattribute = 'y'\nextra = 1",
            ["unknown key `control[0].extra`"],
        ),
        ("name = 'main'\n[[families.registry]]\ncallable = 'a'\nnetwork = 'b'\nx = 1", ["`families.registry[0].x`"]),
        ("name = 'main'\n[[control]]\nkind = 'magic'\nattribute = 'y'", ["`control[0].kind`", "backend", "stride"]),
        ("name = 'main'\n[[gate.helpers]]\nname = 'x'\nindex = 'i'", ["`gate.helpers[0].flag`"]),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(ProfileError) as caught:
        load(tmp_path, text)
    for word in ["main.toml", *words] if "missing.toml" not in words else words:
        assert word in str(caught.value)


def test_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"none\.toml"):
        load_profile(tmp_path / "none.toml", tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(ProfileError, match=r"bytes\.toml"):
        load_profile(tmp_path / "bytes.toml", tmp_path)
