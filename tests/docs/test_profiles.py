"""What the documentation says of profiles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from conformance.layout import allowlists_dir
from conformance.project.profile import ControlKind, load_profile

TEXT = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")


def test_the_example_is_a_profile(tmp_path: Path) -> None:
    """And so it has no key that isn't read."""
    example = re.search(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert example is not None
    file = tmp_path / "example.toml"
    file.write_text(example[1], encoding="utf-8")
    profile = load_profile(file, allowlists_dir())
    assert profile.gate_helpers[0].stride == "window"
    assert profile.controls[0].values == ("torch-part",)


def test_every_key_is_told() -> None:
    source = (Path(__file__).parents[2] / "conformance" / "project" / "profile.py").read_text(encoding="utf-8")
    keys = set(re.findall(r"\.(?:text|texts|flag|choice|table|tables|lists)\(\s*\"(\w+)\"", source))
    assert len(keys) > 30
    assert not {key for key in keys if not re.search(rf"(?m)^(?:\[+\w+\.)*\[*(?:\w+\.)?{key}(?: =|\])", TEXT)}


def test_every_kind_is_told() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == set(get_args(ControlKind))
