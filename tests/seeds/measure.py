"""Which of the edits a check finds."""

from __future__ import annotations

import functools
import os
import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

from conformance.check import Options, check
from conformance.facts.module import module_facts
from conformance.findings import Finding
from conformance.project import project as linked
from conformance.sources.overlay import DiskOverlay, EditedOverlay
from tests.conftest import RELEASES
from tests.seeds.kinds import KINDS, Kind
from tests.seeds.text import Edit, Replacement, Text
from tests.wheels import unpacked

SOURCES = (("simpletuner", RELEASES[0], "simpletuner/helpers/models"), ("diffusers", "0.42.1", "diffusers/models"))
_CONCERNED = re.compile(
    r"(checkpoint|checkpoint_fn|checkpointing_func|checkpoint_block|offload_context)\(|offload_attention="
)
DATA = Path(__file__).with_name("exclusions.toml")


@dataclass(frozen=True)
class Seed:
    """One edit of one kind, named so that another process finds it again."""

    kind: str
    path: str
    number: int
    place: str


@dataclass(frozen=True)
class Outcome:
    """What a check says of one edit."""

    seed: Seed
    found: bool
    brought: tuple[tuple[str, int, str], ...]
    """Code, line and parameter of every finding that the edit brought."""
    extra: tuple[str, ...]
    """Codes besides the one that was due."""
    lost: tuple[str, ...]
    """Codes of findings of the published file that the edit took away."""


@functools.cache
def texts() -> Mapping[str, Text]:
    """The files that speak of checkpoints, by path."""
    found = {}
    for project, version, part in SOURCES:
        root = unpacked(project, version) / part
        for path in sorted(root.rglob("*.py")):
            text = Text(path, f"{project} {path.relative_to(root).as_posix()}")
            if _CONCERNED.search(text.text):
                found[text.path] = text
    return found


@functools.cache
def edits(kind: str, path: str) -> tuple[Edit, ...]:
    """The edits of a kind in one file."""
    found: dict[tuple[Replacement, ...], Edit] = {}
    for edit in named(kind).find(texts()[path]):
        found.setdefault(edit.replacements, edit)
    return tuple(found.values())


@functools.cache
def seeds(kind: str) -> tuple[Seed, ...]:
    """Every edit of a kind that changes something."""
    return tuple(seed for seed in places(kind) if (kind, seed.place) not in exclusions())


@functools.cache
def places(kind: str) -> tuple[Seed, ...]:
    """Every edit of a kind."""
    return tuple(
        Seed(kind, path, number, edit.place) for path in texts() for number, edit in enumerate(edits(kind, path))
    )


@functools.cache
def exclusions() -> Mapping[tuple[str, str], str]:
    """Kind and place of every edit that changes nothing, with the reason."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return {(entry["kind"], place): entry["reason"] for entry in data.get("exclusion", []) for place in entry["places"]}


def named(kind: str) -> Kind:
    """The kind of a name."""
    return next(known for known in KINDS if known.name == kind)


def sample(kind: str, count: int, seed: int) -> list[Seed]:
    """Some edits of a kind, the same ones for the same seed; all of a kind that has fewer."""
    every = seeds(kind)
    return list(every) if len(every) <= count else random.Random(f"{seed} {kind}").sample(every, count)


def measure(chosen: Sequence[Seed], workers: int | None = None) -> Iterator[Outcome]:
    """Checks every edit; a file's edits one after another, files at the same time."""
    by_file: dict[str, list[Seed]] = {}
    for seed in chosen:
        by_file.setdefault(seed.path, []).append(seed)
    batches = sorted(by_file.values(), key=len, reverse=True)
    workers = workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 2 or len(batches) < 2:
        for batch in batches:
            yield from _outcomes(batch)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        for outcomes in pool.map(_outcomes, batches):
            yield from outcomes


def _outcomes(batch: Iterable[Seed]) -> list[Outcome]:
    return [outcome(seed) for seed in batch]


def outcome(seed: Seed) -> Outcome:
    """What a check says of one edit."""
    kind, edit = named(seed.kind), edits(seed.kind, seed.path)[seed.number]
    after = sorted(findings(seed.path, edit.new), key=lambda finding: _stands(finding, edit, kind))
    brought, lost = difference(published(seed.path), after)
    due = [
        finding for finding in brought if finding.code in (edit.codes or kind.codes) and _stands(finding, edit, kind)
    ]
    extra = list(brought)
    for finding in due[:1]:
        extra.remove(finding)
    return Outcome(
        seed,
        bool(due),
        tuple((finding.code, finding.place.line, finding.parameter) for finding in brought),
        tuple(finding.code for finding in extra),
        tuple(finding.code for finding in lost),
    )


def _stands(finding: Finding, edit: Edit, kind: Kind) -> bool:
    """Whether a finding is about the edited place."""
    places = [finding.place, *(related.place for related in finding.related if kind.either)]
    return any(
        place.path == edit.text.path and place.line <= last and first <= place.end_line
        for place in places
        for first, last in edit.lines
    )


_DISK = DiskOverlay()


def findings(path: str, text: str) -> tuple[Finding, ...]:
    """What a check of one file says while it has this text."""
    overlay = EditedOverlay(_DISK, {path: text.encode("utf-8")})
    options = Options(paths=(path,), cwd=str(Path(path).parent), preview=True)
    # Facts of a file depend on nothing but its text: read once, they serve all edits of other files.
    with patch.object(linked, "module_facts", _facts):
        return check(options, overlay=overlay).findings


_facts = functools.lru_cache(256)(module_facts)


@functools.cache
def published(path: str) -> tuple[Finding, ...]:
    """The findings of a file as it was published."""
    return findings(path, texts()[path].text)


def difference(before: Iterable[Finding], after: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """The findings that an edit brought and those that it took, whatever lines it moved.

    Where a function has one of a kind already, the first ones of `after` are taken for it.
    """
    known = Counter(_key(finding) for finding in before)
    brought = []
    for finding in after:
        if known[_key(finding)]:
            known[_key(finding)] -= 1
        else:
            brought.append(finding)
    lost = []
    for finding in before:
        if known[_key(finding)]:
            known[_key(finding)] -= 1
            lost.append(finding)
    return brought, lost


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.code, finding.function, finding.parameter


@dataclass(frozen=True)
class Share:
    """How many edits of a kind are found."""

    kind: str
    found: int
    measured: int
    sites: int
    extra: int
    """Edits that brought other findings too."""

    @property
    def share(self) -> float:
        return self.found / self.measured if self.measured else 0.0


def shares(outcomes: Sequence[Outcome]) -> Iterator[Share]:
    """The share of each kind, in the order of the kinds."""
    for kind in KINDS:
        own = [outcome for outcome in outcomes if outcome.seed.kind == kind.name]
        if own:
            found, extra = sum(outcome.found for outcome in own), sum(bool(outcome.extra) for outcome in own)
            yield Share(kind.name, found, len(own), len(seeds(kind.name)), extra)


def table(outcomes: Sequence[Outcome]) -> str:
    """The shares, a line each, and all of them together."""
    rows = list(shares(outcomes))
    whole = Share("all", *(sum(getattr(row, name) for row in rows) for name in ("found", "measured", "sites", "extra")))
    lines = [f"{'kind':<48} {'found':>6} {'of':>6} {'share':>8} {'sites':>6} {'more':>5}  codes"]
    for row in [*rows, whole]:
        codes = "" if row is whole else " ".join(named(row.kind).codes)
        lines.append(
            f"{row.kind:<48} {row.found:>6} {row.measured:>6} {row.share:>7.1%} {row.sites:>6} {row.extra:>5}  {codes}"
        )
    return "\n".join(lines)
