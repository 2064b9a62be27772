"""Runs the recorder, which needs torch, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RECORDER = Path(__file__).with_name("record.py")


def record(files: Sequence[Path]) -> list[dict[str, Any]]:
    """What was seen when each model file ran: one record a file, as `record.py` describes.

    Raises AssertionError when a model can't run, or when there is no torch.
    """
    command = [sys.executable, "-P", str(RECORDER), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"the recorder needs the torch of the extra `torch`\n{done.stderr}"
    records: list[dict[str, Any]] = json.loads(done.stdout)
    for found in records:
        assert found["error"] is None, f"{found['file']}\n{found['error']}"
    return records
