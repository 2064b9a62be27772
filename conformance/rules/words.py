"""Words that several rules use."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.callpaths.model import Condition, Route
from conformance.callpaths.paths import Path
from conformance.callpaths.trace import Site
from conformance.callpaths.values import Value
from conformance.project.project import ClassDef, FunctionDef

_ROUTES = {
    Route.EAGER: "eager",
    Route.CHECKPOINTED: "checkpointed",
    Route.SEGMENTED: "segmented checkpoint",
    Route.SCOPED: "partly checkpointed",
}
_LONGEST_VALUE = 80
"""Characters of a value."""
_LONGEST = 400
"""Characters of a setting."""


def route_words(route: Route) -> str:
    """How a route is called in a sentence."""
    return _ROUTES[route]


def passes(value: Value) -> str:
    """What a path passes, for a sentence: the value, where a reader can make it out, else `it`."""
    return f"`{value.text}`" if is_readable(value) else "it"


def is_readable(value: Value) -> bool:
    """Whether a reader can make out a value from its text."""
    return len(value.text) <= _LONGEST_VALUE and "absent" not in value.text and "…" not in value.text


def block_words(path: Path, callee: ClassDef | FunctionDef | None) -> str:
    """How a block is called in a sentence: as the model sees it, and its class."""
    if path.raw.direct is not None:
        return f"`{path.raw.direct.facts.qualname}`"
    block = f"`{path.public.block.text}`"
    return block if callee is None else f"{block} ({callee.name})"


def place_of(path: Path, other: Path | None) -> Site:
    """Where an argument is to be changed: the call, or, where a wrapper forwards a sequence, where that is made.

    Where one call of a wrapper leads to both paths, they differ inside the wrapper.
    """
    raw = path.raw
    if raw.written is None or other is None:
        return raw.written or raw.site
    counterpart = other.raw
    is_shared = raw.written in (counterpart.written, counterpart.outer, counterpart.site)
    return raw.site if is_shared else raw.written


def setting(conditions: Sequence[Condition]) -> str:
    """The setting under which a path runs: its conditions, without those that no reader could make out."""
    texts: list[str] = []
    for condition in conditions:
        if condition.value.op in ("phi", "raises", "iteration", "finished"):
            continue
        text = str(condition)
        if text not in texts and "…" not in text:
            texts.append(text)
    while len(texts) > 1 and sum(map(len, texts)) > _LONGEST:
        texts.pop(0)  # the outermost says least of what is special here
    return " and ".join(texts) or "always"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: `a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
