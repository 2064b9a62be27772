"""The overlay: one view of the tree, be it the disk or edited text. Paths are absolute, normal, with `os.sep`."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from typing import Literal, Protocol

from conformance.sources.decode import decode
from conformance.sources.problems import Unreadable, os_reason

MAX_BYTES = 16 * 1024 * 1024
"""Larger files are not read: no source that a person wrote is, and parsing takes some fifty times the size."""

_Kind = Literal["file", "folder", "other"]


class Overlay(Protocol):
    """One view of a tree of sources."""

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises `OSError`, or `Unreadable` for what is no file or too large."""
        ...

    def is_file(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def list_dir(self, path: str) -> tuple[str, ...]:
        """The names in a folder, sorted; none where it isn't a folder or can't be listed."""
        ...


def read_bytes(overlay: Overlay, path: str) -> bytes:
    """The bytes of a file; whatever keeps them is raised as `Unreadable`."""
    try:
        return overlay.read(path)
    except OSError as error:
        raise Unreadable(os_reason(error)) from error


def read_text(overlay: Overlay, path: str) -> str:
    """The text of a Python source; whatever keeps it is raised as `Unreadable`."""
    return decode(read_bytes(overlay, path))


class DiskOverlay:
    """The tree on the disk. Folders are listed once, so one object serves one run."""

    __slots__ = ("_folders", "_names")

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, _Kind] | None] = {}
        self._names: dict[str, tuple[str, ...]] = {}

    def read(self, path: str) -> bytes:
        # Opening a pipe would wait for a writer, so look first.
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("a folder, not a file" if stat.S_ISDIR(status.st_mode) else "not a regular file")
        if status.st_size > MAX_BYTES:
            raise _too_large()
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:  # it grew, or its size isn't told
            raise _too_large()
        return data

    def is_file(self, path: str) -> bool:
        return self._kind(path) == "file"

    def is_dir(self, path: str) -> bool:
        return self._kind(path) == "folder"

    def list_dir(self, path: str) -> tuple[str, ...]:
        if path not in self._names:
            self._names[path] = tuple(sorted(self._list(path) or ()))
        return self._names[path]

    def _kind(self, path: str) -> _Kind | None:
        folder, name = os.path.split(path)
        entries = self._list(folder) if name else None
        if entries is not None:
            return entries.get(name)
        # The root of the file system, or a folder that may be entered but not listed.
        if os.path.isdir(path):
            return "folder"
        return "file" if os.path.isfile(path) else None

    def _list(self, folder: str) -> dict[str, _Kind] | None:
        """Name to kind; empty where there is no such folder, None where it can't be listed."""
        if folder not in self._folders:
            self._folders[folder] = _scan(folder)
        return self._folders[folder]


class EditedOverlay:
    """Another overlay with some files' bytes replaced or added, or, where None is given, deleted."""

    __slots__ = ("_base", "_files", "_folders")

    def __init__(self, base: Overlay, files: Mapping[str, bytes | None]) -> None:
        self._base = base
        self._files = dict(files)
        self._folders: dict[str, set[str]] = {}
        for path, data in self._files.items():
            child = path
            while data is not None and (folder := os.path.dirname(child)) != child:
                self._folders.setdefault(folder, set()).add(os.path.basename(child))
                child = folder

    def read(self, path: str) -> bytes:
        if path not in self._files:
            return self._base.read(path)
        data = self._files[path]
        if data is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if len(data) > MAX_BYTES:
            raise _too_large()
        return data

    def is_file(self, path: str) -> bool:
        if path in self._files:
            return self._files[path] is not None
        return self._base.is_file(path)

    def is_dir(self, path: str) -> bool:
        return path in self._folders or (path not in self._files and self._base.is_dir(path))

    def list_dir(self, path: str) -> tuple[str, ...]:
        names = self._folders.get(path, set()).union(self._base.list_dir(path))
        return tuple(sorted(name for name in names if self._files.get(os.path.join(path, name), b"") is not None))


def _too_large() -> Unreadable:
    return Unreadable(f"larger than {MAX_BYTES >> 20} MiB, so not read")


def _scan(folder: str) -> dict[str, _Kind] | None:
    entries: dict[str, _Kind] = {}
    try:
        with os.scandir(folder) as scan:
            for entry in scan:
                try:
                    kind: _Kind = "folder" if entry.is_dir() else "file" if entry.is_file() else "other"
                except OSError:  # a link to itself
                    kind = "other"
                entries[entry.name] = kind
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError:
        return None
    return entries
