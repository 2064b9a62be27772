"""What the rules ought to say of a model, told from its runs alone."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Run = Mapping[str, Any]
Call = Mapping[str, Any]

ROUTING = ("checkpointing", "use_checkpoint", "segmented", "ffn_scope", "whole", "interval", "backend", "skip")
"""Words in the names of the settings that choose a route; all other settings choose values."""
MODES = ("training", "grad")


def late_calls(runs: Iterable[Run]) -> list[Call]:
    """Calls during backward that are no repetition of a call in forward: another block, or another value.

    A tensor that backward made itself (an earlier block's recomputed result) can stand for any value.
    """
    result = []
    for run in runs:
        forward = [call for call in run["calls"] if not call["backward"]]
        for call in run["calls"]:
            if call["backward"] and not any(repeats(call, earlier) for earlier in forward):
                result.append(call)
    return result


def repeats(call: Call, earlier: Call) -> bool:
    """Whether a call is a repetition of an earlier one."""
    if call["element"] != earlier["element"] or call["bound"].keys() != earlier["bound"].keys():
        return False
    return all(label in ("?", earlier["bound"][name]) for name, label in call["bound"].items())


def dropped_arguments(runs: Iterable[Run]) -> dict[str, list[str]]:
    """Parameters that one route passes and another leaves to a default that is another value, in otherwise equal runs.

    Each with the calls that show it. Routes are compared where they run the same entry of the same block.
    """
    alike: dict[tuple[tuple[str, Any], ...], list[Run]] = collections.defaultdict(list)
    for run in runs:
        values = [(key, value) for key, value in run["choice"].items() if not chooses_route(key)]
        alike[tuple(values)].append(run)
    found: dict[str, list[str]] = {}
    for group in alike.values():
        for passed, left in parameters(group):
            for name in passed.keys() & left.keys():
                if passed[name].keys() - left[name].keys():
                    found.setdefault(name, [*passed[name].values(), *left[name].values()])
    return found


def chooses_route(key: str) -> bool:
    """Whether a setting or mode has to do with routes."""
    return key in MODES or any(word in key for word in ROUTING)


Seen = dict[str, dict[str, str]]
"""Parameter to the labels that it had, each with a call that shows it."""


def parameters(group: Sequence[Run]) -> Iterable[tuple[Seen, Seen]]:
    """For each call of each block, what its parameters were passed and what they were left to, over some runs."""
    seen: dict[tuple[Any, ...], tuple[Seen, Seen]] = {}
    for run in group:
        times: collections.Counter[tuple[Any, ...]] = collections.Counter()
        for call in run["calls"]:
            if call["backward"]:
                continue
            key = (call["element"], call["method"])
            times[key] += 1
            both = seen.setdefault((*key, times[key]), ({}, {}))
            for kind, into in zip(("bound", "defaults"), both, strict=True):
                for name, label in call[kind].items():
                    if not name.startswith("checkpoint_"):
                        text = f"{call['route']} at line {call['call'][0]}: {name}={label} ({kind})"
                        into.setdefault(name, {}).setdefault("#" if label.startswith("#") else label, text)
    return seen.values()
