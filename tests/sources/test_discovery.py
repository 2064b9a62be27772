from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.sources.discovery import SKIPPED_FOLDERS, Discovery, discover
from conformance.sources.problems import Problem


def make(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def find(root: Path, *paths: str, exclude: Sequence[str] = ()) -> Discovery:
    return discover(paths or (".",), cwd=str(root), exclude=exclude)


def names(root: Path, found: Discovery) -> list[str]:
    return [os.path.relpath(file.path, root) for file in found.files]


def problems(root: Path, found: Discovery) -> dict[str, str]:
    return {os.path.relpath(problem.path, root): problem.reason for problem in found.problems}


def test_folder(tmp_path: Path) -> None:
    make(
        tmp_path, "b.py", "a.py", "z/a.py", "a/b/c.py", "stub.pyi", "notes.txt", "python", "x.py.bak", "folder.py/d.py"
    )
    found = find(tmp_path)
    assert names(tmp_path, found) == ["a.py", "a/b/c.py", "b.py", "folder.py/d.py", "z/a.py"]
    assert not any(file.named for file in found.files)
    assert (found.problems, found.missing, found.empty, found.excluded) == ((), (), (), ())
    assert pickle.loads(pickle.dumps(found)) == found


def test_paths_are_absolute_and_normal(tmp_path: Path) -> None:
    make(tmp_path, "a/b.py")
    for given in ("a", "a/", "./a/.", "a/../a", str(tmp_path / "a"), "a/b.py", "./a//b.py"):
        assert [file.path for file in find(tmp_path, given).files] == [str(tmp_path / "a" / "b.py")]


def test_above_a_link_is_where_the_link_leads(tmp_path: Path) -> None:
    make(tmp_path, "far/inside/x.py", "far/y.py", "y.py")
    (tmp_path / "link").symlink_to("far/inside")
    assert names(tmp_path, find(tmp_path, "link/../y.py")) == ["far/y.py"]


def test_named_file_is_taken_as_it_is(tmp_path: Path) -> None:
    make(tmp_path, ".git/HEAD", "ignored.py", "script", "stub.pyi", ".venv/x.py")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    found = find(tmp_path, "stub.pyi", "script", "ignored.py", ".venv/x.py")
    assert names(tmp_path, found) == [".venv/x.py", "ignored.py", "script", "stub.pyi"]
    assert all(file.named for file in found.files)
    assert names(tmp_path, find(tmp_path)) == []


def test_file_is_given_once_and_keeps_being_named(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py", "a/y.py")
    found = find(tmp_path, "a", "a/x.py", ".", "a/x.py")
    assert [(os.path.relpath(file.path, tmp_path), file.named) for file in found.files] == [
        ("a/x.py", True),
        ("a/y.py", False),
    ]


def test_missing_is_told_as_it_was_given(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    found = find(tmp_path, "nothing", "a.py", "", "no/such.py", "a.py/b")
    assert found.missing == ("nothing", "", "no/such.py", "a.py/b")
    assert names(tmp_path, found) == ["a.py"]


def test_empty_folders_are_told(tmp_path: Path) -> None:
    make(tmp_path, "full/a.py", "full/bare/notes.txt", "ignored/a.py", "ignored/.gitignore")
    (tmp_path / "ignored" / ".gitignore").write_text("*\n")
    (tmp_path / "void").mkdir()
    found = find(tmp_path, "void/", "full", "full/bare", "ignored", "./full")
    assert found.empty == ("void/", "full/bare", "ignored")


def test_folders_that_no_one_wants(tmp_path: Path) -> None:
    make(tmp_path, *(f"{folder}/x.py" for folder in sorted(SKIPPED_FOLDERS)), "env/x.py", "env/pyvenv.cfg", "venv/x.py")
    assert names(tmp_path, find(tmp_path)) == ["venv/x.py"]
    assert names(tmp_path, find(tmp_path, "env", ".tox")) == [".tox/x.py", "env/x.py"]


def test_exclude(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "gen/a.py", "gen/keep.py", "b/gen.py", "b/c/d.py")
    patterns = ("gen/*", "!keep.py", "b/c/")
    assert names(tmp_path, find(tmp_path, exclude=patterns)) == ["a.py", "b/gen.py", "gen/keep.py"]
    found = find(tmp_path, "gen/a.py", "gen/keep.py", "../" + tmp_path.name + "/gen/a.py", exclude=patterns)
    assert names(tmp_path, found) == ["gen/keep.py"]
    assert found.excluded == ("gen/a.py", f"../{tmp_path.name}/gen/a.py")
    make(tmp_path, "other/gen/a.py", "cwd/x.py")
    assert names(tmp_path, find(tmp_path / "cwd", "../other", exclude=patterns)) == ["other/gen/a.py"]


def test_links_are_followed_once(tmp_path: Path) -> None:
    make(tmp_path, "tree/real.py", "tree/package/x.py", "outside/y.py", "outside/deep/z.py")
    tree = tmp_path / "tree"
    (tree / "a_link.py").symlink_to("real.py")
    (tree / "a_folder").symlink_to("package")
    (tree / "away").symlink_to("../outside")
    (tree / "away_again").symlink_to(tmp_path / "outside" / "deep")
    assert names(tree, find(tree)) == ["away/deep/z.py", "away/y.py", "package/x.py", "real.py"]
    # Two links to one file, and nothing else that leads there.
    for name in ("one.py", "two.py"):
        (tmp_path / "tree2").mkdir(exist_ok=True)
        (tmp_path / "tree2" / name).symlink_to("../outside/y.py")
    assert names(tmp_path, find(tmp_path, "tree2")) == ["tree2/one.py"]


def test_loops_end(tmp_path: Path) -> None:
    make(tmp_path, "tree/a/x.py", "beside.py")
    tree = tmp_path / "tree"
    (tree / "a" / "up").symlink_to("..")
    (tree / "a" / "self").symlink_to(".")
    (tree / "b").mkdir()
    (tree / "b" / "to_c").symlink_to("../c")
    (tree / "c").mkdir()
    (tree / "c" / "to_b").symlink_to("../b")
    (tree / "above").symlink_to(tmp_path)
    (tree / "loop").symlink_to("loop")
    found = find(tmp_path, "tree")
    assert names(tmp_path, found) == ["tree/a/x.py"]
    assert found.problems == ()


def test_sources_that_are_no_files(tmp_path: Path) -> None:
    make(tmp_path, "ok.py")
    (tmp_path / "self.py").symlink_to("self.py")
    (tmp_path / "dangling.py").symlink_to("gone.py")
    (tmp_path / "dangling.txt").symlink_to("gone.txt")
    os.mkfifo(tmp_path / "pipe.py")
    os.mkfifo(tmp_path / "pipe")
    expected = {
        "dangling.py": "a link to nothing",
        "pipe.py": "not a regular file",
        "self.py": "Too many levels of symbolic links",
    }
    for found in (find(tmp_path), find(tmp_path, "ok.py", *expected)):
        assert names(tmp_path, found) == ["ok.py"]
        assert problems(tmp_path, found) == expected
        assert found.missing == ()
    assert find(tmp_path, "dangling.py").problems == (Problem(str(tmp_path / "dangling.py"), "a link to nothing"),)


def test_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.py", "locked/b.py", "z/c.py")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find(tmp_path)
    assert names(tmp_path, found) == ["a.py", "z/c.py"]
    assert problems(tmp_path, found) == {"locked": "Permission denied"}
    assert find(tmp_path, "locked").empty == ()


def test_path_that_may_not_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.py")
    look = os.stat

    def refuse(path: str, **options: bool) -> os.stat_result:
        if str(path).endswith("locked/b.py"):
            raise PermissionError(13, "Permission denied", path)
        return look(path, **options)

    monkeypatch.setattr(os, "stat", refuse)
    found = find(tmp_path, "a.py", "locked/b.py")
    assert problems(tmp_path, found) == {"locked/b.py": "Permission denied"}
    assert names(tmp_path, found) == ["a.py"]


@pytest.mark.skipif(sys.platform != "linux", reason="names that other file systems refuse")
def test_strange_names(tmp_path: Path) -> None:
    strange = ["a space.py", "new\nline.py", "tab\t.py", "snow\u2603.py", os.fsdecode(b"bytes\xff.py"), "-.py", "*.py"]
    make(tmp_path, ".git/HEAD", *(f"odd\n{name}/{name}" for name in strange))
    (tmp_path / ".gitignore").write_text("*tab*.py/\n")
    found = find(tmp_path)
    assert sorted(os.path.basename(file.path) for file in found.files) == sorted(set(strange) - {"tab\t.py"})
    again = find(tmp_path, *(file.path for file in found.files))
    assert [file.path for file in again.files] == [file.path for file in found.files]


def test_deep_nesting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 1200  # deeper than the interpreter's stack, and so than what removes temporary folders
    monkeypatch.chdir(tmp_path)
    for level in range(depth):
        os.mkdir("d")
        os.chdir("d")
        if level in (500, depth - 1):
            Path("x.py").touch()
    found = find(tmp_path)
    for _ in range(depth):
        Path("x.py").unlink(missing_ok=True)
        os.chdir("..")
        os.rmdir("d")
    assert [len(Path(name).parts) for name in names(tmp_path, found)] == [depth + 1, 502]


def test_path_too_long_for_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.py")
    monkeypatch.chdir(tmp_path)
    for _ in range(20):
        os.mkdir("d" * 250)
        os.chdir("d" * 250)
    found = find(tmp_path)
    assert names(tmp_path, found) == ["a.py"]
    assert [problem.reason for problem in found.problems] == ["File name too long"]


def test_order_does_not_depend_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "b/x.py", "a/y.py", "c.py")
    (tmp_path / "b" / "l1").symlink_to("../../" + tmp_path.name + "/far")
    make(tmp_path, "far/z.py")
    (tmp_path / "a" / "l2").symlink_to("../far")
    first = find(tmp_path, "a", "b", "c.py")
    scandir = os.scandir

    class Backwards:
        def __init__(self, path: str) -> None:
            with scandir(path) as scan:
                self.entries = sorted(scan, key=lambda entry: entry.name, reverse=True)

        def __enter__(self) -> list[os.DirEntry[str]]:
            return self.entries

        def __exit__(self, *details: object) -> None:
            pass

    monkeypatch.setattr(os, "scandir", Backwards)
    assert find(tmp_path, "a", "b", "c.py") == first
    assert names(tmp_path, first) == ["a/l2/z.py", "a/y.py", "b/x.py", "c.py"]
