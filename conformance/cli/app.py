"""The command group: finds a command by name, and turns every user error into one line and exit status 2."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from conformance import __version__
from conformance.cli.output import Failure

COMMANDS = {
    "check": "Check files and folders, and report defects.",
    "paths": "Show how a model calls its blocks: routes, conditions, arguments.",
    "explain": "Explain a rule: what it does, why, and with an example.",
    "rules": "List the rules.",
}
"""Name and short help, in the order of the help page. The module of a command is imported only to run it."""

INTERRUPTED = 130


class App(click.Group):
    """The command `conformance`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"conformance.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise Failure(f"there is no command {name!r}", _command_hint(name))
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Runs the command line; returns the exit status, or exits with it in `standalone_mode`."""
        code: int
        try:
            code = super().main(args, prog_name or "conformance", complete_var, standalone_mode=False, **extra) or 0
        except click.ClickException as error:
            _report(error)
            code = 2
        except click.Abort:
            code = INTERRUPTED
        if standalone_mode:
            sys.exit(code)
        return code


def _command_hint(name: str) -> str:
    if os.path.exists(name):
        return f"did you mean `conformance check {name}`?"
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=1)
    return f"did you mean `{close[0]}`?" if close else "see `conformance --help` for the commands"


def _report(error: click.ClickException) -> None:
    from conformance.report.terminal import escape

    hint = None
    if isinstance(error, Failure):
        hint = error.hint
    elif isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"see `{error.ctx.command_path} --help`"
    click.echo(f"error: {escape(error.format_message())}", err=True)
    if hint:
        click.echo(f"hint: {escape(hint)}", err=True)


@click.command(
    "conformance",
    cls=App,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context) -> int | None:
    """Check the gradient-checkpointing plumbing of PyTorch models.

    A model calls each of its blocks in more than one way: directly, and under gradient checkpointing, which runs the
    block again during the backward pass. All ways must compute the same thing. This tool reads the source, compares
    the ways, and reports arguments that get lost, controls that are not passed on, gates that ignore their flag, and
    more. It neither imports nor runs the code that it checks, and `check` changes nothing.

    \b
    conformance check path/to/models      check files and folders
    conformance paths model.py:MyModel    see how a model calls its blocks
    conformance explain CF101             read about a rule
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(2)
    return None
