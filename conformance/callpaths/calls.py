"""Calls: expanded in place, noted, answered (for a few builtins), or left as they stand."""

from __future__ import annotations

from conformance.callpaths.binding import bind
from conformance.callpaths.frames import Closure, Frame, TooLarge
from conformance.callpaths.machine import (
    MODULE_OPS,
    MUTABLE,
    NO_SPAN,
    TYPE_TESTS,
    Machine,
    as_value,
    decorator_name,
    mentions,
)
from conformance.callpaths.trace import Site, Trace, Wrapped
from conformance.callpaths.values import Value
from conformance.facts import ir
from conformance.facts.ir import Expr, Function, Span
from conformance.facts.module import ModuleFacts
from conformance.project.profile import CheckpointCallable
from conformance.project.project import ClassDef, FunctionDef

_MAX_DEPTH = 10
"""Deepest chain of expanded calls."""
_MAX_BUILDING_DEPTH = 6
"""The same while attributes or what a loop runs over are made: there every call is expanded."""
_READERS = frozenset({"get", "keys", "values", "items", "copy", "index", "count"})
"""Methods that leave a dict or list as it is."""
_MAX_EXPANSIONS = 5_000
"""Most calls that one entry may expand."""
_IDENTITY = frozenset({"list", "tuple", "reversed", "iter", "sorted", "set", "frozenset"})
_VIEWS = frozenset({"itertools.islice", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.std.tqdm"})
"""Functions that give what they are given, element by element."""
_UNCHANGED = frozenset({"torch.compile", "torch.compiler.disable", "torch.jit.script", "torch._dynamo.disable"})
"""Functions that return their first argument, prepared in some way."""
_GROWS = frozenset({"append", "extend", "insert", "add_module"})
CHANGES = frozenset({"append", "appendleft", "extend", "insert", "update", "setdefault"})
"""Methods of containers that add something."""
_DATA_OPS = frozenset(
    {"dict", "list", "grown", "many", "inst", "merged", "union", "phi", "mu", "out", "attr", "tuple", "param"}
)


class Calls(Machine):
    """A part of the interpreter."""

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
                if isinstance(function.base, ir.Name) and function.name not in _READERS:
                    self._escape(function.base.id, frame)
            callee = self.attribute(base, function.name, frame)
        elif type(function) is ir.Name and function.id == "super":
            return self._super(frame)
        else:
            callee = self.eval(function, frame)
        arguments: list[Value] = []
        for argument in expression.arguments:
            self._usage = "other"
            value = self._pass(argument, frame)
            if value.op == "star":
                inside = self._sequence(value.args[0])
                if inside is not None:
                    arguments.extend(inside)
                    continue
                if value.args[0].op in ("tuple", "list"):
                    arguments.extend(value.args[0].args)  # up to a star of its own
                    continue
            arguments.append(value)
        keywords: list[tuple[str | None, Value]] = []
        for keyword in expression.keywords:
            self._usage = "other"
            value = self._pass(keyword.value, frame)
            if keyword.name is None:
                keywords.extend(self.expand_keywords(value))
            else:
                keywords.append((keyword.name, value))
        if self._watched is not None:
            self._note_passing(callee, arguments, keywords)
        if type(function) is ir.Attr and callee.op == "attr" and changes_in_place(function.name):
            added = self.values.make("tuple", *arguments)
            self._note_change(function.base, callee.args[0], function.name, added, frame, expression.span.line)
        self._usage = usage
        self._written = _forwards(expression, frame)
        named = self._mutable_arguments(expression, frame)
        result = self.call(callee, arguments, keywords, expression.span, frame)
        if named:
            self._after_call(callee, result, named, frame)
        return result

    def _mutable_arguments(self, expression: ir.Call, frame: Frame) -> list[tuple[str, Value]]:
        """Names handed to a call that stand for a dict or a list: the callee may change it."""
        found = []
        for argument in (*expression.arguments, *(keyword.value for keyword in expression.keywords if keyword.name)):
            if isinstance(argument, ir.Name):
                value = frame.env.get(argument.id)
                if value is not None and value.op in MUTABLE:
                    found.append((argument.id, value))
        return found

    def _after_call(self, callee: Value, result: Value, named: list[tuple[str, Value]], frame: Frame) -> None:
        """What a call has made of the dicts and lists that it got."""
        for name, value in named:
            changed = self._changed.pop(value, None)
            if changed is not None:
                self._set_in_place(name, changed, frame)
            elif result.op == "call" and _may_change(callee):
                self._escape(name, frame)

    def _pass(self, argument: Expr, frame: Frame) -> Value:
        """An argument. A watched parameter that is handed on as it is isn't read yet: the callee may ignore it."""
        if self._watched is None or type(argument) is not ir.Name:
            return self.eval(argument, frame)
        seen = self._watched[1]
        value = self.eval(argument, frame)
        if value is self._watched[0]:
            self._watched[1] = seen
        return value

    def _note_passing(self, callee: Value, arguments: list[Value], keywords: list[tuple[str | None, Value]]) -> None:
        """Decides whether a callee that gets the watched parameter reads it."""
        assert self._watched is not None
        symbol = self._watched[0]
        if symbol not in arguments and all(value is not symbol for _, value in keywords):
            return
        targets: list[tuple[FunctionDef, ClassDef | None]] = []
        if callee.op in ("closure", "partial"):
            return  # expanded: a read inside counts there
        if callee.op == "bound":
            targets.append((callee.args[1], callee.args[0].args[0]))
        elif callee.op == "function":
            targets.append((callee.args[0], None))
        else:
            classes = self.classes_of(callee)
            for cls in classes:
                method = self.project.method(cls, "forward") if isinstance(cls, ClassDef) else None
                if method is not None and isinstance(cls, ClassDef):
                    targets.append((method, cls))
            if len(targets) < len(classes):
                targets = []
        if not targets or any(self._reads_argument(*target, arguments, keywords) for target in targets):
            self._watched[1] = True

    def _reads_argument(
        self,
        function: FunctionDef,
        owner: ClassDef | None,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
    ) -> bool:
        assert self._watched is not None
        symbol = self._watched[0]
        parameters = function.facts.parameters[1:] if owner is not None else function.facts.parameters
        bound = bind(parameters, arguments, keywords)
        names = [name for name, value in bound.values.items() if value is symbol]
        if bound.open is not None or bound.problem is not None or not names or len(self._stack) > _MAX_DEPTH:
            return True
        if any(name.startswith("**") for name in names):
            return True
        settings = {n: v for n, v in bound.values.items() if v.op == "const"}
        return any(self.reads(function, owner, name, settings) for name in names)

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
        found = self._keywords.get(value)
        if found is None:
            found = self._keywords[value] = self._find_keywords(value)
        return list(found)

    def _find_keywords(self, value: Value) -> list[tuple[str | None, Value]]:
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
                if item is not values.absent:
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
            self._note_checkpoint(checkpoint, callee, arguments, keywords, span, frame)
            return self._checkpoint(checkpoint, callee, arguments, keywords, span, frame)
        if op not in ("closure", "partial", "phi"):
            self._note_any(callee, arguments, keywords, span, frame)
        if op == "closure":
            return self._expand_closure(callee.args[0], arguments, keywords, span, frame)
        if op == "function":
            return self._call_function(callee, arguments, keywords, span, frame)
        if op == "undecorated":
            return self._expand_function(callee.args[0], arguments, keywords, span, frame)
        if op == "bound":
            return self._call_bound(callee, arguments, keywords, span, frame)
        if op == "partial":
            function = callee.args[0]
            return self.call(function, *_with_bound(callee, arguments, keywords), span, frame)
        if op == "phi":
            return self._call_choice(callee, arguments, keywords, span, frame)
        if op == "pick" and not all(part.op in MODULE_OPS for part in callee.args[1]):
            usage = self._usage
            results = []
            for alternative in callee.args[1]:
                self._usage = usage
                results.append(self.call(alternative, arguments, keywords, span, frame))
            return self._pick(callee.args[0], results)
        if op == "ref":
            return self._call_ref(callee, arguments, keywords, span, frame)
        if op == "class":
            return self.values.make("inst", callee, tuple(arguments), tuple(keywords))
        if op == "container-method":
            self._fill(callee.args[2], callee.args[1], arguments)
            return self.values.none
        if op == "attr":
            return self._call_attribute(callee, arguments, keywords, span, frame)
        if op == "call":
            made = self._made(callee)
            if made is not callee:
                return self.call(made, arguments, keywords, span, frame)
        if op in MODULE_OPS and self._is_rooted(callee):
            self._note_call(callee, "forward", arguments, keywords, span, frame)
        elif self._checkpoints and self._checkpoints[-1].site.span == span:
            self._note_call(callee, "forward", arguments, keywords, span, frame)  # a path, though an unknown one
        return self._opaque(callee, arguments, keywords)

    def _fill(self, base: str, method: str, arguments: list[Value]) -> None:
        """A method of a container class outside the tree, called while a class that inherits from it is built."""
        if not self._contents or not arguments:
            return
        if method == "__init__" and base.rsplit(".", 1)[-1] == "Sequential":
            filling = self.values.make("list", *arguments)
        elif method in ("__init__", "extend", "update"):
            filling = arguments[-1]
        else:
            filling = self.values.make("many", arguments[-1])
        self._contents[-1].append(filling)

    def _call_choice(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        test, body, orelse = callee.args
        if self._has_many(callee):
            self._note_call(callee, "forward", arguments, keywords, span, frame)
            return self._opaque(callee, arguments, keywords)
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

    def _made(self, value: Value) -> Value:
        """What a call that was left as it stands returns, where that is a block: `self._get_layer(i)`."""
        found = self._made_by.get(value)
        if found is None:
            found = self._made_by[value] = value
            called, arguments, keywords = value.args
            if called.op in ("bound", "function"):
                function: FunctionDef = called.args[-1]
                first = [called.args[0]] if called.op == "bound" else []
                saved = self._suspend()
                self._trace = None
                try:
                    outer = self._module_frame(function.module)
                    made = self._expand_function(function, [*first, *arguments], list(keywords), NO_SPAN, outer)
                    if made.op in MODULE_OPS and self._is_rooted(made):
                        found = self._made_by[value] = made
                except (TooLarge, RecursionError):
                    pass
                self._resume(saved)
        return found

    def _call_attribute(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        base, name = callee.args
        if name == "enter_context" and len(arguments) == 1:
            self._enter_context(arguments[0])
        elif name == "__enter__":
            self._enter_context(base)
        if name in ("__call__", "forward") and base.op in (*MODULE_OPS, "self"):
            self._note_call(base, "forward", arguments, keywords, span, frame)
        elif base.op == "self":
            stored = self.stored_callable(callee)
            if stored is not None and stored.op == "partial" and self.is_checkpoint(stored):
                return self._run_partial(callee, stored, arguments, keywords, span, frame)
            if stored is not None:
                return self.call(stored, arguments, keywords, span, frame)
            self._note_call(callee, "forward", arguments, keywords, span, frame)
        elif base.op in ("elem", "item", "pick", "attr", "inst") and self._is_rooted(base):
            classes = [c for c in self.classes_of(base) if isinstance(c, ClassDef)]
            if classes and all(self.project.method(c, name) is not None for c in classes):
                self._note_call(base, name, arguments, keywords, span, frame)
                runner = self.project.method(classes[0], name) if len(classes) == 1 else None
                if runner is not None and any(self._is_block(a) for a in arguments) and self.is_likely(runner):
                    # A held model runs the block that it is handed.
                    return self._expand_function(runner, [base, *arguments], keywords, span, frame)
            else:
                self._note_call(callee, "forward", arguments, keywords, span, frame)
        if name in ("add_module", "register_module") and len(arguments) == 2 and arguments[0].op == "const":
            self._heap[(base, str(arguments[0].args[1]))] = arguments[1]
        if name == "backward":
            self._backwards.append(self._next())
        if self._building and name in _GROWS:
            self._grow(base, name, arguments, frame)
        return self._opaque(callee, arguments, keywords)

    def _run_partial(
        self,
        callee: Value,
        stored: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        """An attribute that holds a partial of a checkpoint. The call is noted as it stands: others may be stored."""
        kind: CheckpointCallable | None = None
        function, passed = stored, (arguments, keywords)
        while function.op == "partial":
            passed = _with_bound(function, *passed)
            function = function.args[0]
            kind = self.checkpoint_kind(function)
        if kind is None:
            return self.call(stored, arguments, keywords, span, frame)
        self._note_checkpoint(kind, callee, arguments, keywords, span, frame)
        return self._checkpoint(kind, function, *passed, span, frame)

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
        if name in TYPE_TESTS and arguments and self._trace is not None:
            self._trace.typed.append(arguments[0])
        if name.startswith("builtins."):
            known = self._builtin(name[9:], arguments, keywords, frame)
            if known is not None:
                return known
        elif name in _VIEWS and arguments and arguments[0].op != "star":
            return arguments[0]
        elif name in ("functools.partial", *_UNCHANGED) and arguments and arguments[0].op != "star":
            if name == "functools.partial":
                return values.make("partial", arguments[0], tuple(arguments[1:]), tuple(keywords))
            return arguments[0]
        elif name in ("copy.copy", "copy.deepcopy") and len(arguments) == 1:
            return arguments[0]
        elif name.endswith(".__init__") and name[:-9] in (*self._containers, *self._mappings):
            self._fill(name[:-9], "__init__", arguments[1:])  # `nn.ModuleList.__init__(self, modules)`
            return values.none
        elif name in self._containers or name in self._mappings:
            # Each container is its own, so that another name for it is known as such.
            return values.make("inst", callee, tuple(arguments), tuple(keywords), self._next())
        elif name == "torch.autograd.grad":
            self._backwards.append(self._next())
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
                return (
                    self._dict({values.const(k): v for k, v in keywords if k is not None})
                    if all(k is not None for k, _ in keywords)
                    else None
                )
            if count == 1:
                pairs = tuple((values.const(k), v) for k, v in keywords if k is not None)
                return values.make("merged", arguments[0], pairs) if pairs else arguments[0]
        if name == "len" and count == 1:
            length = self._length(arguments[0])
            return None if length is None else values.const(length)
        if name == "isinstance" and count == 2:
            return self._isinstance(arguments[0], arguments[1])
        if (
            name == "callable"
            and count == 1
            and arguments[0].op in ("closure", "function", "bound", "partial", "class")
        ):
            return values.true
        if name == "type" and count == 1 and arguments[0].op == "self":
            return values.make("class", arguments[0].args[0])
        if name == "bool" and count == 1:
            return arguments[0] if arguments[0].op in ("and", "or", "not", "cmp", "const") else None
        if name == "getattr" and count >= 2 and arguments[1].op == "const" and isinstance(arguments[1].args[1], str):
            return self.attribute(arguments[0], arguments[1].args[1], frame)
        if name == "filter" and count == 2:
            return arguments[1]
        if name == "next" and count >= 1:
            return values.make("item", arguments[0], values.make("unknown", "next", self._next()))
        if name == "setattr" and count == 3 and arguments[1].op == "const" and isinstance(arguments[1].args[1], str):
            self._heap[(arguments[0], arguments[1].args[1])] = arguments[2]
            self._note_store(arguments[0], arguments[1].args[1], arguments[2], frame)
            return values.none
        if name == "map" and count == 2:
            return values.make(
                "many", self.call(arguments[0], [self.iterate(arguments[1], self._next())], [], NO_SPAN, frame)
            )
        return None

    def _isinstance(self, value: Value, kinds: Value) -> Value | None:
        classes = [cls for cls in self.classes_of(value) if isinstance(cls, ClassDef)] if value.op == "inst" else []
        bases = self.project.profile.module_bases
        is_module = kinds.op == "ref" and kinds.args[0] in bases
        if classes and is_module and all(self.project.inherits(cls, bases) for cls in classes):
            return self.values.true
        wanted = kinds.args if kinds.op == "tuple" else (kinds,)
        names = {kind.args[0] for kind in wanted if kind.op == "ref"}
        if value.op in ("tuple", "list", "dict"):
            if f"builtins.{value.op}" in names:
                return self.values.true
            if len(names) == len(wanted) and all(name.startswith("builtins.") for name in names):
                return self.values.false
        if value.op in ("mu", "out") and value.args[2].op == "tuple" and "builtins.tuple" in names:
            return self.values.true
        return None

    def _data_method(self, base: Value, function: ir.Attr, expression: ir.Call, frame: Frame) -> Value | None:
        """Methods of dicts, lists and containers that change or read them."""
        name = function.name
        values = self.values
        if name in ("items", "values", "keys") and not expression.arguments:
            if name == "values":
                return values.make("list", *(v for _, v in base.args[0])) if base.op == "dict" else base
            return values.make("items", base) if name == "items" else values.make("range", base)
        if name in ("children", "named_children") and not expression.arguments and self.elements_of(base):
            return base if name == "children" else values.make("items", base)
        if name == "copy" and not expression.arguments and base.op in ("dict", "list", "merged", "union", "phi"):
            return base
        is_list = base.op in ("list", "grown", "many") or (base.op == "inst" and self._is_container(base))
        if name in _GROWS and is_list and expression.arguments:
            argument = self.eval(expression.arguments[-1], frame)
            self._note_change(function.base, base, name, argument, frame, expression.span.line)
            if name == "append" and base.op == "list":
                changed = values.make("list", *base.args, argument)
            else:
                if name == "extend":
                    argument = self.iterate(argument, self._next())
                old, items = (base.args[0], base.args[1]) if base.op == "grown" else (base, ())
                changed = values.make("grown", old, (*items, argument)) if argument not in items else base
            self._replace(function.base, changed, frame, expression.span.line)
            return values.none
        if name == "setdefault" and len(expression.arguments) == 2:
            key, value = (self.eval(argument, frame) for argument in expression.arguments)
            if base.op == "dict" and any(known is key for known, _ in base.args[0]):
                return self.item(base, key)
            chosen = value if base.op == "dict" else values.make("op", "setdefault", (self.item(base, key), value))
            if base.op in ("dict", "merged", "phi", "mu", "out", "union", "param", "call"):
                added = values.make("tuple", key, value)
                self._note_change(function.base, base, name, added, frame, expression.span.line)
                self._replace(function.base, self._dict_set(base, key, chosen), frame, expression.span.line)
                return chosen
        if base.op in ("dict", "merged", "phi", "mu", "out", "union"):
            if name == "update":
                changed = base
                for node in expression.arguments:
                    other = self.eval(node, frame)
                    if other.op == "dict":
                        for key, value in other.args[0]:
                            changed = self._dict_set(changed, key, value)
                    else:
                        changed = values.make("union", changed, other)
                for keyword in expression.keywords:
                    passed = self.eval(keyword.value, frame)
                    if keyword.name is None:
                        changed = values.make("union", changed, passed)
                    else:
                        changed = self._dict_set(changed, values.const(keyword.name), passed)
                self._note_change(function.base, base, name, changed, frame, expression.span.line)
                self._replace(function.base, changed, frame, expression.span.line)
                return values.none
            if base.op == "dict" and name in ("get", "pop") and expression.arguments:
                key = self.eval(expression.arguments[0], frame)
                found: Value | None = next((value for known, value in base.args[0] if known is key), None)
                if name == "pop" and key.op == "const":
                    pairs = tuple(pair for pair in base.args[0] if pair[0] is not key)
                    self._replace(function.base, values.make("dict", pairs), frame, expression.span.line)
                if found is not None:
                    return found
                if key.op != "const" and base.args[0] and name == "get":
                    return self.item(base, key)
                if key.op == "const" and all(known.op == "const" for known, _ in base.args[0]):
                    if len(expression.arguments) > 1:
                        return self.eval(expression.arguments[1], frame)
                    return values.none if name == "get" else None
        if name == "pop" and expression.arguments and base.op in ("param", "attr", "merged", "union", "phi", "call"):
            key = self.eval(expression.arguments[0], frame)
            if key.op == "const" and isinstance(key.args[1], str):
                self._replace(function.base, values.make("merged", base, ((key, values.absent),)), frame, 0)
                return self.item(base, key)
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
        if self._is_closed():
            return self._opaque(callee, arguments, keywords)
        block = next((a for a in (*arguments, *(v for _, v in keywords)) if self._is_block(a)), None)
        if block is not None or (self._checkpoints and self._checkpoints[-1].site.span == span):
            # A function that runs a block: its arguments are the block's.
            applied = self.values.make("applied", callee, block)
            self._note_call(applied, function.facts.name, arguments, keywords, span, frame, function)
        if not self._worth_expanding(function, arguments, keywords):
            return self._opaque(callee, arguments, keywords)
        start = len(self._trace.calls) if self._trace is not None else 0
        result = self._expand_function(function, arguments, keywords, span, frame)
        if self._trace is not None and start:
            self._trace.inside[start - 1] = len(self._trace.calls)
        return result

    def _call_bound(
        self,
        callee: Value,
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        frame: Frame,
    ) -> Value:
        instance, function = callee.args
        if self._is_closed():
            return self._opaque(callee, arguments, keywords)
        decorated = self._decorated(function, frame) if function.facts.decorators else None
        if decorated is not None:
            return self.call(decorated, [instance, *arguments], keywords, span, frame)
        self._note_call(instance, function.facts.name, arguments, keywords, span, frame, function)
        caller = frame.function.name if frame.function is not None else ""
        is_super = caller == function.facts.name  # an override that calls the method of its base
        if (
            is_super
            or self._thorough
            or self._worth_expanding(function, arguments, keywords)
            or self.leads_to_likely(function, instance.args[0])
        ):
            kinds = {decorator_name(d) for d in function.facts.decorators}
            first = [] if "staticmethod" in kinds else [instance]
            return self._expand_function(function, [*first, *arguments], keywords, span, frame)
        return self._opaque(callee, arguments, keywords)

    def _is_closed(self) -> bool:
        """Whether calls of functions are only noted: each is then judged by itself."""
        return self._trace is not None and self._trace.every_call is not None

    def _decorated(self, function: FunctionDef, frame: Frame) -> Value | None:
        """What decorators of the tree that concern checkpoints make of a function; None where there are none.

        Any other decorator is taken to leave the function as it is.
        """
        found: Value | None = None
        for expression in reversed(function.facts.decorators):
            decorator = self.project.dotted(function.module, expression)
            if isinstance(decorator, FunctionDef) and self.is_likely(decorator):
                inner = found or self.values.make("undecorated", function)
                found = self._expand_function(decorator, [inner], [], NO_SPAN, frame)
        return found if found is not None and found.op == "closure" else None

    def _worth_expanding(
        self, function: FunctionDef, arguments: list[Value], keywords: list[tuple[str | None, Value]]
    ) -> bool:
        """Whether a function can hold block calls, gates or what a loop runs over; all else stays opaque."""
        if self._building or self.leads_to_likely(function, None):
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
            return self._is_special(value.args[0]) or (
                value.args[0].op == "attr" and bool(self.elements_of(value.args[0]))
            )
        if op == "attr" and value.args[0].op == "self":
            return self.is_checkpoint(value) or self._is_module(value)
        if op == "phi":
            return self._is_special(value.args[1]) or self._is_special(value.args[2])
        return self.checkpoint_kind(value) is not None

    def _is_rooted(self, value: Value) -> bool:
        """Whether a value is reached from `self` or a parameter by attributes, items and iteration only.

        A call that is given a container counts too: what it returns may be the container's elements.
        """
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
                return any(map(self._is_rooted, value.args[1]))
            elif value.op == "call":
                return any(bool(self.elements_of(argument)) for argument in value.args[1])
            else:
                return value.op in ("op", "list", "tuple", "many", "grown", "inst")

    def _is_module(self, value: Value) -> bool:
        """Whether an attribute holds a module of the tree, or several."""
        return any(isinstance(cls, ClassDef) for cls in self.classes_of(value)) or bool(self.elements_of(value))

    def _holds_blocks(self, cls: ClassDef) -> bool:
        """Whether a class of the tree is a container."""
        profile = self.project.profile
        return self.project.inherits(cls, (*profile.containers, *profile.mappings))

    def _is_block(self, value: Value) -> bool:
        if value.op == "pick":
            return all(map(self._is_block, value.args[1]))
        if value.op in ("elem", "item"):
            is_part = value.op == "item" and value.args[1].op == "slice"  # some of the blocks, not one
            return not is_part and self._is_rooted(value)
        return (
            value.op == "attr"
            and value.args[0].op == "self"
            and any(isinstance(cls, ClassDef) and not self._holds_blocks(cls) for cls in self.classes_of(value))
        )

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
            function,
            closure.frame.module,
            closure.frame,
            closure.frame.owner,
            closure.defaults,
            arguments,
            keywords,
            span,
            frame,
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
        return self._expand(summary, function.module, None, function.owner, defaults, arguments, keywords, span, frame)

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
        deepest = _MAX_BUILDING_DEPTH if self._building else _MAX_DEPTH
        if len(self._stack) > deepest or any(entry[2] == key for entry in self._stack):
            return values.make("unknown", "recursion", self._next())
        bound = self._bind_call(function, defaults, arguments, keywords)
        start = len(self._trace.calls) if self._trace is not None else 0
        begun = len(self._trace.checkpoints) if self._trace is not None else 0
        if bound is None:
            if parent is not None:
                self._note_refused(function, module, parent, owner, defaults, arguments, keywords, span, caller)
                uncallable = values.make("closure", Closure(function, parent, defaults))
                self._note_call(uncallable, "forward", arguments, keywords, span, caller)
            return values.make("unknown", f"arguments of {function.name}", self._next())
        frame = Frame(module, function, parent, owner, self._next())
        frame.env = bound
        frame.written = self._written or (None if span is NO_SPAN else self._site(caller, span))
        frame.condition_mark, frame.outside_mark = len(self._conditions), len(self._outside)
        frame.usage = self._usage
        for name in function.captured:
            if name in bound:
                self._note_binding(name, bound[name], frame, function.span.line, False)
        if self._trace is not None:
            self._trace.inlined.add(key)
        self._expansions += 1
        if self._expansions > _MAX_EXPANSIONS:
            raise TooLarge
        self._stack.append((caller, span, key))
        written, called, calls = self._written, self._called, self._count_calls()
        alive = self._block(function.body, frame)
        self._written, self._called = written, called
        self._stack.pop()
        if alive:
            frame.returns.append((tuple(self._conditions[frame.condition_mark :]), values.none))
            frame.returned.append(self._now(frame))
        self._truncate(frame.condition_mark)
        for name, value in bound.items():
            after = frame.env.get(name)
            if value.op in MUTABLE and after is not None and after is not value:
                # Changed in place, unless the name was bound anew: then what it was is unknown.
                self._changed[value] = after if after.op in MUTABLE else values.make("escaped", value, self._next())
        self._finish(frame)
        if keywords and self._trace is not None:
            self._note_unread(function, frame, keywords, span, caller, start, begun)
        if function.is_generator:
            return values.make("many", *dict.fromkeys(frame.yields)) if frame.yields else values.make("list")
        if not frame.returns:
            return values.make("unknown", "no return", self._next())
        if len(self._outside) > frame.outside_mark:
            self._return_outside(frame)
        result = frame.returns[-1][1]
        for conditions, value in reversed(frame.returns[:-1]):
            if value is not result:
                result = values.phi(values.all_of(as_value(values, c) for c in conditions), value, result)
        self._note_choice(result, calls)
        return result

    def _return_outside(self, frame: Frame) -> None:
        """What the ways through a function, each with its return, have made of names of other frames."""
        self._rewind(frame.outside_mark, frame)
        after = frame.returned[-1]
        for (conditions, _), way in zip(reversed(frame.returns[:-1]), reversed(frame.returned[:-1]), strict=True):
            after = self._either(self.values.all_of(as_value(self.values, c) for c in conditions), way, after)
        self._redo(after)

    def _note_refused(
        self,
        function: Function,
        module: ModuleFacts,
        parent: Frame,
        owner: ClassDef | None,
        defaults: dict[str, Value],
        arguments: list[Value],
        keywords: list[tuple[str | None, Value]],
        span: Span,
        caller: Frame,
    ) -> None:
        """Notes the keywords that a nested function can't take, where a checkpoint runs it or it runs one."""
        trace = self._trace
        names = {p.name for p in function.parameters if p.kind in ("any", "keyword")}
        refused = tuple(name for name, _ in keywords if name is not None and name not in names)
        if trace is None or self._dead or span is NO_SPAN or not refused:
            return
        taken = [pair for pair in keywords if pair[0] is None or pair[0] in names]
        if not self._is_run_by_checkpoint(span):
            # Whether it runs a checkpoint is seen by a call without what it can't take.
            saved = self._suspend()
            inner = self._trace = Trace(module, owner, function)
            try:
                self._expand(function, module, parent, owner, defaults, arguments, taken, NO_SPAN, caller)
            except (TooLarge, RecursionError):
                pass
            self._resume(saved)
            if not inner.checkpoints:
                return
            here = tuple(self._conditions)
            trace.checkpoints.extend(c._replace(conditions=(*here, *c.conditions)) for c in inner.checkpoints)
        trace.wrapped.append(
            Wrapped(
                function,
                self._definition_site(function, parent),
                refused,
                (),
                tuple(self._conditions),
                self._site(caller, span),
                (len(trace.calls), len(trace.calls)),
            )
        )

    def _note_unread(
        self,
        function: Function,
        frame: Frame,
        keywords: list[tuple[str | None, Value]],
        span: Span,
        caller: Frame,
        start: int,
        begun: int,
    ) -> None:
        """Notes the keywords that a function takes and never mentions, where a checkpoint runs it or it runs one."""
        trace = self._trace
        assert trace is not None
        if self._dead or span is NO_SPAN:
            return
        if not (frame.parent is not None and self._is_run_by_checkpoint(span)):
            # It wraps the one function that it is given, or, a nested function, was made for. All else computes.
            made = [c for c in trace.checkpoints[begun:] if self._checkpoints or not c.inside]
            if len(made) != 1 or made[0].loops != self._open_loops(caller):
                return
            if frame.parent is None and made[0].function not in [frame.env.get(p.name) for p in function.parameters]:
                return
        names = {p.name for p in function.parameters if p.kind in ("any", "keyword")}
        rest = next((p.name for p in function.parameters if p.kind == "keywords"), None)
        unread = tuple(
            name
            for name, value in keywords
            if name is not None
            and value not in (self.values.none, self.values.absent)
            and (target := name if name in names else rest) is not None
            and not mentions(function.body, target)
        )
        if unread:
            trace.wrapped.append(
                Wrapped(
                    function,
                    self._definition_site(function, frame),
                    (),
                    unread,
                    tuple(self._conditions),
                    self._site(caller, span),
                    (start, len(trace.calls)),
                )
            )

    def _is_run_by_checkpoint(self, span: Span) -> bool:
        """Whether the call at hand is a checkpoint's: the function is what it recomputes."""
        return bool(self._checkpoints) and self._checkpoints[-1].site.span == span

    def _definition_site(self, function: Function, frame: Frame) -> Site:
        """Where a function is defined; `frame` is one of its file and class."""
        class_name = "" if frame.owner is None else frame.owner.facts.qualname
        return Site(frame.module.path, function.qualname, class_name, function.span)

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
                    if parameter.name not in dict(keywords) and parameter.default is None:
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


def _with_bound(
    partial: Value, arguments: list[Value], keywords: list[tuple[str | None, Value]]
) -> tuple[list[Value], list[tuple[str | None, Value]]]:
    """What a call of a partial hands to its function."""
    _, first, more = partial.args
    names = {name for name, _ in keywords}
    kept = [pair for pair in more if pair[0] is None or pair[0] not in names]
    return [*first, *arguments], [*kept, *keywords]


def _forwards(expression: ir.Call, frame: Frame) -> Site | None:
    """Where the arguments are written that a call forwards from a `*` or `**` parameter of the function around it."""
    spread = [argument.value for argument in expression.arguments if type(argument) is ir.Star]
    spread.extend(keyword.value for keyword in expression.keywords if keyword.name is None)
    for value in spread:
        owner: Frame | None = frame if type(value) is ir.Name else None
        while owner is not None:
            if type(value) is ir.Name and value.id in owner.env:
                parameters = owner.function.parameters if owner.function is not None else ()
                if any(p.name == value.id and p.kind in ("variadic", "keywords") for p in parameters):
                    return owner.written
                break
            owner = owner.parent
    return None


def changes_in_place(name: str) -> bool:
    """Whether a method changes what it is called on: one of a container's, or one of a tensor's that says so."""
    return name in CHANGES or (name.endswith("_") and not name.startswith("_") and name != "requires_grad_")


def _may_change(callee: Value) -> bool:
    """Whether a call that was left as it stands may change what it is given: no builtin, nothing of torch, no block."""
    if callee.op == "ref":
        return not str(callee.args[0]).startswith(("builtins.", "torch.", "numpy.", "math."))
    return callee.op in ("function", "bound", "name", "param", "call", "closure") or (
        callee.op == "attr" and callee.args[0].op in (*MUTABLE, "ref", "name")
    )
