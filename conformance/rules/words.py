"""Words that several rules use."""

from __future__ import annotations

from conformance.callpaths.model import Route
from conformance.callpaths.paths import Path

_ROUTES = {
    Route.EAGER: "eager",
    Route.CHECKPOINTED: "checkpointed",
    Route.SEGMENTED: "segmented checkpoint",
    Route.SCOPED: "partly checkpointed",
}
_MOST_CONDITIONS = 4


def route_words(route: Route) -> str:
    """How a route is called in a sentence."""
    return _ROUTES[route]


def setting(path: Path) -> str:
    """The setting under which a path runs: the plain tests among its conditions, the innermost last."""
    texts: list[str] = []
    for condition in path.public.conditions:
        value = condition.value
        if value.op in ("and", "or", "phi", "raises", "iteration"):
            continue
        text = str(condition)
        if len(text) <= 100 and text not in texts:
            texts.append(text)
    return " and ".join(texts[-_MOST_CONDITIONS:]) or "always"
