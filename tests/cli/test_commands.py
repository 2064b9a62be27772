"""The commands, in this process and with an engine of the tests' own."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance import __version__
from conformance.cli.app import COMMANDS, app
from conformance.findings import Severity
from conformance.rules import load_rules
from tests.cli.fake_engine import Options, engine
from tests.report.test_json import SCHEMA
from tests.report.test_paths import SCHEMA as PATHS_SCHEMA

BAD = "x = 1\ny = BAD\nz = POOR\n"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Options]:
    """The options of each run of the engine. The working directory holds a bad, a clean and an unreadable file."""
    options: list[Options] = []
    monkeypatch.setitem(sys.modules, "conformance.check", engine(options))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "clean.py").write_text("")
    (tmp_path / "broken.py").write_bytes(b"\xff")
    (tmp_path / "model.py").write_text("block\n")
    return options


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


# check


@pytest.mark.usefixtures("calls")
def test_exit_status() -> None:
    assert run("check", "clean.py").exit_code == 0
    assert run("check", "bad.py").exit_code == 1
    assert run("check", "clean.py", "broken.py").exit_code == 1
    assert run("check", "missing.py").exit_code == 2


@pytest.mark.usefixtures("calls")
def test_text_is_the_default() -> None:
    result = run("check", "bad.py", "clean.py")
    assert result.stdout == (
        "bad.py:2:5: error[CF101] argument-dropped: this is BAD [really]\n"
        "  |\n"
        "2 | y = BAD\n"
        "  |     ^^^\n"
        "  |\n"
        " ::: bad.py:1:1: the first line\n"
        "  |\n"
        "1 | x = 1\n"
        "  | -\n"
        "\n"
        "bad.py:3:5: convention[CF301] literal-gate: this is POOR [really]\n"
        "  |\n"
        "3 | z = POOR\n"
        "  |     ^^^^\n"
        "  |\n"
        " ::: bad.py:1:1: the first line\n"
        "  |\n"
        "1 | x = 1\n"
        "  | -\n"
        "\n"
        "Found 2 findings (1 error, 1 convention) in 1 of 2 files.\n"
    )
    assert result.stderr == "note: a note\n"


@pytest.mark.usefixtures("calls")
def test_clean_run() -> None:
    assert run("check", "clean.py").stdout == "All clear: no findings in 1 file.\n"


@pytest.mark.usefixtures("calls")
def test_quiet_leaves_the_findings() -> None:
    result = run("check", "-q", "--format", "concise", "bad.py")
    assert result.stdout.count("\n") == 2
    assert result.stderr == ""
    assert run("check", "--quiet", "clean.py").output == ""


@pytest.mark.usefixtures("calls")
def test_json_is_one_document_and_notes_stay_out_of_it() -> None:
    result = run("check", "--format", "json", "bad.py", "broken.py")
    document = json.loads(result.stdout)
    SCHEMA.validate(document)
    assert [(finding["path"], finding["code"]) for finding in document["findings"]] == [
        ("bad.py", "CF101"),
        ("bad.py", "CF301"),
        ("broken.py", "CF900"),
    ]
    assert document["version"] == __version__
    assert result.stderr == "note: a note\n"
    SCHEMA.validate(json.loads(run("check", "--format", "json", "--statistics", "clean.py").stdout))


@pytest.mark.usefixtures("calls")
def test_statistics() -> None:
    assert "Statistics\n  files" in run("check", "--statistics", "clean.py").stdout
    assert "Statistics" not in run("check", "clean.py").stdout


def test_options_reach_the_engine(calls: list[Options], tmp_path: Path) -> None:
    run("check")
    run(
        "check", "clean.py", "bad.py", "--family", "flux", "--family", "chroma", "--select", "CF1, late-bound-capture,",
        "--select", "CF301", "--ignore", "CF108", "--preview", "--severity", "warning", "--profile", "torch",
    )  # fmt: skip
    cwd = str(tmp_path)
    assert calls == [
        Options((), cwd, (), (), (), False, Severity.CONVENTION, None),
        Options(
            ("clean.py", "bad.py"),
            cwd,
            ("flux", "chroma"),
            ("CF1", "late-bound-capture", "CF301"),
            ("CF108",),
            True,
            Severity.WARNING,
            "torch",
        ),
    ]


@pytest.mark.usefixtures("calls")
def test_severity_decides_the_exit_status(tmp_path: Path) -> None:
    (tmp_path / "poor.py").write_text("POOR")
    assert run("check", "poor.py").exit_code == 1
    assert run("check", "--severity", "warning", "poor.py").exit_code == 0


@pytest.mark.usefixtures("calls")
def test_usage_errors_are_a_line_and_a_hint() -> None:
    result = run("check", "missing.py")
    assert result.stdout == ""
    assert result.stderr == "error: missing.py does not exist\nhint: check the spelling\n"


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["check", "--format", "xml"], "Invalid value for '--format'", "see `conformance check --help`"),
        (["check", "--severity", "fatal"], "Invalid value for '--severity'", "see `conformance check --help`"),
        (["check", "--formt", "json"], "No such option", "see `conformance check --help`"),
        (["--nope"], "No such option", "see `conformance --help`"),
        (["paths"], "Missing argument", "see `conformance paths --help`"),
        (["chek"], "there is no command 'chek'", "did you mean `check`?"),
        (["zzz"], "there is no command 'zzz'", "see `conformance --help` for the commands"),
        (["bad.py"], "there is no command 'bad.py'", "did you mean `conformance check bad.py`?"),
        (["no\x1b[31m"], "there is no command 'no\\x1b[31m'", "see `conformance --help` for the commands"),
        (["explain", "CF90"], "there is no rule 'CF90'", "did you mean CF900?"),
    ],
)
@pytest.mark.usefixtures("calls")
def test_wrong_usage(arguments: list[str], error: str, hint: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.startswith(f"error: {error}")
    assert second == f"hint: {hint}"


# --output


@pytest.mark.usefixtures("calls")
def test_output_goes_to_the_file(tmp_path: Path) -> None:
    expected = run("check", "bad.py").stdout
    result = run("check", "bad.py", "--output", "report.txt")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "note: a note\nnote: the report is in report.txt\n"
    assert (tmp_path / "report.txt").read_text() == expected
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "report.txt").stat().st_mode) == 0o666 & ~umask


@pytest.mark.usefixtures("calls")
def test_output_replaces_a_file_and_keeps_its_mode_and_links(tmp_path: Path) -> None:
    target, link = tmp_path / "old.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    run("check", "clean.py", "--output", "link.txt")
    assert link.is_symlink()
    assert target.read_text() == "All clear: no findings in 1 file.\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.usefixtures("calls")
def test_failed_output_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report.txt").write_text("old")
    before = sorted(os.listdir(tmp_path))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    result = run("check", "bad.py", "--output", "report.txt")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "error: can't write report.txt: No space left on device"
    assert (tmp_path / "report.txt").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == before


def test_impossible_output_is_told_before_the_run(calls: list[Options], tmp_path: Path) -> None:
    for output, reason in ((".", "it is a folder"), ("no/such/file", "there is no folder")):
        result = run("check", "bad.py", "--output", output)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: can't write {output}: {reason}")
    assert calls == []


@pytest.mark.usefixtures("calls")
def test_output_to_a_pipe() -> None:
    """What `--output >(tee report.txt)` gives: a path below /dev/fd that leads to no file."""
    reader, writer = os.pipe()
    result = run("check", "bad.py", "--output", f"/dev/fd/{writer}")
    os.close(writer)
    with open(reader, encoding="utf-8") as stream:
        assert "CF" in stream.read()
    assert result.exit_code == 1


@pytest.mark.usefixtures("calls")
def test_output_to_a_device() -> None:
    assert run("check", "bad.py", "--output", os.devnull).exit_code == 1
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


# The other commands


@pytest.mark.usefixtures("calls")
def test_paths() -> None:
    result = run("paths", "model.py:Net")
    assert result.exit_code == 0
    assert result.stdout.startswith("model.py:1: Net.forward  (1 block, 1 path)\n")
    document = json.loads(run("paths", "--format", "json", "model.py").stdout)
    PATHS_SCHEMA.validate(document)
    assert (document["target"], document["version"]) == ("model.py", __version__)


@pytest.mark.usefixtures("calls")
def test_paths_of_what_cannot_be_read() -> None:
    result = run("paths", "broken.py")
    assert result.exit_code == 1
    assert result.stdout == "broken.py:1:1: error[CF900] unreadable-source: can't be decoded\n"


@pytest.mark.usefixtures("calls")
def test_paths_of_nothing_is_wrong_usage() -> None:
    assert run("paths", "missing.py").stderr == "error: missing.py does not exist\n"
    for arguments in (["clean.py"], ["clean.py", "--format", "json"]):
        result = run("paths", *arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: clean.py: no function here calls a block\nhint: ")


def test_explain() -> None:
    by_code, by_name = run("explain", "cf900"), run("explain", "unreadable-source")
    assert by_code.exit_code == 0
    assert by_code.stdout == by_name.stdout
    assert by_code.stdout.startswith("CF900 unreadable-source: ")
    assert run("explain", "CF900", "--format", "markdown").stdout.startswith("# CF900 unreadable-source\n")
    assert json.loads(run("explain", "CF900", "--format", "json").stdout)["code"] == "CF900"


def test_rules() -> None:
    codes = [rule.info.code for rule in load_rules()]
    assert [line.split()[0] for line in run("rules").stdout.splitlines()] == ["code", *codes]
    assert [rule["code"] for rule in json.loads(run("rules", "--format", "json").stdout)["rules"]] == codes


# Help


def test_help_is_for_newcomers() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "gradient checkpointing" in result.stdout
    for name, summary in COMMANDS.items():
        assert f"  {name} " in result.stdout
        page = run(name, "-h")
        assert page.exit_code == 0
        assert summary in " ".join(page.stdout.split())
    assert "Exit status: 0  no findings" in run("check", "--help").stdout


def test_no_command_shows_the_help() -> None:
    result = run()
    assert result.exit_code == 2
    assert result.stdout == run("--help").stdout


def test_version() -> None:
    assert run("--version").stdout == f"conformance {__version__}\n"
