"""Cases in Markdown: sources with the expected findings in comments, and what a run says of them.

A file below `cases/` holds cases, each a heading of the second level. Under it stand prose and blocks of code:

- ```` ```python ```` is a file, `model.py`; a name after `python` is another file: ```` ```python parts/blocks.py ````.
- ```` ```python in NAME ```` is put into `frames/NAME.txt`, in place of the line that ends with `# the case`.
- ```` ```said ```` holds what `say` writes of all findings, word by word. Optional.

A comment at the end of a line names what is to be found there: `# CF101: mask`, with a severity
`# CF108[warning]: opts`, several `# CF101: mask, scale; CF201: block`. Every other finding is wrong. A case that
expects nothing must show the checker a block on a checkpointed path, or it would prove nothing;
`<!-- no checkpointed block -->` says that there is none on purpose.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from conformance.callpaths.model import Route
from conformance.check import Options, call_paths, check
from conformance.findings import Finding

HERE = Path(__file__).parent
FRAMES = HERE / "frames"

_HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(python|said)(?: +(in +\S+|\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HOLE = re.compile(r"^( *)\S.*# the case$", re.MULTILINE)
_EXPECTED = re.compile(r"# (CF\d{3}\b.*)$")
_ITEM = re.compile(r"(?P<code>CF\d{3})(?:\[(?P<severity>\w+)\])?(?:: *(?P<parameters>\w+(?:, *\w+)*))?")


class Mark(NamedTuple):
    """A finding in short. An empty severity leaves it open."""

    path: str
    line: int
    code: str
    parameter: str
    severity: str = ""

    def __str__(self) -> str:
        severity = f"[{self.severity}]" if self.severity else ""
        parameter = f": {self.parameter}" if self.parameter else ""
        return f"{self.path}:{self.line} {self.code}{severity}{parameter}"


@dataclass(frozen=True)
class Case:
    """One source tree and what is to be found in it."""

    name: str
    files: Mapping[str, str]
    said: str | None = None
    sees_nothing: bool = False
    expected: tuple[Mark, ...] = field(init=False)

    def __post_init__(self) -> None:
        marks = tuple(mark for path, text in self.files.items() for mark in expectations(path, text))
        object.__setattr__(self, "expected", marks)


def expectations(path: str, text: str) -> Iterator[Mark]:
    """The findings that the comments of a source name."""
    for number, line in enumerate(text.splitlines(), 1):
        match = _EXPECTED.search(line)
        if match is None:
            continue
        for item in match[1].split(";"):
            parts = _ITEM.fullmatch(item.strip())
            assert parts is not None, f"{path}:{number}: can't read the expectation {item.strip()!r}"
            for parameter in re.split(", *", parts["parameters"] or ""):
                yield Mark(path, number, parts["code"], parameter, parts["severity"] or "")


def framed(frame: str, snippet: str) -> str:
    """A snippet in its frame, indented as the frame's hole is."""
    text = (FRAMES / f"{frame}.txt").read_text(encoding="utf-8")
    hole = _HOLE.search(text)
    assert hole is not None, f"frames/{frame}.txt has no line that ends with `# the case`"
    assert not _HOLE.search(text, hole.end()), f"frames/{frame}.txt has two holes"
    inside = textwrap.indent(snippet.strip("\n"), hole[1])
    return f"{text[: hole.start()]}{inside}{text[hole.end() :]}"


def cases(path: Path) -> Iterator[Case]:
    """The cases of one Markdown file."""
    parts = _HEADING.split(path.read_text(encoding="utf-8"))
    assert len(parts) > 1, f"{path}: no case"
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        files: dict[str, str] = {}
        said = None
        for language, info, text in _BLOCK.findall(body):
            if language == "said":
                said = text
                continue
            frame = info.removeprefix("in ").strip() if info.startswith("in ") else ""
            name = "model.py" if frame or not info else info
            assert name not in files, f"{path}: {heading}: two times {name}"
            files[name] = framed(frame, text) if frame else text
        assert files, f"{path}: {heading}: no code"
        yield Case(heading.strip(), files, said, "<!-- no checkpointed block -->" in body)


def write(case: Case, folder: Path) -> None:
    """Puts the sources of a case into a folder."""
    for name, text in case.files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")


def run(folder: Path) -> list[Finding]:
    """What the stable rules say of a folder."""
    return list(check(Options(paths=(str(folder),), cwd=str(folder))).findings)


def sees_a_checkpointed_block(folder: Path) -> bool:
    """Whether some path that isn't eager is known in full."""
    return any(
        path.route is not Route.EAGER and path.unknown is None and not path.dead
        for file in sorted(folder.rglob("*.py"))
        for entry in call_paths(str(file), cwd=str(folder)).entries
        for path in entry.paths
    )


def mark(finding: Finding, folder: Path) -> Mark:
    """A finding in short, its path relative to the folder."""
    path = Path(finding.place.path).relative_to(folder).as_posix()
    return Mark(path, finding.place.line, finding.code, finding.parameter, finding.severity.value)


def judge(expected: Iterable[Mark], found: Iterable[Mark], files: Mapping[str, str]) -> list[str]:
    """What is wrong, a line each; empty when the case holds.

    Four outcomes are told apart. `validated`: nothing is due and nothing is found. `reported`: all that is due is
    found. Neither gives a line. `noisy`: something is found that isn't due. `missing`: something is due and not found.
    """
    due, seen = Counter(expected), Counter(found)
    for wanted in list(due):
        for actual in list(seen):
            if (wanted[:4] == actual[:4]) and wanted.severity in ("", actual.severity):
                common = min(due[wanted], seen[actual])
                due[wanted] -= common
                seen[actual] -= common
    lines = [f"missing: {wanted}{_quoted(wanted, files)}" for wanted in due.elements()]
    lines += [f"noisy: {actual}{_quoted(actual, files)}" for actual in seen.elements()]
    return sorted(lines)


def outcome(expected: Iterable[Mark], found: Iterable[Mark]) -> str:
    """One of `validated`, `reported`, `noisy`, `missing`, `noisy and missing`."""
    expected = tuple(expected)
    wrong = sorted({line.partition(":")[0] for line in judge(expected, found, {})}, reverse=True)
    return " and ".join(wrong) if wrong else "reported" if expected else "validated"


def _quoted(mark: Mark, files: Mapping[str, str]) -> str:
    lines = files.get(mark.path, "").splitlines()
    return f" | {lines[mark.line - 1].strip()}" if 0 < mark.line <= len(lines) else ""


def say(findings: Iterable[Finding], folder: Path) -> str:
    """All that findings say: place, code, severity, parameter, message, witness, related places."""
    lines = []
    for finding in findings:
        short = mark(finding, folder)
        lines.append(f"{short}: {finding.message}" if finding.parameter else f"{short} {finding.message}")
        if finding.witness:
            lines.append(f"  when {finding.witness}")
        for related in finding.related:
            path = Path(related.place.path).relative_to(folder).as_posix()
            lines.append(f"  {related.role} {path}:{related.place.line}: {related.message}")
    return "".join(f"{line}\n" for line in lines)
