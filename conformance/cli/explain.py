"""`conformance explain`."""

from __future__ import annotations

import sys

import click

from conformance.cli.output import Failure, color_option, emit, use_color


@click.command("explain")
@click.argument("rule")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
@color_option
def command(rule: str, format_name: str, color: bool | None) -> None:
    """Explain a rule: what it does, why, and with an example.

    RULE is a code, such as CF101, or a name, such as argument-dropped.
    """
    from conformance.report.rules import explain_json, explain_markdown, explain_text
    from conformance.rules import SelectionError, find_rule, load_rules

    try:
        info = find_rule(load_rules(), rule).info
    except SelectionError as error:
        raise Failure(error.message, error.hint) from None
    if format_name == "json":
        emit(explain_json(info))
    elif format_name == "markdown":
        emit(explain_markdown(info))
    else:
        emit(explain_text(info, use_color(color, sys.stdout)))
