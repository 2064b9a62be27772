"""`conformance rules`."""

from __future__ import annotations

import sys

import click

from conformance import __version__
from conformance.cli.output import color_option, emit, use_color


@click.command("rules")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
@color_option
def command(format_name: str, color: bool | None) -> None:
    """List the rules.

    With each rule: its code and name, the severities of its findings, whether they can be repaired automatically, and
    whether it is a preview rule, which runs only with `check --preview`.
    """
    from conformance.report.rules import rules_json, rules_text
    from conformance.rules import load_rules

    infos = [rule.info for rule in load_rules()]
    if format_name == "json":
        emit(rules_json(infos, __version__))
    else:
        emit(rules_text(infos, use_color(color, sys.stdout)))
