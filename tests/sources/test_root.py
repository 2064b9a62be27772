from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.sources.overlay import DiskOverlay, EditedOverlay
from conformance.sources.root import import_roots, source_root

TOP = os.path.abspath(os.sep)


class Nowhere(DiskOverlay):
    """A disk with nothing on it, so that no marker of the real one is found."""

    def is_file(self, path: str) -> bool:
        return False

    def is_dir(self, path: str) -> bool:
        return False

    def list_dir(self, path: str) -> tuple[str, ...]:
        return ()


def tree(*names: str) -> EditedOverlay:
    return EditedOverlay(Nowhere(), {at(name): b"" for name in names})


def at(name: str) -> str:
    return os.path.join(TOP, *name.split("/"))


def roots(name: str, *others: str) -> list[str]:
    return [os.path.relpath(root, TOP) for root in import_roots(at(name), tree(name, *others))]


PACKAGES = ("home/repo/pkg/__init__.py", "home/repo/pkg/sub/__init__.py")


@pytest.mark.parametrize(
    "marker", [".git/HEAD", ".git", "pyproject.toml", "setup.py", "setup.cfg", "p-1.dist-info/WHEEL"]
)
def test_folder_above_the_packages(marker: str) -> None:
    assert roots("home/repo/pkg/sub/a.py", *PACKAGES, f"home/repo/{marker}") == ["home/repo"]


def test_file_beside_the_marker() -> None:
    assert roots("home/repo/a.py", "home/repo/setup.py") == ["home/repo"]


def test_source_folder_below_the_marker() -> None:
    packages = ("home/repo/src/pkg/__init__.py", "home/repo/.git/HEAD")
    assert roots("home/repo/src/pkg/a.py", *packages) == ["home/repo/src", "home/repo"]


def test_package_without_init_in_between() -> None:
    packages = ("home/repo/pkg/__init__.py", "home/repo/pkg/gap/models/__init__.py", "home/repo/pyproject.toml")
    assert roots("home/repo/pkg/gap/models/a.py", *packages) == ["home/repo/pkg/gap", "home/repo/pkg", "home/repo"]


def test_no_package_at_all() -> None:
    assert roots("home/repo/scripts/a.py", "home/repo/.git/HEAD") == ["home/repo/scripts", "home/repo"]


def test_project_that_is_itself_a_package() -> None:
    packages = ("nodes/plugin/__init__.py", "nodes/plugin/sub/__init__.py", "nodes/plugin/.git/HEAD")
    assert roots("nodes/plugin/sub/a.py", *packages) == ["nodes", "nodes/plugin"]


def test_without_a_marker_a_few_levels() -> None:
    assert roots("1/2/3/4/5/6/a.py", "1/2/3/4/5/6/__init__.py") == ["1/2/3/4/5", "1/2/3/4", "1/2/3", "1/2", "1"]
    assert roots("a.py") == ["."]


def test_source_root_by_its_marker_folder() -> None:
    overlay = tree("home/repo/pkg/models/a.py", "home/repo/pkg/models/setup.cfg", "home/repo/pkg/models/x/pkg/b.py")
    for start in ("home/repo", "home/repo/pkg", "home/repo/pkg/models", "home/repo/pkg/models/a.py"):
        assert source_root(at(start), overlay, ("pkg/models",)) == at("home/repo")
    assert source_root(at("home"), overlay, ("pkg/models",)) is None
    assert source_root(at("home/repo/pkg/models/a.py"), overlay) == at("home/repo/pkg/models")
    assert source_root(at("home/repo/pkg"), overlay) is None


def test_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    package = tmp_path / "repo" / "pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.py").touch()
    assert import_roots(str(package / "a.py"), DiskOverlay()) == (str(tmp_path / "repo"),)
    assert source_root(str(package), DiskOverlay()) == str(tmp_path / "repo")
