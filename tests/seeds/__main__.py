"""`python -m tests.seeds [--all] [--count N] [--seed N] [--kind TEXT] [--misses]`: the share found, by kind."""

from __future__ import annotations

import argparse

from tests.seeds.kinds import KINDS
from tests.seeds.measure import edits, measure, places, sample, seeds, table


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.seeds", description=__doc__)
    parser.add_argument("--all", action="store_true", help="every place, not a sample")
    parser.add_argument("--count", type=int, default=25, help="edits of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the choice")
    parser.add_argument("--kind", default="", help="only kinds of this code, or whose names hold this")
    parser.add_argument("--misses", action="store_true", help="also every edit that isn't found, or not alone")
    parser.add_argument("--show", metavar="PLACE", help="print the edits of a place instead")
    chosen = parser.parse_args()
    if chosen.show:
        _show(chosen.show, chosen.kind)
        return
    kinds = [kind.name for kind in KINDS if chosen.kind in kind.name or chosen.kind in kind.codes]
    picked = [s for kind in kinds for s in (seeds(kind) if chosen.all else sample(kind, chosen.count, chosen.seed))]
    outcomes = []
    for outcome in measure(picked):
        outcomes.append(outcome)
        if chosen.misses:
            said = ", ".join(f"{code}:{line} {name}".rstrip() for code, line, name in outcome.brought) or "nothing"
            lost = f"; lost {' '.join(outcome.lost)}" if outcome.lost else ""
            if not outcome.found or outcome.extra or outcome.lost:
                verdict = "MORE" if outcome.found else "MISS"
                print(f"{verdict} {outcome.seed.kind} | {outcome.seed.place} | {said}{lost}")
    print(table(outcomes))


def _show(place: str, kind: str) -> None:
    """The edits of a place as differences."""
    import difflib

    for seed in (seed for one in KINDS if kind in one.name for seed in places(one.name)):
        if place in seed.place:
            edit = edits(seed.kind, seed.path)[seed.number]
            lines = difflib.unified_diff(edit.text.text.splitlines(), edit.new.splitlines(), "", "", "", "", 3, "")
            print(f"# {seed.kind} | {seed.place} | due {edit.lines}", *lines, "", sep="\n")


if __name__ == "__main__":
    main()
