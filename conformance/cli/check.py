"""`conformance check`."""

from __future__ import annotations

import gc
import sys

import click

from conformance import __version__
from conformance.cli.output import (
    Failure,
    check_writable,
    color_option,
    emit,
    note,
    terminal_width,
    use_color,
    working_folder,
    write_file,
)
from conformance.cli.progress import ProgressBar
from conformance.findings import Severity
from conformance.report import FORMATS
from conformance.report.base import SOURCE_WIDTH, Report

_GUTTER = 8
"""Columns of a terminal that a code frame needs for line numbers."""


def _codes(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Splits `CF101,CF2` and drops empty parts."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--family", multiple=True, metavar="F", help="Check this model family only. May be repeated.")
@click.option(
    "--select",
    multiple=True,
    callback=_codes,
    metavar="RULES",
    help="Run these rules only: codes (CF101), beginnings of codes (CF1) or names (argument-dropped), separated by "
    "commas. May be repeated.",
)
@click.option("--ignore", multiple=True, callback=_codes, metavar="RULES", help="Don't run these rules.")
@click.option(
    "--severity",
    type=click.Choice([severity.value for severity in Severity]),
    default=Severity.CONVENTION.value,
    show_default=True,
    help="Show and count findings of this severity and above.",
)
@click.option("--preview", is_flag=True, help="Run preview rules too.")
@click.option(
    "--profile",
    metavar="NAME",
    help="Use this profile of names: one that is installed, or a TOML file. Default: chosen by looking at the tree.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS)),
    default=next(iter(FORMATS)),
    show_default=True,
    help="How to report: with code frames, a line for each finding, or one JSON document.",
)
@click.option("--output", metavar="FILE", help="Write the report to this file, not to standard output.")
@click.option("--statistics", is_flag=True, help="Tell how much was seen, what wasn't understood and why.")
@color_option
@click.option("-q", "--quiet", is_flag=True, help="Only the findings: no summary, notes or progress bar.")
def command(
    paths: tuple[str, ...],
    family: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    severity: str,
    preview: bool,
    profile: str | None,
    format_name: str,
    output: str | None,
    statistics: bool,
    color: bool | None,
    quiet: bool,
) -> int:
    """Check files and folders, and report defects.

    PATHS are Python files and folders; without any, the source root around the working directory is checked. What the
    given files need from elsewhere in their source root is read as well. Nothing is written, imported or run.

    \b
    Exit status: 0  no findings
                 1  findings are shown
                 2  wrong usage, or nothing to check
    """
    if output is not None:
        check_writable(output)
    from conformance.check import Options, UsageError, check

    cwd = working_folder()
    options = Options(
        paths=paths,
        cwd=cwd,
        family=family,
        select=select,
        ignore=ignore,
        preview=preview,
        severity=Severity(severity),
        profile=profile,
    )
    try:
        if ProgressBar.is_wanted(quiet):
            with ProgressBar() as progress:
                result = check(options, progress)
        else:
            result = check(options)
    except UsageError as error:
        raise Failure(error.message, error.hint) from None

    gc.freeze()  # the process ends soon, and leaving would search all that was learnt for garbage
    stream = sys.stdout if output is None else None
    columns = terminal_width(stream)
    text = FORMATS[format_name](
        Report(
            findings=result.findings,
            statistics=result.statistics,
            read_text=result.read_text,
            cwd=cwd,
            version=__version__,
            color=use_color(color, stream),
            width=SOURCE_WIDTH if columns is None else max(columns - _GUTTER, 40),
            summary=not quiet,
            with_statistics=statistics,
        )
    )
    if not quiet:
        for line in result.notes:
            note(line)
    if output is None:
        emit(text)
    else:
        write_file(output, text)
        if not quiet:
            note(f"the report is in {output}")
    return 1 if result.findings else 0
