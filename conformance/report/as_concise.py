"""One line for each finding: `path:line:column: severity[code] name (family): message`."""

from __future__ import annotations

from conformance.findings import Finding
from conformance.report.base import Report, in_order, location
from conformance.report.statistics import statistics_lines
from conformance.report.terminal import Palette, escape, joined


def render(report: Report) -> str:
    palette = Palette(report.color)
    lines = [headline(finding, report.cwd, palette) for finding in in_order(report.findings)]
    if report.with_statistics:
        lines += statistics_lines(report.statistics, report.cwd, palette)
    return joined(lines)


def headline(finding: Finding, cwd: str, palette: Palette) -> str:
    """The line that stands for a finding."""
    where = palette.strong(escape(location(finding.place, cwd)))
    what = palette.severity(f"{finding.severity}[{finding.code}]", finding.severity)
    family = f" ({escape(finding.family)})" if finding.family else ""
    return f"{where}: {what} {palette.strong(finding.name)}{family}: {escape(finding.message)}"
