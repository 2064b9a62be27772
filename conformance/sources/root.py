"""Where a file's tree begins: the folders that its imports may start from, and the root of its sources."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from conformance.sources.overlay import Overlay

MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What stands in the root folder of a project."""

_LEVELS_WITHOUT_MARKER = 4


def import_roots(path: str, overlay: Overlay) -> tuple[str, ...]:
    """The folders from which absolute imports in a file may be resolved, the likeliest first.

    The first is the folder above the outermost of the packages that hold the file without a gap. Folders further up
    follow, to the root of the project, for packages without an `__init__.py` may stand in between; where nothing
    marks the root, a few levels.
    """
    project = source_root(path, overlay)
    packages_end = next(folder for folder in _upward(os.path.dirname(path)) if not _is_package(folder, overlay))
    above = list(_upward(packages_end))
    if project is None:
        return tuple(above[: 1 + _LEVELS_WITHOUT_MARKER])
    if project in above:
        return tuple(above[: above.index(project) + 1])
    return packages_end, project  # a project whose root folder is itself a package


def source_root(path: str, overlay: Overlay, markers: Sequence[str] = MARKERS) -> str | None:
    """The nearest folder, from `path` (a file or a folder) upward, that holds one of `markers`; None without one.

    A marker is a path relative to the root, such as `.git` or `package/models`. The folder that a distribution is
    installed in or unpacked to is a root too: it holds the distribution's `*.dist-info`.
    """
    start = path if overlay.is_dir(path) else os.path.dirname(path)
    for folder in _upward(start):
        for marker in markers:
            place = os.path.join(folder, *marker.split("/"))
            if overlay.is_file(place) or overlay.is_dir(place):
                return folder
        if any(name.endswith(".dist-info") for name in overlay.list_dir(folder)):
            return folder
    return None


def _upward(folder: str) -> Iterator[str]:
    """The folder and all above it."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        yield folder


def _is_package(folder: str, overlay: Overlay) -> bool:
    return overlay.is_file(os.path.join(folder, "__init__.py"))
