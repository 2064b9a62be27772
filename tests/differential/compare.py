"""Compares what was seen when a model ran with the call paths that were found without running it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.callpaths.model import CallPath, EntryPaths
from conformance.findings import Place

Choice = Mapping[str, Any]
"""The settings and modes of one run: `self.flag`, `training`, `grad`, `given` to their values."""
Labels = frozenset[str] | None
"""What a value can be in one run, by the recorder's labels, or None when its text doesn't tell."""

ABSENT = "absent"
"""The label of an argument that isn't passed, and the text of the value that says so."""


@dataclass(frozen=True)
class Model:
    """What the comparison has to know of a model file."""

    stable: frozenset[str]
    """The arguments of the model's forward that nothing assigns: their names mean what was passed."""
    optional: frozenset[str]
    """Those of them that may be left out."""
    bases: Mapping[str, tuple[str, ...]]
    """Each class's bases by name, nearest first."""


def read_model(source: str) -> Model:
    """Reads a model file. The forward that counts is that of the class that has containers and loops."""
    tree = ast.parse(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    bases = {name: tuple(b.id for b in node.bases if isinstance(b, ast.Name)) for name, node in classes.items()}
    owner = classes.get("Inner") or classes["Model"]
    assigned = {
        node.id
        for method in owner.body
        for node in ast.walk(method)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    forward = next(item for item in owner.body if isinstance(item, ast.FunctionDef) and item.name == "forward")
    names = [arg.arg for arg in (*forward.args.args[1:], *forward.args.kwonlyargs)]
    optional = {arg.arg for arg in forward.args.args[len(forward.args.args) - len(forward.args.defaults) :]}
    stable = frozenset(names) - assigned
    return Model(stable, stable & optional, bases)


# -- what a value's text says about one run


class Reader:
    """Evaluates the texts of values for the runs of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.known: dict[tuple[str, int], Labels] = {}

    def labels(self, text: str, choice: Choice) -> Labels:
        """What the text can stand for in that run."""
        key = (text, id(choice))
        if key not in self.known:
            tree = parsed(text)
            self.known[key] = None if tree is None else self.evaluate(tree, choice)
        return self.known[key]

    def truth(self, text: str, choice: Choice) -> bool | None:
        """Whether the text holds in that run, or None when that can't be told."""
        return truth_of(self.labels(text, choice))

    def evaluate(self, node: ast.expr, choice: Choice) -> Labels:
        """`labels` of a parsed text."""
        match node:
            case ast.Constant(value=value) if value is None or isinstance(value, bool | int | float | str):
                return frozenset({f"={value!r}"})
            case ast.Name(id=name):
                if name == ABSENT:
                    return frozenset({ABSENT})
                if name in self.model.stable:
                    missing = name in self.model.optional and not choice.get("given", True)
                    return frozenset({"=None" if missing else name})
                return None
            case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                if attribute == "training":
                    return frozenset({f"={choice['training']}"}) if "training" in choice else None
                key = f"self.{attribute}"
                if key not in choice:
                    return None
                value = choice[key]
                return frozenset({key if value in ("<flag>", "<tensor>") else f"={value!r}"})
            case ast.Call(func=ast.Name(id="is_grad_enabled") | ast.Attribute(attr="is_grad_enabled")):
                return frozenset({f"={choice['grad']}"}) if "grad" in choice else None
            case ast.IfExp(test=test, body=body, orelse=orelse):
                holds = truth_of(self.evaluate(test, choice))
                parts = [part for part, when in ((body, True), (orelse, False)) if holds in (when, None)]
                return union(self.evaluate(part, choice) for part in parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                holds = truth_of(self.evaluate(operand, choice))
                return None if holds is None else frozenset({f"={not holds}"})
            case ast.BoolOp(op=operator, values=values):
                return self.junction(isinstance(operator, ast.Or), values, choice)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return compared(operator, self.evaluate(left, choice), self.evaluate(right, choice))
        return None

    def junction(self, stops_at: bool, values: Sequence[ast.expr], choice: Choice) -> Labels:
        """`and` (stops at false) or `or` (stops at true)."""
        unknown = False
        for value in values:
            found = self.evaluate(value, choice)
            holds = truth_of(found)
            if holds is stops_at:
                return frozenset({f"={stops_at}"}) if unknown else found
            unknown |= holds is None
        return None if unknown else found


@functools.cache
def parsed(text: str) -> ast.expr | None:
    """The text as an expression, when it is one."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def union(parts: Iterable[Labels]) -> Labels:
    """Everything that any part can be; None when one can be anything."""
    result: frozenset[str] = frozenset()
    for part in parts:
        if part is None:
            return None
        result |= part
    return result


def truth_of(labels: Labels) -> bool | None:
    """Whether all of the labels are true, or all false."""
    if labels is None:
        return None
    found = {bool(ast.literal_eval(label[1:])) if label.startswith("=") else label != ABSENT for label in labels}
    return found.pop() if len(found) == 1 else None


def compared(operator: ast.cmpop, left: Labels, right: Labels) -> Labels:
    """A comparison of two single labels for sameness."""
    if left is None or right is None or len(left) != 1 or len(right) != 1:
        return None
    if isinstance(operator, ast.Is | ast.Eq):
        return frozenset({f"={left == right}"})
    if isinstance(operator, ast.IsNot | ast.NotEq):
        return frozenset({f"={left != right}"})
    return None


# -- the two directions


def span(place: Place) -> list[int]:
    """A place as the recorder writes it."""
    return [place.line, place.column, place.end_line, place.end_column]


def entry_of(owner: str, entries: Sequence[EntryPaths], model: Model) -> EntryPaths | None:
    """The forward that runs when the owner is called: its own or an inherited one."""
    for name in (owner, *model.bases.get(owner, ())):
        for entry in entries:
            if entry.class_name == name and entry.function.rpartition(".")[2] == "forward":
                return entry
    return None


def differences(path: CallPath, call: Mapping[str, Any], choice: Choice, reader: Reader) -> Iterator[str]:
    """Why a path isn't the one that was seen, from the coarse to the fine. What the path leaves unknown fits."""
    if span(path.call) != call["call"]:
        yield f"place {span(path.call)}"
        return
    roots = [name for name in call["names"] if f"self.{name}" in path.block.text]
    if not roots:
        yield f"block {path.block.text}"
        return
    if span(path.outer) != call["outer"]:
        yield f"outer place {span(path.outer)}"
    classes = [found.name for found in path.block.classes]
    if classes and call["class"] not in classes:
        yield f"classes {classes}"
    if path.block.method != call["method"]:
        yield f"method {path.block.method}"
    if path.route.value != call["route"]:
        yield f"route {path.route.value}"
    for condition in path.conditions:
        if reader.truth(condition.value.text, choice) is (not condition.holds):
            yield f"condition {condition}"
    if path.binding is None:
        return
    for name in sorted(path.binding.keys() | call["bound"].keys()):
        text = path.binding[name].text if name in path.binding else ABSENT
        labels = reader.labels(text, choice)
        seen = call["bound"].get(name, ABSENT)
        if seen not in labels if labels is not None else seen == ABSENT and ABSENT not in text:
            yield f"{name}={text}"


def is_unknown(path: CallPath) -> bool:
    """Whether the path leaves something open."""
    return path.unknown is not None or path.binding is None or not path.block.classes


@dataclass(frozen=True)
class Comparison:
    """What came out for one model."""

    missed: tuple[str, ...]
    """Calls that were seen and are not among the paths."""
    unseen: tuple[str, ...]
    """Paths that no run took, though one could have."""
    unknown: tuple[str, ...]
    """Paths that say that they don't know everything."""
    calls: int
    """Calls that were seen."""


def compare(source: str, runs: Sequence[Mapping[str, Any]], entries: Sequence[EntryPaths]) -> Comparison:
    """Compares all runs of a model with its entries."""
    model = read_model(source)
    reader = Reader(model)
    seen: dict[str, Choice] = {}
    taken: set[int] = set()
    used: dict[int, EntryPaths] = {}
    calls = 0
    for run in runs:
        for call in run["calls"]:
            if call["backward"]:
                continue
            calls += 1
            entry = entry_of(call["owner"], entries, model)
            if entry is None:
                seen.setdefault(f"no entry for {call['owner']}.forward", dict(run["choice"]))
                continue
            used[id(entry)] = entry
            near: list[tuple[bool, int, str]] = []
            for path in entry.paths:
                found = list(differences(path, call, run["choice"], reader)) or ["dead"] * path.dead
                if not found:
                    taken.add(id(path))
                    break
                text = f"    differs in {', '.join(found)} from {describe_path(path)}"
                near.append((found[0].startswith(("place", "block")), len(found), text))
            else:
                text = min(near, default=(True, 0, "    there are no paths"))[2]
                seen.setdefault(f"{describe(call)}\n{text}", dict(run["choice"]))
    unseen, unknown = [], []
    for entry in used.values():
        unknown += [f"line {place.line}: a loop over blocks of no known class" for place in entry.unresolved_loops]
        for path in entry.paths:
            if path.block.text == "self":
                continue  # a method of the model's own under a checkpoint: the recorder watches submodules
            if is_unknown(path):
                unknown.append(f"{describe_path(path)}: {path.unknown}")
            elif not path.dead and id(path) not in taken and possible(path, runs, reader):
                unseen.append(describe_path(path))
    missed = [f"{text}\n    for one with {choice}" for text, choice in seen.items()]
    return Comparison(tuple(missed), tuple(unseen), tuple(unknown), calls)


def possible(path: CallPath, runs: Sequence[Mapping[str, Any]], reader: Reader) -> bool:
    """Whether the conditions of a path don't contradict every run."""
    return any(
        all(reader.truth(c.value.text, run["choice"]) is not (not c.holds) for c in path.conditions) for run in runs
    )


def describe(call: Mapping[str, Any]) -> str:
    """A call that was seen, in one line; values without a label are `?`."""
    labels = {name: "?" if label.startswith("#") else label.removeprefix("=") for name, label in call["bound"].items()}
    bound = ", ".join(f"{name}={label}" for name, label in labels.items())
    where = f"line {call['call'][0]}" if call["call"] else "nowhere"
    outer = f" from line {call['outer'][0]}" if call["outer"] and call["outer"] != call["call"] else ""
    names = "|".join(f"self.{name}" for name in call["names"])
    what = f"{call['owner']}: {names} ({call['class']}.{call['method']})"
    return f"{where}{outer}: {what} {call['route']}({bound})"


def describe_path(path: CallPath) -> str:
    """A call path, in one line."""
    bound = "?" if path.binding is None else ", ".join(f"{name}={value.text}" for name, value in path.binding.items())
    classes = "|".join(found.name for found in path.block.classes) or "?"
    conditions = " and ".join(str(condition) for condition in path.conditions) or "always"
    outer = f" from line {path.outer.line}" if path.outer != path.call else ""
    what = f"{path.block.text} ({classes}.{path.block.method}) {path.route.value}({bound})"
    return f"line {path.call.line}{outer}: {what} when {conditions}{' (dead)' if path.dead else ''}"
