"""Runs function summaries on symbolic values and notes how blocks are called.

One pass: a branch runs both sides and joins them, a loop runs its body once with its changing names as symbols, a call
of a closure, a factory, a helper or a segment runner is expanded in place. So every block call is seen with its path
condition, with the values that reach it, and with the checkpoint it runs under. Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from conformance.callpaths.trace import (
    Capture,
    Checkpoint,
    GateCall,
    LateRead,
    Literal,
    LoopSeen,
    RawCall,
    Rebinding,
    Site,
    Trace,
    literals,
)
from conformance.callpaths.conditions import Assumptions, consequences, exclusive
from conformance.callpaths.values import Value, Values, truth_of, walk
from conformance.facts import ir
from conformance.facts.ir import Expr, Function, Parameter, Span
from conformance.facts.module import LIKELY, ModuleFacts
from conformance.project.profile import CheckpointCallable
from conformance.project.project import (
    AssignDef,
    ClassDef,
    Definition,
    External,
    FunctionDef,
    ModuleDef,
    Project,
)

_MAX_DEPTH = 10
"""Deepest chain of expanded calls."""
_MAX_LINKS = 16
"""Longest chain from a value to the object that it is."""
_MAX_STEPS = 400_000
"""Most statements that one entry may run, expanded calls included."""

_IDENTITY = frozenset({"list", "tuple", "reversed", "iter", "sorted", "set", "frozenset"})
_MODULE_OPS = frozenset({"attr", "elem", "item", "param", "mu", "pick", "out"})
_NO_SPAN = Span(0, 0, 0, 0)
_METADATA = frozenset({"shape", "dtype", "device", "ndim", "dim", "size", "is_cuda", "requires_grad", "layout"})
_GROWS = frozenset({"append", "extend", "insert", "add_module"})
_CHECKPOINT_WORD = re.compile(r"checkpoint|ckpt", re.IGNORECASE)


class Closure:
    """A nested function with the frame it was made in; free names are read from there when it runs."""

    __slots__ = ("defaults", "frame", "function", "name")

    def __init__(self, function: Function, frame: Frame, defaults: dict[str, Value]) -> None:
        self.function = function
        self.frame = frame
        self.defaults = defaults
        self.name = function.name


class Frame:
    """One run of one function, or of a comprehension's scope."""

    __slots__ = (
        "bindings",
        "captured",
        "captures",
        "condition_mark",
        "env",
        "function",
        "locals",
        "loops",
        "module",
        "nested",
        "outside",
        "owner",
        "parent",
        "returns",
        "serial",
        "usage",
        "yields",
    )

    def __init__(
        self,
        module: ModuleFacts,
        function: Function | None,
        parent: Frame | None,
        owner: ClassDef | None,
        serial: int,
    ) -> None:
        self.module = module
        self.function = function
        self.parent = parent
        self.owner = owner
        self.serial = serial
        self.env: dict[str, Value] = {}
        self.locals: frozenset[str] = function.locals if function else frozenset()
        self.captured: frozenset[str] = function.captured if function else frozenset()
        self.outside: frozenset[str] = function.globals | function.nonlocals if function else frozenset()
        self.loops: list[int] = []
        self.bindings: list[Rebinding] = []
        self.captures: list[Capture] = []
        self.returns: list[tuple[tuple[Literal, ...], Value]] = []
        self.yields: list[Value] = []
        self.condition_mark = 0
        self.usage = "other"
        self.nested = parent is not None


class _TooLarge(Exception):
    """The entry needs more steps than `_MAX_STEPS`."""


class Interpreter:
    """Runs entries of one project. One object keeps what is learnt about classes, gates and wrappers."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.values = Values()
        self._serial = 0
        self._steps = 0
        self._conditions: list[Literal] = []
        self._known: dict[Value, list[bool]] = {}
        self._heap: dict[tuple[Value, str], Value] = {}
        self._checkpoints: list[Checkpoint] = []
        self._stack: list[tuple[Frame, Span, tuple[str, str]]] = []
        self._usage = "other"
        self._dead = 0
        self._starred = False
        self._quiet = False
        """True while a name is read for a tensor's shape or type only: those outlive most re-bindings."""
        self._watched: list[Any] | None = None
        """The symbol whose reads are looked for, and whether one was seen."""
        self._reads: dict[tuple[Any, ...], bool] = {}
        self._building = 0
        """Greater than 0 while an `__init__` is run for its attributes: every call inside the class is expanded."""
        self._trace: Trace | None = None
        self._flags: dict[Value, list[tuple[Value, tuple[Literal, ...]]]] = {}
        """For each loop-carried flag: what it is set to, and under which conditions."""
        self._tables: dict[ClassDef, dict[str, Value]] = {}
        self._extra: dict[tuple[ClassDef, str], Value | None] = {}
        self._contents_cache: dict[Value, tuple[Value, ...]] = {}
        self._namespaces: dict[tuple[Value, str], Value] = {}
        """What `__init__` stores on a bare module that serves as a namespace."""
        self._gates: dict[FunctionDef, str | None] = {}
        self._wrappers: dict[FunctionDef, CheckpointCallable | None] = {}
        self._likely: dict[FunctionDef, bool] = {}
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
        self._grad_on = tuple(
            self.values.make("call", self.values.make("ref", name), (), ()) for name in profile.grad_tests
        )

    # Entries

    def run(self, function: FunctionDef, owner: ClassDef | None) -> Trace | None:
        """Runs a function as an entry: parameters are symbols, `self` is an instance of `owner`.

        None when its text can't be read.
        """
        summary = self.project.summary(function)
        if summary is None:
            return None
        trace = Trace(function.module, owner, summary)
        saved = self._suspend()
        self._trace = trace
        frame = Frame(function.module, summary, None, function.owner, self._next())
        self._enter_parameters(frame, summary, owner, function)
        self._stack.append((frame, summary.span, (function.module.path, summary.qualname)))
        try:
            self._block(summary.body, frame)
        except _TooLarge:
            trace.problems.append("too large to follow")
        except RecursionError:
            trace.problems.append("nested too deeply to follow")
        self._finish(frame)
        self._resume(saved)
        return trace

    def reads(self, function: FunctionDef, owner: ClassDef | None, name: str, settings: dict[str, Value]) -> bool:
        """Whether a function reads a parameter on a branch that the other parameters' settings leave open."""
        key = (function, owner, name, tuple(sorted((n, id(v)) for n, v in settings.items())))
        found = self._reads.get(key)
        if found is not None:
            return found
        summary = self.project.summary(function)
        if summary is None:
            return True
        saved = self._suspend()
        watched, self._trace = self._watched, None
        frame = Frame(function.module, summary, None, function.owner, self._next())
        self._enter_parameters(frame, summary, owner, function)
        frame.env.update(settings)
        # A symbol of its own: a read of the parameter is an evaluation that yields this very value.
        symbol = self.values.make("param", "watched", "any", name)
        frame.env[name] = symbol
        self._watched = [symbol, False]
        self._stack.append((frame, summary.span, (function.module.path, summary.qualname)))
        try:
            self._block(summary.body, frame)
            found = bool(self._watched[1])
        except (_TooLarge, RecursionError):
            found = True
        self._watched = watched
        self._resume(saved)
        self._reads[key] = found
        return found

    def only_selects_return(self, function: FunctionDef, name: str) -> bool:
        """Whether a parameter decides on nothing but the form in which the result is returned."""
        summary = self.project.summary(function)
        return summary is not None and _selects_return(summary.body, name)

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
        )
        self._conditions, self._known, self._heap, self._checkpoints, self._stack = [], {}, {}, [], []
        self._usage, self._dead, self._steps, self._building = "other", 0, 0, 0
        return saved

    def _resume(self, saved: tuple[Any, ...]) -> None:
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

    # Conditions

    def _push(self, value: Value, holds: bool, branch: int) -> None:
        while value.op == "not":
            value, holds = value.args[0], not holds
        self._conditions.append(Literal(value, holds, branch))
        self._known.setdefault(value, []).append(holds)
        if value.op == "and" and holds or value.op == "or" and not holds:
            for part in value.args:
                self._push(part, holds, branch)

    def _truncate(self, mark: int) -> None:
        while len(self._conditions) > mark:
            literal = self._conditions.pop()
            self._known[literal.value].pop()

    def _truth(self, value: Value) -> bool | None:
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
        if value.op in ("and", "or"):
            parts = [self._truth(part) for part in value.args]
            decisive = value.op == "or"
            if decisive in parts:
                return decisive is holds
            if None not in parts:
                return (not decisive) is holds
        return None

    # Statements

    def _block(self, block: ir.Block, frame: Frame) -> bool:
        """Runs statements; False when control never reaches the end."""
        for statement in block:
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise _TooLarge
            if not _RUN[type(statement)](self, statement, frame):
                return False
        return True

    def _assign_statement(self, statement: ir.Assign, frame: Frame) -> bool:
        self._usage = _usage_of(statement.targets[0]) if len(statement.targets) == 1 else "other"
        value = self.eval(statement.value, frame)
        for target in statement.targets:
            self._assign(target, value, frame, statement.line)
        return True

    def _evaluate_statement(self, statement: ir.Evaluate, frame: Frame) -> bool:
        self._usage = "dropped"
        self.eval(statement.value, frame)
        return True

    def _if_statement(self, statement: ir.If, frame: Frame) -> bool:
        self._usage = "other"
        test = self.eval(statement.test, frame)
        known = self._truth(test)
        if known is not None:
            live, dead = (statement.body, statement.orelse) if known else (statement.orelse, statement.body)
            if dead and frame.nested and not self._building:
                self._run_dead(dead, frame, test, not known)
            return self._block(live, frame)
        branch = self._next()
        mark = len(self._conditions)
        env, heap = frame.env, self._heap
        frame.env, self._heap = dict(env), dict(heap)
        self._push(test, True, branch)
        alive_body = self._block(statement.body, frame)
        extra_body = self._conditions[mark:]
        env_body, heap_body = frame.env, self._heap
        self._truncate(mark)
        frame.env, self._heap = env, heap
        self._push(test, False, branch)
        alive_else = self._block(statement.orelse, frame)
        extra_else = self._conditions[mark:]
        self._truncate(mark)
        if not alive_body and not alive_else:
            return False
        if not alive_body:
            self._extend(extra_else)
            return True
        if not alive_else:
            frame.env, self._heap = env_body, heap_body
            self._extend(extra_body)
            return True
        frame.env = self._join(test, env_body, frame.env)
        self._heap = self._join(test, heap_body, self._heap)
        if (_has_more(extra_body, branch) and _leaves(statement.body)) or (
            _has_more(extra_else, branch) and _leaves(statement.orelse)
        ):
            # Some of a side left early: what is left is either side with what it has survived.
            first = self.values.all_of(_as_value(self.values, c) for c in extra_body)
            second = self.values.all_of(_as_value(self.values, c) for c in extra_else)
            self._push(self.values.any_of((first, second)), True, self._next())
        return True

    def _extend(self, extra: Iterable[Literal]) -> None:
        for literal in extra:
            self._conditions.append(literal)
            self._known.setdefault(literal.value, []).append(literal.holds)

    def _run_dead(self, block: ir.Block, frame: Frame, test: Value, holds: bool) -> None:
        """Runs a branch that the present arguments exclude, only to see the calls in it."""
        env, heap, returns = frame.env, self._heap, len(frame.returns)
        frame.env, self._heap = dict(env), dict(heap)
        mark = len(self._conditions)
        self._dead += 1
        self._block(block, frame)
        self._dead -= 1
        self._truncate(mark)
        frame.env, self._heap = env, heap
        del frame.returns[returns:]

    def _join(self, test: Value, first: dict[Any, Value], second: dict[Any, Value]) -> dict[Any, Value]:
        result = dict(second)
        for key, value in first.items():
            other = second.get(key)
            if other is None:
                result[key] = self.values.phi(test, value, self.values.make("unbound", key))
            elif other is not value:
                result[key] = self.values.phi(test, value, other)
        for key, value in second.items():
            if key not in first:
                result[key] = self.values.phi(test, self.values.make("unbound", key), value)
        return result

    def _for_statement(self, statement: ir.For, frame: Frame) -> bool:
        self._usage = "iterated"
        iterable = self._iterable(statement.iterable, frame)
        loop = self._next()
        if self._trace is not None:
            self._trace.loops.append(LoopSeen(loop, self._site(frame, statement.span), iterable))
        before = self._enter_loop(statement.changed, loop, frame)
        frame.loops.append(loop)
        mark = len(self._conditions)
        self._assign(statement.target, self.iterate(iterable, loop), frame, statement.span.line, is_target=True)
        self._block(statement.body, frame)
        self._truncate(mark)
        frame.loops.pop()
        self._leave_loop(statement.changed, loop, before, frame)
        return self._block(statement.orelse, frame) if statement.orelse else True

    def _while_statement(self, statement: ir.While, frame: Frame) -> bool:
        loop = self._next()
        before = self._enter_loop(statement.changed, loop, frame)
        frame.loops.append(loop)
        mark = len(self._conditions)
        self._usage = "other"
        test = self.eval(statement.test, frame)
        if self._truth(test) is None:
            self._push(test, True, self._next())
        self._block(statement.body, frame)
        self._truncate(mark)
        frame.loops.pop()
        self._leave_loop(statement.changed, loop, before, frame)
        return self._block(statement.orelse, frame) if statement.orelse else True

    def _enter_loop(self, changed: frozenset[str], loop: int, frame: Frame) -> tuple[dict[str, Value], dict[Any, Value]]:
        env, heap = frame.env, self._heap
        frame.env, self._heap = dict(env), dict(heap)
        for name in changed:
            head, _, attribute = name.partition(".")
            if attribute:
                base = frame.env.get(head)
                if base is not None:
                    old = heap.get((base, attribute), self.values.make("attr", base, attribute))
                    self._heap[(base, attribute)] = self._mu(loop, name, old)
            elif head in env:
                frame.env[head] = self._mu(loop, head, env[head])
        return env, heap

    def _mu(self, loop: int, name: str, before: Value) -> Value:
        if before.op in ("grown", "inst") or (before.op == "many"):
            return before  # a container that is filled in the loop stays itself
        if before.op == "list":
            return self.values.make("grown", before, ())
        carried = self.values.make("mu", loop, name, before)
        if truth_of(before) is False or before in self.values.implied:
            self._flags[carried] = []
        return carried

    def _leave_loop(
        self, changed: frozenset[str], loop: int, before: tuple[dict[str, Value], dict[Any, Value]], frame: Frame
    ) -> None:
        env, heap = dict(before[0]), dict(before[1])
        for name in changed:
            head, _, attribute = name.partition(".")
            if attribute:
                base = frame.env.get(head)
                if base is None:
                    continue
                key = (base, attribute)
                after = self._heap.get(key)
                if after is not None:
                    heap[key] = self._out(loop, name, heap.get(key), after)
            else:
                after = frame.env.get(head)
                if after is not None:
                    env[head] = self._out(loop, head, env.get(head), after)
        frame.env, self._heap = env, heap
        if self._flags:
            self._settle_flags(loop, env)

    def _out(self, loop: int, name: str, before: Value | None, after: Value) -> Value:
        if before is after:
            return after
        if after.op in ("grown", "inst", "dict", "closure"):
            return after
        if loop not in after.loops and before is None:
            return after
        return self.values.make("out", loop, name, before if before is not None else self.values.absent)

    def _try_statement(self, statement: ir.Try, frame: Frame) -> bool:
        env, heap = frame.env, self._heap
        frame.env, self._heap = dict(env), dict(heap)
        mark = len(self._conditions)
        failed = self.values.make("raises", self._next())
        branch = self._next()
        alive = self._block(statement.body, frame)
        if alive and statement.orelse:
            alive = self._block(statement.orelse, frame)
        env_body, heap_body = frame.env, self._heap
        extra = self._conditions[mark:]
        self._truncate(mark)
        result_env, result_heap, any_alive = env_body, heap_body, alive
        for handler in statement.handlers:
            # The body may have stopped anywhere: either state reaches the handler.
            frame.env = self._join(failed, env, env_body)
            self._heap = self._join(failed, heap, heap_body)
            self._push(failed, True, branch)
            handler_alive = self._block(handler, frame)
            self._truncate(mark)
            if handler_alive:
                if any_alive:
                    result_env = self._join(failed, frame.env, result_env)
                    result_heap = self._join(failed, self._heap, result_heap)
                else:
                    result_env, result_heap, any_alive = frame.env, self._heap, True
                    extra = []
        frame.env, self._heap = result_env, result_heap
        if any_alive and alive and not statement.handlers:
            self._extend(extra)
        if statement.final and not self._block(statement.final, frame):
            return False
        return any_alive

    def _with_statement(self, statement: ir.With, frame: Frame) -> bool:
        mark = len(self._conditions)
        no_grad = False
        for context, target in statement.items:
            self._usage = "other"
            value = self.eval(context, frame)
            if target is not None:
                self._assign(target, self.values.make("item", value, self.values.const("entered")), frame, statement.line)
            called = value.args[0] if value.op in ("call", "inst") else value
            if called.op == "ref" and called.args[0] in self._grad_off:
                no_grad = True
        if no_grad:
            for grad in self._grad_on:
                self._push(grad, False, self._next())
        inner = len(self._conditions)
        alive = self._block(statement.body, frame)
        extra = self._conditions[inner:]
        if no_grad:
            self._truncate(mark)
            self._extend(extra)
        return alive

    def _return_statement(self, statement: ir.Return, frame: Frame) -> bool:
        self._usage = frame.usage
        value = self.values.none if statement.value is None else self.eval(statement.value, frame)
        conditions = tuple(self._conditions[frame.condition_mark :])
        if frame.loops:
            # Which iteration returns isn't known.
            conditions = (*conditions, Literal(self.values.make("iteration", self._next()), True, self._next()))
        frame.returns.append((conditions, value))
        return False

    def _raise_statement(self, statement: ir.Raise, frame: Frame) -> bool:
        return False

    def _jump_statement(self, statement: ir.Jump, frame: Frame) -> bool:
        return False

    def _define_statement(self, statement: ir.Define, frame: Frame) -> bool:
        # A decorated nested function is taken for the function: the decorators that models use run its body.
        self._bind(statement.function.name, self._closure(statement.function, frame), frame, statement.line)
        return True

    def _closure(self, function: Function, frame: Frame) -> Value:
        defaults = {}
        for parameter in function.parameters:
            if parameter.default is not None:
                self._usage = "other"
                defaults[parameter.name] = self.eval(parameter.default, frame)
        return self.values.make("closure", Closure(function, frame, defaults))

    def _delete_statement(self, statement: ir.Delete, frame: Frame) -> bool:
        for name in statement.names:
            frame.env.pop(name, None)
            if name in frame.captured:
                self._note_binding(name, None, frame, statement.line, False)
        return True

    def _assert_statement(self, statement: ir.Assert, frame: Frame) -> bool:
        self._usage = "other"
        test = self.eval(statement.test, frame)
        if self._truth(test) is None:
            self._push(test, True, self._next())
        return True

    def _import_statement(self, statement: ir.Import, frame: Frame) -> bool:
        for name, imported in statement.bindings:
            if name != "*":
                value = self._definition(self.project.imported(imported, frame.module.path))
                self._bind(name, value, frame, statement.line)
        return True

    # Assignment

    def _assign(self, target: Expr, value: Value, frame: Frame, line: int, is_target: bool = False) -> None:
        kind = type(target)
        if kind is ir.Name:
            self._bind(target.id, value, frame, line, is_target)  # type: ignore[union-attr]
        elif kind is ir.Display:
            items = target.items  # type: ignore[union-attr]
            for item, part in zip(items, self._unpack(value, items), strict=True):
                self._assign(item, part, frame, line, is_target)
        elif kind is ir.Attr:
            base = self.eval(target.base, frame)  # type: ignore[union-attr]
            self._heap[(base, target.name)] = value  # type: ignore[union-attr]
        elif kind is ir.Item:
            self._store_item(target, value, frame, line)  # type: ignore[arg-type]
        elif kind is ir.Star:
            self._assign(target.value, value, frame, line, is_target)  # type: ignore[union-attr]

    def _bind(self, name: str, value: Value, frame: Frame, line: int, is_target: bool = False) -> None:
        if name in frame.outside:
            self._bind_outside(name, value, frame, line)
            return
        if self._flags and frame.loops:
            self._note_flag(name, value, frame)
        frame.env[name] = value
        if name in frame.captured:
            self._note_binding(name, value, frame, line, is_target)

    def _note_flag(self, name: str, value: Value, frame: Frame) -> None:
        for loop in frame.loops:
            for carried, sets in self._flags.items():
                if carried.args[0] == loop and carried.args[1] == name:
                    sets.append((value, tuple(self._conditions)))

    def _settle_flags(self, loop: int, after: dict[str, Value]) -> None:
        """What a flag that only a condition sets says of that condition: `routing_now` implies `use_routing`."""
        for carried in [flag for flag in self._flags if flag.args[0] == loop]:
            common: set[tuple[Value, bool]] | None = None
            before = carried.args[2]
            if before in self.values.implied:
                common = set(self.values.implied[before])
            for value, conditions in self._flags.pop(carried):
                if value is carried or truth_of(value) is False:
                    continue
                known = {(c.value, c.holds) for c in conditions if loop not in c.value.loops}
                if truth_of(value) is None and value.op == "and":
                    known |= {(part, True) for part in value.args if loop not in part.loops}
                common = known if common is None else common & known
            if common:
                self.values.implied[carried] = tuple(common)
                out = after.get(carried.args[1])
                if out is not None and out.op == "out" and out.args[0] == loop:
                    self.values.implied[out] = tuple(common)

    def _bind_outside(self, name: str, value: Value, frame: Frame, line: int) -> None:
        """`nonlocal`: the assignment belongs to an enclosing frame, under the conditions of this one."""
        if frame.function is not None and name in frame.function.globals:
            return
        outer = frame.parent
        while outer is not None:
            if name in outer.env or name in outer.locals:
                relative = self._conditions[frame.condition_mark :]
                if relative and name in outer.env:
                    test = self.values.all_of(_as_value(self.values, c) for c in relative)
                    value = self.values.phi(test, value, outer.env[name])
                outer.env[name] = value
                self._note_binding(name, value, outer, line, False)
                return
            outer = outer.parent

    def _note_binding(self, name: str, value: Value | None, frame: Frame, line: int, is_target: bool) -> None:
        if self._dead:
            return
        frame.bindings.append(
            Rebinding(name, value, self._next(), tuple(self._conditions), tuple(frame.loops), is_target, line)
        )

    def _unpack(self, value: Value, targets: tuple[Expr, ...]) -> list[Value]:
        count = len(targets)
        starred = next((i for i, t in enumerate(targets) if type(t) is ir.Star), None)
        items = self._sequence(value)
        if items is not None:
            if starred is None and len(items) == count:
                return items
            if starred is not None and len(items) >= count - 1:
                after = count - starred - 1
                middle = self.values.make("list", *items[starred : len(items) - after])
                return [*items[:starred], middle, *(items[len(items) - after :] if after else ())]
        if value.op == "phi":
            test, body, orelse = value.args
            first, second = self._unpack(body, targets), self._unpack(orelse, targets)
            return [self.values.phi(test, a, b) for a, b in zip(first, second, strict=True)]
        if value.op == "pick":
            parts = [self._unpack(alternative, targets) for alternative in value.args[1]]
            return [self.values.make("pick", value.args[0], alternatives) for alternatives in zip(*parts, strict=True)]
        return [self.item(value, self.values.const(index)) for index in range(count)]

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
        if value.op in ("mu", "out") and value.args[2].op in ("tuple", "mu", "phi"):
            # State that a loop carries keeps its length.
            length = self._length(value.args[2])
            if length is not None:
                return [self.values.make("item", value, self.values.const(i)) for i in range(length)]
        if value.op == "phi":
            first, second = self._sequence(value.args[1]), self._sequence(value.args[2])
            if first is not None and second is not None and len(first) == len(second):
                return [self.values.phi(value.args[0], a, b) for a, b in zip(first, second, strict=True)]
        return None

    def _length(self, value: Value) -> int | None:
        items = self._sequence(value)
        return None if items is None else len(items)

    def _store_item(self, target: ir.Item, value: Value, frame: Frame, line: int) -> None:
        base = self.eval(target.base, frame)
        index = self.eval(target.index, frame)
        changed: Value | None = None
        if base.op in ("dict", "mu", "out", "phi", "merged", "or"):
            changed = self._dict_set(base, index, value)
        elif base.op in ("inst", "grown", "many", "list"):
            changed = self.values.make("grown", base, (value,))
        if changed is not None:
            self._replace(target.base, changed, frame, line)

    def _replace(self, expression: Expr, value: Value, frame: Frame, line: int) -> None:
        """The object behind a name or an attribute has changed in place."""
        if type(expression) is ir.Name:
            name = expression.id
            owner: Frame | None = frame
            while owner is not None:
                if name in owner.env:
                    owner.env[name] = value
                    return
                owner = owner.parent
        elif type(expression) is ir.Attr:
            base = self.eval(expression.base, frame)
            self._heap[(base, expression.name)] = value

    def _dict_set(self, base: Value, key: Value, value: Value) -> Value:
        if base.op == "dict":
            pairs = tuple(pair for pair in base.args[0] if pair[0] is not key)
            return self.values.make("dict", (*pairs, (key, value)))
        return self.values.make("merged", base, ((key, value),))

    # Expressions

    def eval(self, expression: Expr, frame: Frame) -> Value:
        """The value of an expression here."""
        return _EVAL[type(expression)](self, expression, frame)

    def _const(self, expression: ir.Const, frame: Frame) -> Value:
        return self.values.const(expression.value)

    def _name(self, expression: ir.Name, frame: Frame) -> Value:
        name = expression.id
        value = frame.env.get(name)
        if value is not None:
            if self._watched is not None and value is self._watched[0]:
                self._watched[1] = True
            return value
        if name in frame.locals:
            return self.values.make("unbound", name)
        child, owner = frame, frame.parent
        while owner is not None:
            value = owner.env.get(name)
            if value is not None:
                if self._watched is not None and value is self._watched[0]:
                    self._watched[1] = True
                self._note_capture(name, value, owner, child)
                return value
            if name in owner.locals:
                return self.values.make("unbound", name)
            child, owner = owner, owner.parent
        return self._global(name, frame.module)

    def _note_capture(self, name: str, value: Value, owner: Frame, child: Frame) -> None:
        """A free name is read; under a checkpoint it will be read again during backward."""
        if not self._checkpoints or self._dead or self._quiet:
            return
        checkpoint = self._checkpoints[-1]
        for outer in self._checkpoints:
            if owner.serial < outer.start:
                checkpoint = outer
                break
        else:
            return
        function = child.function
        if function is None:
            return
        owner.captures.append(
            Capture(
                name,
                value,
                self._next(),
                tuple(self._conditions),
                tuple(owner.loops),
                function,
                checkpoint,
                self._site(child, function.span),
            )
        )

    def _global(self, name: str, module: ModuleFacts) -> Value:
        key = (module.path, name)
        found = self._globals.get(key)
        if found is None:
            self._globals[key] = self.values.make("name", module.path, name)  # while it leads back to itself
            definition = self.project.lookup(module, name)
            found = self.values.make("ref", f"builtins.{name}") if definition is None else self._definition(definition)
            self._globals[key] = found
        return found

    def _definition(self, definition: Definition) -> Value:
        if isinstance(definition, FunctionDef):
            return self.values.make("function", definition)
        if isinstance(definition, ClassDef):
            return self.values.make("class", definition)
        if isinstance(definition, ModuleDef):
            return self.values.make("module", definition.path)
        if isinstance(definition, External):
            return self.values.make("ref", definition.name)
        return self._assigned(definition)

    def _assigned(self, definition: AssignDef) -> Value:
        """A module-level name. Constants may be changed at run time, so only callables and displays are looked into."""
        opaque = self.values.make("name", definition.module.path, definition.name)
        value = definition.value
        if isinstance(value, ir.Call):
            called = self.project.dotted(definition.module, value.function)
            if not (isinstance(called, External) and called.name == "functools.partial"):
                return opaque
        elif not isinstance(value, ir.Lambda | ir.Choice | ir.Display):
            return opaque
        saved = self._suspend()
        trace, self._trace = self._trace, None
        result = self.eval(value, self._module_frame(definition.module))
        self._resume(saved)
        self._trace = trace
        return result

    def _module_frame(self, module: ModuleFacts) -> Frame:
        found = self._module_frames.get(module.path)
        if found is None:
            found = self._module_frames[module.path] = Frame(module, None, None, None, 0)
        return found

    def _attr(self, expression: ir.Attr, frame: Frame) -> Value:
        usage = self._usage
        if type(expression.base) is ir.Name and expression.name in _METADATA:
            quiet, self._quiet = self._quiet, True
            base = self.eval(expression.base, frame)
            self._quiet = quiet
        elif type(expression.base) is ir.Call:
            self._usage = f"attribute:{expression.name}"
            base = self.eval(expression.base, frame)
            self._usage = usage
        else:
            base = self.eval(expression.base, frame)
        return self.attribute(base, expression.name, frame)

    def attribute(self, base: Value, name: str, frame: Frame) -> Value:
        """`base.name`."""
        found = self._heap.get((base, name))
        if found is not None:
            return found
        op = base.op
        values = self.values
        if op == "self":
            method = self.project.method(base.args[0], name)
            if method is not None:
                kinds = {_decorator_name(d) for d in method.facts.decorators}
                if "property" in kinds or "cached_property" in kinds:
                    return self._property(base, method, frame)
                if "staticmethod" in kinds:
                    return values.make("function", method)
                return values.make("bound", base, method)
        elif op == "ref":
            return values.make("ref", f"{base.args[0]}.{name}")
        elif op == "module":
            member = self.project.member(base.args[0], name)
            return values.make("attr", base, name) if member is None else self._definition(member)
        elif op == "class":
            definition = self.project.attribute(base.args[0], name)
            if definition is not None:
                return self._definition(definition)
        elif op == "super":
            return self._super_attribute(base, name)
        elif op == "phi":
            test, body, orelse = base.args
            return values.phi(test, self.attribute(body, name, frame), self.attribute(orelse, name, frame))
        return values.make("attr", base, name)

    def _property(self, base: Value, method: FunctionDef, frame: Frame) -> Value:
        if not self._is_likely(method) and not self._building and self._usage != "iterated":
            return self.values.make("attr", base, method.facts.name)
        return self._expand_function(method, [base], [], _NO_SPAN, frame)

    def _super_attribute(self, base: Value, name: str) -> Value:
        owner, instance = base.args
        cls: ClassDef = instance.args[0]
        line = self.project.mro(cls)
        after = line[line.index(owner) + 1 :] if owner in line else ()
        for candidate in after:
            if isinstance(candidate, ClassDef):
                if name in candidate.facts.methods:
                    method = self.project.function_def(candidate.module, candidate.facts.methods[name], candidate)
                    return self.values.make("bound", instance, method)
            elif candidate.name in self._containers or candidate.name in self._mappings:
                return self.values.make("container-method", instance, name)
        return self.values.make("attr", base, name)

    def _item_expression(self, expression: ir.Item, frame: Frame) -> Value:
        usage = self._usage
        index_expression = expression.index
        if type(expression.base) is ir.Call and type(index_expression) is ir.Const:
            self._usage = f"index:{index_expression.value}"
        base = self.eval(expression.base, frame)
        self._usage = "other"
        index = self.eval(index_expression, frame)
        self._usage = usage
        return self.item(base, index)

    def item(self, base: Value, index: Value) -> Value:
        """`base[index]`."""
        values = self.values
        if base.op in ("tuple", "list"):
            items = self._sequence(base)
            if items is not None:
                if index.op == "const" and isinstance(index.args[1], int):
                    position = index.args[1]
                    if -len(items) <= position < len(items):
                        return items[position]
                elif index.op == "slice" and all(p is None or p.op == "const" for p in index.args):
                    bounds = [None if p is None else p.args[1] for p in index.args]
                    if all(b is None or isinstance(b, int) for b in bounds) and bounds[2] != 0:
                        return values.make(base.op, *items[slice(*bounds)])
        elif base.op == "dict" and index.op == "const":
            for key, value in base.args[0]:
                if key is index:
                    return value  # type: ignore[no-any-return]
        elif base.op == "merged":
            for key, value in reversed(base.args[1]):
                if key is index:
                    return value  # type: ignore[no-any-return]
            if index.op == "const":
                return self.item(base.args[0], index)
        elif base.op == "phi":
            test, body, orelse = base.args
            return values.phi(test, self.item(body, index), self.item(orelse, index))
        elif base.op == "pick" and index.op == "const":
            return values.make("pick", base.args[0], tuple(self.item(a, index) for a in base.args[1]))
        elif base.op in ("mu", "out") and index.op == "slice":
            items = self._sequence(base)
            if items is not None:
                return self.item(values.make("tuple", *items), index)
        return values.make("item", base, index)

    def _slice(self, expression: ir.Slice, frame: Frame) -> Value:
        parts = (expression.lower, expression.upper, expression.step)
        return self.values.make("slice", *(None if part is None else self.eval(part, frame) for part in parts))

    def _star(self, expression: ir.Star, frame: Frame) -> Value:
        return self.values.make("star", self.eval(expression.value, frame))

    def _display(self, expression: ir.Display, frame: Frame) -> Value:
        self._usage = "other"
        items = [self.eval(item, frame) for item in expression.items]
        kind = "list" if expression.kind == "list" else "tuple" if expression.kind == "tuple" else "set"
        if kind == "set":
            return self.values.make("op", "set", tuple(items))
        flat: list[Value] = []
        for item in items:
            inside = self._sequence(item.args[0]) if item.op == "star" else None
            if inside is not None:
                flat.extend(inside)
            else:
                flat.append(item)
        return self.values.make(kind, *flat)

    def _mapping(self, expression: ir.Mapping, frame: Frame) -> Value:
        self._usage = "other"
        pairs: dict[Value, Value] = {}
        result: Value | None = None
        for key, item in expression.items:
            value = self.eval(item, frame)
            if key is None:
                if value.op == "dict":
                    pairs.update(value.args[0])
                    continue
                # Keys before and after an unknown splat: the splat is the base that later keys override.
                base = value if not pairs and result is None else self.values.make("union", self._dict(pairs), value)
                result = base if result is None else self.values.make("union", result, base)
                pairs = {}
            else:
                pairs[self.eval(key, frame)] = value
        if result is None:
            return self._dict(pairs)
        return self.values.make("merged", result, tuple(pairs.items())) if pairs else result

    def _dict(self, pairs: dict[Value, Value]) -> Value:
        return self.values.make("dict", tuple(pairs.items()))

    def _bool(self, expression: ir.Bool, frame: Frame) -> Value:
        """`and`/`or`: a later operand runs under what the earlier ones say."""
        mark = len(self._conditions)
        parts = []
        is_and = expression.kind == "and"
        for operand in expression.values:
            self._usage = "other"
            value = self.eval(operand, frame)
            parts.append(value)
            known = self._truth(value)
            if known is (not is_and):
                break
            if known is None:
                self._push(value, is_and, self._next())
        self._truncate(mark)
        if is_and:
            if truth_of(parts[-1]) is None and all(truth_of(part) is True for part in parts[:-1]):
                return parts[-1]
            return self.values.all_of(parts)
        if all(truth_of(part) is False for part in parts[:-1]):
            return parts[-1]
        if truth_of(parts[0]) is True:
            return parts[0]
        return self.values.any_of(parts)

    def _not(self, expression: ir.Not, frame: Frame) -> Value:
        self._usage = "other"
        return self.values.negate(self.eval(expression.value, frame))

    def _compare(self, expression: ir.Compare, frame: Frame) -> Value:
        self._usage = "other"
        left = self.eval(expression.left, frame)
        return self.values.compare(expression.kind, left, self.eval(expression.right, frame))

    def _choice(self, expression: ir.Choice, frame: Frame) -> Value:
        usage = self._usage
        self._usage = "other"
        test = self.eval(expression.test, frame)
        known = self._truth(test)
        self._usage = usage
        if known is not None:
            return self.eval(expression.body if known else expression.orelse, frame)
        mark = len(self._conditions)
        branch = self._next()
        self._push(test, True, branch)
        body = self.eval(expression.body, frame)
        self._truncate(mark)
        self._usage = usage
        self._push(test, False, branch)
        orelse = self.eval(expression.orelse, frame)
        self._truncate(mark)
        return self.values.phi(test, body, orelse)

    def _bind_expression(self, expression: ir.Bind, frame: Frame) -> Value:
        value = self.eval(expression.value, frame)
        owner = frame
        while owner.function is None and owner.parent is not None:
            owner = owner.parent  # a walrus in a comprehension binds outside
        self._bind(expression.name, value, owner, 0)
        return value

    def _comprehension(self, expression: ir.Comprehension, frame: Frame) -> Value:
        inner = Frame(frame.module, None, frame, frame.owner, self._next())
        inner.locals = inner.captured = expression.names
        inner.nested = frame.nested
        inner.loops = frame.loops
        mark = len(self._conditions)
        loops = []
        for generator in expression.generators:
            self._usage = "iterated"
            iterable = self._iterable(generator.iterable, inner)
            loop = self._next()
            loops.append(loop)
            frame.loops.append(loop)
            self._assign(generator.target, self.iterate(iterable, loop), inner, 0, is_target=True)
            for condition in generator.conditions:
                self._usage = "other"
                test = self.eval(condition, inner)
                if self._truth(test) is None:
                    self._push(test, True, self._next())
        self._usage = "other"
        key = None if expression.key is None else self.eval(expression.key, inner)
        element = self.eval(expression.element, inner)
        self._truncate(mark)
        for _ in loops:
            frame.loops.pop()
        self._finish(inner)
        if key is not None:
            return self.values.make("op", "dict-of", (key, element))
        return self.values.make("many", element)

    def _lambda(self, expression: ir.Lambda, frame: Frame) -> Value:
        return self._closure(expression.function, frame)

    def _yield(self, expression: ir.Yield, frame: Frame) -> Value:
        value = self.values.none if expression.value is None else self.eval(expression.value, frame)
        owner = frame
        while owner.function is None and owner.parent is not None:
            owner = owner.parent
        owner.yields.append(self.iterate(value, self._next()) if expression.many else value)
        return self.values.make("unknown", "sent to a generator")

    def _op(self, expression: ir.Op, frame: Frame) -> Value:
        self._usage = "other"
        operands = tuple([self.eval(operand, frame) for operand in expression.operands])
        kind = expression.kind
        if len(operands) == 2 and kind == "+":
            left, right = operands
            if left.op == right.op and left.op in ("tuple", "list"):
                return self.values.make(left.op, *left.args, *right.args)
        return self.values.make("op", kind, operands)

    # Iteration

    def _iterable(self, expression: Expr, frame: Frame) -> Value:
        """What a loop runs over; helpers that make it are expanded."""
        self._building += 1
        try:
            return self.eval(expression, frame)
        finally:
            self._building -= 1

    def iterate(self, value: Value, loop: int) -> Value:
        """What a loop's target is bound to."""
        values = self.values
        op = value.op
        if op in ("tuple", "list", "many"):
            parts = [self.iterate(i.args[0], loop) if i.op == "star" else i for i in value.args]
            return self._pick(loop, parts)
        if op == "grown":
            parts = list(value.args[1])
            base = value.args[0]
            if not (base.op == "list" and not base.args):
                parts.insert(0, self.iterate(base, loop))
            return self._pick(loop, parts)
        if op == "enumerate":
            return values.make("tuple", values.make("index", loop, "index"), self.iterate(value.args[0], loop))
        if op == "zip":
            return values.make("tuple", *(self.iterate(part, loop) for part in value.args))
        if op == "range":
            return values.make("index", loop, "index")
        if op == "items":
            return values.make("tuple", values.make("index", loop, "key"), self.iterate(value.args[0], loop))
        if op == "dict":
            return self._pick(loop, [pair[1] for pair in value.args[0]])
        if op == "phi":
            test, body, orelse = value.args
            return values.phi(test, self.iterate(body, loop), self.iterate(orelse, loop))
        if op == "item" and value.args[1].op == "slice":
            return self.iterate(value.args[0], loop)
        if op == "op" and value.args[0] == "+" and len(value.args[1]) == 2:
            return self._pick(loop, [self.iterate(part, loop) for part in value.args[1]])
        return values.make("elem", loop, value)

    def _pick(self, loop: int, parts: list[Value]) -> Value:
        parts = list(dict.fromkeys(parts))
        if not parts:
            return self.values.make("unknown", "nothing to iterate", loop)
        if len(parts) == 1:
            return parts[0]
        return self.values.make("pick", loop, tuple(parts))

    # Calls

    def _call_expression(self, expression: ir.Call, frame: Frame) -> Value:
        usage = self._usage
        self._usage = "other"
        function = expression.function
        if type(function) is ir.Attr:
            base = self.eval(function.base, frame)
            if base.op in _DATA_OPS:
                done = self._data_method(base, function, expression, frame)
                if done is not None:
                    return done
            callee = self.attribute(base, function.name, frame)
        elif type(function) is ir.Name and function.id == "super" and not expression.arguments:
            return self._super(frame)
        else:
            callee = self.eval(function, frame)
        arguments: list[Value] = []
        for argument in expression.arguments:
            self._usage = "other"
            value = self.eval(argument, frame)
            if value.op == "star":
                inside = self._sequence(value.args[0])
                if inside is not None:
                    arguments.extend(inside)
                    continue
            arguments.append(value)
        keywords: list[tuple[str | None, Value]] = []
        for keyword in expression.keywords:
            self._usage = "other"
            value = self.eval(keyword.value, frame)
            if keyword.name is None:
                keywords.extend(self.expand_keywords(value))
            else:
                keywords.append((keyword.name, value))
        self._usage = usage
        self._starred = any(type(argument) is ir.Star for argument in expression.arguments)
        return self.call(callee, arguments, keywords, expression.span, frame)

    def _super(self, frame: Frame) -> Value:
        owner: Frame | None = frame
        while owner is not None:
            if owner.function is not None and owner.parent is None and owner.function.parameters:
                instance = owner.env.get(owner.function.parameters[0].name)
                if instance is not None and instance.op == "self" and owner.owner is not None:
                    return self.values.make("super", owner.owner, instance)
            owner = owner.parent
        return self.values.make("unknown", "super")

    def expand_keywords(self, value: Value) -> list[tuple[str | None, Value]]:
        """`**value` as keywords; what isn't known stays as (None, value)."""
        values = self.values
        op = value.op
        if op == "dict":
            result: list[tuple[str | None, Value]] = []
            for key, item in value.args[0]:
                if key.op == "const" and isinstance(key.args[1], str):
                    result.append((key.args[1], item))
                else:
                    return [(None, value)]
            return result
        if op == "merged":
            base = self.expand_keywords(value.args[0])
            for key, item in value.args[1]:
                if not (key.op == "const" and isinstance(key.args[1], str)):
                    return [(None, value)]
                base = [pair for pair in base if pair[0] != key.args[1]]
                base.append((key.args[1], item))
            return base
        if op == "union":
            return [*self.expand_keywords(value.args[0]), *self.expand_keywords(value.args[1])]
        if op == "phi":
            test, body, orelse = value.args
            first, second = self.expand_keywords(body), self.expand_keywords(orelse)
            if any(name is None for name, _ in (*first, *second)):
                return [(None, value)] if first != second else first
            left, right = dict(first), dict(second)
            names = list(dict.fromkeys((*left, *right)))
            return [
                (name, values.phi(test, left.get(name, values.absent), right.get(name, values.absent)))
                for name in names
            ]
        if op in ("mu", "out") and value.args[2].op in ("dict", "phi", "merged"):
            inside = self.expand_keywords(value.args[2])
            if all(name is not None for name, _ in inside):
                return [(name, values.make("item", value, values.const(name))) for name, _ in inside]
        if op == "const" and value.args[1] is None:
            return []
        return [(None, value)]

    def call(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        """Calls a value: expands it, notes it, or leaves it as it stands."""
        op = callee.op
        checkpoint = self.checkpoint_kind(callee)
        if checkpoint is not None:
            return self._checkpoint(checkpoint, callee, arguments, keywords, span, frame)
        if op == "closure":
            return self._expand_closure(callee.args[0], arguments, keywords, span, frame)
        if op == "function":
            return self._call_function(callee, arguments, keywords, span, frame)
        if op == "bound":
            return self._call_bound(callee, arguments, keywords, span, frame)
        if op == "partial":
            function, first, more = callee.args
            names = {name for name, _ in keywords}
            kept = [pair for pair in more if pair[0] is None or pair[0] not in names]
            return self.call(function, [*first, *arguments], [*kept, *keywords], span, frame)
        if op == "phi":
            return self._call_choice(callee, arguments, keywords, span, frame)
        if op == "ref":
            return self._call_ref(callee, arguments, keywords, span, frame)
        if op == "class":
            return self.values.make("inst", callee, tuple(arguments), tuple(keywords))
        if op == "container-method":
            if self._contents:
                self._contents[-1].extend(arguments)
            return self.values.none
        if op == "attr":
            return self._call_attribute(callee, arguments, keywords, span, frame)
        if op in _MODULE_OPS and _is_rooted(callee):
            self._note_call(callee, "forward", arguments, keywords, span, frame)
        return self._opaque(callee, arguments, keywords)

    def _opaque(self, callee: Value, arguments: list[Value], keywords: list[tuple[str | None, Value]]) -> Value:
        return self.values.make("call", callee, tuple(arguments), tuple(keywords))

    def _call_choice(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        test, body, orelse = callee.args
        usage = self._usage
        mark = len(self._conditions)
        branch = self._next()
        results = []
        for alternative, holds in ((body, True), (orelse, False)):
            if alternative.op in ("unbound", "absent"):
                continue
            self._usage = usage
            self._push(test, holds, branch)
            results.append(self.call(alternative, arguments, keywords, span, frame))
            self._truncate(mark)
        if len(results) == 1:
            return results[0]
        return self.values.phi(test, results[0], results[1])

    def _call_attribute(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        base, name = callee.args
        if name in ("__call__", "forward") and base.op in (*_MODULE_OPS, "self"):
            self._note_call(base, "forward", arguments, keywords, span, frame)
        elif base.op == "self":
            stored = self.attribute_value(base.args[0], name)
            if stored is not None:
                if self.checkpoint_kind(stored) is not None:
                    kind = self.checkpoint_kind(stored)
                    assert kind is not None
                    return self._checkpoint(kind, callee, arguments, keywords, span, frame)
                if stored.op == "partial" or stored.op == "function":
                    return self.call(stored, arguments, keywords, span, frame)
            self._note_call(callee, "forward", arguments, keywords, span, frame)
        elif base.op in ("elem", "item", "pick", "attr") and _is_rooted(base):
            classes = [c for c in self.classes_of(base) if isinstance(c, ClassDef)]
            if classes and all(self.project.method(c, name) is not None for c in classes):
                self._note_call(base, name, arguments, keywords, span, frame)
            else:
                self._note_call(callee, "forward", arguments, keywords, span, frame)
        if self._building and name in _GROWS:
            self._grow(base, name, arguments, frame)
        return self._opaque(callee, arguments, keywords)

    def _call_ref(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        name: str = callee.args[0]
        values = self.values
        if name.startswith("builtins."):
            known = self._builtin(name[9:], arguments, keywords, frame)
            if known is not None:
                return known
        elif name in ("functools.partial", "torch._dynamo.disable") and arguments and arguments[0].op != "star":
            if name == "functools.partial":
                return values.make("partial", arguments[0], tuple(arguments[1:]), tuple(keywords))
            return arguments[0]
        elif name in ("copy.copy", "copy.deepcopy") and len(arguments) == 1:
            return arguments[0]
        elif name in self._containers or name in self._mappings:
            return values.make("inst", callee, tuple(arguments), tuple(keywords))
        elif name == "itertools.chain":
            return values.make("list", *(values.make("star", argument) for argument in arguments))
        elif name in self.project.profile.module_bases:
            # A bare module is a namespace: each is its own.
            return values.make("inst", callee, tuple(arguments), tuple(keywords), self._next())
        elif name.rsplit(".", 1)[-1][:1].isupper():
            return values.make("inst", callee, tuple(arguments), tuple(keywords))
        return self._opaque(callee, arguments, keywords)

    def _builtin(
        self, name: str, arguments: list[Value], keywords: list[tuple[str | None, Value]], frame: Frame
    ) -> Value | None:
        values = self.values
        count = len(arguments)
        if any(argument.op == "star" for argument in arguments):
            return values.make("zip", *arguments) if name == "zip" else None
        if name == "enumerate" and count >= 1:
            return values.make("enumerate", arguments[0])
        if name == "zip":
            return values.make("zip", *arguments)
        if name == "range":
            return values.make("range", *arguments)
        if name in _IDENTITY and count >= 1:
            items = self._sequence(arguments[0])
            if items is not None:
                if name == "reversed":
                    items.reverse()
                return values.make("tuple" if name == "tuple" else "list", *items)
            return arguments[0]
        if name in ("list", "tuple") and not count:
            return values.make(name)
        if name == "dict":
            if not count:
                return self._dict({values.const(k): v for k, v in keywords if k is not None}) if all(
                    k is not None for k, _ in keywords
                ) else None
            if count == 1:
                pairs = tuple((values.const(k), v) for k, v in keywords if k is not None)
                return values.make("merged", arguments[0], pairs) if pairs else arguments[0]
        if name == "len" and count == 1:
            length = self._length(arguments[0])
            return None if length is None else values.const(length)
        if name == "isinstance" and count == 2:
            return self._isinstance(arguments[0], arguments[1])
        if name == "callable" and count == 1 and arguments[0].op in ("closure", "function", "bound", "partial", "class"):
            return values.true
        if name == "bool" and count == 1:
            return arguments[0] if arguments[0].op in ("and", "or", "not", "cmp", "const") else None
        if name == "getattr" and count >= 2 and arguments[1].op == "const" and isinstance(arguments[1].args[1], str):
            return self.attribute(arguments[0], arguments[1].args[1], frame)
        if name == "map" and count == 2:
            return values.make("many", self.call(arguments[0], [self.iterate(arguments[1], self._next())], [], _NO_SPAN, frame))
        return None

    def _isinstance(self, value: Value, kinds: Value) -> Value | None:
        wanted = kinds.args if kinds.op == "tuple" else (kinds,)
        names = {kind.args[0] for kind in wanted if kind.op == "ref"}
        if value.op in ("tuple", "list", "dict"):
            if f"builtins.{value.op}" in names:
                return self.values.true
            if len(names) == len(wanted) and all(name.startswith("builtins.") for name in names):
                return self.values.false
        if value.op in ("mu", "out") and value.args[2].op in ("tuple",) and "builtins.tuple" in names:
            return self.values.true
        return None

    def _data_method(
        self, base: Value, function: ir.Attr, expression: ir.Call, frame: Frame
    ) -> Value | None:
        """Methods of dicts, lists and containers that change or read them."""
        name = function.name
        values = self.values
        if name in ("items", "values", "keys") and not expression.arguments:
            if name == "values":
                return base
            return values.make("items", base) if name == "items" else values.make("range", base)
        if name == "copy" and not expression.arguments and base.op in ("dict", "list", "merged", "union", "phi"):
            return base
        is_list = base.op in ("list", "grown", "many") or (base.op == "inst" and self._is_container(base))
        if name in ("append", "extend", "insert") and is_list and expression.arguments:
            argument = self.eval(expression.arguments[-1], frame)
            if name == "append" and base.op == "list" and not frame.loops:
                changed = values.make("list", *base.args, argument)
            else:
                if name == "extend":
                    argument = self.iterate(argument, self._next())
                old, items = (base.args[0], base.args[1]) if base.op == "grown" else (base, ())
                changed = values.make("grown", old, (*items, argument)) if argument not in items else base
            self._replace(function.base, changed, frame, expression.span.line)
            return values.none
        if base.op in ("dict", "merged", "phi", "mu", "out", "union"):
            if name == "update":
                changed = base
                for argument in expression.arguments:
                    other = self.eval(argument, frame)
                    if other.op == "dict":
                        for key, value in other.args[0]:
                            changed = self._dict_set(changed, key, value)
                    else:
                        changed = values.make("union", changed, other)
                for keyword in expression.keywords:
                    value = self.eval(keyword.value, frame)
                    if keyword.name is None:
                        changed = values.make("union", changed, value)
                    else:
                        changed = self._dict_set(changed, values.const(keyword.name), value)
                self._replace(function.base, changed, frame, expression.span.line)
                return values.none
            if base.op == "dict" and name in ("get", "pop") and expression.arguments:
                key = self.eval(expression.arguments[0], frame)
                found = next((value for known, value in base.args[0] if known is key), None)
                if name == "pop" and key.op == "const":
                    pairs = tuple(pair for pair in base.args[0] if pair[0] is not key)
                    self._replace(function.base, values.make("dict", pairs), frame, expression.span.line)
                if found is not None:
                    return found
                if key.op == "const" and all(known.op == "const" for known, _ in base.args[0]):
                    if len(expression.arguments) > 1:
                        return self.eval(expression.arguments[1], frame)
                    return values.none if name == "get" else None
        return None

    def _is_container(self, value: Value) -> bool:
        """An instance of ModuleList, Sequential or a class of the tree that inherits from one."""
        called = value.args[0]
        if called.op == "ref":
            return called.args[0] in self._containers
        if called.op == "class":
            return self.project.inherits(called.args[0], self.project.profile.containers)
        return False

    def _grow(self, base: Value, name: str, arguments: list[Value], frame: Frame) -> None:
        """`self.blocks.append(x)` where the list isn't known by value, and `self.append(x)` in a container class."""
        if not arguments:
            return
        if base.op == "self" and self._contents:
            item = arguments[-1]
            if name == "extend":
                item = self.iterate(item, self._next())
            self._contents[-1].append(self.values.make("many", item))

    # Functions

    def _is_likely(self, function: FunctionDef) -> bool:
        found = self._likely.get(function)
        if found is None:
            found = LIKELY.search(self.project.source_of(function)) is not None
            self._likely[function] = found
        return found

    def _call_function(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        function: FunctionDef = callee.args[0]
        flag = self.gate_flag(function)
        if flag is not None:
            return self._gate(function, flag, callee, arguments, keywords, span, frame)
        block = next((a for a in (*arguments, *(v for _, v in keywords)) if a.op in ("elem", "item") and _is_rooted(a)), None)
        if block is not None or (self._checkpoints and self._checkpoints[-1].site.span == span):
            # A function that runs a block: its arguments are the block's.
            applied = self.values.make("applied", callee, block)
            self._note_call(applied, function.facts.name, arguments, keywords, span, frame, function)
        if self._worth_expanding(function, arguments, keywords):
            return self._expand_function(function, arguments, keywords, span, frame)
        return self._opaque(callee, arguments, keywords)

    def _call_bound(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        instance, function = callee.args
        if self._building and self._contents and function.facts.name in _GROWS:
            self._grow(instance, function.facts.name, arguments, frame)
            return self.values.none
        self._note_call(instance, function.facts.name, arguments, keywords, span, frame, function)
        if self._worth_expanding(function, arguments, keywords):
            kinds = {_decorator_name(d) for d in function.facts.decorators}
            first = [] if "staticmethod" in kinds else [instance]
            return self._expand_function(function, [*first, *arguments], keywords, span, frame)
        return self._opaque(callee, arguments, keywords)

    def _worth_expanding(
        self, function: FunctionDef, arguments: list[Value], keywords: list[tuple[str | None, Value]]
    ) -> bool:
        """Whether a function can hold block calls, gates or what a loop runs over; all else stays opaque."""
        if self._building or self._is_likely(function):
            return True
        for value in (*arguments, *(value for _, value in keywords)):
            if self._is_special(value):
                return True
        return False

    def _is_special(self, value: Value) -> bool:
        """A value through which a function can run a block."""
        op = value.op
        if op in ("closure", "partial", "bound", "elem", "pick", "function"):
            return True
        if op == "item":
            return self._is_special(value.args[0]) or (value.args[0].op == "attr" and bool(self.elements_of(value.args[0])))
        if op == "attr" and value.args[0].op == "self":
            return self.checkpoint_kind(value) is not None or bool(self.elements_of(value))
        if op == "phi":
            return self._is_special(value.args[1]) or self._is_special(value.args[2])
        return self.checkpoint_kind(value) is not None

    def _expand_closure(
        self,
        closure: Closure,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        function = closure.function
        return self._expand(
            function, closure.frame.module, closure.frame, closure.frame.owner, closure.defaults, arguments, keywords, span, frame
        )

    def _expand_function(
        self,
        function: FunctionDef,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        summary = self.project.summary(function)
        if summary is None:
            return self._opaque(self.values.make("function", function), arguments, keywords)
        defaults: dict[str, Value] = {}
        outer = self._module_frame(function.module)
        for parameter in summary.parameters:
            if parameter.default is not None:
                defaults[parameter.name] = (
                    self.values.const(parameter.default.value)
                    if type(parameter.default) is ir.Const
                    else self.eval(parameter.default, outer)
                )
        return self._expand(
            summary, function.module, None, function.owner, defaults, arguments, keywords, span, frame
        )

    def _expand(
        self,
        function: Function,
        module: ModuleFacts,
        parent: Frame | None,
        owner: ClassDef | None,
        defaults: dict[str, Value],
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        caller: Frame,
    ) -> Value:
        """Runs a function's body in place of its call."""
        key = (module.path, function.qualname)
        values = self.values
        if len(self._stack) > _MAX_DEPTH or any(entry[2] == key for entry in self._stack):
            return values.make("unknown", "recursion", self._next())
        bound = self._bind_call(function, defaults, arguments, keywords)
        if bound is None:
            return values.make("unknown", f"arguments of {function.name}", self._next())
        frame = Frame(module, function, parent, owner, self._next())
        frame.env = bound
        frame.condition_mark = len(self._conditions)
        frame.usage = self._usage
        for name in function.captured:
            if name in bound:
                self._note_binding(name, bound[name], frame, function.span.line, False)
        if self._trace is not None:
            self._trace.inlined.add(key)
        self._stack.append((caller, span, key))
        alive = self._block(function.body, frame)
        self._stack.pop()
        if alive:
            frame.returns.append((tuple(self._conditions[frame.condition_mark :]), values.none))
        self._truncate(frame.condition_mark)
        self._finish(frame)
        if function.is_generator:
            return values.make("many", *dict.fromkeys(frame.yields)) if frame.yields else values.make("list")
        if not frame.returns:
            return values.make("unknown", "no return", self._next())
        result = frame.returns[-1][1]
        for conditions, value in reversed(frame.returns[:-1]):
            if value is not result:
                result = values.phi(values.all_of(_as_value(values, c) for c in conditions), value, result)
        return result

    def _bind_call(
        self,
        function: Function,
        defaults: dict[str, Value],
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
    ) -> dict[str, Value] | None:
        """Parameters of an expanded function; None when the call can't be bound for certain."""
        values = self.values
        bound: dict[str, Value] = {}
        plain = [p for p in function.parameters if p.kind in ("positional", "any")]
        variadic = next((p for p in function.parameters if p.kind == "variadic"), None)
        rest = next((p for p in function.parameters if p.kind == "keywords"), None)
        names = {p.name for p in function.parameters if p.kind in ("any", "keyword")}
        starred = next((i for i, a in enumerate(arguments) if a.op == "star"), None)
        exact = arguments if starred is None else arguments[:starred]
        for parameter, value in zip(plain, exact, strict=False):
            bound[parameter.name] = value
        extra = list(exact[len(plain) :])
        if starred is not None:
            left = [p for p in plain if p.name not in bound]
            if left:
                # An unknown splat fills the next parameters by position.
                splat = arguments[starred].args[0]
                for index, parameter in enumerate(left):
                    if parameter.name not in dict(keywords):
                        bound[parameter.name] = values.make("item", splat, values.const(index))
                extra = []
            else:
                extra = [*extra, *arguments[starred:]]
        if variadic is not None:
            bound[variadic.name] = values.make("tuple", *extra)
        elif extra and starred is None:
            return None
        others: dict[Value, Value] = {}
        splats: list[Value] = []
        for name, value in keywords:
            if name is None:
                splats.append(value)
            elif name in names:
                if value.op == "phi" and values.absent in value.args and name in defaults:
                    test, body, orelse = value.args
                    body = defaults[name] if body is values.absent else body
                    orelse = defaults[name] if orelse is values.absent else orelse
                    value = values.phi(test, body, orelse)
                bound[name] = value
            elif rest is not None:
                others[values.const(name)] = value
            else:
                return None
        if rest is not None:
            collected = self._dict(others)
            for splat in splats:
                collected = splat if not others and collected.op == "dict" else values.make("union", collected, splat)
            bound[rest.name] = collected
        for parameter in function.parameters:
            if parameter.name not in bound:
                if parameter.name in defaults:
                    bound[parameter.name] = defaults[parameter.name]
                elif splats:
                    bound[parameter.name] = values.make("item", splats[0], values.const(parameter.name))
                else:
                    return None
        return bound

    def _finish(self, frame: Frame) -> None:
        """Judges the free names that checkpointed functions read from this frame, now that all its bindings are seen."""
        if not frame.captures or self._trace is None:
            return
        owner = frame
        while owner.function is None and owner.parent is not None:
            owner = owner.parent
        qualname = owner.function.qualname if owner.function is not None else "<module>"
        by_name: dict[str, list[Rebinding]] = {}
        for binding in frame.bindings:
            by_name.setdefault(binding.name, []).append(binding)
        seen: set[tuple[str, Span, Span]] = set()
        for capture in frame.captures:
            key = (capture.name, capture.function.span, capture.checkpoint.site.span)
            if key in seen:
                continue
            for binding in by_name.get(capture.name, ()):
                if self._follows(capture, binding):
                    seen.add(key)
                    self._trace.late.append(
                        LateRead(capture, binding, frame.module.path, qualname)
                    )
                    break

    def _follows(self, capture: Capture, binding: Rebinding) -> bool:
        """Whether a binding can come between the read and the recompute, with another value."""
        common = 0
        for first, second in zip(capture.loops, binding.loops, strict=False):
            if first != second:
                break
            common += 1
        later = binding.serial > capture.serial
        if not later and not common:
            return False
        shared = frozenset(capture.loops[:common])
        if binding.value is not None and not binding.is_target:
            if self._same_again(binding.value, capture.value, shared):
                return False
        reached = literals(binding.conditions)
        ran = literals(capture.conditions)
        if shared:
            # The next iteration may decide otherwise on whatever changes with it.
            reached_next = [(v, h) for v, h in self._widened(reached) if not v.loops & shared]
            ran_next = [(v, h) for v, h in self._widened(ran) if not v.loops & shared]
            if not exclusive(self.values, ran_next, reached_next):
                return True
            return later and not exclusive(self.values, ran, reached)
        return not exclusive(self.values, ran, reached)

    def _widened(self, conditions: list[tuple[Value, bool]]) -> list[tuple[Value, bool]]:
        """The conditions with what their flags imply: that holds in every iteration."""
        result = list(conditions)
        for value, holds in conditions:
            result.extend(consequences(self.values, value, holds))
        return result

    def _same_again(self, bound: Value, read: Value, shared: frozenset[int]) -> bool:
        """Whether the binding gives the name what it had, whatever the iteration."""
        if bound.op == "closure" and read.op == "closure":
            first, second = bound.args[0], read.args[0]
            return first.function is second.function and not any(
                value.loops & shared for value in first.defaults.values()
            )
        if bound is read:
            return not (bound.loops & shared) and not any(part.op in ("unknown", "iteration") for part in walk(bound))
        return False

    # Gates

    def gate_flag(self, function: FunctionDef) -> str | None:
        """The flag parameter of a gate helper: it returns a modulo test on one parameter, and nothing without the flag."""
        if function in self._gates:
            return self._gates[function]
        self._gates[function] = None
        source = self.project.source_of(function)
        if "%" not in source or function.facts.span.end_line - function.facts.span.line > 60:
            return None
        summary = self.project.summary(function)
        if summary is None or any(p.kind in ("variadic", "keywords") for p in summary.parameters):
            return None
        result = self._symbolic_result(function)
        if result is None:
            return None
        parameters = {
            value.args[2]: value for value in walk(result) if value.op == "param"
        }
        indices = {
            value.args[1][0].args[2]
            for value in walk(result)
            if value.op == "op" and value.args[0] == "%" and value.args[1][0].op == "param"
        }
        for parameter in summary.parameters:
            value = parameters.get(parameter.name)
            if value is None or not indices or parameter.name in indices:
                continue
            if Assumptions(self.values, [(value, False)]).truth(result) is False and (
                Assumptions(self.values, [(value, True)]).truth(result) is not False
            ):
                none_too = Assumptions(self.values, [(self.values.compare("is", value, self.values.none), True)])
                if _is_divisor(parameter.name, result) or none_too.truth(result) is True:
                    continue
                self._gates[function] = parameter.name
                return parameter.name
        return None

    def _symbolic_result(self, function: FunctionDef) -> Value | None:
        """What a small function returns for symbolic parameters."""
        summary = self.project.summary(function)
        if summary is None:
            return None
        key = (function.module.path, summary.qualname)
        arguments = [
            (p.name, self.values.make("param", key, p.kind, p.name)) for p in summary.parameters
        ]
        if any(p.kind == "positional" for p in summary.parameters):
            return None
        saved = self._suspend()
        try:
            return self._expand_function(function, [], list(arguments), _NO_SPAN, self._module_frame(function.module))
        except (_TooLarge, RecursionError):
            return None
        finally:
            self._resume(saved)

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
        value: Value | None = None
        plain = [p.name for p in function.facts.parameters if p.kind in ("positional", "any")]
        starred = any(a.op == "star" for a in arguments) or any(name is None for name, _ in keywords)
        if not starred:
            value = dict(zip(plain, arguments, strict=False)).get(flag, dict(keywords).get(flag))
        gate = self._opaque(callee, arguments, keywords)
        if self._trace is not None and not self._dead:
            self._trace.gates.append(
                GateCall(function, flag, value, gate, tuple(self._conditions), self._site(frame, span))
            )
        if value is None:
            return gate
        known = truth_of(value)
        if known is False:
            return self.values.false
        return gate if known else self.values.all_of((value, gate))

    # Checkpoints

    def checkpoint_kind(self, value: Value) -> CheckpointCallable | None:
        """What kind of checkpoint callable a value is; None when it is none for certain."""
        op = value.op
        if op == "ref":
            return self._callables.get(value.args[0])
        if op == "attr":
            found = self._attributes.get(value.args[1])
            if found is not None:
                return found
            if value.args[0].op == "self" and _CHECKPOINT_WORD.search(value.args[1]):
                stored = self.attribute_value(value.args[0].args[0], value.args[1])
                if stored is not None and stored is not value:
                    return self.checkpoint_kind(stored)
            return None
        if op == "function":
            return self._wrapper(value.args[0])
        if op == "param":
            if _CHECKPOINT_WORD.search(value.args[2]) and value.args[1] in ("any", "keyword", "positional"):
                return _PARAMETER
            return None
        if op == "phi":
            first, second = self.checkpoint_kind(value.args[1]), self.checkpoint_kind(value.args[2])
            if first is not None and second is not None:
                return first
            for found, other in ((first, value.args[2]), (second, value.args[1])):
                if found is not None and found is not _PARAMETER and (
                    other.op in ("unbound", "absent", "unknown", "name", "mu")
                    or (other.op == "const" and other.args[1] is None)
                ):
                    return found
            return None
        if op == "partial":
            return None  # called through, so that its keywords count
        if op == "or":
            kinds = [self.checkpoint_kind(part) for part in value.args]
            return next((kind for kind in kinds if kind is not None), None) if all(kinds) else None
        return None

    def _wrapper(self, function: FunctionDef) -> CheckpointCallable | None:
        """A function that hands its first argument, with all further ones, to a checkpoint."""
        if function in self._wrappers:
            return self._wrappers[function]
        self._wrappers[function] = None
        parameters = function.facts.parameters
        if (
            not parameters
            or parameters[0].kind not in ("any", "positional")
            or not any(p.kind == "variadic" for p in parameters)
            or not self._is_likely(function)
        ):
            return None
        saved = self._suspend()
        trace = self.run(function, None)
        self._resume(saved)
        if trace is None or not trace.calls:
            return None
        for call in trace.calls:
            if call.callee.op != "param" or call.callee.args[2] != parameters[0].name:
                return None
        if not any(call.checkpoint is not None for call in trace.calls):
            return None
        own = tuple(p.name for p in parameters[1:] if p.kind in ("any", "keyword", "positional"))
        found = CheckpointCallable(function.facts.name, "wrapper", own=(*own, *_TORCH_OWN))
        self._wrappers[function] = found
        return found

    def _checkpoint(
        self,
        kind: CheckpointCallable,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        own = kind.own or _TORCH_OWN
        passed: list[tuple[str | None, Value]] = []
        function: Value | None = None
        rest = list(arguments)
        if rest and rest[0].op != "star":
            function = rest.pop(0)
        for name, value in keywords:
            if name in ("function", "run_function", "fn") and function is None:
                function = value
            elif name not in own:
                passed.append((name, value))
        if function is None:
            return self._opaque(callee, arguments, keywords)
        if kind is _PARAMETER and not self._is_special(function) and function.op not in _MODULE_OPS:
            return self._opaque(callee, arguments, keywords)
        site = self._site(frame, span)
        self._checkpoints.append(Checkpoint(site, self._next(), kind.kind))
        self._next()
        usage = self._usage
        if kind.sequential:
            loop = self._next()
            function = self.iterate(function, loop)
            rest = rest[1:]
        elif passed and all(name is None for name, _ in passed):
            # `**ckpt_kwargs` that couldn't be looked into: for the checkpoint, not for the function.
            passed = []
        self._usage = usage
        result = self.call(function, rest, passed, span, frame)
        self._checkpoints.pop()
        return result

    # Notes

    def _site(self, frame: Frame, span: Span) -> Site:
        owner: Frame | None = frame
        while owner is not None and owner.function is None:
            owner = owner.parent
        qualname = owner.function.qualname if owner is not None and owner.function is not None else "<module>"
        class_name = frame.owner.facts.qualname if frame.owner is not None else ""
        return Site(frame.module.path, qualname, class_name, span)

    def _note_call(
        self,
        callee: Value,
        method: str,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
        direct: FunctionDef | None = None,
    ) -> None:
        if self._trace is None or span is _NO_SPAN:
            return
        site = self._site(frame, span)
        outer = site
        if len(self._stack) > 1:
            first_frame, first_span, _ = self._stack[1]
            outer = self._site(first_frame, first_span)
        loops: list[int] = []
        for entry_frame, _, _ in self._stack[1:]:
            loops.extend(entry_frame.loops)
        loops.extend(frame.loops)
        checkpoint = self._checkpoints[-1] if self._checkpoints else None
        scoped = checkpoint is None and any(
            self.checkpoint_kind(value) is not None for value in (*arguments, *(v for _, v in keywords)) if value.op != "param"
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
                outer,
                tuple(dict.fromkeys(loops)),
                self._usage,
                self._dead > 0,
                frame.nested,
                self._starred,
                direct,
            )
        )

    # Classes

    def attribute_value(self, cls: ClassDef, name: str) -> Value | None:
        """What `__init__`, or another method if it doesn't, stores in `self.name`."""
        table = self._table(cls)
        found = table.get(name)
        if found is not None:
            return found
        key = (cls, name)
        if key not in self._extra:
            self._extra[key] = None
            self._extra[key] = self._stored_elsewhere(cls, name)
        return self._extra[key]

    def _table(self, cls: ClassDef) -> dict[str, Value]:
        found = self._tables.get(cls)
        if found is None:
            self._tables[cls] = {}  # while it leads back to itself
            init = self.project.method(cls, "__init__")
            found = self._run_for_attributes(cls, init) if init is not None else {}
            self._tables[cls] = found
        return found

    def _run_for_attributes(self, cls: ClassDef, function: FunctionDef) -> dict[str, Value]:
        summary = self.project.summary(function)
        if summary is None:
            return {}
        saved = self._suspend()
        self._trace = None
        self._building = 1
        instance = self.values.make("self", cls, summary.parameters[0].name if summary.parameters else "self")
        frame = Frame(function.module, summary, None, function.owner, self._next())
        self._enter_parameters(frame, summary, cls, function)
        self._stack.append((frame, summary.span, (function.module.path, summary.qualname)))
        try:
            self._block(summary.body, frame)
        except (_TooLarge, RecursionError):
            pass
        result = {}
        for (base, name), value in self._heap.items():
            if base is instance:
                result[name] = value
            elif base.op == "inst":
                self._namespaces[(base, name)] = value
        self._resume(saved)
        return result

    def _stored_elsewhere(self, cls: ClassDef, name: str) -> Value | None:
        pattern = re.compile(rf"\bself\.{re.escape(name)}\s*(?::[^=\n]+)?=(?!=)")
        found: list[Value] = []
        for base in self.project.mro(cls):
            if not isinstance(base, ClassDef):
                continue
            for method in base.facts.methods.values():
                if method.name == "__init__":
                    continue
                function = self.project.function_def(base.module, method, base)
                if pattern.search(self.project.source_of(function)):
                    value = self._run_for_attributes(cls, function).get(name)
                    if value is not None:
                        found.append(value)
        return self._pick(0, found) if found else None

    def classes_of(self, value: Value) -> tuple[ClassDef | External, ...]:
        """The classes that a module value can be an instance of; none when that isn't known."""
        return tuple(dict.fromkeys(c for c in map(_class_of, self.objects_of(value)) if c is not None))

    def elements_of(self, value: Value) -> tuple[ClassDef | External, ...]:
        """The classes of a container's elements; none when they aren't known, or it is no container."""
        return tuple(dict.fromkeys(c for c in map(_class_of, self.contents_of(value)) if c is not None))

    def objects_of(self, value: Value, depth: int = 0) -> tuple[Value, ...]:
        """The objects, as the calls that made them, that a value can be."""
        if depth > _MAX_LINKS:
            return ()
        op = value.op
        if op in ("inst", "self", "grown", "many", "list", "tuple", "dict"):
            return (value,)
        if op == "elem":
            return self.contents_of(value.args[1], depth + 1)
        if op == "item":
            base, index = value.args
            if index.op == "slice":
                return self.objects_of(base, depth + 1)
            return self.contents_of(base, depth + 1)
        if op == "attr":
            return _flat(
                self._member_objects(owner, value.args[1], depth + 1) for owner in self.objects_of(value.args[0], depth + 1)
            )
        if op == "phi":
            return _flat(self.objects_of(part, depth + 1) for part in value.args[1:])
        if op == "pick":
            return _flat(self.objects_of(part, depth + 1) for part in value.args[1])
        if op in ("mu", "out"):
            return self.objects_of(value.args[2], depth + 1)
        if op == "or":
            return _flat(self.objects_of(part, depth + 1) for part in value.args)
        if op == "op" and value.args[0] in ("+", "*", "dict-of"):
            return (value,)
        return ()

    def _member_objects(self, owner: Value, name: str, depth: int) -> tuple[Value, ...]:
        """The objects that an attribute of an object can be."""
        if owner.op == "inst":
            stored = self._namespaces.get((owner, name))
            if stored is not None:
                return self.objects_of(stored, depth + 1)
        cls = _class_of(owner)
        if isinstance(cls, ClassDef):
            stored = self.attribute_value(cls, name)
            if stored is not None:
                return self.objects_of(stored, depth + 1)
        return ()

    def contents_of(self, value: Value, depth: int = 0) -> tuple[Value, ...]:
        """The objects that a container's elements can be."""
        found = self._contents_cache.get(value)
        if found is None:
            self._contents_cache[value] = ()  # while it leads back to itself
            found = self._find_contents(value, depth) if depth <= _MAX_LINKS else ()
            self._contents_cache[value] = found
        return found

    def _find_contents(self, value: Value, depth: int) -> tuple[Value, ...]:
        op = value.op
        if op in ("tuple", "list", "many"):
            return _flat(
                self.contents_of(item.args[0], depth + 1) if item.op == "star" else self.objects_of(item, depth + 1)
                for item in value.args
            )
        if op == "grown":
            return _flat(
                (self.contents_of(value.args[0], depth + 1), *(self.objects_of(i, depth + 1) for i in value.args[1]))
            )
        if op == "inst":
            return self._contained(value, depth)
        if op == "dict":
            return _flat(self.objects_of(pair[1], depth + 1) for pair in value.args[0])
        if op == "merged":
            parts = (self.objects_of(pair[1], depth + 1) for pair in value.args[1])
            return _flat((self.contents_of(value.args[0], depth + 1), *parts))
        if op == "op":
            if value.args[0] in ("+", "*"):
                return _flat(self.contents_of(part, depth + 1) for part in value.args[1])
            if value.args[0] == "dict-of":
                return self.objects_of(value.args[1][1], depth + 1)
            return ()
        if op in ("enumerate", "items"):
            return self.contents_of(value.args[0], depth + 1)
        return _flat(
            self.contents_of(found, depth + 1) for found in self.objects_of(value, depth + 1) if found is not value
        )

    def _contained(self, value: Value, depth: int) -> tuple[Value, ...]:
        called, arguments, keywords = value.args[:3]
        profile = self.project.profile
        if called.op == "ref":
            name = called.args[0]
            if name.rsplit(".", 1)[-1] == "Sequential":
                return _flat(
                    self.contents_of(a.args[0], depth + 1) if a.op == "star" else self.objects_of(a, depth + 1)
                    for a in arguments
                )
            if (name in self._containers or name in self._mappings) and (arguments or keywords):
                return self.contents_of((*arguments, *(v for _, v in keywords))[0], depth + 1)
        elif called.op == "class":
            cls: ClassDef = called.args[0]
            if self.project.inherits(cls, profile.containers) or self.project.inherits(cls, profile.mappings):
                init = self.project.method(cls, "__init__")
                if init is None:
                    return self.contents_of(arguments[0], depth + 1) if arguments else ()
                return self._filled(cls, init, arguments, keywords, depth)
        return ()

    def _filled(
        self,
        cls: ClassDef,
        init: FunctionDef,
        arguments: tuple[Value, ...],
        keywords: tuple[tuple[str | None, Value], ...],
        depth: int,
    ) -> tuple[Value, ...]:
        """Elements of a container class of the tree: what its `__init__` hands to the base or appends."""
        saved = self._suspend()
        self._trace = None
        self._building = 1
        contents: list[Value] = []
        self._contents.append(contents)
        try:
            instance = self.values.make("self", cls, "self")
            self._expand_function(
                init, [instance, *arguments], list(keywords), _NO_SPAN, self._module_frame(init.module)
            )
        except (_TooLarge, RecursionError):
            pass
        finally:
            self._contents.pop()
            self._resume(saved)
        found = _flat(self.contents_of(content, depth + 1) for content in contents)
        if not found and arguments:
            found = self.contents_of(arguments[0], depth + 1)
        return found


_TORCH_OWN = ("use_reentrant", "context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state")
_PARAMETER = CheckpointCallable("parameter", "wrapper", own=_TORCH_OWN)
_DATA_OPS = frozenset(
    {"dict", "list", "grown", "many", "inst", "merged", "union", "phi", "mu", "out", "attr", "tuple", "param"}
)


def _is_rooted(value: Value) -> bool:
    """Whether a value is reached from `self` or a parameter by attributes, items and iteration only."""
    while True:
        if value.op in ("self", "param"):
            return True
        if value.op == "elem":
            value = value.args[1]
        elif value.op in ("attr", "item"):
            value = value.args[0]
        elif value.op in ("mu", "out"):
            value = value.args[2]
        elif value.op == "pick":
            return any(_is_rooted(part) for part in value.args[1])
        elif value.op in ("op", "list", "tuple", "many", "grown"):
            return True
        else:
            return False


def _is_divisor(name: str, result: Value) -> bool:
    """Whether a parameter is what the index is divided by: an interval, not a flag."""
    for value in walk(result):
        if value.op == "op" and value.args[0] == "%":
            if any(part.op == "param" and part.args[2] == name for part in walk(value.args[1][1])):
                return True
    return False


def _leaves(block: ir.Block) -> bool:
    """Whether a `return`, `break` or `continue` stands in a block. What only raises says little about what goes on."""
    for statement in block:
        kind = type(statement)
        if kind is ir.Return or kind is ir.Jump:
            return True
        if kind is ir.If:
            if _leaves(statement.body) or _leaves(statement.orelse):  # type: ignore[union-attr]
                return True
        elif kind is ir.With or kind is ir.Try:
            if _leaves(statement.body):  # type: ignore[union-attr]
                return True
    return False


def _selects_return(block: ir.Block, name: str) -> bool:
    """Whether all reads of a name are tests of statements that only return, or of the value that is returned."""
    for statement in block:
        rest: object = statement
        if type(statement) is ir.If and _tests_only(statement.test, name) and _only_returns(statement):
            continue
        if type(statement) is ir.Return and type(statement.value) is ir.Choice and _tests_only(statement.value.test, name):
            rest = (statement.value.body, statement.value.orelse)
        if _mentions(rest, name):
            return False
    return True


def _tests_only(test: Expr, name: str) -> bool:
    if type(test) is ir.Not:
        test = test.value
    return type(test) is ir.Name and test.id == name


def _only_returns(statement: ir.If) -> bool:
    return all(type(inner) is ir.Return for inner in (*statement.body, *statement.orelse))


def _mentions(node: object, name: str) -> bool:
    if type(node) is ir.Name:
        return node.id == name
    if isinstance(node, tuple):
        return any(_mentions(part, name) for part in node)
    return False


def _has_more(extra: list[Literal], branch: int) -> bool:
    return any(literal.branch != branch for literal in extra)


def _as_value(values: Values, literal: Literal) -> Value:
    return literal.value if literal.holds else values.negate(literal.value)


def _usage_of(target: Expr) -> str:
    if type(target) is ir.Display:
        return f"unpack:{len(target.items)}"
    return "name" if type(target) is ir.Name else "other"


def _decorator_name(decorator: Expr) -> str:
    if isinstance(decorator, ir.Call):
        decorator = decorator.function
    if isinstance(decorator, ir.Attr):
        return decorator.name
    return decorator.id if isinstance(decorator, ir.Name) else ""


def _flat(parts: Iterable[tuple[Value, ...]]) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(item for part in parts for item in part))


def _class_of(value: Value) -> ClassDef | External | None:
    """The class of an object."""
    if value.op == "self":
        return value.args[0]  # type: ignore[no-any-return]
    if value.op == "inst":
        called = value.args[0]
        if called.op == "class":
            return called.args[0]  # type: ignore[no-any-return]
        if called.op == "ref":
            return External(called.args[0])
    return None


_RUN: dict[type, Callable[[Interpreter, Any, Frame], bool]] = {
    ir.Assign: Interpreter._assign_statement,
    ir.Evaluate: Interpreter._evaluate_statement,
    ir.If: Interpreter._if_statement,
    ir.For: Interpreter._for_statement,
    ir.While: Interpreter._while_statement,
    ir.Try: Interpreter._try_statement,
    ir.With: Interpreter._with_statement,
    ir.Return: Interpreter._return_statement,
    ir.Raise: Interpreter._raise_statement,
    ir.Jump: Interpreter._jump_statement,
    ir.Define: Interpreter._define_statement,
    ir.Delete: Interpreter._delete_statement,
    ir.Assert: Interpreter._assert_statement,
    ir.Import: Interpreter._import_statement,
}
_EVAL: dict[type, Callable[[Interpreter, Any, Frame], Value]] = {
    ir.Const: Interpreter._const,
    ir.Name: Interpreter._name,
    ir.Attr: Interpreter._attr,
    ir.Item: Interpreter._item_expression,
    ir.Slice: Interpreter._slice,
    ir.Star: Interpreter._star,
    ir.Call: Interpreter._call_expression,
    ir.Display: Interpreter._display,
    ir.Mapping: Interpreter._mapping,
    ir.Bool: Interpreter._bool,
    ir.Not: Interpreter._not,
    ir.Compare: Interpreter._compare,
    ir.Choice: Interpreter._choice,
    ir.Bind: Interpreter._bind_expression,
    ir.Comprehension: Interpreter._comprehension,
    ir.Lambda: Interpreter._lambda,
    ir.Yield: Interpreter._yield,
    ir.Op: Interpreter._op,
}
