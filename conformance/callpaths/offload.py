"""Attention that runs outside the context which a control turns on, in a function that takes the control."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from conformance.callpaths.attention import Attention, has_name
from conformance.callpaths.binding import bind
from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.machine import METADATA, decorator_name
from conformance.callpaths.trace import AnyCall, Literal, OpenContext, Site, literals
from conformance.callpaths.values import Value, children, truth_of, walk
from conformance.facts.ir import Const, Parameter
from conformance.facts.module import ModuleFacts
from conformance.project.project import ClassDef, FunctionDef

_OFFLOADS = re.compile("offload", re.IGNORECASE)
_ACTIVATIONS = re.compile("activation|attention|attn|saved", re.IGNORECASE)
_ENTERS = re.compile(r"\b(?:with |with\(|enter_context\()")
_ENTERED = (re.compile(r"with\b((?:.*[(,]\n)*.*)"), re.compile(r"enter_context\(((?:.*[(,]\n)*.*)"))
"""What is entered, by the text: to the end of the line, or of the lines that it goes on in."""
_STORED = re.compile(r"^[ \t]*(\w+) *=(?!=)(.*)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CALLED = re.compile(r"(?<![.\w])([A-Za-z_]\w*)\(")
_HOLDS = frozenset({"and", "or", "not", "cmp", "tuple", "list", "dict", "merged", "union", "star"})
_TESTS = frozenset({"and", "or", "not", "cmp", "phi"})
_MAX_NESTED = 6


@dataclass(frozen=True, slots=True)
class Taker:
    """A function that takes a control for the context around attention."""

    function: FunctionDef
    owner: ClassDef | None
    parameter: str
    handed: Site | None = None
    """The call that hands it the control, where that is what makes it one."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A call that computes attention outside the context."""

    taker: Taker
    call: AnyCall
    runs: tuple[FunctionDef, ...]
    """What the call runs, as far as it is in the tree."""
    covered: Site | None
    """A call of the same function that runs under the context."""
    context: str
    """How the context manager is called; empty where none is known."""


class Scopes:
    """Finds gaps, function by function."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.project = interpreter.project
        self.attention = Attention(interpreter)
        self._controls = {c.parameter: c.context for c in self.project.profile.controls_of("offload") if c.parameter}
        self._named = frozenset(filter(None, self._controls.values()))
        self._hooks = [name.rsplit(".", 1)[-1] for name in self.project.profile.offload_hooks]
        self._takers: dict[str, tuple[Taker, ...]] = {}
        self._calls: dict[tuple[FunctionDef, ClassDef | None], tuple[AnyCall, ...]] = {}

    # Who takes a control

    def takers(self, path: str) -> tuple[Taker, ...]:
        """The functions of a file that take a control: one that the profile names, or one that is used as one."""
        found = self._takers.get(path)
        if found is None:
            module = self.project.module(path)
            found = self._takers[path] = () if module is None else tuple(self._find_takers(module))
        return found

    def _find_takers(self, module: ModuleFacts) -> Iterator[Taker]:
        found: list[Taker] = []
        for function, owner in self._functions(module):
            named = next((p for p in function.facts.parameters if p.name in self._controls), None)
            if named is not None:
                found.append(Taker(function, owner, named.name))
            else:
                found.extend(
                    Taker(function, owner, parameter.name)
                    for parameter in self._candidates(function)
                    if self._turns_on(function, owner, parameter)
                )
        yield from found
        # What is a control in one function of a file is one in the others.
        names = {taker.parameter for taker in found} - self._controls.keys()
        known = {taker.function for taker in found}
        for function, owner in self._functions(module) if names else ():
            for parameter in function.facts.parameters:
                if parameter.name in names and function not in known and _is_switch(parameter):
                    yield Taker(function, owner, parameter.name)

    def _functions(self, module: ModuleFacts) -> Iterator[tuple[FunctionDef, ClassDef | None]]:
        for facts in module.functions.values():
            yield self.project.function_def(module, facts), None
        for class_facts in module.classes.values():
            owner = self.project.class_def(module, class_facts.qualname)
            for facts in class_facts.methods.values():
                function = self.project.function_def(module, facts, owner)
                is_static = "staticmethod" in map(decorator_name, facts.decorators)
                yield function, None if is_static else owner

    def _candidates(self, function: FunctionDef) -> list[Parameter]:
        """Switches of a function that may decide on a context that offloads, by a look at its text."""
        switches = [p for p in function.facts.parameters if _is_switch(p)]
        source = self.project.source_of(function) if switches else ""
        if not ("with" in source or "enter_context" in source) or not self._enters_offloading(function, source):
            return []
        return [p for p in switches if re.search(rf"(?:[(,=]\s*|\bif\s+(?:not\s+)?){p.name}\b", source)]

    def _enters_offloading(self, function: FunctionDef, source: str) -> bool:
        """Whether a context manager that is entered may have offloading in its name, or opens the hooks for it."""
        entered = " ".join(text for entered in _ENTERED for text in entered.findall(source))
        if self._is_offloading(entered):
            return True
        if self._is_offloading(source):
            stored = {name for name, value in _STORED.findall(source) if self._is_offloading(value)}
            if not stored.isdisjoint(_WORD.findall(entered)):
                return True
        return any(self._opens_hooks(function, name) for name in dict.fromkeys(_CALLED.findall(entered)))

    def _is_offloading(self, text: str) -> bool:
        return bool(_OFFLOADS.search(text)) or any(hook in text for hook in self._hooks)

    def _opens_hooks(self, function: FunctionDef, name: str) -> bool:
        target = self.project.lookup(function.module, name)
        if not isinstance(target, FunctionDef | ClassDef):
            return False
        op = "function" if isinstance(target, FunctionDef) else "class"
        return self.attention.opens_hooks(self.interpreter.values.make(op, target))

    def _turns_on(self, function: FunctionDef, owner: ClassDef | None, parameter: Parameter) -> bool:
        """Whether a parameter decides on a context around attention that offloads."""
        control = self._symbol(function, parameter.name)
        return any(
            any(self._is_turned_on(context, control) for context in call.contexts) and self._computes(call)
            for call in self.calls(function, owner)
        )

    def _is_turned_on(self, context: OpenContext, control: Value) -> bool:
        """Whether a context that offloads gets the control, or is entered only where it is on."""
        if not any(self._offloads_activations(made, control) for made in _makers(context.value)):
            return False
        if self._gets(context.value, control):
            return True
        # `if offload: with offloaded():`, unless another parameter decides.
        is_decided = any(part.op == "param" for part in children(context.value))
        return not is_decided and any(c.value is control and c.holds for c in context.conditions)

    def _gets(self, context: Value, control: Value) -> bool:
        """Whether the control decides on a context: as an argument of what makes it, or in the choice of it."""
        if context.op == "phi":
            test, body, orelse = context.args
            return _depends_on(test, control) or self._gets(body, control) or self._gets(orelse, control)
        if context.op not in ("call", "inst") or self._is_neutral(context.args[0]):
            return False
        passed = (*context.args[1], *(value for _, value in context.args[2]))
        return any(
            _is_control(value, control)
            or (value.op in ("call", "inst") and self._offloads(value.args[0]) and self._gets(value, control))
            for value in passed
        )

    def _is_neutral(self, maker: Value) -> bool:
        """A context manager of torch or the standard library that keeps no tensor elsewhere: `autocast`."""
        if maker.op != "ref" or maker.args[0] in self.project.profile.offload_hooks:
            return False
        return maker.args[0].split(".", 1)[0] in ("torch", "contextlib")

    def _offloads(self, maker: Value) -> bool:
        return bool(_OFFLOADS.search(_last_name(maker))) or self.attention.opens_hooks(maker)

    def _offloads_activations(self, maker: Value, control: Value) -> bool:
        """Whether a context is for activations; weights are offloaded, too, and around other things."""
        words = f"{_last_name(maker)} {control.args[2]}"
        return self.attention.opens_hooks(maker) or bool(_OFFLOADS.search(words) and _ACTIVATIONS.search(words))

    # Gaps

    def gaps(self, takers: Iterable[Taker]) -> Iterator[Gap]:
        """The gaps of functions, and of those that they hand the control to."""
        queue = list(takers)
        done: set[tuple[FunctionDef, str]] = set()
        for taker in queue:
            if (taker.function, taker.parameter) in done:
                continue
            done.add((taker.function, taker.parameter))
            if self._may_be_scoped(taker):
                continue
            control = self._symbol(taker.function, taker.parameter)
            calls = self.calls(taker.function, taker.owner)
            queue.extend(self._handed(calls, control))
            yield from self._gaps_of(taker, control, calls)

    def _gaps_of(self, taker: Taker, control: Value, calls: tuple[AnyCall, ...]) -> Iterator[Gap]:
        learned = self._context_functions(calls, control)
        open_calls = []
        covered: Site | None = None
        for call in calls:
            if any(self._covers(context, control, learned) for context in call.contexts):
                if covered is None and self._computes(call):
                    covered = call.site
            elif not self._is_handed(call, control):
                open_calls.append(call)
        seen: set[Site] = set()
        for call in open_calls:
            if call.site not in seen and self._computes(call) and self._may_be_on(call.conditions, control):
                seen.add(call.site)
                name = self._controls.get(taker.parameter, "") or next(map(_last_name, learned), "")
                runs = tuple(function for function, _ in self.attention.functions(call.callee))
                yield Gap(taker, call, runs, covered, name.rsplit(".", 1)[-1])

    def calls(self, function: FunctionDef, owner: ClassDef | None) -> tuple[AnyCall, ...]:
        """All calls of a function, with the contexts that are open there."""
        key = (function, owner)
        found = self._calls.get(key)
        if found is None:
            trace = self.interpreter.run(function, owner, every_call=True)
            found = () if trace is None or trace.every_call is None or trace.problems else tuple(trace.every_call)
            self._calls[key] = found
        return found

    def _symbol(self, function: FunctionDef, name: str) -> Value:
        kind = next(p.kind for p in function.facts.parameters if p.name == name)
        return self.interpreter.values.make("param", (function.module.path, function.facts.qualname), kind, name)

    def _computes(self, call: AnyCall) -> bool:
        return self.attention.computes(call.callee, call.arguments, call.keywords)

    def _may_be_scoped(self, taker: Taker) -> bool:
        """Whether a decorator may open the context: one of the tree that enters one, or one that names the control."""
        for decorator in taker.function.facts.decorators:
            if taker.parameter in repr(decorator):
                return True
            target = self.project.dotted(taker.function.module, getattr(decorator, "function", decorator))
            if isinstance(target, FunctionDef) and _ENTERS.search(self.project.source_of(target)):
                return True
        return False

    def _is_handed(self, call: AnyCall, control: Value) -> bool:
        passed = (*call.arguments, *(value for _, value in call.keywords))
        return control in call.stored or any(_is_control(value, control) for value in passed)

    def _handed(self, calls: Iterable[AnyCall], control: Value) -> Iterator[Taker]:
        """The functions that the control is handed on to."""
        for call in calls:
            if not self._is_handed(call, control):
                continue
            for function, owner in self.attention.functions(call.callee):
                parameters = function.facts.parameters[1 if owner is not None else 0 :]
                if "staticmethod" in map(decorator_name, function.facts.decorators):
                    parameters, owner = function.facts.parameters, None
                for name, value in bind(parameters, call.arguments, call.keywords).values.items():
                    if _is_control(value, control) and any(p.name == name for p in parameters):
                        yield Taker(function, owner, name, call.site)

    def _context_functions(self, calls: Iterable[AnyCall], control: Value) -> list[Value]:
        """What makes the contexts that get the control."""
        found: dict[Value, None] = {}
        for call in calls:
            for context in call.contexts:
                if self._gets(context.value, control):
                    found.update(dict.fromkeys(m for m in _makers(context.value) if self._offloads(m)))
        return list(found)

    def _covers(self, context: OpenContext, control: Value, learned: list[Value]) -> bool:
        """Whether a context is, or may be, the one that the control turns on."""
        if self._gets(context.value, control):
            return True
        makers = list(_makers(context.value))
        if _depends(context.conditions, control):
            return not all(map(self._is_neutral, makers)) or not makers
        for maker in makers:
            if maker in learned or self._is_named(maker) or self.attention.opens_hooks(maker):
                return not _is_off(context.value)
        return not makers  # a context that nothing is known of

    def _is_named(self, maker: Value) -> bool:
        if maker.op == "ref":
            return maker.args[0] in self._named
        return maker.op == "function" and has_name(maker.args[0], self._named)

    def _may_be_on(self, conditions: tuple[Literal, ...], control: Value) -> bool:
        """Whether a call's activations are to be offloaded there: it is trained, and the control can be on."""
        values = self.interpreter.values
        known = literals(conditions)
        parts = {part for value, _ in known for part in walk(value, 200)}
        trained = [
            (part, True) for part in parts if part.op == "attr" and part.args[1] in ("training", "requires_grad")
        ]
        grad = [(test, True) for test in self.interpreter.grad_tests]
        assumptions = Assumptions(values, [*known, *trained, *grad])
        if assumptions.contradictory or assumptions.truth(control) is False:
            return False
        caches = self.project.profile.caches
        for part in parts:
            is_cache = part.op == "cmp" and part.args[0] == "is" and part.args[1].op == "param"
            if is_cache and part.args[1].args[2] in caches and assumptions.truth(part) is False:
                return False  # a cache is kept for inference only
        if assumptions.truth(control) is True:
            return True
        undecided = [value for value, _ in known if _depends_on(value, control)]
        return all(_is_setting(value, control) for value in undecided)


def _is_switch(parameter: Parameter) -> bool:
    return isinstance(parameter.default, Const) and (
        parameter.default.value is None or isinstance(parameter.default.value, bool)
    )


def _is_control(value: Value, control: Value, depth: int = 0) -> bool:
    """Whether a value is the control, is told by it alone, or holds it."""
    if value is control:
        return True
    op = value.op
    if depth > _MAX_NESTED:
        return False
    if op == "phi":
        test, body, orelse = value.args
        tells = body.op == "const" and orelse.op == "const" and _is_control(test, control, depth + 1)
        return tells or _is_control(body, control, depth + 1) or _is_control(orelse, control, depth + 1)
    if op == "call":
        is_bool = value.args[0].op == "ref" and value.args[0].args[0] == "builtins.bool"
        return is_bool and any(_is_control(part, control, depth + 1) for part in value.args[1])
    return op in _HOLDS and any(_is_control(part, control, depth + 1) for part in children(value))


def _depends_on(value: Value, control: Value, depth: int = 0) -> bool:
    """Whether a test asks for the control; what a tensor was made with doesn't count."""
    if value is control:
        return True
    if depth > _MAX_NESTED:
        return False
    if value.op == "call":
        return value.args[0].op == "ref" and any(_depends_on(part, control, depth + 1) for part in value.args[1])
    return value.op in _TESTS and any(_depends_on(part, control, depth + 1) for part in children(value))


def _depends(conditions: Iterable[Literal], control: Value) -> bool:
    return any(_depends_on(condition.value, control) for condition in conditions)


def _makers(context: Value) -> Iterator[Value]:
    """The functions whose calls can have made a context."""
    if context.op == "phi":
        for part in context.args[1:]:
            yield from _makers(part)
    elif context.op in ("call", "inst"):
        yield context.args[0]


def _last_name(maker: Value) -> str:
    return maker.text.rsplit(".", 1)[-1]


def _is_off(context: Value) -> bool:
    """`offload_context(False)`."""
    if context.op not in ("call", "inst"):
        return False
    first = (*context.args[1][:1], *(v for name, v in context.args[2] if name in ("enabled", "enable")))
    return any(value.op == "const" and truth_of(value) is False for value in first)


def _is_setting(value: Value, control: Value) -> bool:
    """Whether apart from the control only switches of the model are tested, nothing that tells of the tensors."""
    if value is control or value.op == "const":
        return True
    if value.op in ("not", "and", "or"):
        return all(_is_setting(part, control) for part in value.args)
    if value.op == "attr":
        return value.args[0].op == "self" and value.args[1] not in METADATA
    return False
