"""The kinds of defects, and the codes that a finding about each may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.seeds import arguments as args
from tests.seeds import gates, recompute
from tests.seeds.sites import Route
from tests.seeds.text import Edit, Text


@dataclass(frozen=True)
class Kind:
    """One kind of defect."""

    name: str
    codes: tuple[str, ...]
    """Any of these says it."""
    find: Callable[[Text], Iterator[Edit]]
    """Every edit of a text that makes such a defect."""
    either: bool = False
    """Whether the finding may stand at the other path and name this one."""


def _on_each(name: str, codes: tuple[str, ...], find: Callable[..., Iterator[Edit]], either: bool) -> tuple[Kind, ...]:
    routes = {"eager": args.UNCHECKPOINTED, "checkpointed": args.RECOMPUTED, "scoped": args.SCOPED}
    return tuple(Kind(f"{name}, {route}", codes, _on(find, chosen), either) for route, chosen in routes.items())


def _on(find: Callable[..., Iterator[Edit]], routes: tuple[Route, ...]) -> Callable[[Text], Iterator[Edit]]:
    """The same search on some routes."""
    return lambda text: find(text, *routes)


KINDS = (
    *_on_each("argument dropped", ("CF101", "CF104", "CF108"), args.dropped, either=False),
    *_on_each("arguments swapped", ("CF102", "CF103"), args.swapped, either=True),
    *_on_each("keyword renamed", ("CF104", "CF202"), args.renamed, either=False),
    *_on_each("argument made None", ("CF102",), args.nothing, either=True),
    *_on_each("argument of another parameter", ("CF102", "CF103"), args.repeated, either=True),
    *_on_each("result unpacked wrongly", ("CF105",), args.unpacked_wrongly, either=True)[:2],
    Kind("container in place of the block", ("CF107",), args.other_callee, either=True),
    Kind("statement on one path", ("CF106",), args.branch_only),
    Kind("control dropped", ("CF108",), args.control_dropped),
    Kind("control forgotten by a branch", ("CF108",), recompute.forgetful_branch),
    Kind("bound late", ("CF201",), recompute.late_binding),
    Kind("keyword to the hook", ("CF202",), recompute.keyword_to_hook),
    Kind("keyword lost in a wrapper", ("CF203", "CF202", "CF101"), recompute.keyword_lost),
    Kind("use_reentrant left out", ("CF204", "CF202"), recompute.no_reentrant),
    Kind("state changed by a recompute", ("CF205",), recompute.state_changed),
    Kind("tensors in a tuple", ("CF206",), recompute.nested_tensors),
    Kind("attention outside the offload context", ("CF207", "CF101", "CF108"), recompute.no_offload_context),
    Kind("literal in the gate", ("CF301",), gates.literal_gate),
    Kind("flag that nothing sets", ("CF302",), gates.wrong_flag),
    Kind("interval or stride ignored", ("CF303",), gates.interval_ignored),
    Kind("modulo written out", ("CF304",), gates.hand_rolled),
    Kind("scope guard removed", ("CF305",), gates.no_scope_guard),
    Kind("backend ignored", ("CF306",), gates.backend_ignored),
    Kind("flag changed by the forward", ("CF307",), gates.flag_changed),
)
