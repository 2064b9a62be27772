"""Expressions and iteration: what a name, an attribute, an operator or a loop's target is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.callpaths.frames import Frame
from conformance.callpaths.machine import METADATA, MUTABLE, NO_SPAN, READABLE, Machine, decorator_name
from conformance.callpaths.trace import Modulo
from conformance.callpaths.values import Value
from conformance.facts import ir
from conformance.facts.ir import Expr
from conformance.facts.module import ModuleFacts
from conformance.project.project import AssignDef, ClassDef, Definition, External, FunctionDef, ModuleDef

_LONGEST = 1024
"""Items of a tuple or list that is kept item by item."""


class Expressions(Machine):
    """A part of the interpreter."""

    def eval(self, expression: Expr, frame: Frame) -> Value:
        """The value of an expression here."""
        return _EVAL[type(expression)](self, expression, frame)

    def _const(self, expression: ir.Const, frame: Frame) -> Value:
        return self.values.const(expression.value)

    def _name(self, expression: ir.Name, frame: Frame) -> Value:
        name = expression.id
        value = frame.env.get(name)
        if value is not None:
            if self._watched is not None and self._is_watched(value):
                self._watched[1] = True
            if value.op in READABLE:
                self._note_read(value)
            return value
        if name in frame.locals:
            return self.values.make("unbound", name)
        child, owner = frame, frame.parent
        while owner is not None:
            value = owner.env.get(name)
            if value is not None:
                if self._watched is not None and self._is_watched(value):
                    self._watched[1] = True
                self._note_capture(name, value, owner, child, frame)
                if value.op in READABLE:
                    self._note_read(value)
                return value
            if name in owner.locals:
                return self.values.make("unbound", name)
            child, owner = owner, owner.parent
        return self._global(name, frame.module)

    def module_value(self, module: ModuleFacts, name: str) -> Value:
        """What a name stands for at the top of a module."""
        return self._global(name, module)

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
        elif isinstance(value, ir.Const):
            # By convention, what is spelled in capitals stays what it is.
            return self.values.const(value.value) if definition.name.isupper() else opaque
        elif not isinstance(value, ir.Lambda | ir.Choice | ir.Display | ir.Mapping):
            return opaque
        saved = self._suspend()
        trace, self._trace = self._trace, None
        result = self.eval(value, self._module_frame(definition.module))
        self._resume(saved)
        self._trace = trace
        return result

    def _attr(self, expression: ir.Attr, frame: Frame) -> Value:
        usage = self._usage
        if type(expression.base) is ir.Name and expression.name in METADATA:
            quiet, self._quiet = self._quiet, True
            base = self.eval(expression.base, frame)
            self._quiet = quiet
        elif type(expression.base) is ir.Call:
            self._usage = f"attribute:{expression.name}"
            base = self.eval(expression.base, frame)
            self._usage = usage
        else:
            base = self.eval(expression.base, frame)
        if base.op in MUTABLE and isinstance(expression.base, ir.Name):
            self._escape(expression.base.id, frame)  # `grow = kwargs.update`
        return self.attribute(base, expression.name, frame)

    def attribute(self, base: Value, name: str, frame: Frame) -> Value:
        """`base.name`."""
        found = self._heap.get((base, name))
        if found is not None:
            if found.op in READABLE:
                self._note_read(found)
            return found
        op = base.op
        values = self.values
        if op == "self":
            if name == "__class__":
                return values.make("class", base.args[0])
            method = self.project.method(base.args[0], name)
            if method is None:
                named = self._class_attribute(base.args[0], name)
                if named is not None:
                    return named
            if method is not None:
                kinds = {decorator_name(d) for d in method.facts.decorators}
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
        elif op == "phi" and not self._has_many(base):
            return self._over_choices(base, lambda part: self.attribute(part, name, frame))
        return values.make("attr", base, name)

    def _over_choices(self, value: Value, function: Callable[[Value], Value]) -> Value:
        """Applies a function to every alternative of choices of choices, to each once."""
        done: dict[Value, Value] = {}

        def visit(part: Value) -> Value:
            found = done.get(part)
            if found is None:
                if part.op == "phi":
                    found = self.values.phi(part.args[0], visit(part.args[1]), visit(part.args[2]))
                else:
                    found = function(part)
                done[part] = found
            return found

        return visit(value)

    def _class_attribute(self, cls: ClassDef, name: str) -> Value | None:
        """A class-level name for a class or a function, such as `block_class = Block`."""
        found = self.project.class_attribute(cls, name)
        if found is None:
            return None
        if isinstance(found[1], ir.Const) and name.isupper():
            return self.values.const(found[1].value)
        if not isinstance(found[1], ir.Name | ir.Attr):
            return None
        definition = self.project.dotted(found[0].module, found[1])
        return self._definition(definition) if isinstance(definition, ClassDef) else None

    def _property(self, base: Value, method: FunctionDef, frame: Frame) -> Value:
        if not self.is_likely(method) and not self._building and self._usage != "iterated":
            return self.values.make("attr", base, method.facts.name)
        return self._expand_function(method, [base], [], NO_SPAN, frame)

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
                return self.values.make("container-method", instance, name, candidate.name)
        return self.values.make("attr", base, name)

    def _item_expression(self, expression: ir.Item, frame: Frame) -> Value:
        usage = self._usage
        index_expression = expression.key
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
        elif base.op == "dict" and base.args[0]:
            return self._pick(0, [pair[1] for pair in base.args[0]])
        elif base.op == "merged":
            for key, value in reversed(base.args[1]):
                if key is index:
                    return value if value is not values.absent else values.make("unbound", "item")
            if index.op == "const" and all(key.op == "const" for key, _ in base.args[1]):
                return self.item(base.args[0], index)
        elif base.op == "phi" and not self._has_many(base):
            return self._over_choices(base, lambda part: self.item(part, index))
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
        items = [self._contained_value(item, frame) for item in expression.items]
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

    def _contained_value(self, item: Expr, frame: Frame) -> Value:
        """An item of a display. A dict or list under a name is then reached from there, too."""
        value = self.eval(item, frame)
        if isinstance(item, ir.Name) and value.op in MUTABLE:
            self._escape(item.id, frame)
        return value

    def _mapping(self, expression: ir.Mapping, frame: Frame) -> Value:
        self._usage = "other"
        pairs: dict[Value, Value] = {}
        result: Value | None = None
        for key, item in expression.items:
            value = self.eval(item, frame) if key is None else self._contained_value(item, frame)
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

    def _bool(self, expression: ir.Bool, frame: Frame) -> Value:
        """`and`/`or`: a later operand runs under what the earlier ones say."""
        mark = len(self._conditions)
        parts: list[Value] = []
        is_and = expression.kind == "and"
        for operand in expression.values:
            self._usage = "other"
            if not parts:
                value = self.eval(operand, frame)
            else:
                # What an operand binds or changes is so only where it runs.
                before, heap, outside = dict(frame.env), dict(self._heap), len(self._outside)
                value = self.eval(operand, frame)
                test = self.values.all_of(parts) if is_and else self.values.negate(self.values.any_of(parts))
                self._rejoin(test, before, heap, outside, frame)
            parts.append(value)
            known = self._truth(value)
            if known is (not is_and):
                break
            if known is None:
                self._push(value, is_and, self._next())
        self._truncate(mark)
        return self.values.chain(expression.kind, parts)

    def _rejoin(self, test: Value, env: dict[str, Value], heap: dict[Any, Value], outside: int, frame: Frame) -> None:
        """Joins the state before an operand with the one after it, where the operand changed anything."""
        if len(self._outside) > outside:
            self._redo(self._either(test, self._rewind(outside, frame), {}))
        if frame.env != env:
            frame.env = self._join(test, frame.env, env)
        if self._heap != heap:
            self._heap = self._join_heap(test, self._heap, heap)

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
        calls = self._count_calls()
        self._push(test, True, branch)
        before, heap, outside = dict(frame.env), dict(self._heap), len(self._outside)
        body = self.eval(expression.body, frame)
        self._rejoin(test, before, heap, outside, frame)
        self._truncate(mark)
        self._usage = usage
        self._push(test, False, branch)
        before, heap, outside = dict(frame.env), dict(self._heap), len(self._outside)
        orelse = self.eval(expression.orelse, frame)
        self._rejoin(self.values.negate(test), before, heap, outside, frame)
        self._truncate(mark)
        result = self.values.phi(test, body, orelse)
        self._note_choice(result, calls)
        return result

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
        self._usage = "other"
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
            if left.op == right.op and left.op in ("tuple", "list") and len(left.args) + len(right.args) <= _LONGEST:
                return self.values.make(left.op, *left.args, *right.args)
            if left.op == "grown" and right.op in ("tuple", "list"):
                return self.values.make("grown", left.args[0], (*left.args[1], *right.args))
        result = self.values.make("op", kind, operands)
        if kind == "%" and self._trace is not None and not self._dead:
            self._trace.modulos.append(Modulo(result, self._statement(frame)))
        return result

    def _call(self, expression: ir.Call, frame: Frame) -> Value:
        return self._call_expression(expression, frame)

    def _iterable(self, expression: Expr, frame: Frame) -> Value:
        """What a loop runs over; helpers that make it are expanded."""
        self._building += 1
        try:
            return self.eval(expression, frame)
        finally:
            self._building -= 1

    def iterate(self, value: Value, loop: int) -> Value:
        """What a loop's target is bound to."""
        key = (value, loop)
        found = self._iterated.get(key)
        if found is None:
            found = self._iterated[key] = self._find_element(value, loop)
        return found

    def _find_element(self, value: Value, loop: int) -> Value:
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
        if op == "pick":
            return self._pick(loop, [self.iterate(part, loop) for part in value.args[1]])
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
        if op == "phi" and not self._has_many(value):
            return self._over_choices(value, lambda part: self.iterate(part, loop))
        if op == "item" and value.args[1].op == "slice":
            return self.iterate(value.args[0], loop)
        if op == "op" and value.args[0] == "+" and len(value.args[1]) == 2:
            return self._pick(loop, [self.iterate(part, loop) for part in value.args[1]])
        return values.make("elem", loop, value)


_EVAL: dict[type, Callable[[Expressions, Any, Frame], Value]] = {
    ir.Const: Expressions._const,
    ir.Name: Expressions._name,
    ir.Attr: Expressions._attr,
    ir.Item: Expressions._item_expression,
    ir.Slice: Expressions._slice,
    ir.Star: Expressions._star,
    ir.Call: Expressions._call,
    ir.Display: Expressions._display,
    ir.Mapping: Expressions._mapping,
    ir.Bool: Expressions._bool,
    ir.Not: Expressions._not,
    ir.Compare: Expressions._compare,
    ir.Choice: Expressions._choice,
    ir.Bind: Expressions._bind_expression,
    ir.Comprehension: Expressions._comprehension,
    ir.Lambda: Expressions._lambda,
    ir.Yield: Expressions._yield,
    ir.Op: Expressions._op,
}
