"""The engine: from paths to findings. The command line and other programs call `check` and `call_paths`."""

from __future__ import annotations

import difflib
import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from conformance.callpaths.model import EntryPaths
from conformance.callpaths.paths import CallPaths, Entry
from conformance.facts.module import Unparsable, is_likely, parse
from conformance.findings import Finding, Place, Severity, with_fingerprints
from conformance.layout import allowlists_dir
from conformance.project.families import Families
from conformance.project.profile import Profile, ProfileError, load_profile
from conformance.project.project import Project
from conformance.rules import SelectionError, load_rules, select
from conformance.rules.base import Rule
from conformance.rules.context import Context
from conformance.siblings import with_siblings
from conformance.sources.discovery import Discovery, discover
from conformance.sources.overlay import DiskOverlay, Overlay
from conformance.sources.problems import Problem, Unreadable
from conformance.sources.root import MARKERS, import_roots, source_root

_BASE_PROFILE = "torch"
_SUFFIXES = ("", ".py", ".pyi", ".pyw")
"""Of files that may be given by name; a script may have none."""
_UNREADABLE = "CF900"
_RECURSION_LIMIT = 6_000
"""Frames of this program; the deepest real source needs some hundreds."""


class UsageError(Exception):
    """What was asked for can't be done: one line, and a hint where there is one."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Options:
    """What to check and how. An empty `paths` means the source root around `cwd`."""

    paths: tuple[str, ...] = ()
    cwd: str = ""
    family: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool = False
    severity: Severity = Severity.CONVENTION
    """Findings of this severity and above are shown."""
    profile: str | None = None
    """A profile's name, or the path of a TOML file; chosen by looking at the tree when None."""


@dataclass(frozen=True)
class Statistics:
    """How much was seen, and what wasn't understood."""

    files: int
    """Files asked for."""
    errors: int
    """Files that couldn't be read."""
    parsed: int = 0
    """Files parsed, those that links asked for included."""
    entries: int = 0
    paths: int = 0
    """Block-call paths."""
    bound: int = 0
    """Paths whose block, signature and arguments are all known."""
    unknown: Mapping[str, int] = field(default_factory=dict)
    loops: int = 0
    """Loops over a container of blocks."""
    unresolved_loops: tuple[tuple[Place, str], ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds by stage."""


@dataclass(frozen=True)
class Result:
    """What a run found. `read_text` gives the text that was checked, for code frames."""

    findings: tuple[Finding, ...]
    statistics: Statistics
    notes: tuple[str, ...]
    read_text: Callable[[str], str | None]


@dataclass(frozen=True)
class PathsResult:
    """The call paths of one file or class."""

    entries: tuple[EntryPaths, ...]
    problems: tuple[Finding, ...]


def check(
    options: Options, progress: Callable[[int, int], None] | None = None, overlay: Overlay | None = None
) -> Result:
    """Checks files and folders. Nothing is written, imported or run.

    `progress` is called with the number of files done and the number of all.

    Raises:
        UsageError: a path that doesn't exist, nothing to check, an unknown rule, family or profile.
    """
    clock = _Clock()
    overlay = overlay or DiskOverlay()
    cwd = options.cwd or os.getcwd()
    with _without_collector():
        with clock("read"):
            rules = _rules(options)
            paths = options.paths or (_default_path(cwd, overlay),)
            found = _discover(paths, cwd)
        first = found.files[0].path if found.files else os.path.join(cwd, "x")
        with clock("read"):
            profile, profile_root = _profile(options.profile, first, overlay, cwd)
        project = make_project(overlay, profile)
        project.given = tuple(
            path for path in (os.path.abspath(os.path.join(cwd, p)) for p in paths) if overlay.is_dir(path)
        )
        calls = CallPaths(project)
        families = Families(project, profile_root)
        files = [file.path for file in found.files]
        if options.family:
            files = _of_families(options.family, files, families)
        entries: list[Entry] = []
        read: list[str] = []
        rest: list[str] = []
        problems = list(found.problems)
        for done, path in enumerate(files):
            if progress is not None:
                progress(done, len(files))
            problem = _read(project, path, clock)
            if problem is not None:
                problems.append(problem)
                continue
            module = project.module(path) if path in project.parsed else None
            if module is not None:
                read.append(path)
                with clock("call paths"):
                    entries.extend(calls.entries(module))
            else:
                rest.append(path)
            project.forget_text(path)
        findings: list[Finding] = []
        with clock("rules"):
            for rule in rules:
                if rule.check is not None:
                    findings.extend(rule.check(Context(rule.info, project, calls, entries, read, options.preview)))
        # What a link asked for meanwhile has been parsed; the others only have to be Python.
        problems.extend(filter(None, (_syntax(project, path, clock) for path in rest if path not in project.parsed)))
        known = {problem.path for problem in problems}
        problems.extend(problem for path, problem in project.problems.items() if path not in known)
        findings.extend(_unreadable(problems, rules))
        findings = _settle(findings, options, families, profile, profile_root)
        coverage = calls.coverage(entries)
    statistics = Statistics(
        files=len(files),
        errors=sum(finding.code == _UNREADABLE for finding in findings),
        parsed=len(project.parsed) + clock.counts.get("syntax", 0),
        entries=len(entries),
        paths=coverage.paths,
        bound=coverage.bound,
        unknown=dict(sorted(coverage.unknown.items(), key=lambda item: (-item[1], item[0]))),
        loops=coverage.loops,
        unresolved_loops=tuple(coverage.unresolved),
        seconds=clock.seconds,
    )
    notes = tuple(f"{path} is excluded" for path in found.excluded)
    return Result(tuple(findings), statistics, notes, partial(_text_of, project))


def call_paths(target: str, cwd: str, profile: str | None = None, overlay: Overlay | None = None) -> PathsResult:
    """The call paths of `FILE` or `FILE:Class`.

    Raises:
        UsageError: no such file, class or profile.
    """
    overlay = overlay or DiskOverlay()
    path, class_name = _split_target(target, cwd, overlay)
    chosen, _ = _profile(profile, path, overlay, cwd)
    project = make_project(overlay, chosen)
    calls = CallPaths(project)
    with _without_collector():
        module = project.module(path)
        if module is None:
            return PathsResult((), tuple(_unreadable(project.problems.values(), load_rules())))
        if class_name is not None and class_name not in module.classes:
            known = difflib.get_close_matches(class_name, module.classes, 1)
            raise UsageError(
                f"{target}: no class `{class_name}` in this file",
                f"did you mean `{known[0]}`?" if known else f"it has {', '.join(module.classes) or 'no classes'}",
            )
        entries = [
            entry
            for entry in calls.entries(module, every_forward=True)
            if class_name is None or (entry.owner is not None and entry.owner.facts.qualname == class_name)
        ]
    return PathsResult(tuple(entry.public for entry in entries), ())


def make_project(overlay: Overlay, profile: Profile) -> Project:
    """A project over an overlay, with the roots of imports found once for each folder."""
    roots: dict[str, tuple[str, ...]] = {}

    def find(path: str) -> tuple[str, ...]:
        folder = os.path.dirname(path)
        if folder not in roots:
            roots[folder] = import_roots(path, overlay)
        return roots[folder]

    return Project(overlay, profile, find)


class _Clock:
    """CPU seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.process_time()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.process_time() - start
            self.counts[stage] = self.counts.get(stage, 0) + 1


@contextmanager
def _without_collector() -> Iterator[None]:
    """Facts and values hold no garbage worth looking for while a run lasts, and are nested deeper than most data."""
    enabled = gc.isenabled()
    limit = sys.getrecursionlimit()
    gc.disable()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        if enabled:
            gc.enable()


def _rules(options: Options) -> tuple[Rule, ...]:
    try:
        return select(load_rules(), options.select, options.ignore, options.preview)
    except SelectionError as error:
        raise UsageError(error.message, error.hint) from None


def _default_path(cwd: str, overlay: Overlay) -> str:
    """The source root around the working directory: a profile's marker, else the project's root."""
    for profile in _installed_profiles():
        root = source_root(cwd, overlay, profile.markers) if profile.markers else None
        if root is not None:
            for marker in profile.markers:
                place = os.path.join(root, *marker.split("/"))
                if overlay.is_dir(place):
                    return place
    return source_root(cwd, overlay) or cwd


def _discover(paths: Sequence[str], cwd: str) -> Discovery:
    found = discover(paths, cwd=cwd)
    if found.missing:
        raise UsageError(f"{found.missing[0]}: no such file or folder", "name Python files or folders")
    for file in found.files:
        suffix = os.path.splitext(file.path)[1]
        if file.named and suffix not in _SUFFIXES:
            raise UsageError(f"{_relative(file.path, cwd)}: not a Python file", "name Python files or folders")
    if not found.files and not found.problems and not found.excluded:
        raise UsageError(f"{', '.join(found.empty) or 'nothing given'}: no Python file here", None)
    return found


def _relative(path: str, cwd: str) -> str:
    return os.path.relpath(path, cwd) if path.startswith(cwd.rstrip(os.sep) + os.sep) else path


def _installed_profiles() -> list[Profile]:
    folder = allowlists_dir()
    return [load_profile(path, folder) for path in sorted(folder.glob("*.toml"))]


def _profile(name: str | None, path: str, overlay: Overlay, cwd: str) -> tuple[Profile, str]:
    """The profile to use, and the root of the sources."""
    folder = allowlists_dir()
    root = source_root(path, overlay, MARKERS) or os.path.dirname(path)
    try:
        if name is None:
            for profile in _installed_profiles():
                if profile.markers:
                    found = source_root(path, overlay, profile.markers)
                    if found is not None:
                        return profile, found
            return load_profile(folder / f"{_BASE_PROFILE}.toml", folder), root
        if name.endswith(".toml"):
            profile = load_profile(Path(cwd, name), folder)
        else:
            known = sorted(file.stem for file in folder.glob("*.toml"))
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean `{close[0]}`?" if close else f"known profiles: {', '.join(known)}"
                raise UsageError(f"no profile `{name}`", hint)
            profile = load_profile(folder / f"{name}.toml", folder)
    except ProfileError as error:
        raise UsageError(str(error)) from None
    if profile.markers:
        root = source_root(path, overlay, profile.markers) or root
    return profile, root


def _of_families(names: Iterable[str], files: list[str], families: Families) -> list[str]:
    wanted: set[str] = set()
    for name in names:
        known = families.names()
        found = families.files(name)
        if not found:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean `{close[0]}`?" if close else f"known families: {', '.join(known)}"
            raise UsageError(f"no family `{name}`", hint if known else "this tree's profile has no families")
        wanted |= found
    chosen = [path for path in files if path in wanted]
    if not chosen:
        raise UsageError(f"no file of family {', '.join(names)} is among the given paths")
    return chosen


def _read(project: Project, path: str, clock: _Clock) -> Problem | None:
    """Reads one file, and parses it when a rule can need it."""
    try:
        with clock("read"):
            likely = is_likely(project.text(path))
        if likely or path in project.parsed:
            with clock("facts"):
                project.module(path)
            return project.problems.get(path)
    except Unreadable as error:
        return Problem(path, error.reason, error.line)
    return None


def _syntax(project: Project, path: str, clock: _Clock) -> Problem | None:
    """Parses a file that no rule has needed."""
    try:
        with clock("syntax"):
            parse(project.text(path), path)
    except Unreadable as error:
        return Problem(path, error.reason, error.line)
    except Unparsable as error:
        return Problem(path, error.reason, error.line)
    return None


def _unreadable(problems: Iterable[Problem], rules: Sequence[Rule]) -> list[Finding]:
    info = next((rule.info for rule in rules if rule.info.code == _UNREADABLE), None)
    if info is None:
        return []
    return [
        Finding(
            code=info.code,
            name=info.name,
            severity=info.severity,
            place=Place(problem.path, problem.line or 1, 1, problem.line or 1, 1),
            message=f"This file can't be checked: {problem.reason}.",
            text=problem.reason,
        )
        for problem in problems
    ]


def _settle(
    findings: Iterable[Finding], options: Options, families: Families, profile: Profile, root: str
) -> list[Finding]:
    """Adds family, module, fingerprint and siblings; drops what is exempt or milder than asked for; sorts."""
    result = []
    for finding in findings:
        path = finding.place.path
        inside = os.path.relpath(path, root) if path.startswith(root + os.sep) else os.path.basename(path)
        module = inside.replace(os.sep, "/")
        finding = replace(finding, module=module, family=families.folder_of(path))
        if finding.severity.rank <= options.severity.rank and not _is_exempt(finding, profile):
            result.append(finding)
    shown = sorted(with_fingerprints(result), key=lambda f: (f.place, f.code, f.parameter, f.message, f.fingerprint))
    return with_siblings(shown)


def _is_exempt(finding: Finding, profile: Profile) -> bool:
    return any(
        exemption.code == finding.code
        and exemption.path == finding.module
        and exemption.function in ("", finding.function)
        and exemption.parameter in ("", finding.parameter)
        for exemption in profile.exemptions
    )


def _split_target(target: str, cwd: str, overlay: Overlay) -> tuple[str, str | None]:
    path = os.path.normpath(os.path.join(cwd, target))
    class_name: str | None = None
    if not overlay.is_file(path) and ":" in target:
        head, _, class_name = target.rpartition(":")
        path = os.path.normpath(os.path.join(cwd, head))
    if not overlay.is_file(path):
        if overlay.is_dir(path):
            raise UsageError(f"{target}: a folder; name one file", None)
        raise UsageError(f"{target}: no such file", None)
    return path, class_name


def _text_of(project: Project, path: str) -> str | None:
    try:
        return project.text(path)
    except Unreadable:
        return None
