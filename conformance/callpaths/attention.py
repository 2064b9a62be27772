"""Which calls compute attention, recognised by what they reach: a kernel, a dispatch function, an attention module."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from conformance.callpaths.binding import bind
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.machine import decorator_name
from conformance.callpaths.values import Value
from conformance.facts import ir
from conformance.facts.ir import Expr, Function
from conformance.project.project import AssignDef, ClassDef, Definition, External, FunctionDef

_MAX_DEPTH = 12
"""Longest chain of calls to a kernel."""
_UNCHANGED = frozenset({"torch.compile", "torch.compiler.disable", "torch._dynamo.disable", "functools.partial"})
_ENTRIES = frozenset({"forward", "__call__"})
_NONE: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Body:
    """What a function says in any of its lines, those of nested functions included."""

    calls: list[ir.Call] = field(default_factory=list)
    stored: dict[str, list[Expr]] = field(default_factory=dict)
    iterated: dict[str, Expr] = field(default_factory=dict)
    """What a loop runs over, by the name of its target."""
    imports: dict[str, ir.Imported] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    """Names that are bound there."""


class Attention:
    """Answers for one project; what a function reaches is found once."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.project = interpreter.project
        profile = self.project.profile
        self._functions = frozenset(profile.attention_functions)
        self._modules = frozenset(profile.attention_modules)
        self._hooks = frozenset(profile.offload_hooks)
        self._checkpoints = frozenset(c.name for c in profile.checkpoints if not c.attribute)
        self._bodies: dict[FunctionDef, _Body] = {}
        self._reached: dict[tuple[FunctionDef, ClassDef | None, frozenset[str]], bool] = {}
        self._opens: dict[FunctionDef, bool] = {}
        self._depth = 0

    # Values, as the interpreter sees them

    def computes(
        self,
        callee: Value,
        arguments: tuple[Value, ...] = (),
        keywords: tuple[tuple[str | None, Value], ...] = (),
    ) -> bool:
        """Whether a call computes attention for certain; False where the callee isn't known."""
        op = callee.op
        if op == "ref":
            name: str = callee.args[0]
            return name in self._functions
        if op in ("function", "bound"):
            function: FunctionDef = callee.args[-1]
            owner = callee.args[0].args[0] if op == "bound" else None
            return self.reaches(function, owner, self._handed(function, op == "bound", arguments, keywords))
        if op == "phi":
            return any(self.computes(part, arguments, keywords) for part in callee.args[1:])
        if op == "name":
            return self._is_kernel(callee.args[0], callee.args[1])
        objects = self.interpreter.objects_of(callee)
        if objects:
            return any(map(self._runs, objects))
        if op != "attr":
            return False
        base, method = callee.args
        if base.op == "class":
            kernel = self.project.method(base.args[0], "forward") if method == "apply" else None
            return kernel is not None and self.reaches(kernel, base.args[0])
        if base.op == "self" and self._is_set_to_attention(base.args[0], method):
            return True
        return any(self._runs(owner, method) for owner in self._owners(base))

    def _is_kernel(self, path: str, name: str) -> bool:
        """Whether a name at the top of a module stands for what computes attention: `run = torch.compile(kernel)`."""
        module = self.project.module(path)
        target = None if module is None else self._plain(self.project.lookup(module, name))
        if isinstance(target, External):
            return target.name in self._functions
        return isinstance(target, FunctionDef) and self.reaches(target, None)

    def functions(self, callee: Value) -> Iterator[tuple[FunctionDef, ClassDef | None]]:
        """The functions of the tree that a call of a value runs, with the class of `self`."""
        if callee.op == "function":
            yield callee.args[0], None
        elif callee.op == "bound":
            yield callee.args[1], callee.args[0].args[0]
        else:
            name = ""
            objects = self.interpreter.objects_of(callee)
            if not objects and callee.op == "attr":
                objects, name = self._owners(callee.args[0]), callee.args[1]
            for made in objects:
                cls = _class_of(made)
                if isinstance(cls, ClassDef):
                    method = self.project.method(cls, name) if name else self._entry(cls)
                    if method is not None:
                        yield method, cls

    def opens_hooks(self, callee: Value) -> bool:
        """Whether a context manager decides where saved tensors are kept, itself or through what it calls."""
        if callee.op == "ref":
            return callee.args[0] in self._hooks
        if callee.op == "class":
            cls: ClassDef = callee.args[0]
            if any(isinstance(base, External) and base.name in self._hooks for base in self.project.mro(cls)):
                return True
            methods = (self.project.method(cls, name) for name in ("__init__", "__enter__"))
            return any(self._opens_hooks(method, 0) for method in methods if method is not None)
        return any(self._opens_hooks(function, 0) for function, _ in self.functions(callee))

    def _opens_hooks(self, function: FunctionDef, depth: int) -> bool:
        found = self._opens.get(function)
        if found is None:
            self._opens[function] = False
            body = self._body(function)
            found = False
            for call in body.calls:
                target = self._resolve(call.function, function, body)
                if isinstance(target, External):
                    found = target.name in self._hooks
                elif isinstance(target, FunctionDef) and depth < 3:
                    found = self._opens_hooks(target, depth + 1)
                if found:
                    break
            self._opens[function] = found
        return found

    def _owners(self, base: Value) -> tuple[Value, ...]:
        """The objects whose attribute is meant; for a parameter, an object of the class that it is annotated with."""
        objects = self.interpreter.objects_of(base)
        if not objects and base.op == "param":
            function = self._function_of(base)
            if function is not None:
                objects = self._annotated(function, base.args[2])
        return objects

    def _function_of(self, parameter: Value) -> FunctionDef | None:
        key = parameter.args[0]
        if not (isinstance(key, tuple) and len(key) == 2):
            return None
        module = self.project.module(key[0])
        if module is None:
            return None
        return next(
            (self.project.function_def(module, f) for f in module.all_functions() if f.qualname == key[1]), None
        )

    def _annotated(self, function: FunctionDef, name: str) -> tuple[Value, ...]:
        parameter = next((p for p in function.facts.parameters if p.name == name), None)
        if parameter is None or parameter.annotation is None or not parameter.annotation.isidentifier():
            return ()
        target = self.project.lookup(function.module, parameter.annotation)
        values = self.interpreter.values
        if isinstance(target, ClassDef):
            return (values.make("inst", values.make("class", target), (), ()),)
        if isinstance(target, External):
            return (values.make("inst", values.make("ref", target.name), (), ()),)
        return ()

    def _handed(
        self,
        function: FunctionDef,
        is_bound: bool,
        arguments: tuple[Value, ...],
        keywords: tuple[tuple[str | None, Value], ...],
    ) -> frozenset[str]:
        """Parameters that get something whose call computes attention."""
        parameters = function.facts.parameters
        if is_bound and "staticmethod" not in map(decorator_name, function.facts.decorators):
            parameters = parameters[1:]
        bound = bind(parameters, arguments, keywords)
        return frozenset(
            name
            for name, value in bound.values.items()
            if value.op in ("ref", "function", "bound", "attr", "elem", "item") and self.computes(value)
        )

    def _runs(self, made: Value, method: str = "") -> bool:
        """Whether calling an object, or a method of it, computes attention."""
        cls = _class_of(made)
        if isinstance(cls, External):
            name = f"{cls.name}.{method}" if method else cls.name
            return name in self._modules or (not method and self._is_given_attention(made))
        if cls is None:
            return False
        entry = self._entry(cls) if not method else self.project.method(cls, method)
        if entry is None:
            stored = self.interpreter.attribute_values(cls, method) if method else ()
            if stored:
                return any(self.computes(value) for value in stored if value.op != "param")
            outside = self.project.externals(cls)
            return not method and (any(name in self._modules for name in outside) or self._is_given_attention(made))
        if self.reaches(entry, cls):
            return True
        return self._calls_attention_member(entry, cls, made)

    def _entry(self, cls: ClassDef) -> FunctionDef | None:
        return self.project.method(cls, "forward") or self.project.method(cls, "__call__")

    def _is_given_attention(self, made: Value) -> bool:
        """Whether what an object is made of computes attention: `Attention(dim, processor=Processor())`."""
        if made.op != "inst":
            return False
        given = (*made.args[1], *(value for _, value in made.args[2]))
        return any(
            isinstance(_class_of(part), ClassDef) and self._runs(part)
            for value in given
            for part in self.interpreter.objects_of(value)
            if part is not made
        )

    def _calls_attention_member(self, function: FunctionDef, cls: ClassDef, made: Value) -> bool:
        """Whether a method calls a member that is given by a method outside the tree: `self.set_processor(…)`."""
        body = self._body(function)
        called = [call.function for call in body.calls]
        called.extend(value for stored in body.stored.values() for value in stored if _is_entry(value))
        for callee in called:
            if _is_entry(callee):
                callee = callee.base
            if not (isinstance(callee, ir.Attr) and _is_self(callee.base, function)):
                continue
            if self.project.method(cls, callee.name) or self.interpreter.objects_of(self._member(cls, callee.name)):
                continue
            if self._is_given_attention(made) or self._is_set_to_attention(cls, callee.name):
                return True
        return False

    def _is_set_to_attention(self, cls: ClassDef, name: str) -> bool:
        """Whether `__init__` hands `self.set_name` an object that computes attention."""
        init = self.project.method(cls, "__init__")
        if init is None:
            return False
        body = self._body(init)
        for call in body.calls:
            callee = call.function
            if isinstance(callee, ir.Attr) and callee.name == f"set_{name}" and _is_self(callee.base, init):
                for argument in call.arguments:
                    stored = body.stored.get(argument.id, []) if isinstance(argument, ir.Name) else [argument]
                    if any(self._is_made_attention(value, init, body, cls) for value in stored):
                        return True
        return False

    def _is_made_attention(self, expression: Expr, init: FunctionDef, body: _Body, cls: ClassDef) -> bool:
        """Whether an expression makes an object whose call computes attention."""
        if not isinstance(expression, ir.Call):
            return False
        target = self._resolve(expression.function, init, body, cls)
        entry = self._entry(target) if isinstance(target, ClassDef) else None
        return entry is not None and isinstance(target, ClassDef) and self.reaches(entry, target)

    def _member(self, cls: ClassDef, name: str) -> Value:
        values = self.interpreter.values
        return values.make("attr", values.make("self", cls, "self"), name)

    # Functions, as they are written

    def reaches(self, function: FunctionDef, owner: ClassDef | None, handed: frozenset[str] = _NONE) -> bool:
        """Whether a function calls what computes attention, itself or through others; `handed` parameters do."""
        if has_name(function, self._functions):
            return True
        key = (function, owner, handed)
        found = self._reached.get(key)
        if found is None:
            if self._depth >= _MAX_DEPTH:
                return False
            self._reached[key] = False
            self._depth += 1
            found = self._reached[key] = self._find_reached(function, owner, handed)
            self._depth -= 1
        return found

    def _find_reached(self, function: FunctionDef, owner: ClassDef | None, handed: frozenset[str]) -> bool:
        body = self._body(function)
        for call in body.calls:
            if self._call_reaches(call, function, owner, body, handed):
                return True
        return False

    def _call_reaches(
        self, call: ir.Call, function: FunctionDef, owner: ClassDef | None, body: _Body, handed: frozenset[str]
    ) -> bool:
        callee = call.function
        if self._expression_computes(callee, function, owner, body, handed):
            return True
        target = self._resolve(callee, function, body, owner)
        if isinstance(target, External) and target.name in self._checkpoints:
            return bool(call.arguments) and self._expression_computes(call.arguments[0], function, owner, body, handed)
        if isinstance(target, FunctionDef):
            given = self._given(call, target, owner is not None and target.owner is not None, function, owner, body)
            receiver = owner if target.owner is not None else None
            return self.reaches(target, receiver, given)
        return False

    def _given(
        self,
        call: ir.Call,
        target: FunctionDef,
        is_bound: bool,
        function: FunctionDef,
        owner: ClassDef | None,
        body: _Body,
    ) -> frozenset[str]:
        """Parameters of the called function that get something whose call computes attention."""
        parameters = [p.name for p in target.facts.parameters if p.kind in ("any", "positional")]
        if is_bound and "staticmethod" not in map(decorator_name, target.facts.decorators):
            parameters = parameters[1:]
        passed = [*zip(parameters, call.arguments, strict=False)]
        passed.extend((keyword.name, keyword.value) for keyword in call.keywords if keyword.name is not None)
        return frozenset(
            name
            for name, value in passed
            if isinstance(value, ir.Attr | ir.Name) and self._expression_computes(value, function, owner, body, _NONE)
        )

    def _expression_computes(
        self,
        expression: Expr,
        function: FunctionDef,
        owner: ClassDef | None,
        body: _Body,
        handed: frozenset[str],
    ) -> bool:
        """Whether calling what an expression stands for computes attention."""
        if isinstance(expression, ir.Name) and expression.id in handed:
            return True
        if isinstance(expression, ir.Attr):
            base = expression.base
            if (
                isinstance(base, ir.Name)
                and base.id in handed
                and expression.name in ("forward", "__call__", "processor")
            ):
                return True
            if isinstance(base, ir.Call) and isinstance(base.function, ir.Name) and base.function.id == "super":
                return self._base_reaches(expression.name, function, owner)
        if isinstance(expression, ir.Attr | ir.Item | ir.Name):
            value = self._rooted(expression, function, owner, body)
            if value is not None:
                return self.computes(value)
        target = self._resolve(expression, function, body, owner)
        if isinstance(target, External):
            return target.name in self._functions
        return isinstance(target, FunctionDef) and self.reaches(target, owner if target.owner is not None else None)

    def _base_reaches(self, name: str, function: FunctionDef, owner: ClassDef | None) -> bool:
        """`super().name(…)`."""
        if owner is None or function.owner is None:
            return False
        line = self.project.mro(owner)
        after = line[line.index(function.owner) + 1 :] if function.owner in line else ()
        for base in after:
            if isinstance(base, External):
                if base.name in self._modules and name in ("forward", "__call__"):
                    return True
            elif name in base.facts.methods:
                method = self.project.function_def(base.module, base.facts.methods[name], base)
                return self.reaches(method, owner)
        return False

    def _rooted(
        self, expression: Expr, function: FunctionDef, owner: ClassDef | None, body: _Body, depth: int = 0
    ) -> Value | None:
        """The value of what is reached from `self`, or from a parameter with a class for annotation."""
        if depth > _MAX_DEPTH:
            return None
        values = self.interpreter.values
        if isinstance(expression, ir.Attr):
            base = self._rooted(expression.base, function, owner, body, depth + 1)
            if base is None:
                return None
            method = self.project.method(base.args[0], expression.name) if base.op == "self" else None
            if method is not None:
                return values.make("bound", base, method)
            return values.make("attr", base, expression.name)
        if isinstance(expression, ir.Item):
            base = self._rooted(expression.base, function, owner, body, depth + 1)
            return None if base is None else values.make("elem", 0, base)
        if not isinstance(expression, ir.Name):
            return None
        if owner is not None and expression.id == _self_name(function):
            return values.make("self", owner, "self")
        if expression.id in body.iterated:
            base = self._rooted(body.iterated[expression.id], function, owner, body, depth + 1)
            return None if base is None else values.make("elem", 0, base)
        objects = self._annotated(function, expression.id)
        return objects[0] if objects else None

    def _resolve(
        self, expression: Expr, function: FunctionDef, body: _Body, owner: ClassDef | None = None, depth: int = 0
    ) -> Definition | None:
        """What an expression of a function stands for; None where that isn't plain."""
        if depth > 4:
            return None
        if isinstance(expression, ir.Name):
            name = expression.id
            if name in body.imports:
                return self.project.imported(body.imports[name], function.module.path)
            if name not in body.names:
                return self._plain(self.project.lookup(function.module, name))
            stored = body.stored.get(name, ())
            found = [self._resolve(value, function, body, owner, depth + 1) for value in stored]
            return next((target for target in found if isinstance(target, FunctionDef | External | ClassDef)), None)
        if isinstance(expression, ir.Attr):
            if (
                owner is not None
                and isinstance(expression.base, ir.Name)
                and expression.base.id == _self_name(function)
            ):
                method = self.project.method(owner, expression.name)
                if method is not None:
                    return method
                named = self.project.class_attribute(owner, expression.name)
                return None if named is None else self.project.dotted(named[0].module, named[1])
            base = self._resolve(expression.base, function, body, owner, depth + 1)
            return None if base is None else self.project.attribute(base, expression.name)
        if isinstance(expression, ir.Choice):
            return self._resolve(expression.body, function, body, owner, depth + 1) or self._resolve(
                expression.orelse, function, body, owner, depth + 1
            )
        if isinstance(expression, ir.Call) and expression.arguments:
            made = self._resolve(expression.function, function, body, owner, depth + 1)
            if isinstance(made, External) and made.name in _UNCHANGED:
                return self._resolve(expression.arguments[0], function, body, owner, depth + 1)
        return None

    def _plain(self, definition: Definition | None) -> Definition | None:
        """A definition with a module-level `name = torch.compile(function)` looked through."""
        if isinstance(definition, AssignDef) and isinstance(definition.value, ir.Call) and definition.value.arguments:
            called = self.project.dotted(definition.module, definition.value.function)
            if isinstance(called, External) and called.name in _UNCHANGED:
                inner = definition.value.arguments[0]
                return self.project.dotted(definition.module, inner)
        return definition

    def _body(self, function: FunctionDef) -> _Body:
        found = self._bodies.get(function)
        if found is None:
            found = self._bodies[function] = _Body()
            summary = self.project.summary(function)
            if summary is not None:
                _collect(summary, found)
        return found


def has_name(function: FunctionDef, names: Iterable[str]) -> bool:
    """Whether a function of the tree is meant by one of these dotted names, as it is imported."""
    if function.owner is not None:
        return False
    end = f".{function.facts.name}"
    path = function.module.path.removesuffix(".py").replace(os.sep, ".")
    return any(name.endswith(end) and path.endswith(f".{name.removesuffix(end)}") for name in names)


def _collect(summary: Function, body: _Body) -> None:
    """Calls, assignments and imports of a function and of those inside it."""
    stack: list[object] = [summary]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is Function:
            assert isinstance(node, Function)
            body.names |= node.locals
            stack.extend(reversed(node.body))
            continue
        if kind is ir.Call:
            assert isinstance(node, ir.Call)
            body.calls.append(node)
        elif kind is ir.Assign:
            assert isinstance(node, ir.Assign)
            for target in node.targets:
                if isinstance(target, ir.Name):
                    body.stored.setdefault(target.id, []).append(node.value)
        elif kind is ir.For:
            assert isinstance(node, ir.For)
            _collect_loop(node, body)
        elif kind is ir.Import:
            assert isinstance(node, ir.Import)
            body.imports.update(node.bindings)
        if isinstance(node, tuple):
            stack.extend(_parts(node))


def _collect_loop(loop: ir.For, body: _Body) -> None:
    target, iterable = loop.target, loop.iterable
    if isinstance(iterable, ir.Call) and iterable.arguments:
        if isinstance(target, ir.Display) and len(target.items) == 2:
            last = target.items[1]  # `for index, block in enumerate(blocks)`
            target = last if isinstance(last, ir.Name) else target
        iterable = iterable.arguments[0]
    if isinstance(target, ir.Name):
        body.iterated[target.id] = iterable


def _parts(node: Iterable[object]) -> list[object]:
    return [part for part in node if isinstance(part, tuple)]


def _is_entry(expression: Expr) -> TypeGuard[ir.Attr]:
    """`module.forward`, `processor.__call__`."""
    return isinstance(expression, ir.Attr) and expression.name in _ENTRIES


def _is_self(expression: Expr, function: FunctionDef) -> bool:
    return isinstance(expression, ir.Name) and expression.id == _self_name(function)


def _self_name(function: FunctionDef) -> str:
    parameters = function.facts.parameters
    return parameters[0].name if parameters else ""


def _class_of(made: Value) -> ClassDef | External | None:
    if made.op == "self":
        return made.args[0]  # type: ignore[no-any-return]
    if made.op == "inst":
        called = made.args[0]
        if called.op == "class":
            return called.args[0]  # type: ignore[no-any-return]
        if called.op == "ref":
            return External(called.args[0])
    return None
