"""Which files a run checks: named files as they are, folders walked as git would see them."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.sources.ignore import IgnoreFile, parse_ignore_file
from conformance.sources.problems import Problem, os_reason

SKIPPED_FOLDERS = frozenset(
    {
        ".bzr",
        ".cache",
        ".eggs",
        ".git",
        ".hg",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".pytype",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "__pypackages__",
        "node_modules",
    }
)
"""Folders that no walk enters; a folder that holds a virtual environment isn't entered either, whatever its name."""


@dataclass(frozen=True, slots=True, order=True)
class SourceFile:
    """One file to check, by its absolute path."""

    path: str
    named: bool = False
    """True when it was given by its own name rather than found in a folder."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """What the given paths stand for. All in a fixed order."""

    files: tuple[SourceFile, ...]
    problems: tuple[Problem, ...] = ()
    """Folders that can't be listed, links that lead nowhere, sources that are no regular files."""
    missing: tuple[str, ...] = ()
    """Paths that don't exist, as they were given."""
    empty: tuple[str, ...] = ()
    """Folders without a Python file and without a problem, as they were given."""
    excluded: tuple[str, ...] = ()
    """Named files that `exclude` leaves out, as they were given."""


def discover(paths: Sequence[str], *, cwd: str, exclude: Sequence[str] = ()) -> Discovery:
    """The files that `paths` stand for, relative to `cwd`, each once, however many links lead to it.

    A named file is taken whatever its suffix and whatever git ignores. In folders, files ending in `.py` are taken
    that neither git ignores nor `exclude` (patterns in the syntax of .gitignore, relative to `cwd`) matches.
    """
    walk = _Walk(_Level(cwd, IgnoreFile(exclude)) if exclude else None)
    folders: list[tuple[str, str]] = []
    missing: list[str] = []
    excluded: list[str] = []
    for given in paths:
        if not given:
            missing.append(given)
            continue
        path = _absolute(given, cwd)
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            if os.path.lexists(path) or isinstance(error, PermissionError):
                walk.problem(path, _link_reason(error))
            else:
                missing.append(given)
            continue
        if stat.S_ISDIR(mode):
            folders.append((given, path))
        elif walk.excludes(path, False):
            excluded.append(given)
        elif stat.S_ISREG(mode):
            walk.take(SourceFile(path, named=True), os.path.realpath(path))
        else:
            walk.problem(path, "not a regular file")
    empty = [given for given, path in folders if not walk.folder(path)]
    return Discovery(
        tuple(sorted(walk.files.values())),
        tuple(sorted(set(walk.problems))),
        tuple(missing),
        tuple(empty),
        tuple(excluded),
    )


def _absolute(given: str, cwd: str) -> str:
    joined = os.path.join(cwd, given)
    path = os.path.normpath(joined)
    if ".." in given.split(os.sep) and os.path.realpath(path) != os.path.realpath(joined):
        return os.path.realpath(joined)  # `link/..` isn't where the link stands
    return path


@dataclass(frozen=True, slots=True)
class _Level:
    """An ignore file, and the folder that its patterns are relative to."""

    folder: str
    rules: IgnoreFile

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        prefix = os.path.join(self.folder, "")
        if not path.startswith(prefix):
            return None
        return self.rules.verdict(path[len(prefix) :].replace(os.sep, "/"), is_dir)


_Levels = tuple[_Level, ...]
"""The ignore files in force in a folder, the deepest first."""


class _Walk:
    """The state of one discovery: what was taken and where it has been, by real paths."""

    def __init__(self, exclude: _Level | None) -> None:
        self.files: dict[str, SourceFile] = {}
        self.problems: list[Problem] = []
        self._exclude = exclude
        self._entered: set[str] = set()

    def excludes(self, path: str, is_dir: bool) -> bool:
        return self._exclude is not None and self._exclude.verdict(path, is_dir) is True

    def problem(self, path: str, reason: str) -> None:
        self.problems.append(Problem(path, reason))

    def take(self, file: SourceFile, real: str) -> None:
        self.files.setdefault(real, file)

    def folder(self, top: str) -> bool:
        """Takes the sources in a folder; False when there are none and nothing is wrong with it.

        Links wait for the rest, so that a file keeps its own name where a link leads to it too.
        """
        problems = len(self.problems)
        real_top = os.path.realpath(top)
        if real_top in self._entered:  # by way of another given folder
            return any(_is_within(real, real_top) for real in self.files)
        sources = False
        folders = [(top, real_top, _levels_above(top))]
        links: list[tuple[os.DirEntry[str], str, _Levels]] = []
        while folders or links:
            if not folders:
                entry, real, levels = links.pop()
                if _is_dir(entry):
                    folders.append((entry.path, real, levels))
                else:
                    self._source(entry, real)
                continue
            path, real, levels = folders.pop()
            if real in self._entered:
                continue
            self._entered.add(real)
            try:
                with os.scandir(path) as scan:
                    entries = sorted(scan, key=lambda entry: entry.name, reverse=True)
            except OSError as error:
                self.problem(path, os_reason(error))
                continue
            names = {entry.name for entry in entries}
            if "pyvenv.cfg" in names and path != top:
                continue
            if ".git" in names:  # also in a repository of its own inside another
                levels = _ignore_file(path, _exclude_of_repository(path))
            if ".gitignore" in names:
                levels = _ignore_file(path, os.path.join(path, ".gitignore")) + levels
            for entry in entries:
                is_dir = _is_dir(entry)
                if entry.name in SKIPPED_FOLDERS if is_dir else not entry.name.endswith(".py"):
                    continue
                if _ignores(levels, entry.path, is_dir) or self.excludes(entry.path, is_dir):
                    continue
                sources = sources or not is_dir
                if entry.is_symlink():
                    target = os.path.realpath(entry.path)
                    if not _is_within(real, target):  # a link upward shows what is being walked, or wasn't asked for
                        links.append((entry, target, levels))
                elif is_dir:
                    folders.append((entry.path, os.path.join(real, entry.name), levels))
                else:
                    self._source(entry, os.path.join(real, entry.name))
        return sources or len(self.problems) > problems

    def _source(self, entry: os.DirEntry[str], real: str) -> None:
        try:
            if entry.is_file():
                self.take(SourceFile(entry.path), real)
                return
            entry.stat()
        except OSError as error:
            self.problem(entry.path, _link_reason(error))
        else:
            self.problem(entry.path, "not a regular file")


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _link_reason(error: OSError) -> str:
    return "a link to nothing" if isinstance(error, FileNotFoundError) else os_reason(error)


def _ignores(levels: _Levels, path: str, is_dir: bool) -> bool:
    for level in levels:
        verdict = level.verdict(path, is_dir)
        if verdict is not None:
            return verdict
    return False


def _levels_above(top: str) -> _Levels:
    """The ignore files above a given folder, up to its repository's.

    None when they ignore the folder itself: who names it wants what is in it.
    """
    levels: _Levels = ()
    within = [top]
    while (folder := os.path.dirname(within[-1])) != within[-1]:
        levels += _ignore_file(folder, os.path.join(folder, ".gitignore"))
        if os.path.lexists(os.path.join(folder, ".git")):
            levels += _ignore_file(folder, _exclude_of_repository(folder))
            return () if any(_ignores(levels, path, True) for path in within) else levels
        within.append(folder)
    return ()  # in no repository


def _ignore_file(folder: str, path: str) -> _Levels:
    """The rules of an ignore file for a folder; none where the file isn't there or can't be read."""
    try:
        if not os.path.isfile(path):
            return ()
        with open(path, "rb") as file:
            return (_Level(folder, parse_ignore_file(file.read())),)
    except OSError:
        return ()


def _exclude_of_repository(root: str) -> str:
    """Where the repository at `root` keeps its own ignore rules; a work tree keeps them in its main repository."""
    git = os.path.join(root, ".git")
    if os.path.isfile(git):
        git = os.path.join(root, _first_line(git).removeprefix("gitdir:").strip())
        git = os.path.join(git, _first_line(os.path.join(git, "commondir")))
    return os.path.join(git, "info", "exclude")


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().strip()
    except OSError:
        return ""
