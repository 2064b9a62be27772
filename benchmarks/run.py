"""Measures `conformance check` on real input, as ratios to parsing the same files. Run: `python benchmarks/run.py`.

Every figure is the median of several runs in processes of their own, on one machine in one go. Needs nothing but the
standard library and an interpreter in which this package runs; the wheel comes from the cache that the tests use.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from wheels import copy_part, unpacked  # noqa: E402

PROJECT, VERSION = "simpletuner", "4.10.1"
MODELS = "simpletuner/helpers/models"

PARSE = """
import ast, gc, sys, time
from pathlib import Path
gc.disable()
texts = [path.read_bytes() for path in Path(sys.argv[1]).rglob("*.py")]
texts = [text for text in texts if sys.argv[2].encode() in text]
start = time.process_time()
for text in texts:
    ast.parse(text)
print(len(texts), sum(text.count(b"\\n") for text in texts), time.process_time() - start)
"""
"""Parses the files of a folder that have a word, without the garbage collector, and prints what that costs."""


@dataclass(frozen=True)
class Run:
    """One process that has ended."""

    seconds: float
    """CPU seconds, user and system."""
    peak: float
    """Largest resident size, in MiB."""
    output: str
    status: int


def run(command: Sequence[str], cwd: Path) -> Run:
    """Runs a command from the checkout."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**20, text, process.returncode)


def check(folder: Path, cwd: Path) -> Run:
    """One cold check of a folder."""
    command = [sys.executable, "-m", "conformance", "check", str(folder), "--statistics", "--format", "concise"]
    done = run(command, cwd)
    if done.status not in (0, 1):
        sys.exit(f"{' '.join(command)} ended with {done.status}\n{done.output}")
    return done


def parse(folder: Path, word: str) -> tuple[int, int, float]:
    """Files, lines and CPU seconds of parsing what has the word."""
    done = run([sys.executable, "-c", PARSE, str(folder), word], folder)
    files, lines, seconds = done.output.split()
    return int(files), int(lines), float(seconds)


def median(measure: Callable[[], float], times: int) -> float:
    """The middle of several measurements."""
    return statistics.median(measure() for _ in range(times))


def stages(runs: Sequence[Run]) -> dict[str, float]:
    """Median CPU seconds by stage, as `--statistics` prints them."""
    found: dict[str, list[float]] = {}
    for done in runs:
        line = re.search(r"^ *CPU seconds +[\d.]+ +(.*)$", done.output, re.MULTILINE)
        if line:
            for name, seconds in re.findall(r"([a-z][a-z ]*?) ([\d.]+)(?:,|$)", line[1]):
                found.setdefault(name.strip(), []).append(float(seconds))
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def row(what: str, figure: str, note: str = "") -> None:
    """Prints one figure."""
    print(f"{what:<58} {figure:>12}  {note}".rstrip())


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="runs of each measurement (default 5)")
    parser.add_argument("--copies", type=int, default=10, help="size of the larger tree for the scaling (default 10)")
    options = parser.parse_args()
    root = unpacked(PROJECT, VERSION)
    models = root / MODELS

    parsed = [parse(models, "") for _ in range(options.runs)]
    files, lines, _ = parsed[0]
    whole = statistics.median(seconds for _, _, seconds in parsed)
    relevant_files = parse(models, "checkpoint")[0]
    relevant = median(lambda: parse(models, "checkpoint")[2], options.runs)
    checks = [check(models, root) for _ in range(options.runs)]
    cold = statistics.median(done.seconds for done in checks)
    click = median(lambda: run([sys.executable, "-c", "import click"], root).seconds, options.runs)

    print(f"{PROJECT} {VERSION}, {MODELS}: {files} files, {lines:,} lines; median of {options.runs} runs, CPU seconds")
    row("ast.parse of all files, garbage collector off", f"{whole:.2f} s", "1.00 x")
    row(
        f"ast.parse of the {relevant_files} files that say `checkpoint`",
        f"{relevant:.2f} s",
        f"{relevant / whole:.2f} x",
    )
    row(
        "conformance check, cold",
        f"{cold:.2f} s",
        f"{cold / whole:.2f} x the first, {cold / relevant:.2f} x the second",
    )
    row("  its largest resident size", f"{max(done.peak for done in checks):.0f} MiB")
    by_stage = stages(checks)
    for stage, seconds in by_stage.items():
        row(f"  of which {stage}", f"{seconds:.2f} s", f"{seconds / whole:.2f} x")
    if by_stage:
        rest = cold - sum(by_stage.values())
        row("  of which start, imports and report", f"{rest:.2f} s", f"{rest / whole:.2f} x")
    row('python -c "import click"', f"{click:.3f} s", f"{cold / click:.0f} of them are a check")
    if ruff := shutil.which("ruff"):
        command = [ruff, "check", "--select", "ALL", "--no-cache", "--isolated", "--quiet", "--exit-zero", str(models)]
        row("ruff check --select ALL --no-cache", f"{median(lambda: run(command, root).seconds, options.runs):.2f} s")

    with tempfile.TemporaryDirectory(prefix="conformance-benchmark-") as scratch:
        large = copy_part(root, ["simpletuner"], Path(scratch))
        for number in range(1, options.copies):
            shutil.copytree(models, large / MODELS / f"copy_{number}")
        many = check(large / MODELS, large)
    row(f"conformance check of {options.copies} copies", f"{many.seconds:.2f} s", f"{many.seconds / cold:.1f} x one")
    row("  its largest resident size", f"{many.peak:.0f} MiB")


if __name__ == "__main__":
    main()
