"""Families: folders, registered names, and the files of their networks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from conformance.check import make_project
from conformance.layout import allowlists_dir
from conformance.project.families import Families
from conformance.project.profile import load_profile
from conformance.project.project import Project
from conformance.sources.overlay import DiskOverlay
from tests.callpaths.looking import ROOT, project_of

FOLDER = "simpletuner/helpers/models"
FILES = {
    f"{FOLDER}/registry.py": "class ModelRegistry:\n    pass\n",
    f"{FOLDER}/one/__init__.py": "",
    f"{FOLDER}/one/model.py": """
        from ..registry import ModelRegistry
        from .transformer import OneNet

        class One:
            MODEL_CLASS = OneNet

        ModelRegistry.register("one", One)
        """,
    f"{FOLDER}/one/transformer.py": "from simpletuner.helpers.shared import Base\n\nclass OneNet(Base):\n    pass\n",
    f"{FOLDER}/one/parts/attention.py": "",
    f"{FOLDER}/two_words/model.py": """
        from ..registry import ModelRegistry
        from ..one.transformer import OneNet

        class Two:
            MODEL_CLASS = OneNet

        class Sub(Two):
            pass

        ModelRegistry.register("two-words", Two)
        ModelRegistry.register("two-words-sub", Sub)
        ModelRegistry.register(NAME, Two)
        ModelRegistry.register("unknown", Missing)
        """,
    f"{FOLDER}/three/model.py": """
        from ..registry import ModelRegistry

        class Three:
            MODEL_CLASS = choose()

        ModelRegistry.register("three", Three)
        """,
    f"{FOLDER}/four/model.py": "def f(:\n# ModelRegistry.register(\n",
    "simpletuner/helpers/shared.py": "class Base:\n    pass\n",
}


def families() -> Families:
    project: Project = project_of(FILES, "simpletuner")
    return Families(project, ROOT)


def relative(paths: set[str]) -> list[str]:
    """Paths below the folder of families, or below the root."""
    return sorted(os.path.relpath(path, ROOT).replace(os.sep, "/").removeprefix(f"{FOLDER}/") for path in paths)


def test_registrations() -> None:
    found = [(f.folder, f.name, f.registered.name, f.network.name if f.network else None) for f in families().all()]
    assert found == [
        ("one", "one", "One", "OneNet"),
        ("three", "three", "Three", None),
        ("two_words", "two-words", "Two", "OneNet"),
        ("two_words", "two-words-sub", "Sub", "OneNet"),
    ]


def test_names() -> None:
    """Folders and registered names; a folder that can't be read is a family too."""
    assert families().names() == ["four", "one", "three", "two-words", "two-words-sub", "two_words"]


def test_files_by_either_name() -> None:
    two = ["one/transformer.py", "simpletuner/helpers/shared.py", "two_words/model.py"]
    assert relative(families().files("two_words")) == two
    assert relative(families().files("two-words")) == two
    assert relative(families().files("two-words-sub")) == two
    assert relative(families().files("one")) == [
        "one/__init__.py",
        "one/model.py",
        "one/parts/attention.py",
        "one/transformer.py",
        "simpletuner/helpers/shared.py",
    ]
    assert families().files("none") == set()


def test_family_of_a_file() -> None:
    found = families()
    inside = os.path.join(ROOT, *FOLDER.split("/"))
    assert found.folder_of(os.path.join(inside, "one", "parts", "attention.py")) == "one"
    assert found.folder_of(os.path.join(inside, "registry.py")) is None
    assert found.folder_of(os.path.join(ROOT, "elsewhere.py")) is None


def test_profile_without_families() -> None:
    found = Families(project_of(FILES), ROOT)
    assert found.all() == []
    assert found.names() == []
    assert found.folder_of(os.path.join(ROOT, *FOLDER.split("/"), "one", "model.py")) is None


def test_families_of_a_release(wheel: Callable[[str, str], Path]) -> None:
    root = wheel("simpletuner", "4.10.1")
    folder = allowlists_dir()
    project = make_project(DiskOverlay(), load_profile(folder / "simpletuner.toml", folder))
    found = Families(project, str(root)).all()
    by_name = {family.name: family for family in found}
    assert len(by_name) == 44
    flux = by_name["flux"]
    assert (flux.folder, flux.network.name if flux.network else None) == ("flux", "FluxTransformer2DModel")
    unresolved = sorted(name for name, family in by_name.items() if family.network is None)
    assert unresolved == ["ideogram"], "its network is chosen when the model is made"
    assert not project.problems
