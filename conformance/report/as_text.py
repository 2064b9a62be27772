"""The report for people: a line, a code frame and the related places for each finding, then a summary.

Messages are never wrapped and nothing in them is markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from conformance.findings import Finding, Place, Severity
from conformance.report.as_concise import headline
from conformance.report.base import Report, count, in_order, location
from conformance.report.frame import frame, last_line, split_lines
from conformance.report.statistics import statistics_lines
from conformance.report.terminal import Palette, escape, joined


def render(report: Report) -> str:
    palette = Palette(report.color)

    @lru_cache(maxsize=8)  # findings come in the order of their files
    def lines_of(path: str) -> Sequence[str]:
        text = report.read_text(path)
        return () if text is None else split_lines(text)

    lines: list[str] = []
    for finding in in_order(report.findings):
        lines += _finding(finding, report, lines_of, palette)
        lines.append("")
    if report.with_statistics:
        lines += statistics_lines(report.statistics, report.cwd, palette)
        lines.append("")
    if report.summary:
        lines.append(_summary(report, palette))
    elif lines:
        lines.pop()
    return joined(lines)


def _finding(finding: Finding, report: Report, lines_of: Callable[[str], Sequence[str]], palette: Palette) -> list[str]:
    shown = [related for related in finding.related if related.role != "sibling"]
    siblings = [related for related in finding.related if related.role == "sibling"]
    places = (finding.place, *(related.place for related in shown))
    gutter = len(str(max(last_line(place, lines_of(place.path)) for place in places)))
    pad = " " * gutter
    bar = palette.frame(f"{pad} |")

    def framed(place: Place, mark: str, paint_mark: Callable[[str], str]) -> list[str]:
        body = frame(
            place,
            lines_of(place.path),
            gutter=gutter,
            width=report.width,
            mark=mark,
            paint_mark=paint_mark,
            paint_gutter=palette.frame,
        )
        return [bar, *body, bar] if body else []

    lines = [headline(finding, report.cwd, palette)]
    lines += framed(finding.place, "^", lambda text: palette.severity(text, finding.severity))
    for related in shown:
        where = escape(location(related.place, report.cwd))
        lines.append(f"{palette.frame(f'{pad}:::')} {where}: {escape(related.message)}")
        lines += framed(related.place, "-", palette.frame)
    if finding.witness:
        lines.append(f"{palette.frame(f'{pad} =')} {palette.strong('shows when')}: {escape(finding.witness)}")
    if siblings:
        # A line for all of them: most are findings with a frame of their own.
        also = ", ".join(dict.fromkeys(escape(location(related.place, report.cwd)) for related in siblings))
        lines.append(f"{palette.frame(f'{pad} =')} {palette.strong('the same at')}: {also}")
    if lines[-1] == bar:
        lines.pop()
    return lines


def _summary(report: Report, palette: Palette) -> str:
    statistics = report.statistics
    files = count(statistics.files, "file")
    unknown = sum(statistics.unknown.values())
    share = f" {unknown:,} of {count(statistics.paths, 'call path')} unknown." if unknown else ""
    if not report.findings:
        return f"{palette.good('All clear')}: no findings in {files}.{share}"
    by_severity = Counter(finding.severity for finding in report.findings)
    parts = [
        palette.severity(count(by_severity[severity], severity), severity)
        for severity in Severity
        if by_severity[severity]
    ]
    hit = len({finding.place.path for finding in report.findings})
    where = f"{hit:,} of {files}" if hit <= statistics.files else count(hit, "file")
    return f"Found {count(len(report.findings), 'finding')} ({', '.join(parts)}) in {where}.{share}"
