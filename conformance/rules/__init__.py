"""The rules: one file each, found in this folder. See `conformance.rules.base` for the shape of a rule."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Iterable, Sequence

from conformance.rules.base import Rule, rule_from_module

_RULE_MODULE = re.compile(r"cf\d{3}")


class SelectionError(Exception):
    """A selector that names no rule, or a selection that leaves nothing to run."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def load_rules() -> tuple[Rule, ...]:
    """All rules of this folder, sorted by code.

    Raises:
        RuleDocumentError: a rule's docstring doesn't have the fixed shape.
    """
    names = sorted(info.name for info in pkgutil.iter_modules(__path__) if _RULE_MODULE.fullmatch(info.name))
    return tuple(rule_from_module(importlib.import_module(f"{__name__}.{name}")) for name in names)


def find_rule(rules: Iterable[Rule], selector: str) -> Rule:
    """The rule with this code or name, in any case.

    Raises:
        SelectionError: there is none.
    """
    rules = tuple(rules)
    for rule in rules:
        if selector.casefold() in (rule.info.code.casefold(), rule.info.name):
            return rule
    raise _unknown(rules, selector)


def select(
    rules: Sequence[Rule], select: Iterable[str] = (), ignore: Iterable[str] = (), preview: bool = False
) -> tuple[Rule, ...]:
    """The rules in force, in their given order.

    A selector is a code (`CF101`), the beginning of one (`CF1`) or a name (`argument-dropped`), in any case. Without
    `select` all rules are meant. The most specific selector that meets a rule decides, and `ignore` wins a tie.
    Preview rules need `preview`. What the engine finds by itself (no `check`) is left out only by `ignore`.

    Raises:
        SelectionError: a selector meets no rule, a preview rule is asked for by itself without `preview`, or no rule
            is left.
    """
    wanted, unwanted = tuple(select), tuple(ignore)
    for selector in (*wanted, *unwanted):
        if not any(_strength(rule, selector) for rule in rules):
            raise _unknown(rules, selector)

    chosen = []
    for rule in rules:
        by_select = max((_strength(rule, selector) for selector in wanted), default=0 if wanted else 1)
        by_ignore = max((_strength(rule, selector) for selector in unwanted), default=0)
        if rule.check is None:
            if not by_ignore:
                chosen.append(rule)
        elif by_select > by_ignore:
            if preview or not rule.info.preview:
                chosen.append(rule)
            elif by_select == _EXACT:
                raise SelectionError(
                    f"{rule.info.code} {rule.info.name} is a preview rule", "add --preview to turn preview rules on"
                )
    if not any(rule.check for rule in chosen):
        hint = None if preview else "preview rules are off unless --preview is given"
        raise SelectionError("no rule is left to check", hint)
    return tuple(chosen)


_EXACT = 100


def _strength(rule: Rule, selector: str) -> int:
    """How specifically the selector means the rule; 0 when it doesn't."""
    folded, code = selector.casefold(), rule.info.code.casefold()
    if folded in (code, rule.info.name):
        return _EXACT
    return len(folded) if len(folded) >= len("CF") and code.startswith(folded) else 0


def _unknown(rules: Iterable[Rule], selector: str) -> SelectionError:
    spellings = {spelling.casefold(): spelling for rule in rules for spelling in (rule.info.code, rule.info.name)}
    close = difflib.get_close_matches(selector.casefold(), spellings, n=1, cutoff=0.6)
    hint = f"did you mean {spellings[close[0]]}?" if close else "see `conformance rules` for the list"
    return SelectionError(f"there is no rule {selector!r}", hint)
