"""From what the interpreter noted to call paths: callee, classes, binding, route."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from conformance.callpaths.binding import Bound, bind
from conformance.callpaths.callables import Callables, Facts, Use
from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.gradients import Gradients
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.model import Block, CallPath, ClassRef, Condition, EntryPaths, Route
from conformance.callpaths.objects import UNKNOWN_CLASS
from conformance.callpaths.trace import GateCall, LateRead, Literal, RawCall, Site, Trace, literals
from conformance.callpaths.values import Value, truth_of
from conformance.facts.ir import Const, Parameter, Span
from conformance.facts.module import FunctionFacts, ModuleFacts
from conformance.findings import Place
from conformance.project.project import ClassDef, External, FunctionDef, Project

_MAX_HANDED = 3
"""Longest chain of blocks that hand a checkpoint callable on."""
_PASSIVE = re.compile(r"__init__$|(set|enable|disable|_set|from|load|save)_")


@dataclass(eq=False, slots=True)
class Path:
    """One call path with all that rules ask; `public` is what is printed."""

    raw: RawCall
    key: Value
    route: Route
    bindings: dict[ClassDef | FunctionDef, Bound]
    """By class, or by the function where a method or a function is what runs."""
    unknown: str | None
    public: CallPath
    trace: Trace
    """That of its entry."""
    _assumptions: Assumptions | None = None

    def assumptions(self, interpreter: Interpreter) -> Assumptions:
        """What follows from the path's conditions."""
        if self._assumptions is None:
            self._assumptions = Assumptions(interpreter.values, literals(self.raw.conditions))
        return self._assumptions


@dataclass(eq=False, slots=True)
class BlockPaths:
    """All paths of one block in one entry."""

    key: Value
    text: str
    method: str
    is_element: bool
    paths: list[Path]
    pairs: list[tuple[Path, Path]] | None = None
    """Paths that stand for one another, once they have been asked for."""

    @property
    def live(self) -> list[Path]:
        return [path for path in self.paths if not path.raw.dead]


@dataclass(eq=False, slots=True)
class Entry:
    """One analysed entry."""

    module: ModuleFacts
    owner: ClassDef | None
    function: FunctionDef
    blocks: list[BlockPaths]
    gates: list[GateCall]
    late: list[LateRead]
    trace: Trace
    loops: int
    unresolved: list[tuple[Site, str]]
    public: EntryPaths
    rest: list[BlockPaths]
    """What else is called, and is no block for what is known of it."""


@dataclass(slots=True)
class Coverage:
    """What `--statistics` prints."""

    paths: int = 0
    bound: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    loops: int = 0
    unresolved: list[tuple[Place, str]] = field(default_factory=list)


class CallPaths:
    """Call paths of a project's files, entry by entry."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.interpreter = Interpreter(project)
        self._columns: dict[str, list[str]] = {}
        self._concerned: dict[ClassDef, bool] = {}
        self.callables = Callables(self.interpreter)
        self.gradients = Gradients(self.interpreter)
        self._handed: dict[tuple[object, ...], Trace | None] = {}
        """What a method does with the callables that it is handed, by method, class and settings."""
        self._uses: dict[int, tuple[Use, ...]] = {}
        self.may_write: dict[ClassDef, bool] = {}
        """Classes that may change something while they run."""

    # Entries

    def entries(self, module: ModuleFacts, every_forward: bool = False) -> list[Entry]:
        """The entries of one file: forwards and other functions that run blocks and that no other one expands.

        With `every_forward` also those that have nothing to do with checkpoints.
        """
        expanded: set[tuple[str, str]] = set()
        seen: set[tuple[ClassDef | None, FunctionDef]] = set()
        result: list[Entry] = []
        for owner, function in self._candidates(module, every_forward):
            key = (function.module.path, function.facts.qualname)
            is_forward = function.facts.name == "forward" and owner is not None
            if (owner, function) in seen or (key in expanded and not is_forward):
                continue
            seen.add((owner, function))
            trace = self.interpreter.run(function, owner)
            if trace is not None:
                expanded |= trace.inlined
                result.append(self._entry(function, owner, trace))
        return self._without_abstract(result)

    def _without_abstract(self, entries: list[Entry]) -> list[Entry]:
        """Drops the entry of a base class that has no blocks of its own where a class that fills them is an entry."""
        filled = {
            base
            for entry in entries
            if entry.owner is not None and not _is_abstract(entry)
            for base in self.project.mro(entry.owner)
            if base is not entry.owner
        }
        return [entry for entry in entries if not (entry.owner in filled and _is_abstract(entry))]

    def _candidates(self, module: ModuleFacts, every_forward: bool) -> list[tuple[ClassDef | None, FunctionDef]]:
        """Functions to run as entries, callers before what they call: what they expand is no entry then."""
        project = self.project
        picked: list[tuple[ClassDef | None, FunctionDef]] = []
        others: list[tuple[ClassDef | None, FunctionDef]] = []
        for class_facts in module.classes.values():
            owner = project.class_def(module, class_facts.qualname)
            forward = project.method(owner, "forward")
            if forward is None:
                continue  # no model: a pipeline, a loader; a mixin's methods are expanded from its models
            self.callables.models.append(owner)
            if self._concerns_checkpoints(owner) or (every_forward and forward.owner is owner):
                if forward.owner is owner or class_facts.methods:
                    picked.append((owner, forward))
                for facts in class_facts.methods.values():
                    method = project.function_def(module, facts, owner)
                    if method is not forward and not _is_passive(facts) and self.interpreter.is_likely(method):
                        others.append((owner, method))
        functions = [project.function_def(module, facts) for facts in module.functions.values()]
        chosen = [f for f in functions if f.facts.is_likely and _runs_functions(project.source_of(f))]
        called = _called_names({f: project.source_of(f) for f in chosen})
        others.extend((None, function) for function in chosen)
        others.sort(key=lambda item: item[1].facts.name in called)
        return [*picked, *others]

    def _concerns_checkpoints(self, cls: ClassDef) -> bool:
        """Whether a method of a class or of its bases in the tree has a word of checkpointing."""
        for base in self.project.mro(cls):
            if not isinstance(base, ClassDef):
                continue
            found = self._concerned.get(base)
            if found is None:
                found = self._concerned[base] = any(
                    not _is_passive(facts)
                    and self.interpreter.is_likely(self.project.function_def(base.module, facts, base))
                    for facts in base.facts.methods.values()
                )
            if found:
                return True
        return False

    def _entry(self, function: FunctionDef, owner: ClassDef | None, trace: Trace) -> Entry:
        groups: dict[tuple[Value, str], BlockPaths] = {}
        for raw in trace.calls:
            key = self.normal(raw.callee)
            group = groups.get((key, raw.method))
            if group is None:
                group = BlockPaths(key, key.text, raw.method, _is_element(key), [])
                groups[(key, raw.method)] = group
            group.paths.append(self._path(raw, key, trace))
        blocks = []
        chosen = {group.key for group in groups.values() if self._is_block(group)}
        for group in groups.values():
            # Another method of a block counts with it: an eager call may take another entry.
            if group.key in chosen and (group.key.op != "self" or self._is_block(group)):
                blocks.append(group)
        trace.judged.update(
            callee
            for block in blocks
            if len({path.route for path in block.live}) > 1
            for path in block.live
            for callee in (path.raw.callee, path.raw.choice)
            if callee is not None
        )
        loops, unresolved = self._loops(trace)
        line = function.facts.span.line
        public = EntryPaths(
            path=function.module.path,
            class_name=None if owner is None else owner.facts.qualname,
            function=function.facts.qualname,
            line=line,
            paths=tuple(path.public for block in _shown(blocks, trace) for path in block.paths),
            loops=loops,
            unresolved_loops=tuple(self.place(site) for site, _ in unresolved),
            problems=tuple(trace.problems),
        )
        gates = _once(trace.gates)
        rest = [group for group in groups.values() if group not in blocks]
        return Entry(
            function.module, owner, function, blocks, gates, trace.late, trace, loops, unresolved, public, rest
        )

    def _is_block(self, group: BlockPaths) -> bool:
        """Blocks are elements of containers, and whatever is run under a checkpoint or handed one."""
        routes = {path.route for path in group.paths}
        if routes - {Route.EAGER}:
            if group.key.op == "applied":
                return group.key.args[1] is not None or _is_handed_over(group)
            if group.paths[0].raw.direct is not None or group.key.op == "self":
                # A method of the model counts when a checkpoint runs it, not when it is called inside one.
                return _is_handed_over(group)
            return _is_handed_over(group) or bool(self.interpreter.classes_of(group.paths[0].raw.callee))
        callee = group.paths[0].raw.callee
        if group.is_element:
            if callee.op in ("elem", "item") and group.method == "forward" and _root(callee).op == "self":
                return True
            return bool(self.interpreter.classes_of(callee))
        return group.key.op != "applied" and self._takes_control(group)

    def _takes_control(self, group: BlockPaths) -> bool:
        """Whether a submodule takes a control that the profile names: then it counts though it has one path only."""
        names = {control.parameter for control in self.project.profile.handed_controls}
        return any(
            parameter.name in names
            for path in group.paths
            for callee in path.bindings
            if isinstance(callee, ClassDef)
            for method in (self.signature(callee, group.method),)
            if method is not None
            for parameter in method.facts.parameters
        )

    def normal(self, value: Value) -> Value:
        """A callee whatever the loop and the index: `self.blocks[i]` and the target of a loop are one."""
        values = self.interpreter.values
        if value.op == "elem":
            return values.make("elem", 0, self.normal(value.args[1]))
        if value.op == "item" and value.args[1].op == "slice":
            return self.normal(value.args[0])
        if value.op == "item":
            if value.args[1].op != "const":
                return values.make("elem", 0, self.normal(value.args[0]))
            return values.make("item", self.normal(value.args[0]), value.args[1])
        if value.op == "attr":
            return values.make("attr", self.normal(value.args[0]), self._first_name(value))
        if value.op == "applied":
            function, block = value.args
            return values.make("applied", function, None if block is None else self.normal(block))
        if value.op == "pick":
            parts = tuple(dict.fromkeys(self.normal(part) for part in value.args[1]))
            return parts[0] if len(parts) == 1 else values.make("pick", 0, parts)
        return value

    def _first_name(self, value: Value) -> str:
        """The attribute's name, or the name that the same container was given first: `self.all = list(self.blocks)`."""
        owner, name = value.args
        if owner.op != "self":
            return str(name)
        stored = self.interpreter.attribute_value(owner.args[0], name)
        container = stored
        while container is not None and container.op == "grown":
            container = container.args[0]
        if stored is None or container is None or container.op != "inst" or len(container.args) < 4:
            return str(name)
        return self.interpreter.first_name(owner.args[0], stored) or str(name)

    # Paths

    def _path(self, raw: RawCall, key: Value, trace: Trace) -> Path:
        interpreter = self.interpreter
        route = _route(raw)
        bindings: dict[ClassDef | FunctionDef, Bound] = {}
        unknown: str | None = None
        classes: tuple[ClassDef | External, ...]
        if raw.direct is not None:
            classes = ()
            if raw.callee.op == "self":
                owner: ClassDef = raw.callee.args[0]
                classes = (owner,)
                bindings[owner] = bind(without_self(raw.direct), raw.arguments, raw.keywords)
            else:
                bindings[raw.direct] = bind(raw.direct.facts.parameters, raw.arguments, raw.keywords)
        else:
            known = interpreter.classes_of(raw.callee)
            classes = self._fitting(known, raw)
            if known and not classes:
                unknown = "no class that the block can have passes the tests on its way"
            elif not classes:
                unknown = self._why_no_class(raw.callee)
            for cls in classes:
                if isinstance(cls, External):
                    unknown = unknown or (
                        "the class of some of what it can be isn't known"
                        if cls.name == UNKNOWN_CLASS
                        else "the class is outside the source root"
                    )
                    continue
                method = self.signature(cls, raw.method)
                if method is None:
                    unknown = unknown or "the class's forward is outside the source root"
                    continue
                bindings[cls] = bind(without_self(method), raw.arguments, raw.keywords)
        fitting = [bound for bound in bindings.values() if bound.problem is None]
        if bindings and not fitting:
            unknown = unknown or f"the call doesn't fit the signature: {next(iter(bindings.values())).problem}"
        elif fitting and unknown is None and fitting[0].open is not None:
            unknown = fitting[0].open
        common = _common(fitting)
        shown_unknown = unknown
        if common is not None and len(common) < max(len(bound.values) for bound in fitting):
            # Each class's own binding is known; there is only no one binding to show.
            shown_unknown = unknown or "its classes bind the arguments to different parameters"
        public = CallPath(
            block=Block(
                text=key.text,
                classes=tuple(_class_ref(cls) for cls in classes),
                method=raw.method,
                is_element=_is_element(key),
            ),
            route=route,
            conditions=shown_conditions(raw.conditions),
            binding=common,
            call=self.place(raw.site),
            outer=self.place(raw.outer),
            function=raw.site.function,
            result=raw.result,
            dead=raw.dead,
            unknown=shown_unknown,
        )
        return Path(raw, key, route, bindings, unknown, public, trace)

    def bind(self, method: FunctionDef, raw: RawCall) -> Bound:
        """A call bound to the method that it runs."""
        return bind(without_self(method), raw.arguments, raw.keywords)

    def _why_no_class(self, callee: Value) -> str:
        if callee.op == "param":
            return "the callee is a parameter"
        if callee.op == "star":
            return "what the checkpoint runs isn't known"
        if callee.op == "phi":
            return "it is one of too many alternatives"
        if callee.op in ("closure", "function"):
            return "the wrapper can't take the call"
        base = callee
        profile = self.project.profile
        made = False
        while base.op in ("attr", "elem", "item"):
            if base.op == "attr" and base.args[0].op == "self":
                made = self.interpreter.attribute_value(base.args[0].args[0], base.args[1]) is not None
            base = base.args[1] if base.op == "elem" else base.args[0]
            for cls in self.interpreter.classes_of(base):
                if isinstance(cls, External) and cls.name not in (*profile.containers, *profile.mappings):
                    return "a class outside the source root holds it"
        if base.op == "param":
            return "the container is a parameter"
        if base.op == "self" and not made:
            return "no assignment of the container was found"
        return "the container is made at run time"

    def signature(self, cls: ClassDef, method: str) -> FunctionDef | None:
        """The method that a call runs; None when it is outside the tree or defined twice."""
        for base in self.project.mro(cls):
            if isinstance(base, External):
                if base.name not in self.project.profile.module_bases and method != "forward":
                    return None
                continue
            if method in base.facts.methods:
                if method in base.facts.redefined:
                    return None
                return self.project.function_def(base.module, base.facts.methods[method], base)
        return None

    def _fitting(self, classes: tuple[ClassDef | External, ...], raw: RawCall) -> tuple[ClassDef | External, ...]:
        """The classes that `isinstance` and `hasattr` tests on the path leave."""
        if len(classes) < 2:
            return classes
        result = classes
        for literal in raw.conditions:
            test = literal.value
            exact = self._exact_class(test, raw.callee)
            if exact is not None:
                result = tuple(
                    c for c in result if not isinstance(c, ClassDef) or (c in exact or c.name in exact) is literal.holds
                )
                continue
            if test.op == "attr" and self.normal(test.args[0]) is self.normal(raw.callee):
                told = {id(c): self._literal(c, test.args[1]) for c in result if isinstance(c, ClassDef)}
                result = tuple(c for c in result if told.get(id(c)) in (None, literal.holds))
                continue
            if test.op != "call" or test.args[0].op != "ref" or len(test.args[1]) != 2:
                continue
            name, (subject, wanted) = test.args[0].args[0], test.args[1]
            if self.normal(subject) is not self.normal(raw.callee):
                continue
            if name == "builtins.isinstance":
                kinds = wanted.args if wanted.op == "tuple" else (wanted,)
                targets = {kind.args[0] for kind in kinds if kind.op == "class"}
                if len(targets) == len(kinds):
                    result = tuple(
                        c
                        for c in result
                        if not isinstance(c, ClassDef) or bool(targets & set(self.project.mro(c))) is literal.holds
                    )
            elif name == "builtins.hasattr" and wanted.op == "const" and isinstance(wanted.args[1], str):
                attribute = wanted.args[1]
                result = tuple(
                    c for c in result if not isinstance(c, ClassDef) or self._has(c, attribute) is literal.holds
                )
        return result

    def _exact_class(self, test: Value, callee: Value) -> tuple[object, ...] | None:
        """Classes, or their names, that `type(x) is C`, `x.__class__ == C` or `type(x).__name__ in (…)` asks for."""
        if test.op != "cmp" or test.args[0] not in ("is", "==", "in"):
            return None
        subject, wanted = test.args[1], test.args[2]
        if subject.op == "attr" and subject.args[1] == "__name__":
            subject = subject.args[0]
        if subject.op == "call" and subject.args[0].op == "ref" and subject.args[0].args[0] == "builtins.type":
            subject = subject.args[1][0] if len(subject.args[1]) == 1 else subject
        elif subject.op == "attr" and subject.args[1] == "__class__":
            subject = subject.args[0]
        else:
            return None
        if self.normal(subject) is not self.normal(callee):
            return None
        asked = wanted.args if wanted.op in ("tuple", "list") else (wanted,)
        found = tuple(a.args[0] if a.op == "class" else a.args[1] for a in asked if a.op in ("class", "const"))
        return found if len(found) == len(asked) else None

    def _literal(self, cls: ClassDef, attribute: str) -> bool | None:
        """The truth of an attribute that a class sets to a literal, and nothing else sets."""
        stored = self.interpreter.attribute_values(cls, attribute)
        if stored:
            return truth_of(stored[0]) if len(stored) == 1 and stored[0].op == "const" else None
        named = self.project.class_attribute(cls, attribute)
        return bool(named[1].value) if named is not None and isinstance(named[1], Const) else None

    def _has(self, cls: ClassDef, attribute: str) -> bool:
        return (
            self.interpreter.attribute_value(cls, attribute) is not None
            or self.project.method(cls, attribute) is not None
            or self.project.class_attribute(cls, attribute) is not None
        )

    def _loops(self, trace: Trace) -> tuple[int, list[tuple[Site, str]]]:
        """Loops whose elements are called, and those of them whose elements' class isn't known."""
        sites: dict[Site, bool] = {}
        by_serial = {loop.serial: loop for loop in trace.loops}
        reasons: dict[Site, str] = {}
        for raw in trace.calls:
            if raw.dead:
                continue
            base = raw.callee
            while base.op == "attr":
                base = base.args[0]
            if base.op not in ("elem", "pick") or base.args[0] not in by_serial:
                continue
            if raw.callee is not base and not self.interpreter.classes_of(base):
                continue  # a method of something that may be no module
            loop = by_serial[base.args[0]]
            known = bool(self.interpreter.classes_of(raw.callee if raw.callee is base else base))
            sites[loop.site] = sites.get(loop.site, False) or known
            if not known:
                reasons[loop.site] = self._why_no_class(base)
        unresolved = [(site, reasons[site]) for site, known in sites.items() if not known]
        return len(sites), unresolved

    # Checkpoint callables

    def checkpoint_uses(self, entry: Entry) -> tuple[Use, ...]:
        """What the checkpoint calls of an entry run: its own, and those of blocks that it hands a callable."""
        found = self._uses.get(id(entry))
        if found is None:
            found = self._uses[id(entry)] = tuple(self._find_uses(entry.trace, (), None, 0))
        return found

    def _find_uses(self, trace: Trace, conditions: Facts, given: RawCall | None, depth: int) -> Iterator[Use]:
        for call in trace.checkpoints:
            if not call.dead:
                yield from self.callables.uses_of(call, conditions, given)
        if depth >= _MAX_HANDED:
            return
        for raw in trace.calls:
            if raw.scoped and not raw.dead:
                yield from self._handed_uses(raw, trace, conditions, given, depth)

    def _handed_uses(
        self, raw: RawCall, trace: Trace, conditions: Facts, given: RawCall | None, depth: int
    ) -> Iterator[Use]:
        """What a block does with a callable that a call hands to it."""
        path = self._path(raw, self.normal(raw.callee), trace)
        for callee, bound in path.bindings.items():
            method = raw.direct if isinstance(callee, FunctionDef) else self.signature(callee, raw.method)
            if method is None or bound.problem is not None:
                continue
            settings = {
                name: value
                for name, value in bound.values.items()
                if value.op == "const" or (value.op != "param" and self.interpreter.is_checkpoint(value))
            }
            for parameter in method.facts.parameters:
                if parameter.name not in bound.values and isinstance(parameter.default, Const) and bound.open is None:
                    settings[parameter.name] = self.interpreter.values.const(parameter.default.value)
            owner = callee if isinstance(callee, ClassDef) else None
            key = (method, owner, tuple(sorted((name, id(value)) for name, value in settings.items())))
            if key not in self._handed:
                self._handed[key] = self.interpreter.run(method, owner, settings)
            inside = self._handed[key]
            if inside is not None:
                facts = (*conditions, *literals(raw.conditions))
                yield from self._find_uses(inside, facts, given or raw, depth + 1)

    # Places

    def place(self, site: Site) -> Place:
        """The span of a site, in characters."""
        return self.place_of(site.path, site.span)

    def definition(self, function: FunctionDef) -> Site:
        """Where a function is defined."""
        owner = "" if function.owner is None else function.owner.facts.qualname
        return Site(function.module.path, function.facts.qualname, owner, function.facts.span)

    def place_of(self, path: str, span: Span) -> Place:
        """A span with columns counted in characters from 1."""
        lines = self._columns.get(path)
        if lines is None:
            try:
                lines = self.project.lines(path)
            except Exception:  # noqa: BLE001 - a file that vanished; the span's bytes stand in
                lines = []
            self._columns[path] = lines
        return Place(
            path,
            span.line,
            _column(lines, span.line, span.column),
            span.end_line,
            _column(lines, span.end_line, span.end_column),
        )

    def coverage(self, entries: Iterable[Entry]) -> Coverage:
        """Counts what was found and bound, and why the rest wasn't."""
        result = Coverage()
        for entry in entries:
            result.loops += entry.loops
            result.unresolved.extend((self.place(site), reason) for site, reason in entry.unresolved)
            for block in _shown(entry.blocks, entry.trace):
                for path in block.live:
                    result.paths += 1
                    if path.unknown is None:
                        result.bound += 1
                    else:
                        result.unknown[_reason_kind(path.unknown)] += 1
            for problem in entry.trace.problems:
                result.unknown[problem] += 1
        return result


def shown_conditions(literals: Iterable[Literal]) -> tuple[Condition, ...]:
    """The conditions without those that are said by their parts and without what a `raise` guards, each once."""
    found: dict[Condition, None] = {}
    for literal in literals:
        split = literal.value.op == ("and" if literal.holds else "or")
        if not split and not literal.guard:
            found[Condition(literal.value, literal.holds)] = None
    return tuple(found)


def _common(bounds: list[Bound]) -> dict[str, Value] | None:
    """What all bindings of one call have in common."""
    if not bounds:
        return None
    first, *others = bounds
    return {n: v for n, v in first.values.items() if all(other.values.get(n) is v for other in others)}


def _root(value: Value) -> Value:
    while value.op in ("attr", "elem", "item"):
        value = value.args[1] if value.op == "elem" else value.args[0]
    return value


def _is_handed_over(group: BlockPaths) -> bool:
    """Whether the callee is handed to a checkpoint, by itself or in a wrapper."""
    return any(
        path.raw.checkpoint is not None and (path.raw.checkpoint.site == path.raw.site or path.raw.wrapper)
        for path in group.paths
    )


def _shown(blocks: list[BlockPaths], trace: Trace) -> list[BlockPaths]:
    """The blocks to print and count: a function that runs a block stands for it only where it isn't seen itself."""
    seen = {id(path.raw) for block in blocks if block.key.op != "applied" for path in block.paths}
    covered = {
        id(trace.calls[index])
        for index, end in trace.inside.items()
        if any(id(raw) in seen for raw in trace.calls[index + 1 : end])
    }
    return [
        block
        for block in blocks
        if block.key.op != "applied" or not all(id(path.raw) in covered for path in block.paths)
    ]


def _route(raw: RawCall) -> Route:
    if raw.checkpoint is None:
        return Route.SCOPED if raw.scoped else Route.EAGER
    base = raw.callee
    while base.op == "attr":
        base = base.args[0]
    if base.op in ("elem", "pick") and base.args[0] > raw.checkpoint.start:
        return Route.SEGMENTED
    if base.op == "item" and any(loop > raw.checkpoint.start for loop in base.args[1].loops):
        return Route.SEGMENTED
    return Route.CHECKPOINTED


def without_self(method: FunctionDef) -> tuple[Parameter, ...]:
    """The parameters that a call of a method gives."""
    parameters = method.facts.parameters
    if _is_static(method.facts.decorators):
        return parameters
    return parameters[1:] if parameters and parameters[0].kind in ("any", "positional") else parameters


def _is_static(decorators: tuple[object, ...]) -> bool:
    return any(getattr(d, "id", None) == "staticmethod" for d in decorators)


def _is_element(key: Value) -> bool:
    return key.op in ("elem", "item", "pick") or (key.op == "attr" and _is_element(key.args[0]))


def _class_ref(cls: ClassDef | External) -> ClassRef:
    if isinstance(cls, External):
        return ClassRef(cls.name.rsplit(".", 1)[-1], None)
    return ClassRef(cls.facts.qualname, cls.module.path, cls.facts.span.line)


def _reason_kind(reason: str) -> str:
    """The reason without the names of one place."""
    if reason.startswith("*"):
        return "a splat has unknown keys" if reason.endswith("keys") else "a splat has an unknown length"
    return re.sub(r": .*", "", reason)


def _column(lines: list[str], line: int, offset: int) -> int:
    if 0 < line <= len(lines):
        text = lines[line - 1]
        if text.isascii():
            return offset + 1
        return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore")) + 1
    return offset + 1


_CALLED = re.compile(r"\b(\w*(?:checkpoint|ckpt|remat)\w*)\s*\(", re.IGNORECASE)
_FILE_WORDS = re.compile(
    r"load|save|convert|resume|path|state|dict|file|merge|download|fetch|read|write|key", re.IGNORECASE
)


def _runs_functions(source: str) -> bool:
    """Whether a module-level function calls something named after checkpointing that isn't about weight files."""
    header = source.find("(")
    return any(
        match.start() > header and not _FILE_WORDS.search(match[1]) for match in _CALLED.finditer(source, header + 1)
    )


def _called_names(sources: Mapping[FunctionDef, str]) -> set[str]:
    """Names of functions that another one of them calls."""
    names = {f.facts.name for f in sources}
    if not names:
        return set()
    pattern = re.compile(rf"(?<!def )\b({'|'.join(map(re.escape, sorted(names)))})\b")
    return {
        match[1]
        for function, source in sources.items()
        for match in pattern.finditer(source)
        if match[1] != function.facts.name
    }


def _is_passive(facts: FunctionFacts) -> bool:
    """A method that builds, loads or sets: it runs no block."""
    return _PASSIVE.match(facts.name) is not None or _is_static(facts.decorators)


def _is_abstract(entry: Entry) -> bool:
    """Whether no block of an entry is known: its class leaves the blocks to a class that inherits from it."""
    return bool(entry.blocks) and all(
        path.unknown is not None and not path.bindings for block in entry.blocks for path in block.paths
    )


def _once(gates: list[GateCall]) -> list[GateCall]:
    """Gate calls by place: a helper that is expanded twice is one place."""
    return list({gate.site: gate for gate in gates}.values())
