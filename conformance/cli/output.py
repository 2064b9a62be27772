"""Where reports go: standard output, a file, a terminal; and how a command fails."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from typing import Any, TextIO

import click

CLOSED_PIPE = 141
"""The exit status of a program that the closed-pipe signal ended, as a shell shows it."""

_CHUNK = 8192
"""Characters for one write. Unbuffered, Python reports no error for a write of which a part succeeded."""


class Failure(click.ClickException):
    """A user error: one line that says what is wrong, and perhaps one that says what to do. Exit status 2."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def working_folder() -> str:
    """The working directory, absolute."""
    try:
        return os.getcwd()
    except OSError as error:
        raise Failure(f"can't tell the working directory: {error.strerror}") from None


def color_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--color/--no-color`; the value is None where neither is given."""
    return click.option(
        "--color/--no-color",
        default=None,
        help="Use colours or don't. Default: on a terminal only; NO_COLOR and FORCE_COLOR are honoured.",
    )(command)


def use_color(choice: bool | None, stream: TextIO | None) -> bool:
    """Whether a report to the stream is coloured; no stream stands for a file."""
    if choice is not None:
        return choice
    if stream is None or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def terminal_width(stream: TextIO | None) -> int | None:
    """The columns of the terminal that the stream is; None when it is none."""
    if stream is None or not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


def emit(text: str) -> None:
    """Writes a report to standard output; what its encoding lacks is written as an escape.

    A reader that went away (`| head`) ends the command silently.
    """
    stream = sys.stdout
    if stream is None:  # started with standard output closed
        return
    encoding = stream.encoding or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        for start in range(0, len(text), _CHUNK):
            stream.write(text[start : start + _CHUNK])
        stream.flush()
    except OSError as error:
        _discard(stream)
        if isinstance(error, BrokenPipeError):
            raise click.exceptions.Exit(CLOSED_PIPE) from None
        raise Failure(f"can't write to standard output: {error.strerror}") from None


def _discard(stream: TextIO) -> None:
    """Sends what is still buffered nowhere, so that the interpreter's last flush can't fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def note(text: str) -> None:
    """Tells the user something beside the report, on standard error."""
    from conformance.report.terminal import escape

    click.echo(f"note: {escape(text)}", err=True)


def check_writable(path: str) -> None:
    """Fails before a long run when `write_file` certainly would after it."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise Failure(f"can't write {path}: it is a folder")
    if not os.path.isdir(folder):
        raise Failure(f"can't write {path}: there is no folder {folder}")


def write_file(path: str, text: str) -> None:
    """Writes the file whole or not at all; a link is followed, a device or a pipe is written to as it is."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        try:
            mode = os.stat(path).st_mode  # of what a link leads to; the other end of a pipe has no path
        except FileNotFoundError:
            mode = None
        if mode is not None and not stat.S_ISREG(mode):
            with open(path, "wb") as stream:
                stream.write(data)
        else:
            _replace(os.path.realpath(path), data, mode)
    except OSError as error:
        raise Failure(f"can't write {path}: {error.strerror or error}") from None


def _replace(target: str, data: bytes, mode: int | None) -> None:
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
