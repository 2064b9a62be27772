"""A stand-in for the engine, so that the command line is tested by itself.

It reads the given files; words in them make it find, fail or take its time:

- `BAD` is an error at that word, `POOR` a convention finding, both related to line 1;
- `BOOM` raises, `INTERRUPT` sends the interrupt signal to the process, `SLOW` reports progress.

`run_in(folder, …)` runs the command line with it in a process of its own.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.callpaths.model import Block, CallPath, EntryPaths, Route
from conformance.findings import Finding, Place, Related, Severity, with_fingerprints

REPOSITORY = Path(__file__).resolve().parents[2]

RUN = """
import signal
import sys
# Whoever runs the tests in the background may have left it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
from tests.cli.fake_engine import engine
sys.modules["conformance.check"] = engine()
{before}
from conformance.cli import main
main()
"""


class UsageError(Exception):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Options:
    paths: tuple[str, ...]
    cwd: str
    family: tuple[str, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    preview: bool
    severity: Severity
    profile: str | None


@dataclass(frozen=True)
class Statistics:
    files: int
    errors: int
    parsed: int = 0
    paths: int = 0
    bound: int = 0
    unknown: Mapping[str, int] = field(default_factory=dict)
    loops: int = 0
    unresolved_loops: tuple[tuple[Place, str], ...] = ()
    entries: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    findings: tuple[Finding, ...]
    statistics: Statistics
    notes: tuple[str, ...]
    read_text: Callable[[str], str | None]


@dataclass(frozen=True)
class PathsResult:
    entries: tuple[EntryPaths, ...]
    problems: tuple[Finding, ...]


def read(path: str) -> str | None:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def unreadable(path: str) -> Finding:
    return Finding("CF900", "unreadable-source", Severity.ERROR, Place(path, 1, 1, 1, 1), "can't be decoded")


def findings_in(path: str, text: str) -> list[Finding]:
    found = []
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        for match in re.finditer("BAD|POOR", line):
            is_bad = match[0] == "BAD"
            found.append(
                Finding(
                    code="CF101" if is_bad else "CF301",
                    name="argument-dropped" if is_bad else "literal-gate",
                    severity=Severity.ERROR if is_bad else Severity.CONVENTION,
                    place=Place(path, number, match.start() + 1, number, match.end() + 1),
                    message=f"this is {match[0]} [really]",
                    related=(Related("counterpart", Place(path, 1, 1, 1, 2), "the first line"),),
                )
            )
    return found


def engine(calls: list[Options] | None = None, notes: Sequence[str] = ("a note",)) -> ModuleType:
    """A module in the shape of `conformance.check`; `calls` collects the options of each run."""

    def check(options: Options, progress: Callable[[int, int], None] | None = None) -> Result:
        if calls is not None:
            calls.append(options)
        found = []
        for given in options.paths:
            path = os.path.join(options.cwd, given)
            if not os.path.exists(path):
                raise UsageError(f"{given} does not exist", "check the spelling")
            text = read(path)
            if text is None:
                found.append(unreadable(path))
                continue
            if "BOOM" in text:
                raise RuntimeError("a defect of the tool")
            if "INTERRUPT" in text:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(60)
            if "SLOW" in text and progress is not None:
                for done in range(5):
                    progress(done, 5)
            found += findings_in(path, text)
        shown = tuple(with_fingerprints(f for f in found if f.severity.rank <= options.severity.rank))
        errors = sum(finding.code == "CF900" for finding in shown)
        return Result(shown, Statistics(files=len(options.paths), errors=errors), tuple(notes), read)

    def call_paths(target: str, cwd: str, profile: str | None) -> PathsResult:
        file, _, name = target.partition(":")
        path = os.path.join(cwd, file)
        if not os.path.exists(path):
            raise UsageError(f"{file} does not exist")
        text = read(path)
        if text is None:
            return PathsResult((), (unreadable(path),))
        block = Block("self.blocks[*]", ())
        where = Place(path, 1, 1, 1, 2)
        paths = (CallPath(block, Route.EAGER, (), {}, where, where, "forward", "name"),) if "block" in text else ()
        return PathsResult((EntryPaths(path, name or "Model", "forward", 1, paths),), ())

    module: Any = ModuleType("conformance.check")
    module.UsageError, module.Options, module.check, module.call_paths = UsageError, Options, check, call_paths
    return module  # type: ignore[no-any-return]


def command(*arguments: str, before: str = "") -> list[str]:
    return [sys.executable, "-c", RUN.format(before=before), *arguments]


def environment(**changes: str) -> dict[str, str]:
    """The environment without what decides on colours and encodings, and with the repository importable."""
    dropped = ("NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING", "PYTHONUTF8", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PYTHONPATH": str(REPOSITORY), "TERM": "xterm", **changes}


def run_in(folder: Path, *arguments: str, before: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(*arguments, before=before),
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        timeout=60,
        check=False,
    )
