"""The command in a process of its own: terminals, pipes, signals, encodings, and what it imports."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.cli.fake_engine import command, environment, run_in


def on_terminal(
    folder: Path,
    arguments: Sequence[str],
    *,
    before: str = "",
    both: bool = False,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, int]:
    """Runs with standard output (or `both` it and standard error) on a terminal; returns what came there."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        command(*arguments, before=before),
        cwd=folder,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=child,
        stderr=child if both else subprocess.DEVNULL,
    )
    os.close(child)
    output = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # Linux tells the end in this way
                raise
            break
        if not chunk:
            break
        output += chunk
    os.close(parent)
    return output.decode(), process.wait(60)


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    (tmp_path / "bad.py").write_text("x = BAD\n")
    return tmp_path


def test_exit_status(bad: Path) -> None:
    (bad / "clean.py").write_text("")
    assert run_in(bad, "check", "clean.py").returncode == 0
    assert run_in(bad, "check", "bad.py").returncode == 1
    assert run_in(bad, "check", "missing.py").returncode == 2


# Terminals


@pytest.mark.parametrize("name", ["text", "concise"])
def test_colors_on_a_terminal(bad: Path, name: str) -> None:
    output, status = on_terminal(bad, ["check", "bad.py", "--format", name])
    assert status == 1
    assert "\x1b[1;31merror[CF101]\x1b[0m" in output
    assert (
        re.sub(r"\x1b\[[0-9;]*m", "", output).replace("\r\n", "\n")
        == run_in(bad, "check", "bad.py", "--format", name).stdout.decode()
    )


def test_json_has_no_colors(bad: Path) -> None:
    assert "\x1b" not in on_terminal(bad, ["check", "bad.py", "--format", "json"])[0]


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        ([], {"NO_COLOR": "1"}),
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}),
        ([], {"TERM": "dumb"}),
        (["--no-color"], {}),
        (["--no-color"], {"FORCE_COLOR": "1"}),
    ],
)
def test_no_colors_where_they_are_unwanted(bad: Path, arguments: list[str], variables: dict[str, str]) -> None:
    output, _ = on_terminal(bad, ["check", "bad.py", *arguments], variables=variables)
    assert "error[CF101]" in output
    assert "\x1b" not in output


@pytest.mark.parametrize(
    ("arguments", "variables", "colored"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": ""}, False),
        (["--color"], {"NO_COLOR": "1"}, True),
    ],
)
def test_colors_off_a_terminal(bad: Path, arguments: list[str], variables: dict[str, str], colored: bool) -> None:
    assert (b"\x1b[" in run_in(bad, "check", "bad.py", *arguments, **variables).stdout) is colored


def test_a_file_gets_no_colors(bad: Path) -> None:
    run_in(bad, "check", "bad.py", "--output", "report.txt", FORCE_COLOR="1")
    assert b"\x1b" not in (bad / "report.txt").read_bytes()


NO_DELAY = "import conformance.cli.progress; conformance.cli.progress.DELAY = 0"


def test_progress_on_a_terminal(bad: Path) -> None:
    (bad / "slow.py").write_text("SLOW")
    output, status = on_terminal(bad, ["check", "slow.py"], before=NO_DELAY, both=True)
    assert status == 0
    assert "Checking" in output
    assert output.endswith("All clear\x1b[0m: no findings in 1 file.\r\n")


@pytest.mark.parametrize(("delay", "arguments"), [("1e9", []), ("0", ["--quiet"])])
def test_no_progress_for_short_or_quiet_runs(bad: Path, delay: str, arguments: list[str]) -> None:
    (bad / "slow.py").write_text("SLOW")
    before = f"import conformance.cli.progress; conformance.cli.progress.DELAY = {delay}"
    output, status = on_terminal(bad, ["check", "slow.py", *arguments], before=before, both=True)
    assert status == 0
    assert "Checking" not in output


def test_progress_needs_a_terminal(bad: Path) -> None:
    (bad / "slow.py").write_text("SLOW")
    result = run_in(bad, "check", "slow.py", before=NO_DELAY)
    assert result.stderr == b"note: a note\n"


# Pipes, files, signals


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_ends_the_command_silently(tmp_path: Path, unbuffered: str) -> None:
    (tmp_path / "many.py").write_text("x = BAD\n" * 20_000)
    with subprocess.Popen(
        command("check", "many.py"),
        cwd=tmp_path,
        env=environment(PYTHONUNBUFFERED=unbuffered),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"many.py:1:5: error[CF101]")
        process.stdout.close()
        assert process.stderr.read() == b"note: a note\n"
        assert process.wait(60) == 141


@pytest.mark.parametrize("arguments", [["--help"], ["rules"], ["check", "bad.py"]])
def test_a_closed_standard_output_is_no_failure(bad: Path, arguments: list[str]) -> None:
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", *command(*arguments)]
    result = subprocess.run(shell, cwd=bad, env=environment(), capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in result.stderr
    assert result.returncode == (1 if "check" in arguments else 0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_disk_is_told(bad: Path) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            command("check", "bad.py"),
            cwd=bad,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr == b"note: a note\nerror: can't write to standard output: No space left on device\n"


def test_interrupt_has_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text("INTERRUPT")
    result = run_in(tmp_path, "check", "wait.py")
    assert result.returncode == 130
    assert result.stdout == b""
    assert result.stderr.strip() == b""


def test_a_defect_of_the_tool_is_not_taken_for_findings(tmp_path: Path) -> None:
    (tmp_path / "boom.py").write_text("BOOM")
    result = run_in(tmp_path, "check", "boom.py")
    assert result.returncode == 2
    assert b"RuntimeError: a defect of the tool" in result.stderr
    assert result.stderr.endswith(b"error: conformance itself failed; please report this with the lines above\n")


def test_the_checked_folder_stays_as_it_is(bad: Path) -> None:
    run_in(bad, "check", "bad.py", "--format", "json")
    assert os.listdir(bad) == ["bad.py"]


# Odd names and texts


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("name", ["text", "concise", "json"])
def test_hostile_names_in_any_encoding(tmp_path: Path, encoding: str, name: str) -> None:
    file = "m\x1b[31m\n\u202e\udcff漢.py"
    (tmp_path / file).write_text('x = "漢\x1b[0m" + BAD\n', encoding="utf-8")
    result = run_in(tmp_path, "check", "--format", name, file, PYTHONIOENCODING=encoding)
    assert result.returncode == 1
    assert result.stderr == b"note: a note\n"
    output = result.stdout.decode(encoding)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\ud800-\udfff]", output)
    if name == "json":
        (finding,) = json.loads(output)["findings"]
        assert finding["path"] == file.replace("\udcff", r"\xff")
    else:
        shown = "漢" if encoding == "utf-8" else r"\u6f22"
        assert output.startswith(rf"m\x1b[31m\x0a\u202e\xff{shown}.py:1:15: error[CF101]")


def test_usage_errors_with_hostile_names(tmp_path: Path) -> None:
    result = run_in(tmp_path, "check", "m\x1b[31m\n\udcff.py")
    assert result.returncode == 2
    assert result.stderr.splitlines()[0] == rb"error: m\x1b[31m\x0a\xff.py does not exist"


@pytest.mark.parametrize("content", ["", "\n", "\r\nx = BAD\r\n", "\tx = BAD", "漢 = BAD\x0c"])
def test_odd_texts(tmp_path: Path, content: str) -> None:
    (tmp_path / "odd.py").write_text(content, encoding="utf-8", newline="")
    result = run_in(tmp_path, "check", "odd.py")
    assert result.returncode == int("BAD" in content)
    assert (b"^^^" in result.stdout) is ("BAD" in content)


def test_without_a_working_directory(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    result = run_in(folder, "check", before=f"import os; os.rmdir({str(folder)!r})")
    assert result.returncode == 2
    assert result.stderr == b"error: can't tell the working directory: No such file or directory\n"


# What is imported


def imported(folder: Path, *arguments: str, with_engine: bool = False) -> set[str]:
    tell = "import atexit; atexit.register(lambda: print('\\n', *sys.modules, file=sys.stderr))"
    script = f"import sys\n{tell}\nfrom conformance.cli import main\nmain()"
    process = command(*arguments, before=tell) if with_engine else [sys.executable, "-c", script, *arguments]
    result = subprocess.run(process, cwd=folder, env=environment(), capture_output=True, timeout=60, check=False)
    names = set(result.stderr.decode().splitlines()[-1].split())
    assert "conformance.cli.app" in names
    return names


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_the_first_page_needs_next_to_nothing(tmp_path: Path, arguments: list[str]) -> None:
    names = imported(tmp_path, *arguments)
    unneeded = {"rich", "dataclasses", "json", "conformance.check", "conformance.rules", "conformance.findings"}
    assert not names & unneeded


@pytest.mark.parametrize("name", ["check", "paths", "explain", "rules"])
def test_a_help_page_needs_no_engine(tmp_path: Path, name: str) -> None:
    assert not imported(tmp_path, name, "--help") & {"rich", "conformance.check", "conformance.rules"}


@pytest.mark.parametrize("arguments", [["check", "bad.py"], ["explain", "CF900"], ["rules"]])
def test_heavy_packages_stay_out(bad: Path, arguments: list[str]) -> None:
    assert not imported(bad, *arguments, with_engine=True) & {"rich", "torch", "libcst", "json"}
