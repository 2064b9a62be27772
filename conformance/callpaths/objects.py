"""Objects behind values: what `__init__` stores in an attribute, what a container holds, of which classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from conformance.callpaths.frames import Frame, TooLarge
from conformance.callpaths.machine import NO_SPAN, Machine
from conformance.callpaths.values import Value
from conformance.project.project import ClassDef, External, FunctionDef

UNKNOWN_CLASS = "?"
"""The name of a class of which nothing is known, beside others that are."""
_MAX_LINKS = 16
"""Longest chain from a value to the object that it is."""


_STORED = re.compile(r"\bself\.(\w+)\s*(?::[^=\n]+)?=(?!=)")


class Objects(Machine):
    """A part of the interpreter."""

    @property
    def _any_object(self) -> Value:
        """An object of which nothing is known."""
        return self.values.make("inst", self.values.make("ref", UNKNOWN_CLASS), (), ())

    def attribute_value(self, cls: ClassDef, name: str) -> Value | None:
        """What `__init__`, or another method if it doesn't, stores in `self.name`."""
        table = self._table(cls)
        found = table.get(name)
        if found is not None:
            return found
        return self._stored_elsewhere(cls, name)

    def value_after(self, cls: ClassDef, function: FunctionDef, attribute: str) -> Value | None:
        """What a method leaves in an attribute."""
        return self._run_for_attributes(cls, function).get(attribute)

    def attributes(self, cls: ClassDef) -> Mapping[str, Value]:
        """What `__init__` leaves in the attributes of `self`."""
        return self._table(cls)

    def attributes_after(self, cls: ClassDef, function: FunctionDef) -> Mapping[str, Value]:
        """All attributes of `self` that a method sets, with what it leaves in them."""
        return self._run_for_attributes(cls, function)

    def first_name(self, cls: ClassDef, stored: Value) -> str | None:
        """The attribute that `__init__` gave this very object first."""
        return next((name for name, value in self._table(cls).items() if value is stored), None)

    def attribute_values(self, cls: ClassDef, name: str) -> tuple[Value, ...]:
        """All that is stored in `self.name`: what `__init__` leaves None, another method may fill."""
        first = self.attribute_value(cls, name)
        if first is None:
            return ()
        if first is not self.values.none:
            return (first,)
        later = self._stored_elsewhere(cls, name)
        return (first,) if later is None else (first, later)

    def all_stored(self, cls: ClassDef, name: str) -> tuple[Value, ...]:
        """All that methods of the class store in `self.name`, whatever `__init__` does."""
        first = self._table(cls).get(name)
        later = self._stored_elsewhere(cls, name)
        return tuple(dict.fromkeys(value for value in (first, later) if value is not None))

    def _table(self, cls: ClassDef) -> dict[str, Value]:
        found = self._tables.get(cls)
        if found is None:
            self._tables[cls] = {}  # while it leads back to itself
            init = self.project.method(cls, "__init__")
            found = self._run_for_attributes(cls, init) if init is not None else {}
            self._tables[cls] = found
        return found

    def _run_for_attributes(self, cls: ClassDef, function: FunctionDef) -> dict[str, Value]:
        """What a method leaves in the attributes of `self`."""
        key = (cls, function)
        found = self._stored_by.get(key)
        if found is None:
            self._stored_by[key] = {}  # while it leads back to itself
            found = self._stored_by[key] = self._find_attributes(cls, function)
        return found

    def _find_attributes(self, cls: ClassDef, function: FunctionDef) -> dict[str, Value]:
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
        except (TooLarge, RecursionError):
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
        key = (cls, name)
        if key not in self._extra:
            self._extra[key] = None
            self._extra[key] = self._find_elsewhere(cls, name)
        return self._extra[key]

    def _find_elsewhere(self, cls: ClassDef, name: str) -> Value | None:
        found: list[Value] = []
        for base in self.project.mro(cls):
            if isinstance(base, ClassDef):
                for function in self.stores(base).get(name, ()):
                    value = self._run_for_attributes(cls, function).get(name)
                    if value is not None:
                        found.append(value)
        return self._pick(0, found) if found else None

    def stores(self, cls: ClassDef) -> dict[str, list[FunctionDef]]:
        """For each attribute of `self`, the methods of this very class, but `__init__`, that assign it."""
        found = self._stores.get(cls)
        if found is None:
            found = self._stores[cls] = {}
            for facts in cls.facts.methods.values():
                if facts.name in ("__init__", "forward"):
                    continue
                function = self.project.function_def(cls.module, facts, cls)
                for name in dict.fromkeys(_STORED.findall(self.project.source_of(function))):
                    found.setdefault(name, []).append(function)
        return found

    def classes_of(self, value: Value) -> tuple[ClassDef | External, ...]:
        """The classes that a module value can be an instance of; none when that isn't known."""
        return tuple(dict.fromkeys(c for c in map(_class_of, self.objects_of(value)) if c is not None))

    def elements_of(self, value: Value) -> tuple[ClassDef | External, ...]:
        """The classes of a container's elements; none when they aren't known, or it is no container."""
        return tuple(dict.fromkeys(c for c in map(_class_of, self.contents_of(value)) if c is not None))

    def objects_of(self, value: Value, depth: int = 0) -> tuple[Value, ...]:
        """The objects, as the calls that made them, that a value can be."""
        if depth > _MAX_LINKS:
            return (self._any_object,)
        op = value.op
        if op in ("inst", "self", "grown", "many", "list", "tuple", "dict"):
            return (value,)
        if op == "elem":
            return self.contents_of(value.args[1], depth + 1)
        if op == "item":
            base, index = value.args
            if index.op == "slice":
                return self.objects_of(base, depth + 1)
            return _flat(self._at(found, index, depth + 1) for found in self.objects_of(base, depth + 1))
        if op == "attr":
            return _flat(
                self._member_objects(owner, value.args[1], depth + 1)
                for owner in self.objects_of(value.args[0], depth + 1)
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

    def _at(self, container: Value, index: Value, depth: int) -> tuple[Value, ...]:
        """The objects at an index or a key: one where it is a literal and the container is known item by item."""
        if index.op == "const":
            plain = container
            if container.op == "inst" and container.args[0].op == "ref" and container.args[1]:
                name: str = container.args[0].args[0]
                plain = container.args[1][0] if name in self._containers or name in self._mappings else container
                if name.rsplit(".", 1)[-1] == "Sequential":
                    plain = self.values.make("list", *container.args[1])
            if plain.op == "dict":
                for key, value in plain.args[0]:
                    if key is index:
                        return self.objects_of(value, depth + 1)
            elif plain.op in ("list", "tuple"):
                items = self._sequence(plain)
                key = index.args[1]
                if items is not None and isinstance(key, int) and -len(items) <= key < len(items):
                    return self.objects_of(items[key], depth + 1)
        return self.contents_of(container, depth + 1)

    def _member_objects(self, owner: Value, name: str, depth: int) -> tuple[Value, ...]:
        """The objects that an attribute of an object can be."""
        if owner.op == "inst":
            stored = self._namespaces.get((owner, name))
            if stored is not None:
                return self.objects_of(stored, depth + 1)
            if owner.args[0].op == "ref" and owner.args[0].args[0] in self._mappings:
                # What a mapping of modules holds by a key is a submodule of that name: `self.parts.image`.
                return self._at(owner, self.values.const(name), depth + 1)
        cls = _class_of(owner)
        if isinstance(cls, ClassDef):
            return _flat(self.objects_of(stored, depth + 1) for stored in self.attribute_values(cls, name))
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
            return self._all_items(value.args, depth)
        if op == "grown":
            grown = self._all_items(value.args[1], depth)
            return _flat((self.contents_of(value.args[0], depth + 1), grown))
        if op == "inst":
            return self._contained(value.args[0], value.args[1], value.args[2], depth)
        if op == "self":
            cls: ClassDef = value.args[0]
            init = self.project.method(cls, "__init__")
            given: tuple[Value, ...] = ()
            if init is not None:
                given = tuple(self.values.make("param", "init", p.kind, p.name) for p in init.facts.parameters[1:])
            return self._contained(self.values.make("class", cls), given, (), depth)
        if op == "dict":
            return self._all_items(tuple(pair[1] for pair in value.args[0]), depth)
        if op == "merged":
            added = self._all_items(tuple(pair[1] for pair in value.args[1]), depth)
            return _flat((self.contents_of(value.args[0], depth + 1), added))
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

    def _all_items(self, items: tuple[Value, ...], depth: int) -> tuple[Value, ...]:
        """The objects that items, some of them starred, can be, and one of unknown class where only some are known."""
        parts = [
            self.contents_of(item.args[0], depth + 1) if item.op == "star" else self.objects_of(item, depth + 1)
            for item in items
            if item.op != "const"
        ]
        found = _flat(parts)
        if found and not all(parts):
            found = (*found, self._any_object)
        return found

    def _contained(
        self,
        called: Value,
        arguments: tuple[Value, ...],
        keywords: tuple[tuple[str | None, Value], ...],
        depth: int,
    ) -> tuple[Value, ...]:
        """The elements of an instance of a container class."""
        profile = self.project.profile
        if called.op == "ref":
            name = called.args[0]
            if name.rsplit(".", 1)[-1] == "Sequential":
                return self._all_items(arguments, depth)
            if (name in self._containers or name in self._mappings) and (arguments or keywords):
                filling = (*arguments, *(v for _, v in keywords))[0]
                if name in self._mappings and filling.op in ("list", "tuple"):
                    pairs = [item for item in filling.args if item.op == "tuple" and len(item.args) == 2]
                    return _flat(self.objects_of(pair.args[1], depth + 1) for pair in pairs)
                return self.contents_of(filling, depth + 1)
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
                init, [instance, *arguments], list(keywords), NO_SPAN, self._module_frame(init.module)
            )
        except (TooLarge, RecursionError):
            pass
        finally:
            self._contents.pop()
            self._resume(saved)
        return _flat(self.contents_of(content, depth + 1) for content in contents)


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
