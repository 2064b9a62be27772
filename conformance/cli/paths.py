"""`conformance paths`."""

from __future__ import annotations

import sys

import click

from conformance import __version__
from conformance.cli.output import Failure, color_option, emit, terminal_width, use_color, working_folder


@click.command("paths")
@click.argument("target", metavar="FILE[:CLASS]")
@click.option(
    "--profile",
    metavar="NAME",
    help="Use this profile of names: one that is installed, or a TOML file. Default: chosen by looking at the tree.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
@color_option
def command(target: str, profile: str | None, format_name: str, color: bool | None) -> int:
    """Show how a model calls its blocks: routes, conditions, arguments.

    For each block of each model in FILE (or of CLASS only) this prints every way by which the model's forward reaches
    it, the conditions under which it does, and the value that each parameter of the block gets. It is what the rules
    see.
    """
    from conformance.check import UsageError, call_paths
    from conformance.report.paths import render_json, render_text

    cwd = working_folder()
    try:
        result = call_paths(target, cwd, profile)
    except UsageError as error:
        raise Failure(error.message, error.hint) from None
    if not result.problems and not any(entry.paths or entry.loops for entry in result.entries):
        raise Failure(f"{target}: no function here calls a block", "name a file that defines a model with submodules")
    if format_name == "json":
        emit(render_json(target, result.entries, result.problems, cwd=cwd, version=__version__))
    else:
        text = render_text(
            result.entries,
            result.problems,
            cwd=cwd,
            color=use_color(color, sys.stdout),
            width=terminal_width(sys.stdout) or 100,
        )
        emit(text)
    return 1 if result.problems else 0
