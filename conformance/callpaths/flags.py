"""Flags: the attributes that turn checkpointing on, what sets them, and what changes them while the model runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from conformance.callpaths.gates import DEEP, attribute_of
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Route
from conformance.callpaths.paths import Entry, Path
from conformance.callpaths.trace import AttributeStore, Site
from conformance.callpaths.values import Value, truth_of, walk
from conformance.project.project import ClassDef, External


def flags_of(entry: Entry, interpreter: Interpreter) -> list[str]:
    """Attributes of the model that turn checkpointing on: what gate helpers get, what the profile names, and what
    paths to a checkpoint test and a method makes true."""
    owner = entry.owner
    found = [gate.value.args[1] for gate in entry.gates if gate.value is not None and attribute_of(gate.value)]
    if owner is None:
        return found
    for name in interpreter.project.profile.flags:
        if interpreter.attribute_value(owner, name) is not None:
            found.append(name)
    for block in entry.blocks:
        for path in block.live:
            if path.route is Route.EAGER:
                continue
            for literal in path.raw.conditions:
                tested = attribute_of(literal.value)
                if tested and literal.holds and tested not in found and is_enabled(owner, tested, interpreter):
                    found.append(tested)
    return list(dict.fromkeys(found))


def is_enabled(owner: ClassDef, name: str, interpreter: Interpreter) -> bool:
    """Whether a method makes an attribute true that starts as false."""
    initial = interpreter.attribute_value(owner, name)
    if initial is None or initial.op != "const" or truth_of(initial) is not False:
        return False
    for base in interpreter.project.mro(owner):
        if isinstance(base, ClassDef):
            for function in interpreter.stores(base).get(name, ()):
                if interpreter.attributes_after(owner, function).get(name) is interpreter.values.true:
                    return True
    return False


def rewrites(entry: Entry, interpreter: Interpreter) -> list[AttributeStore]:
    """Where a run of the model gives one of its flags another value, and doesn't give it back."""
    owner = entry.owner
    if owner is None or not entry.trace.stores or not _is_run(entry):
        return []
    flags = set(flags_of(entry, interpreter))
    found: dict[Site, AttributeStore] = {}
    given_back: set[str] = set()
    for store in entry.trace.stores:
        if store.owner is not owner or not (store.name in flags or _is_tested(entry, owner, store.name, interpreter)):
            continue
        if _is_original(store.value, store.name):
            given_back.add(store.name)
        else:
            found.setdefault(store.site, store)
    return [store for store in found.values() if store.name not in given_back]


def _is_original(value: Value, name: str) -> bool:
    """Whether a value is what a flag was before, in a loop or not."""
    while value.op in ("mu", "out"):
        value = value.args[2]
    return attribute_of(value) == name


def _is_run(entry: Entry) -> bool:
    """Whether an entry runs blocks under a checkpoint, or asks a gate."""
    return bool(entry.trace.checkpoints or entry.gates) or any(call.scoped for call in entry.trace.calls)


def _is_tested(entry: Entry, owner: ClassDef, name: str, interpreter: Interpreter) -> bool:
    """Whether a gate of the entry tests an attribute that a method turns on, whatever the model has made of it."""
    if not is_enabled(owner, name, interpreter):
        return False
    stored = [store.value for store in entry.trace.stores if store.name == name]
    return any(
        attribute_of(part) == name or part in stored
        for call in entry.trace.checkpoints
        for literal in call.conditions
        for part in walk(literal.value, DEEP)
    )


# Flags that nothing sets


@dataclass(frozen=True, slots=True)
class WrongFlag:
    """A test on the way to a checkpoint that no setting of this model turns on."""

    kind: Literal["missing", "optional", "fixed", "foreign"]
    """Never stored; never stored and asked for with care; stored once and for all; another model's."""
    entry: Entry
    path: Path
    test: Value
    right: tuple[str, ...]
    """The flags that the model has."""


_FLAG_WORD = re.compile(r"checkpoint|ckpt|remat|recompute", re.IGNORECASE)


def wrong_flags(entry: Entry, interpreter: Interpreter) -> Iterator[WrongFlag]:
    """The flags that gates of an entry test and that nothing sets."""
    owner = entry.owner
    if owner is None:
        return
    right = flags_of(entry, interpreter)
    for block in entry.blocks:
        for path in block.live:
            if path.route is Route.EAGER:
                continue
            tests = [literal.value for literal in path.raw.conditions if literal.holds and literal.value.op == "attr"]
            heeded = any(
                attribute_of(part) in right for literal in path.raw.conditions for part in walk(literal.value, DEEP)
            )
            for test in tests:
                kind = _wrong(test, owner, path, heeded, right, interpreter)
                if kind is not None:
                    yield WrongFlag(kind, entry, path, test, tuple(right))


def training_gates(entry: Entry, interpreter: Interpreter) -> Iterator[Path]:
    """The paths to a checkpoint that ask for training mode and not for grad mode."""
    for block in entry.blocks:
        for path in block.live:
            if path.route is Route.EAGER:
                continue
            tests = {literal.value for literal in path.raw.conditions if literal.holds}
            if any(attribute_of(test) == "training" for test in tests) and not tests & set(interpreter.grad_tests):
                yield path


def _wrong(
    test: Value, owner: ClassDef, path: Path, heeded: bool, right: Sequence[str], interpreter: Interpreter
) -> Literal["missing", "optional", "fixed", "foreign"] | None:
    base, name = test.args
    if not _FLAG_WORD.search(name):
        return None
    named = interpreter.project.profile.flags
    if base.op == "param":
        foreign = not heeded and name in named and name in right and base not in walk(path.raw.callee, DEEP)
        return "foreign" if foreign else None
    if base.op != "self":
        return None
    initial = interpreter.attribute_value(owner, name)
    if initial is None:
        return _missing(owner, name, interpreter)
    fixed = (
        not heeded
        and bool(right)
        and name not in (*named, *right)
        and initial.op == "const"
        and truth_of(initial) is False
        and not _is_set_elsewhere(owner, name, interpreter)
    )
    return "fixed" if fixed else None


def _missing(owner: ClassDef, name: str, interpreter: Interpreter) -> Literal["missing", "optional"] | None:
    project = interpreter.project
    profile = project.profile
    if project.class_attribute(owner, name) is not None or project.method(owner, name) is not None:
        return None
    line = project.mro(owner)
    texts = [_class_text(base, interpreter) for base in line if isinstance(base, ClassDef)]
    if any(re.search(r"__getattr|__dict__|\bsetattr\(self\b", text) for text in texts):
        return None
    outside = [base for base in line if isinstance(base, External) and base.name not in profile.module_bases]
    init = project.method(owner, "__init__")
    if outside and (name in profile.inherited_flags or init is None or name in {p.name for p in init.facts.parameters}):
        return None  # a base may have it, or give out what it was configured with
    if any(base.name.partition(".")[0] not in profile.flag_packages for base in outside):
        return None
    if _is_set_elsewhere(owner, name, interpreter):
        return None
    careful = re.compile(rf"\b[gh](?:et|as)attr\(\s*self\s*,\s*[\"']{name}[\"']")
    return "optional" if any(careful.search(text) for text in texts) else "missing"


def _class_text(cls: ClassDef, interpreter: Interpreter) -> str:
    span = cls.facts.span
    return "".join(interpreter.project.lines(cls.module.path)[span.line - 1 : span.end_line])


def _is_set_elsewhere(owner: ClassDef, name: str, interpreter: Interpreter) -> bool:
    """Whether any file of the tree may set an attribute of this name on such a model."""
    own = {base.module.path for base in interpreter.project.mro(owner) if isinstance(base, ClassDef)}
    by_others = re.compile(rf"(?<!\bself)\.{name}\s*(?::[^=\n]+)?=(?!=)|[\"']{name}[\"']")
    by_itself = re.compile(rf"\bself\.{name}\s*(?::[^=\n]+)?=(?!=)")
    careful = re.compile(rf"\b[gh](?:et|as)attr\([^()]*[\"']{name}[\"']")
    for facts in owner.module.classes.values():
        cls = interpreter.project.class_def(owner.module, facts.qualname)
        if cls is not owner and owner in interpreter.project.mro(cls) and interpreter.attribute_value(cls, name):
            return True
    texts = interpreter.project.texts_around(owner.module.path, name)
    if texts is None:
        return True
    for path, text in texts:
        if by_others.search(careful.sub("", text)):
            return True
        if path not in own and owner.name in text and by_itself.search(text):
            return True  # a class that inherits from this one
    return False
