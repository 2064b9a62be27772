"""State of the interpreter, and what all its parts share: conditions, frames on the stack, notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.callpaths.frames import Frame
from conformance.callpaths.trace import (
    AnyCall,
    AttributeStore,
    Capture,
    Checkpoint,
    Effect,
    Literal,
    OpenContext,
    RawCall,
    Rebinding,
    Site,
    Trace,
)
from conformance.callpaths.values import Value, Values, truth_of
from conformance.facts import ir
from conformance.facts.ir import Expr, Function, Span
from conformance.facts.module import ModuleFacts
from conformance.project.profile import CheckpointCallable
from conformance.project.project import ClassDef, Definition, External, FunctionDef, Project

MODULE_OPS = frozenset({"attr", "elem", "item", "param", "mu", "pick", "out"})
_MAX_NESTING = 4
"""How deep a test is looked into for what the enclosing branches say of its parts."""
_MAX_ALTERNATIVES = 16
"""Most alternatives of a value that are followed one by one."""
_MAX_CHAIN = 4
"""Longest chain of helpers from a forward to the one that has a word of checkpointing."""
METADATA = frozenset({"shape", "dtype", "device", "ndim", "dim", "size", "is_cuda", "requires_grad", "layout"})
"""What outlives most re-bindings of a tensor's name."""
MUTABLE = frozenset({"dict", "list", "merged", "union", "grown"})
"""Values whose contents are known until something that isn't followed may have changed them."""
NO_SPAN = Span(0, 0, 0, 0)
TYPE_TESTS = frozenset({"builtins.isinstance", "builtins.hasattr", "builtins.callable", "torch.is_tensor"})
"""Functions that tell what kind of value they are given."""
READABLE = frozenset({"phi", "mu", "out"})
"""Values whose reads by name are noted: what two sides of a test leave, and what a loop carries."""
_MOST_READS = 8
"""Reads of one value that are noted."""


Outside = dict[tuple[Frame, str], Value | None]
"""What names of other frames than the running one are; None for one that isn't bound."""


class Machine:
    """State and shared steps. The parts that inherit from it make up the `Interpreter`."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.values = Values()
        self._serial = 0
        self._steps = 0
        self._conditions: list[Literal] = []
        self._known: dict[Value, list[bool]] = {}
        self._heap: dict[tuple[Value, str], Value] = {}
        self._checkpoints: list[Checkpoint] = []
        self._contexts: list[OpenContext] = []
        """Context managers that are open, of all frames."""
        self._stack: list[tuple[Frame, Span, tuple[str, str]]] = []
        self._usage = "other"
        self._dead = 0
        self._written: Site | None = None
        """Where the sequence or the mapping is made that the call forwards; None when it forwards none."""
        self._excluded = False
        """True when a block was left on the only side of a test that the present arguments allow."""
        self._called = 0
        """How many calls were noted when the present statement began."""
        self._thorough = False
        """True where every method of the class is expanded, whether it has to do with checkpoints or not."""
        self._quiet = False
        """True while a name is read for a tensor's shape or type only: those outlive most re-bindings."""
        self._watched: list[Any] | None = None
        """The symbol whose reads are looked for, and whether one was seen."""
        self._returned: dict[tuple[Any, ...], tuple[Value, ...]] = {}
        self._effects: list[Value] | None = None
        """The calls that are left as they stand, while what a function does with an argument is looked for."""
        self._reads: dict[tuple[Any, ...], bool] = {}
        self._building = 0
        """Greater than 0 while an `__init__` is run for its attributes: every call inside the class is expanded."""
        self._trace: Trace | None = None
        self._flags: dict[tuple[int, str], tuple[Value, list[tuple[Value, tuple[Literal, ...]]]]] = {}
        """For each name that a loop carries: its symbol, what it is set to, and under which conditions."""
        self._tables: dict[ClassDef, dict[str, Value]] = {}
        self._extra: dict[tuple[ClassDef, str], Value | None] = {}
        self._contents_cache: dict[Value, tuple[Value, ...]] = {}
        self._stored_by: dict[tuple[ClassDef, FunctionDef], dict[str, Value]] = {}
        self._stores: dict[ClassDef, dict[str, list[FunctionDef]]] = {}
        self._namespaces: dict[tuple[Value, str], Value] = {}
        """What `__init__` stores on a bare module that serves as a namespace."""
        self._gates: dict[FunctionDef, str | None] = {}
        self._gate_results: dict[FunctionDef, Value | None] = {}
        self._wrappers: dict[FunctionDef, CheckpointCallable | None] = {}
        self._keywords: dict[Value, list[tuple[str | None, Value]]] = {}
        self._backwards: list[int] = []
        """Serials of the backward passes that the entry runs itself."""
        self._outside: list[tuple[Frame, str, Value | None]] = []
        """Names of other frames than the running one that were bound or changed, in order, with what they were."""
        self._changed: dict[Value, Value] = {}
        """What the last expanded call has made of dicts and lists that it got."""
        self._iterated: dict[tuple[Value, int], Value] = {}
        self._made_by: dict[Value, Value] = {}
        self._expansions = 0
        self._leading: dict[tuple[str, ClassDef | None], set[FunctionDef]] = {}
        self._globals: dict[tuple[str, str], Value] = {}
        self._module_frames: dict[str, Frame] = {}
        self._contents: list[list[Value]] = []
        """For each container class whose `__init__` is being run: what it is filled with."""
        profile = project.profile
        self._callables = {c.name: c for c in profile.checkpoints if not c.attribute}
        self._attributes = {c.name: c for c in profile.checkpoints if c.attribute}
        self._containers = frozenset(profile.containers)
        self._mappings = frozenset(profile.mappings)
        self._grad_off = frozenset(profile.grad_contexts)
        self.grad_tests = self._grad_on = tuple(
            self.values.make("call", self.values.make("ref", name), (), ()) for name in profile.grad_tests
        )

    def _suspend(self) -> tuple[Any, ...]:
        saved = (
            self._conditions,
            self._known,
            self._heap,
            self._checkpoints,
            self._stack,
            self._usage,
            self._dead,
            self._trace,
            self._steps,
            self._building,
            self._expansions,
            self._written,
            self._contexts,
            self._outside,
        )
        self._contexts, self._outside = [], []
        self._conditions, self._known, self._heap, self._checkpoints, self._stack = [], {}, {}, [], []
        self._usage, self._dead, self._steps, self._building, self._expansions = "other", 0, 0, 0, 0
        return saved

    def _resume(self, saved: tuple[Any, ...]) -> None:
        self._rewind(0)
        (
            self._conditions,
            self._known,
            self._heap,
            self._checkpoints,
            self._stack,
            self._usage,
            self._dead,
            self._trace,
            self._steps,
            self._building,
            self._expansions,
            self._written,
            self._contexts,
            self._outside,
        ) = saved

    def _enter_parameters(self, frame: Frame, summary: Function, owner: ClassDef | None, function: FunctionDef) -> None:
        values = self.values
        key = (function.module.path, summary.qualname)
        first = True
        for parameter in summary.parameters:
            if first and owner is not None and parameter.kind in ("any", "positional"):
                frame.env[parameter.name] = values.make("self", owner, parameter.name)
            else:
                frame.env[parameter.name] = values.make("param", key, parameter.kind, parameter.name)
            first = False

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    def _push(self, value: Value, holds: bool, branch: int) -> None:
        while value.op == "not":
            value, holds = value.args[0], not holds
        self._conditions.append(Literal(value, holds, branch))
        self._known.setdefault(value, []).append(holds)
        if (value.op == "and" and holds) or (value.op == "or" and not holds):
            for part in value.args:
                self._push(part, holds, branch)

    def _truncate(self, mark: int) -> None:
        while len(self._conditions) > mark:
            literal = self._conditions.pop()
            self._known[literal.value].pop()

    def _truth(self, value: Value, depth: int = 0) -> bool | None:
        """Truth of a test here: a constant, or a test that an enclosing branch has made."""
        known = truth_of(value)
        if known is not None:
            return known
        holds = True
        while value.op == "not":
            value, holds = value.args[0], not holds
        stack = self._known.get(value)
        if stack:
            return stack[-1] is holds
        if value.op in ("and", "or") and depth < _MAX_NESTING:
            parts = [self._truth(part, depth + 1) for part in value.args]
            decisive = value.op == "or"
            if decisive in parts:
                return decisive is holds
            if None not in parts:
                return (not decisive) is holds
        return None

    def _extend(self, extra: Iterable[Literal], guard: int | None = None) -> None:
        """Takes conditions on; those of the statement `guard` are what is left where the other side raises."""
        for literal in extra:
            kept = literal._replace(guard=True) if guard is not None and literal.branch == guard else literal
            self._conditions.append(kept)
            self._known.setdefault(literal.value, []).append(literal.holds)

    def _note_binding(self, name: str, value: Value | None, frame: Frame, line: int, is_target: bool) -> None:
        if self._dead:
            return
        frame.bindings.append(
            Rebinding(name, value, self._next(), tuple(self._conditions), tuple(frame.loops), is_target, line)
        )

    def _note_capture(self, name: str, value: Value, owner: Frame, child: Frame, frame: Frame) -> None:
        """A free name is read; under a checkpoint it will be read again during backward."""
        if not self._checkpoints or self._dead or self._quiet:
            return
        checkpoint = next((outer for outer in self._checkpoints if owner.serial < outer.start), None)
        if checkpoint is None:
            return
        # The function that runs again: the outermost one on the way to the name that was entered since.
        function = child.function
        reader: Frame | None = frame
        while reader is not None and reader is not owner:
            if reader.serial > checkpoint.start and reader.function is not None:
                child, function = reader, reader.function
            reader = reader.parent
        if function is None:
            return
        owner.captures.append(
            Capture(
                name,
                value,
                self._next(),
                tuple(self._conditions),
                () if owner.leaving else tuple(owner.loops),
                function,
                checkpoint,
                self._site(child, function.span),
            )
        )

    def _note_read(self, value: Value) -> None:
        """A choice, or what a loop carries, is read by its name. What only tells somebody something doesn't count."""
        if self._trace is None or self._dead or self._quiet:
            return
        reads = self._trace.reads.setdefault(value, [])
        if len(reads) < _MOST_READS:
            reads.append(tuple(self._conditions))

    def _note_effect(
        self,
        kind: str,
        target: str,
        owner: int,
        value: Value,
        frame: Frame,
        line: int,
        base: Value | None = None,
        how: str = "",
    ) -> None:
        trace = self._trace
        if trace is None or self._dead or self._building:
            return
        trace.effects.append(
            Effect(
                kind,
                target,
                owner,
                base,
                how,
                value,
                self._next(),
                tuple(self._conditions),
                self._open_loops(frame),
                self._checkpoints[0] if self._checkpoints else None,
                (self._called, len(trace.calls)),
                self._site(frame, Span(line, 0, line, 0)),
            )
        )

    def _note_change(self, expression: Expr, base: Value, how: str, value: Value, frame: Frame, line: int) -> None:
        """The object behind an expression is changed in place."""
        owner = 0
        if type(expression) is ir.Name:
            holder: Frame | None = frame
            while holder is not None and expression.id not in holder.env:
                holder = holder.parent
            owner = -1 if holder is None else holder.serial
            if holder is not None and expression.id in holder.copies:
                self._note_effect("change", expression.id, owner, value, frame, line, None, how)
                return
        self._note_effect("change", spelled(expression, base), owner, value, frame, line, base, how)

    def _module_frame(self, module: ModuleFacts) -> Frame:
        found = self._module_frames.get(module.path)
        if found is None:
            found = self._module_frames[module.path] = Frame(module, None, None, None, 0)
        return found

    def is_likely(self, function: FunctionDef) -> bool:
        """Whether a function has a word of checkpointing."""
        return function.facts.is_likely

    def _has_many(self, value: Value) -> bool:
        """Whether a choice of choices has more alternatives than are followed one by one."""
        count = 0
        stack = [value]
        while stack and count <= _MAX_ALTERNATIVES:
            part = stack.pop()
            if part.op == "phi":
                stack.extend(part.args[1:])
            else:
                count += 1
        return count > _MAX_ALTERNATIVES

    def _escape(self, name: str, frame: Frame) -> None:
        """A dict or list is reachable by a way that isn't followed: its contents aren't known any more."""
        value = frame.env.get(name)
        if value is not None and value.op in MUTABLE:
            self._set_in_place(name, self.values.make("escaped", value, self._next()), frame)

    def _set_in_place(self, name: str, value: Value, frame: Frame) -> None:
        """The object behind a name, and behind its other names, has changed."""
        for alias in {name, *frame.aliases.get(name, ())}:
            self._outside.append((frame, alias, frame.env.get(alias)))
            frame.env[alias] = value

    def _rewind(self, mark: int, frame: Frame | None = None) -> Outside:
        """Undoes what was done to names of other frames since a mark, and tells what they had become.

        The running frame's own names are kept apart by its branches.
        """
        after: Outside = {}
        for owner, name, before in reversed(self._outside[mark:]):
            if owner is not frame:
                after.setdefault((owner, name), owner.env.get(name))
                _put(owner, name, before)
        del self._outside[mark:]
        return after

    def _redo(self, after: Outside) -> None:
        """Gives names of other frames what they had become."""
        for (owner, name), value in after.items():
            self._outside.append((owner, name, owner.env.get(name)))
            _put(owner, name, value)

    def _either(self, test: Value, first: Outside, second: Outside) -> Outside:
        """What names of other frames are after one of two ways, of which a test decides."""
        joined: Outside = {}
        for owner, name in {**first, **second}:
            unbound = self.values.make("unbound", name)
            one, other = (
                way[(owner, name)] if (owner, name) in way else owner.env.get(name) for way in (first, second)
            )
            joined[(owner, name)] = self.values.phi(test, one or unbound, other or unbound)
        return joined

    def _is_watched(self, value: Value) -> bool:
        """Whether a value is the watched parameter, or may be: what a loop or one side of a branch has made of it."""
        assert self._watched is not None
        stack, seen = [value], {value}
        while stack:
            value = stack.pop()
            if value is self._watched[0]:
                return True
            sides = value.args[1:] if value.op == "phi" else value.args[2:3] if value.op in ("mu", "out") else ()
            stack.extend(side for side in sides if side not in seen)
            seen.update(sides)
        return False

    def leads_to_likely(self, function: FunctionDef, cls: ClassDef | None) -> bool:
        """Whether a function has a word of checkpointing, or calls one of its class or module that has."""
        if self.is_likely(function):
            return True
        if cls is None:
            cls = function.owner
        key = (function.module.path, cls)
        found = self._leading.get(key)
        if found is None:
            found = self._leading[key] = self._find_leading(function.module, cls)
        return function in found

    def _find_leading(self, module: ModuleFacts, cls: ClassDef | None) -> set[FunctionDef]:
        project = self.project
        functions = [project.function_def(module, facts) for facts in module.functions.values()]
        if cls is not None:
            for base in project.mro(cls):
                if isinstance(base, ClassDef):
                    functions.extend(project.function_def(base.module, f, base) for f in base.facts.methods.values())
        found = {function for function in functions if self.is_likely(function)}
        names = {function.facts.name for function in found} - {"forward", "__init__"}
        for _ in range(_MAX_CHAIN):
            if not names:
                break
            pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
            more = {f for f in functions if f not in found and pattern.search(project.source_of(f))}
            found |= more
            names = {function.facts.name for function in more} - {"forward", "__init__"}
        return found

    def _opaque(self, callee: Value, arguments: list[Value], keywords: list[tuple[str | None, Value]]) -> Value:
        if len(keywords) > 1 and all(name is not None for name, _ in keywords):
            keywords = sorted(keywords, key=lambda pair: pair[0] or "")
        result = self.values.make("call", callee, tuple(arguments), tuple(keywords))
        if self._effects is not None:
            self._effects.append(result)
        return result

    def _dict(self, pairs: dict[Value, Value]) -> Value:
        return self.values.make("dict", tuple(pairs.items()))

    def _sequence(self, value: Value) -> list[Value] | None:
        """The items of a tuple or list of known length."""
        if value.op in ("tuple", "list"):
            result: list[Value] = []
            for item in value.args:
                if item.op == "star":
                    inside = self._sequence(item.args[0])
                    if inside is None:
                        return None
                    result.extend(inside)
                else:
                    result.append(item)
            return result
        if value.op in ("mu", "out") and value.args[2].op in ("tuple", "mu", "out", "phi", "state"):
            # State that a loop carries keeps its length.
            length = self._length(value.args[2])
            if length is not None:
                return [self.values.make("item", value, self.values.const(i)) for i in range(length)]
        if value.op == "state":
            return [self.values.make("item", value.args[1], self.values.const(i)) for i in range(value.args[0])]
        if value.op == "phi":
            first, second = self._sequence(value.args[1]), self._sequence(value.args[2])
            if first is not None and second is not None and len(first) == len(second):
                return [self.values.phi(value.args[0], a, b) for a, b in zip(first, second, strict=True)]
        return None

    def _length(self, value: Value) -> int | None:
        items = self._sequence(value)
        return None if items is None else len(items)

    def _pick(self, loop: int, parts: list[Value]) -> Value:
        parts = list(dict.fromkeys(parts))
        if not parts:
            return self.values.make("unknown", "nothing to iterate", loop)
        if len(parts) == 1:
            return parts[0]
        return self.values.make("pick", loop, tuple(parts))

    def _site(self, frame: Frame, span: Span) -> Site:
        owner: Frame | None = frame
        while owner is not None and owner.function is None:
            owner = owner.parent
        qualname = owner.function.qualname if owner is not None and owner.function is not None else "<module>"
        class_name = frame.owner.facts.qualname if frame.owner is not None else ""
        return Site(frame.module.path, qualname, class_name, span)

    def _statement(self, frame: Frame) -> Site:
        """The statement that runs, by its line."""
        owner = frame
        while owner.function is None and owner.parent is not None:
            owner = owner.parent
        return self._site(frame, Span(owner.line, 0, owner.line, 0))

    def _note_store(self, base: Value, name: str, value: Value, frame: Frame) -> None:
        """`self.name = value`, in whatever function the model has got to."""
        if self._trace is not None and base.op == "self" and not self._dead and not self._building:
            self._trace.stores.append(
                AttributeStore(base.args[0], name, value, tuple(self._conditions), self._statement(frame))
            )

    def _outer(self, site: Site) -> Site:
        """The call in the entry's own function that leads to a site."""
        if len(self._stack) < 2:
            return site
        frame, span, _ = self._stack[1]
        return self._site(frame, span)

    def _open_loops(self, frame: Frame) -> tuple[int, ...]:
        """Serials of the open loops of all frames."""
        loops: list[int] = []
        for entry_frame, _, _ in self._stack[1:]:
            loops.extend(entry_frame.loops)
        loops.extend(frame.loops)
        return tuple(dict.fromkeys(loops))

    def _count_calls(self) -> int:
        return len(self._trace.calls) if self._trace is not None else 0

    def _note_choice(self, value: Value, calls: int) -> None:
        """Notes a choice of values of which some are results of calls made since there were so many."""
        if value.op == "phi" and self._trace is not None and not self._dead and calls < len(self._trace.calls):
            self._trace.chosen.append(value)

    def _switches(self, frame: Frame) -> tuple[Value, ...]:
        found = []
        for name in self.project.profile.cache_switches:
            owner: Frame | None = frame
            while owner is not None:
                value = owner.env.get(name)
                if value is not None:
                    found.append(value)
                    break
                owner = owner.parent
        return tuple(found)

    def _note_call(
        self,
        callee: Value,
        method: str,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
        direct: FunctionDef | None = None,
        choice: Value | None = None,
    ) -> None:
        if self._trace is None or span is NO_SPAN:
            return
        if callee.op == "pick":
            for alternative in callee.args[1]:
                self._note_call(alternative, method, arguments, keywords, span, frame, direct, callee)
            return
        is_module = callee.op in (*MODULE_OPS, "self", "applied", "closure", "phi")
        if not is_module and not (self._checkpoints and self._checkpoints[-1].site.span == span):
            return
        site = self._site(frame, span)
        checkpoint = self._checkpoints[-1] if self._checkpoints else None
        scoped = checkpoint is None and any(
            self.is_checkpoint(value) for value in (*arguments, *(v for _, v in keywords)) if value.op != "param"
        )
        self._trace.calls.append(
            RawCall(
                callee,
                method,
                tuple(arguments),
                tuple(keywords),
                tuple(self._conditions),
                checkpoint,
                scoped,
                site,
                self._outer(site),
                self._open_loops(frame),
                self._usage,
                self._dead > 0,
                frame.nested,
                self._switches(frame),
                self._written,
                choice,
                direct,
            )
        )

    def _enter_context(self, value: Value) -> None:
        self._contexts.append(OpenContext(value, tuple(self._conditions)))

    def _note_any(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> None:
        """Notes a call where every call is asked for."""
        if self._trace is None or self._trace.every_call is None or self._dead or span is NO_SPAN:
            return
        self._trace.every_call.append(
            AnyCall(
                callee,
                tuple(arguments),
                tuple(keywords),
                tuple(self._conditions),
                tuple(self._contexts),
                tuple(value for value in self._heap.values() if value.op == "param"),
                self._site(frame, span),
            )
        )

    # What the parts give each other

    def reads(self, function: FunctionDef, owner: ClassDef | None, name: str, settings: dict[str, Value]) -> bool:
        raise NotImplementedError

    def _call_expression(self, expression: ir.Call, frame: Frame) -> Value:
        raise NotImplementedError

    def _assign(self, target: Expr, value: Value, frame: Frame, line: int, is_target: bool = False) -> None:
        raise NotImplementedError

    def _bind(self, name: str, value: Value, frame: Frame, line: int, is_target: bool = False) -> None:
        raise NotImplementedError

    def _now(self, frame: Frame) -> Outside:
        raise NotImplementedError

    def _block(self, block: ir.Block, frame: Frame) -> bool:
        raise NotImplementedError

    def _checkpoint(
        self,
        kind: CheckpointCallable,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        raise NotImplementedError

    def _note_checkpoint(
        self,
        kind: CheckpointCallable,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> None:
        raise NotImplementedError

    def _closure(self, function: Function, frame: Frame) -> Value:
        raise NotImplementedError

    def _definition(self, definition: Definition) -> Value:
        raise NotImplementedError

    def _dict_set(self, base: Value, key: Value, value: Value) -> Value:
        raise NotImplementedError

    def _expand_function(
        self,
        function: FunctionDef,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        raise NotImplementedError

    def _finish(self, frame: Frame) -> None:
        raise NotImplementedError

    def _gate(
        self,
        function: FunctionDef,
        flag: str,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        raise NotImplementedError

    def _is_special(self, value: Value) -> bool:
        raise NotImplementedError

    def _iterable(self, expression: Expr, frame: Frame) -> Value:
        raise NotImplementedError

    def _replace(self, expression: Expr, value: Value, frame: Frame, line: int) -> None:
        raise NotImplementedError

    def attribute(self, base: Value, name: str, frame: Frame) -> Value:
        raise NotImplementedError

    def attribute_values(self, cls: ClassDef, name: str) -> tuple[Value, ...]:
        raise NotImplementedError

    def attribute_value(self, cls: ClassDef, name: str) -> Value | None:
        raise NotImplementedError

    def call(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        raise NotImplementedError

    def is_checkpoint(self, value: Value) -> bool:
        raise NotImplementedError

    def stored_callable(self, value: Value) -> Value | None:
        raise NotImplementedError

    def checkpoint_kind(self, value: Value) -> CheckpointCallable | None:
        raise NotImplementedError

    def classes_of(self, value: Value) -> tuple[ClassDef | External, ...]:
        raise NotImplementedError

    def elements_of(self, value: Value) -> tuple[ClassDef | External, ...]:
        raise NotImplementedError

    def eval(self, expression: Expr, frame: Frame) -> Value:
        raise NotImplementedError

    def gate_flag(self, function: FunctionDef) -> str | None:
        raise NotImplementedError

    def item(self, base: Value, index: Value) -> Value:
        raise NotImplementedError

    def iterate(self, value: Value, loop: int) -> Value:
        raise NotImplementedError

    def _join(self, test: Value, first: dict[Any, Value], second: dict[Any, Value]) -> dict[Any, Value]:
        raise NotImplementedError

    def _join_heap(
        self, test: Value, first: dict[tuple[Value, str], Value], second: dict[tuple[Value, str], Value]
    ) -> dict[tuple[Value, str], Value]:
        raise NotImplementedError

    def run(
        self,
        function: FunctionDef,
        owner: ClassDef | None,
        settings: Mapping[str, Value] | None = None,
        every_call: bool = False,
    ) -> Trace | None:
        raise NotImplementedError


def as_value(values: Values, literal: Literal) -> Value:
    return literal.value if literal.holds else values.negate(literal.value)


def _put(owner: Frame, name: str, value: Value | None) -> None:
    if value is None:
        owner.env.pop(name, None)
    else:
        owner.env[name] = value


def spelled(expression: Expr, value: Value) -> str:
    """How the source spells a name or an attribute; else what it stands for."""
    if type(expression) is ir.Name:
        return expression.id
    if type(expression) is ir.Attr and type(expression.base) is ir.Name:
        return f"{expression.base.id}.{expression.name}"
    return value.text


def decorator_name(decorator: Expr) -> str:
    if isinstance(decorator, ir.Call):
        decorator = decorator.function
    if isinstance(decorator, ir.Attr):
        return decorator.name
    return decorator.id if isinstance(decorator, ir.Name) else ""


def mentions(node: object, name: str) -> bool:
    """Whether a name stands anywhere in a part of a summary."""
    if type(node) is ir.Name:
        return node.id == name
    if isinstance(node, tuple):
        return any(mentions(part, name) for part in node)
    return False
