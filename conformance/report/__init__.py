"""Reports: one file a format, each a pure function from a `Report` to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from conformance.report import as_concise, as_json, as_text
from conformance.report.base import Report

FORMATS: Mapping[str, Callable[[Report], str]] = MappingProxyType(
    {"text": as_text.render, "concise": as_concise.render, "json": as_json.render}
)
"""The formats of `check --format`, the default first."""
