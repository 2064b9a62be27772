"""Published wheels as test input: fetched once from the package index, unpacked, verified, and never imported.

`python tests/wheels.py PROJECT VERSION` prints the folder of an unpacked wheel.
"""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


class WheelError(Exception):
    """A wheel can't be fetched, or what was fetched isn't what it says."""


def cache_root() -> Path:
    """The folder that outlives a run: `$CONFORMANCE_CACHE`, or `conformance` in the user's cache folder."""
    if chosen := os.environ.get("CONFORMANCE_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conformance"


@functools.cache
def unpacked(project: str, version: str) -> Path:
    """The root of the unpacked wheel of `project` at `version`; fetched when the cache lacks it or holds it damaged.

    Two processes may ask at once: each unpacks on its own, and one of the two renames wins.
    Raises WheelError when the wheel can't be fetched.
    """
    wheels = cache_root() / "wheels"
    folder = wheels / f"{project}-{version}"
    if folder.is_dir() and not _damage(folder):
        return folder
    wheels.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wheels, prefix=".unpacking-") as scratch:
        fresh = Path(scratch) / "fresh"
        with zipfile.ZipFile(_download(project, version, Path(scratch))) as wheel:
            wheel.extractall(fresh)
        if damage := _damage(fresh):
            raise WheelError(f"{project} {version}: {damage}")
        _put(fresh, folder, Path(scratch))
    return folder


def _download(project: str, version: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", f"{project}=={version}", "--dest", str(folder)]
    command += ["--no-deps", "--python-version", "3.13", "--only-binary=:all:"]
    command += ["--quiet", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(folder.glob("*.whl"))
    if done.returncode or len(found) != 1:
        raise WheelError(f"{project} {version}: pip download failed\n{done.stderr.strip()}")
    return found[0]


def _put(fresh: Path, folder: Path, scratch: Path) -> None:
    """Moves `fresh` to `folder`; a damaged folder there is taken out of the way, a sound one wins over `fresh`."""
    if folder.exists() and _damage(folder):
        folder.rename(scratch / "damaged")
    try:
        fresh.rename(folder)
    except OSError as error:
        if not folder.is_dir() or (damage := _damage(folder)):
            raise WheelError(f"{folder}: {damage if folder.is_dir() else error}") from error


def _damage(folder: Path) -> str | None:
    """What is wrong with an unpacked wheel by its own RECORD, or None."""
    records = sorted(folder.glob("*.dist-info/RECORD"))
    if len(records) != 1:
        return "no RECORD"
    with records[0].open(encoding="utf-8", newline="") as lines:
        for name, digest, _size in csv.reader(lines):
            if not digest:
                continue
            kind, _, expected = digest.partition("=")
            try:
                found = hashlib.new(kind, (folder / name).read_bytes()).digest()
            except OSError as error:
                return f"{name}: {error}"
            if base64.urlsafe_b64encode(found).rstrip(b"=").decode() != expected:
                return f"{name} differs from its hash"
    return None


def link(source: Path, target: Path) -> None:
    """A second name for a file, or a copy where the file system can't give one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def rewrite(path: Path, text: str) -> None:
    """Gives `path` its own new text; a file that shares its bytes by a hard link keeps them."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def copy_part(root: Path, parts: Iterable[str], target: Path) -> Path:
    """Copies files and folders, named relative to `root`, to the same places under `target`; returns `target`."""
    for part in parts:
        source = root / part
        if source.is_dir():
            shutil.copytree(source, target / part, dirs_exist_ok=True)
        else:
            (target / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / part)
    return target


class Tree:
    """A cheap second tree of a wheel's Python files, made of hard links, in which single files can be replaced."""

    def __init__(self, root: Path, target: Path, part: str = "."):
        """Links every Python file of `root / part` to the same place under `target`, which must lie outside `root`."""
        self.origin = root
        self.root = target
        for source in sorted((root / part).rglob("*.py")):
            link(source, target / source.relative_to(root))

    def text(self, relative: str) -> str:
        """The file's text in the wheel."""
        return (self.origin / relative).read_text(encoding="utf-8")

    @contextmanager
    def edited(self, edits: Mapping[str, str]) -> Iterator[Path]:
        """The tree's root while the named files have these texts; afterwards they are the wheel's again."""
        try:
            for relative, text in edits.items():
                rewrite(self.root / relative, text)
            yield self.root
        finally:
            for relative in edits:
                (self.root / relative).unlink(missing_ok=True)
                if (self.origin / relative).exists():
                    link(self.origin / relative, self.root / relative)


if __name__ == "__main__":
    print(unpacked(*sys.argv[1:3]))
