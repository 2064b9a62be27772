"""What a run saw, and what it could not see: the block that `--statistics` adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.report.base import location
from conformance.report.terminal import Palette, escape, table

if TYPE_CHECKING:
    from conformance.check import Statistics


def statistics_lines(statistics: Statistics, cwd: str, palette: Palette) -> list[str]:
    """The block's lines, without blank lines around."""
    paths, bound, loops = statistics.paths, statistics.bound, statistics.loops
    unknown = sorted(statistics.unknown.items(), key=lambda item: (-item[1], item[0]))
    unresolved = sorted(statistics.unresolved_loops)
    resolved = loops - len(unresolved)
    total = sum(statistics.seconds.values())
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in statistics.seconds.items())
    rows = [
        ("files", f"{statistics.files:,}", f"{statistics.parsed:,} parsed, {statistics.errors:,} unreadable"),
        ("entries", f"{statistics.entries:,}", ""),
        ("block-call paths", f"{paths:,}", f"{bound:,} fully bound{_share(bound, paths)}"),
        ("block loops", f"{loops:,}", f"{resolved:,} resolved to their class{_share(resolved, loops)}"),
        ("CPU seconds", f"{total:.2f}", stages),
    ]
    lines = [palette.strong("Statistics"), *table(rows, indent="  ", right={1})]
    if unknown:
        lines.append(palette.strong("Unknown call paths, by reason"))
        lines += table([(f"{number:,}", escape(reason)) for reason, number in unknown], indent="  ", right={0})
    if unresolved:
        lines.append(palette.strong("Unresolved block loops"))
        lines += table([(escape(location(place, cwd)), escape(reason)) for place, reason in unresolved], indent="  ")
    return lines


def _share(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.1f} %)" if whole else ""
