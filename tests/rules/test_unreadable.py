"""CF900: what can't be read is said, with the reason, and the rest is checked as if it weren't there."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.findings import Severity
from tests.rules.harness import framed, run

DEFECT = framed(
    "loop",
    "if self.gradient_checkpointing:\n    x = checkpoint(block, x, use_reentrant=False)\n"
    "else:\n    x = block(x, mask)\n",
)
TORN = {
    "syntax": b"x = 1\ndef f(:\n    pass\n",
    "encoding": b"# -*- coding: utf-9 -*-\nx = 1\n",
    "bytes": b"x = 1\ny = '\xff'\n",
    "null": b"x = 1\ny = 2\0\n",
}


@pytest.mark.parametrize("kind", sorted(TORN))
def test_unreadable_file_beside_a_defect(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a_torn.py").write_bytes(TORN[kind])
    (tmp_path / "model.py").write_text(DEFECT, encoding="utf-8")
    torn, defect = run(tmp_path)
    assert (torn.code, torn.severity, Path(torn.place.path).name) == ("CF900", Severity.ERROR, "a_torn.py")
    assert torn.message.startswith("This file can't be checked: ")
    assert (defect.code, defect.parameter) == ("CF101", "mask")


def test_line_of_the_syntax_error(tmp_path: Path) -> None:
    (tmp_path / "torn.py").write_bytes(TORN["syntax"])
    (found,) = run(tmp_path)
    assert found.place.line == 2


def test_unreadable_file_that_a_given_one_needs(tmp_path: Path) -> None:
    """The block's class is in a file that can't be read: its paths stay unknown, and the file is named."""
    inside = tmp_path / "models"
    inside.mkdir()
    (tmp_path / "blocks.py").write_bytes(b"class Block(:\n")
    own = DEFECT[DEFECT.index("class Block") : DEFECT.index("class Model")]
    (inside / "model.py").write_text(DEFECT.replace(own, "from blocks import Block\n\n\n"), encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    assert [(found.code, Path(found.place.path).name) for found in run(inside)] == [("CF900", "blocks.py")]
