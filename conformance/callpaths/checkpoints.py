"""Checkpoint callables, wrappers around them, and gate helpers, each recognised by what it does."""

from __future__ import annotations

import re

from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.frames import Frame, TooLarge
from conformance.callpaths.machine import MODULE_OPS, NO_SPAN, Machine, decorator_name
from conformance.callpaths.trace import Checkpoint, CheckpointCall, GateCall
from conformance.callpaths.values import Value, alternatives, truth_of, walk
from conformance.facts.ir import Span
from conformance.facts.module import is_likely
from conformance.project.profile import CheckpointCallable
from conformance.project.project import FunctionDef

_FOR_CHECKPOINT = re.compile(r"checkpoint|ckpt|reentrant", re.IGNORECASE)
_CHECKPOINT_WORD = re.compile(r"checkpoint|ckpt", re.IGNORECASE)
TORCH_OWN = ("use_reentrant", "context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state")
_FUNCTION_KEYWORDS = ("function", "functions", "run_function", "fn")
_PARAMETER = CheckpointCallable("parameter", "wrapper", own=TORCH_OWN)


class Checkpoints(Machine):
    """A part of the interpreter."""

    def gate_flag(self, function: FunctionDef) -> str | None:
        """The flag parameter of a gate helper: it returns a modulo test on an index, and nothing without the flag."""
        if function in self._gates:
            return self._gates[function]
        self._gates[function] = None
        source = self.project.source_of(function)
        if not ("%" in source or is_likely(source)) or function.facts.span.end_line - function.facts.span.line > 60:
            return None
        summary = self.project.summary(function)
        if summary is None or any(p.kind in ("variadic", "keywords") for p in summary.parameters):
            return None
        result = self.gate_result(function)
        if result is None:
            return None
        parameters = {value.args[2]: value for value in walk(result) if value.op == "param"}
        indices = self._indices(result)
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

    def gate_indices(self, function: FunctionDef) -> set[str]:
        """The parameters of a gate helper that take the index."""
        result = self.gate_result(function)
        return set() if result is None else self._indices(result)

    def _indices(self, result: Value) -> set[str]:
        """Parameters of which a modulo is tested, here or by another gate helper."""
        found: set[str] = set()
        for value in walk(result):
            if value.op == "op" and value.args[0] == "%":
                found.update(part.args[2] for part in walk(value.args[1][0]) if part.op == "param")
            elif value.op == "call" and value.args[0].op == "function" and self.gate_flag(value.args[0].args[0]):
                arguments = (*value.args[1][:1], *(v for _, v in value.args[2][:1]))
                found.update(part.args[2] for argument in arguments for part in walk(argument) if part.op == "param")
        return found

    def gate_result(self, function: FunctionDef) -> Value | None:
        """What a gate helper returns, made of its parameters."""
        if function not in self._gate_results:
            self._gate_results[function] = self._symbolic_result(function)
        return self._gate_results[function]

    def _symbolic_result(self, function: FunctionDef) -> Value | None:
        """What a small function returns for symbolic parameters."""
        summary = self.project.summary(function)
        if summary is None:
            return None
        key = (function.module.path, summary.qualname)
        symbols = [(p, self.values.make("param", key, p.kind, p.name)) for p in summary.parameters]
        leading = [symbol for parameter, symbol in symbols if parameter.kind == "positional"]
        arguments = [(parameter.name, symbol) for parameter, symbol in symbols if parameter.kind != "positional"]
        saved = self._suspend()
        self._trace = None
        try:
            return self._expand_function(
                function, leading, list(arguments), NO_SPAN, self._module_frame(function.module)
            )
        except (TooLarge, RecursionError):
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

    def checkpoint_kind(self, value: Value) -> CheckpointCallable | None:
        """What kind of checkpoint callable a value is; None when it is none for certain."""
        op = value.op
        if op == "ref":
            return self._callables.get(value.args[0])
        if op == "attr":
            found = self._attributes.get(value.args[1])
            if found is not None:
                return found
            if value.args[0].op == "self":
                kinds = [
                    self.checkpoint_kind(stored)
                    for stored in self.attribute_values(value.args[0].args[0], value.args[1])
                    if stored is not value and stored is not self.values.none
                ]
                return kinds[0] if kinds and all(kinds) else None
            return None
        if op == "function":
            return self._wrapper(value.args[0])
        if op == "bound":
            return self._wrapper(value.args[1])
        if op == "param":
            if _CHECKPOINT_WORD.search(value.args[2]) and value.args[1] in ("any", "keyword", "positional"):
                return _PARAMETER
            return None
        if op == "phi":
            first, second = self.checkpoint_kind(value.args[1]), self.checkpoint_kind(value.args[2])
            if first is not None and second is not None:
                return first
            for found, other in ((first, value.args[2]), (second, value.args[1])):
                if (
                    found is not None
                    and found is not _PARAMETER
                    and (
                        other.op in ("unbound", "absent", "unknown", "name", "mu")
                        or (other.op == "const" and other.args[1] is None)
                    )
                ):
                    return found
            return None
        if op == "or":
            kinds = [self.checkpoint_kind(part) for part in value.args]
            return next((kind for kind in kinds if kind is not None), None) if all(kinds) else None
        return None

    def is_checkpoint(self, value: Value) -> bool:
        """Whether a value is a checkpoint callable, or a partial of one (which is called through)."""
        if value.op == "partial":
            return self.is_checkpoint(value.args[0])
        if value.op == "phi":
            return self.checkpoint_kind(value) is not None or all(map(self.is_checkpoint, value.args[1:]))
        if value.op == "attr" and value.args[0].op == "self" and value.args[1] not in self._attributes:
            stored = self.stored_callable(value)
            if stored is not None and stored.op == "partial":
                return self.is_checkpoint(stored)
        return self.checkpoint_kind(value) is not None

    def stored_callable(self, value: Value) -> Value | None:
        """The function that `self.name` holds wherever it isn't None; None where it holds no function of the tree."""
        for stored in self.attribute_values(value.args[0].args[0], value.args[1]):
            parts = [part for part in alternatives(stored) if part is not self.values.none and part.op != "unbound"]
            if parts and parts[0].op in ("partial", "function", "closure"):
                return parts[0]
        return None

    def _wrapper(self, function: FunctionDef) -> CheckpointCallable | None:
        """A function that hands its first argument, with all further ones, to a checkpoint."""
        if function in self._wrappers:
            return self._wrappers[function]
        self._wrappers[function] = None
        parameters = function.facts.parameters
        is_method = function.owner is not None and "staticmethod" not in map(decorator_name, function.facts.decorators)
        if is_method:
            parameters = parameters[1:]
        if (
            not parameters
            or parameters[0].kind not in ("any", "positional")
            or not any(p.kind == "variadic" for p in parameters)
            or not self.is_likely(function)
        ):
            return None
        saved = self._suspend()
        trace = self.run(function, function.owner if is_method else None)
        self._resume(saved)
        if trace is None or not trace.calls:
            return None
        for call in trace.calls:
            if call.callee.op != "param" or call.callee.args[2] != parameters[0].name:
                return None
        if any(call.checkpoint is None for call in trace.calls):
            return None  # a helper that holds both paths
        own = tuple(p.name for p in parameters[1:] if p.kind in ("any", "keyword", "positional"))
        found = CheckpointCallable(function.facts.name, "wrapper", own=(*own, *TORCH_OWN))
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
        own = kind.own or TORCH_OWN
        passed: list[tuple[str | None, Value]] = []
        function: Value | None = None
        rest = list(arguments)
        if rest and rest[0].op != "star":
            function = rest.pop(0)
        for name, value in keywords:
            if name in _FUNCTION_KEYWORDS and function is None:
                function = value
            elif kind.sequential and name in ("segments", "input"):
                rest.append(value)
            elif name not in own:
                passed.append((name, value))
        if function is None:
            if arguments:
                self._checkpoints.append(Checkpoint(self._site(frame, span), self._next(), kind.kind))
                self._note_call(arguments[0], "forward", rest, passed, span, frame)
                self._checkpoints.pop()
            return self._opaque(callee, arguments, keywords)
        if kind is _PARAMETER and not self._is_special(function) and function.op not in MODULE_OPS:
            return self._opaque(callee, arguments, keywords)
        if self._trace is not None and callee.op in ("function", "bound"):
            wrapper: FunctionDef = callee.args[-1]
            self._trace.inlined.add((wrapper.module.path, wrapper.facts.qualname))
        site = self._site(frame, span)
        self._checkpoints.append(Checkpoint(site, self._next(), kind.kind))
        self._next()
        usage = self._usage
        if kind.sequential:
            # checkpoint_sequential(functions, segments, input)
            function = self.iterate(function, self._next())
            rest = rest[1:]
        else:
            # `**ckpt_kwargs` that couldn't be looked into: for the checkpoint, not for the function.
            passed = [pair for pair in passed if pair[0] is not None or not _FOR_CHECKPOINT.search(pair[1].text)]
        self._usage = usage
        result = self.call(function, rest, passed, span, frame)
        self._checkpoints.pop()
        return result

    def _note_checkpoint(
        self,
        kind: CheckpointCallable,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> None:
        if self._trace is None or span is NO_SPAN:
            return
        function = arguments[0] if arguments and arguments[0].op != "star" else None
        if function is None:
            function = next((value for name, value in keywords if name in _FUNCTION_KEYWORDS), None)
        site = self._site(frame, span)
        self._trace.checkpoints.append(
            CheckpointCall(
                callee,
                kind,
                function,
                tuple(arguments),
                tuple(keywords),
                tuple(self._conditions),
                site,
                self._outer(site),
                self._open_loops(frame),
                self._dead > 0,
                bool(self._checkpoints),
            )
        )


def _is_divisor(name: str, result: Value) -> bool:
    """Whether a parameter is what the index is divided by: an interval, not a flag."""
    return any(
        part.op == "param" and part.args[2] == name
        for value in walk(result)
        if value.op == "op" and value.args[0] == "%"
        for part in walk(value.args[1][1])
    )
