from __future__ import annotations

import os
import pickle
import socket
from pathlib import Path

import pytest

from conformance.sources.overlay import MAX_BYTES, DiskOverlay, EditedOverlay, Overlay, read_bytes, read_text
from conformance.sources.problems import Unreadable


class Forbidding(DiskOverlay):
    """A disk on which nothing may be read; a test can't rely on file modes, which don't bind the superuser."""

    def read(self, path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)


def reason(overlay: Overlay, path: Path) -> str:
    with pytest.raises(Unreadable) as caught:
        read_text(overlay, str(path))
    return caught.value.reason


def test_reads(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"# coding: latin-1\n'\xe9'\r\n")
    assert read_bytes(DiskOverlay(), str(file)) == b"# coding: latin-1\n'\xe9'\r\n"
    assert read_text(DiskOverlay(), str(file)) == "# coding: latin-1\n'é'\r\n"


def test_empty_file_is_empty_text(tmp_path: Path) -> None:
    (tmp_path / "empty.py").touch()
    assert read_text(DiskOverlay(), str(tmp_path / "empty.py")) == ""


def test_what_cannot_be_read(tmp_path: Path) -> None:
    disk = DiskOverlay()
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "dangling.py").symlink_to("nothing.py")
    assert reason(disk, tmp_path / "missing.py") == "No such file or directory"
    assert reason(disk, tmp_path / "dangling.py") == "No such file or directory"
    assert reason(disk, tmp_path / "loop.py") == "Too many levels of symbolic links"
    assert reason(disk, tmp_path) == "a folder, not a file"
    assert reason(Forbidding(), tmp_path / "any.py") == "Permission denied"


@pytest.mark.skipif(os.name != "posix", reason="kinds of files that only POSIX systems have")
def test_special_files_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert reason(DiskOverlay(), tmp_path / "pipe.py") == "not a regular file"
    assert reason(DiskOverlay(), Path(os.devnull)) == "not a regular file"
    with socket.socket(socket.AF_UNIX) as server:
        (tmp_path / "s").mkdir()
        server.bind(os.path.relpath(tmp_path / "s" / "socket.py"))  # the full path may be too long for a socket
        assert reason(DiskOverlay(), tmp_path / "s" / "socket.py") == "not a regular file"


def test_size_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "large.py"
    with file.open("wb") as handle:
        handle.truncate(50_000_000)  # without taking the space
    assert reason(DiskOverlay(), file) == "larger than 16 MiB, so not read"
    with file.open("wb") as handle:
        handle.truncate(MAX_BYTES)
    assert len(read_bytes(DiskOverlay(), str(file))) == MAX_BYTES
    edited = EditedOverlay(DiskOverlay(), {str(file): b" " * (MAX_BYTES + 1)})
    assert reason(edited, file) == "larger than 16 MiB, so not read"


def test_size_is_bounded_where_it_is_not_told() -> None:
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("no file here hides its size")
    assert os.stat("/proc/self/maps").st_size == 0
    assert b"\n" in read_bytes(DiskOverlay(), "/proc/self/maps")


def test_kinds(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").touch()
    (tmp_path / "link").symlink_to("package")
    (tmp_path / "loop").symlink_to("loop")
    disk = DiskOverlay()
    kinds = {name: (disk.is_file(str(tmp_path / name)), disk.is_dir(str(tmp_path / name))) for name in NAMES}
    assert kinds == NAMES
    assert disk.list_dir(str(tmp_path)) == ("link", "loop", "package")
    assert disk.list_dir(str(tmp_path / "link")) == ("a.py",)
    assert disk.list_dir(str(tmp_path / "nothing")) == ()
    assert disk.list_dir(str(tmp_path / "package" / "a.py")) == ()
    assert disk.is_dir(os.path.abspath(os.sep))


NAMES = {
    "package": (False, True),
    "package/a.py": (True, False),
    "Package/a.py": (False, False),
    "link": (False, True),
    "link/a.py": (True, False),
    "loop": (False, False),
    "nothing": (False, False),
    "nothing/a.py": (False, False),
    "package/a.py/b.py": (False, False),
}


def test_a_folder_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").touch()
    disk = DiskOverlay()
    assert disk.is_file(str(tmp_path / "a.py"))
    monkeypatch.setattr(os, "scandir", None)
    assert not disk.is_file(str(tmp_path / "b.py"))
    assert disk.list_dir(str(tmp_path)) == ("a.py",)


def test_folder_that_can_be_entered_but_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").touch()
    (tmp_path / "package").mkdir()

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    disk = DiskOverlay()
    assert disk.is_file(str(tmp_path / "a.py"))
    assert disk.is_dir(str(tmp_path / "package"))
    assert not disk.is_file(str(tmp_path / "b.py"))
    assert disk.list_dir(str(tmp_path)) == ()


def test_edited_text_stands_over_the_disk(tmp_path: Path) -> None:
    for name in ("kept.py", "edited.py", "deleted.py"):
        (tmp_path / name).write_text("old")
    new = tmp_path / "new" / "package" / "a.py"
    edits: dict[str, bytes | None] = {
        str(tmp_path / "edited.py"): b"new",
        str(tmp_path / "deleted.py"): None,
        str(new): b"",
        str(tmp_path / "never.py"): None,
    }
    overlay = EditedOverlay(DiskOverlay(), edits)
    assert overlay.list_dir(str(tmp_path)) == ("edited.py", "kept.py", "new")
    assert overlay.list_dir(str(tmp_path / "new")) == ("package",)
    assert overlay.list_dir(str(new.parent)) == ("a.py",)
    assert overlay.is_dir(str(new.parent))
    assert overlay.is_dir(str(tmp_path))
    assert overlay.is_file(str(new))
    assert not overlay.is_dir(str(new))
    assert read_text(overlay, str(tmp_path / "kept.py")) == "old"
    assert read_text(overlay, str(tmp_path / "edited.py")) == "new"
    assert reason(overlay, tmp_path / "deleted.py") == "No such file or directory"
    assert not overlay.is_file(str(tmp_path / "deleted.py"))
    assert not overlay.is_file(str(tmp_path / "never.py"))
    assert (tmp_path / "edited.py").read_text() == "old"


def test_edits_stand_on_edits(tmp_path: Path) -> None:
    path = str(tmp_path / "a.py")
    first = EditedOverlay(DiskOverlay(), {path: b"1"})
    assert read_text(EditedOverlay(first, {path: b"2"}), path) == "2"
    assert not EditedOverlay(first, {path: None}).is_file(path)
    assert EditedOverlay(EditedOverlay(first, {path: None}), {path: b"3"}).list_dir(str(tmp_path)) == ("a.py",)


def test_overlays_survive_pickling(tmp_path: Path) -> None:
    path = str(tmp_path / "a.py")
    overlay = pickle.loads(pickle.dumps(EditedOverlay(DiskOverlay(), {path: b"1"})))
    assert read_text(overlay, path) == "1"
