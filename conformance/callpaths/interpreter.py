"""Runs function summaries on symbolic values and notes how blocks are called.

One pass: a branch runs both sides and joins them, a loop runs its body once with its changing names as symbols, a call
of a closure, a factory, a helper or a segment runner is expanded in place. So every block call is seen with its path
condition, with the values that reach it, and with the checkpoint it runs under. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.callpaths.calls import Calls
from conformance.callpaths.checkpoints import Checkpoints
from conformance.callpaths.expressions import Expressions
from conformance.callpaths.frames import Frame, TooLarge
from conformance.callpaths.late import LateReads
from conformance.callpaths.machine import decorator_name, mentions
from conformance.callpaths.objects import Objects
from conformance.callpaths.statements import Statements
from conformance.callpaths.trace import Trace, literals
from conformance.callpaths.values import Value
from conformance.facts import ir
from conformance.facts.ir import Expr, Function, Span
from conformance.project.project import ClassDef, External, FunctionDef


class Interpreter(Statements, Expressions, Calls, Checkpoints, Objects, LateReads):
    """Runs entries of one project. One object keeps what is learnt about classes, gates and wrappers."""

    def run(
        self,
        function: FunctionDef,
        owner: ClassDef | None,
        settings: Mapping[str, Value] | None = None,
        every_call: bool = False,
        thorough: bool = False,
    ) -> Trace | None:
        """Runs a function as an entry: parameters are symbols, `self` is an instance of `owner`.

        `settings` are parameters whose values are known. With `every_call` all its calls are noted, and functions of
        the tree stay closed; a `thorough` run expands every method of the class that it calls. None when the
        function's text can't be read.
        """
        summary = self.project.summary(function)
        if summary is None:
            return None
        trace = Trace(function.module, owner, summary, every_call=[] if every_call else None)
        saved = self._suspend()
        self._trace = trace
        frame = Frame(function.module, summary, None, function.owner, self._next())
        frame.usage = "return"
        self._backwards = []
        self._enter_parameters(frame, summary, owner, function)
        frame.env.update(settings or {})
        was_thorough, self._thorough = self._thorough, thorough
        self._stack.append((frame, summary.span, (function.module.path, summary.qualname)))
        if any(self._turns_grad_off(function, decorator) for decorator in function.facts.decorators):
            for grad in self._grad_on:
                self._push(grad, False, self._next())
        try:
            self._block(summary.body, frame)
        except TooLarge:
            trace.problems.append("too large to follow")
        except RecursionError:
            trace.problems.append("nested too deeply to follow")
        self._finish(frame)
        trace.returns = frame.returns
        self._thorough = was_thorough
        self._resume(saved)
        return trace

    def follow(
        self, callee: Value, arguments: Sequence[Value], keywords: Sequence[tuple[str | None, Value]], span: Span
    ) -> Trace:
        """What a function of the tree does with these arguments, apart from any entry; `span` is the call's."""
        function: FunctionDef = callee.args[-1]
        summary = self.project.summary(function)
        assert summary is not None
        saved = self._suspend()
        trace = self._trace = Trace(function.module, None, summary)
        first = [callee.args[0]] if callee.op == "bound" and not _is_static(function) else []
        try:
            outer = self._module_frame(function.module)
            self._expand_function(function, [*first, *arguments], list(keywords), span, outer)
        except (TooLarge, RecursionError):
            trace.problems.append("too large to follow")
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
        except (TooLarge, RecursionError):
            found = True
        self._watched = watched
        self._resume(saved)
        self._reads[key] = found
        return found

    def same_effect(
        self,
        function: FunctionDef,
        owner: ClassDef | None,
        name: str,
        options: tuple[Value, Value],
        settings: dict[str, Value],
    ) -> bool:
        """Whether a function does the same for two values of a parameter: `scale = 1.0 if scale is None else scale`.

        It does where it makes the same calls in the same order, stores the same and returns the same.
        """
        summary = self.project.summary(function)
        if summary is None:
            return False
        serial = latest = self._serial
        outcomes = []
        for option in options:
            self._serial = serial  # so that the symbols of both runs are the same
            outcomes.append(self._outcome(function, owner, summary, {**settings, name: option}))
            latest = max(latest, self._serial)
        self._serial = latest
        return outcomes[0] is not None and outcomes[0] == outcomes[1]

    def returned(self, function: FunctionDef, owner: ClassDef | None, settings: dict[str, Value]) -> tuple[Value, ...]:
        """What a function may return where some parameters are set; nothing where that isn't known."""
        key = (function, owner, tuple(sorted((n, id(v)) for n, v in settings.items())))
        found = self._returned.get(key)
        if found is None:
            summary = self.project.summary(function)
            outcome = None
            if summary is not None and not summary.is_generator:
                outcome = self._outcome(function, owner, summary, settings)
            found = ()
            if outcome is not None:
                alive, returns = outcome[:2]
                found = (*(value for _, value in returns), *([self.values.none] if alive else []))
            self._returned[key] = found
        return found

    def _outcome(
        self, function: FunctionDef, owner: ClassDef | None, summary: Function, settings: dict[str, Value]
    ) -> tuple[Any, ...] | None:
        """All that a function does, for parameters of which some are set; None where it can't be followed."""
        saved = self._suspend()
        effects, self._effects = self._effects, []
        self._trace = None
        frame = Frame(function.module, summary, None, function.owner, self._next())
        self._enter_parameters(frame, summary, owner, function)
        frame.env.update(settings)
        self._stack.append((frame, summary.span, (function.module.path, summary.qualname)))
        try:
            alive = self._block(summary.body, frame)
            returns = [(literals(conditions), value) for conditions, value in frame.returns]
            return alive, returns, frame.yields, self._effects, self._heap
        except (TooLarge, RecursionError):
            return None
        finally:
            self._effects = effects
            self._resume(saved)

    def _turns_grad_off(self, function: FunctionDef, decorator: Expr) -> bool:
        """`@torch.no_grad()` and its like."""
        named = decorator.function if isinstance(decorator, ir.Call) else decorator
        target = self.project.dotted(function.module, named)
        return isinstance(target, External) and target.name in self._grad_off

    def only_selects_return(self, function: FunctionDef, name: str) -> bool:
        """Whether a parameter decides on nothing but the form in which the result is returned."""
        summary = self.project.summary(function)
        return summary is not None and _selects_return(summary.body, name)


def _is_static(function: FunctionDef) -> bool:
    return "staticmethod" in map(decorator_name, function.facts.decorators)


def _selects_return(block: ir.Block, name: str) -> bool:
    """Whether all reads of a name are tests of statements that only return, or of the value that is returned."""
    for statement in block:
        rest: object = statement
        if type(statement) is ir.If and _tests_only(statement.test, name) and _only_returns(statement):
            continue
        if (
            type(statement) is ir.Return
            and type(statement.value) is ir.Choice
            and _tests_only(statement.value.test, name)
        ):
            rest = (statement.value.body, statement.value.orelse)
        if mentions(rest, name):
            return False
    return True


def _tests_only(test: Expr, name: str) -> bool:
    if type(test) is ir.Not:
        test = test.value
    return type(test) is ir.Name and test.id == name


def _only_returns(statement: ir.If) -> bool:
    return all(type(inner) is ir.Return for inner in (*statement.body, *statement.orelse))
