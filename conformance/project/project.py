"""Links facts across files: imports, classes and their bases. Files are parsed only when a link asks for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from conformance.facts.ir import Attr, Const, Display, Expr, Function, Imported, Name
from conformance.facts.module import (
    ClassFacts,
    FunctionFacts,
    ModuleFacts,
    Unparsable,
    module_facts,
    split_lines,
    summary_of,
)
from conformance.project.profile import Profile
from conformance.sources.overlay import Overlay, read_text
from conformance.sources.problems import Problem, Unreadable
from conformance.sources.root import source_root

_MAX_FILES = 4_000
_MAX_FOLDERS = 4_000
"""Most files and folders of a tree that are looked through for a word."""
_MAX_LINKS = 16
"""Longest chain of re-exports or aliases that is followed."""
_MAX_STARS = 64
"""Most star imports of one module that are looked into: each one is a file to parse."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionDef:
    """A function of the tree; `owner` is the class that defines it."""

    module: ModuleFacts
    facts: FunctionFacts
    owner: ClassDef | None = None

    @property
    def name(self) -> str:
        return self.facts.name


@dataclass(frozen=True, slots=True, eq=False)
class ClassDef:
    """A class of the tree. Identity is equality: `Project` makes each once."""

    module: ModuleFacts
    facts: ClassFacts

    @property
    def name(self) -> str:
        return self.facts.name


@dataclass(frozen=True, slots=True)
class ModuleDef:
    """A module of the tree."""

    path: str


@dataclass(frozen=True, slots=True, eq=False)
class AssignDef:
    """A module-level `name = expression`."""

    module: ModuleFacts
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class External:
    """Anything outside the source root, by its dotted name."""

    name: str


Definition: TypeAlias = FunctionDef | ClassDef | ModuleDef | AssignDef | External


class Project:
    """The linked tree: one overlay, one profile, facts on demand.

    `import_roots` gives for a file the folders from which absolute imports may start, nearest first.
    """

    def __init__(self, overlay: Overlay, profile: Profile, import_roots: Callable[[str], tuple[str, ...]]) -> None:
        self.overlay = overlay
        self.profile = profile
        self.given: tuple[str, ...] = ()
        """The folders that are checked: the tree, where nothing marks its root."""
        self.problems: dict[str, Problem] = {}
        self.parsed: set[str] = set()
        self._import_roots = import_roots
        self._modules: dict[str, ModuleFacts | None] = {}
        self._texts: dict[str, str] = {}
        self._around: dict[str, tuple[str, ...] | None] = {}
        self._lines: dict[str, list[str]] = {}
        self._classes: dict[tuple[str, str], ClassDef] = {}
        self._functions: dict[tuple[str, str], FunctionDef] = {}
        self._mros: dict[ClassDef, tuple[ClassDef | External, ...]] = {}
        self._packages: dict[tuple[str, str], str | None] = {}
        self._resolved: dict[tuple[str, str], Definition | None] = {}

    # Files

    def text(self, path: str) -> str:
        """The text of a file. Raises `Unreadable`."""
        text = self._texts.get(path)
        if text is None:
            text = read_text(self.overlay, path)
            self._texts[path] = text
        return text

    def texts_around(self, path: str, word: str) -> list[tuple[str, str]] | None:
        """The files, with their texts, of the tree that a file belongs to and that hold a word.

        None where not all of them can be looked through.
        """
        given = [folder for folder in self.given if path.startswith(folder.rstrip(os.sep) + os.sep)]
        root = source_root(path, self.overlay) or (min(given, key=len) if given else self._import_roots(path)[0])
        if root not in self._around:
            self._around[root] = self._find_files(root)
        files = self._around[root]
        if files is None:
            return None
        found = []
        for file in files:
            try:
                text = read_text(self.overlay, file)
            except Unreadable:
                return None
            if word in text:
                found.append((file, text))
        return found

    def _find_files(self, root: str) -> tuple[str, ...] | None:
        found: list[str] = []
        folders = [root]
        seen = 0
        while folders:
            folder = folders.pop()
            seen += 1
            if seen > _MAX_FOLDERS or len(found) > _MAX_FILES:
                return None
            for name in self.overlay.list_dir(folder):
                path = os.path.join(folder, name)
                if name.endswith(".py"):
                    found.append(path)
                elif "." not in name and self.overlay.is_dir(path):
                    folders.append(path)
        return tuple(sorted(found))

    def forget_text(self, path: str) -> None:
        """Drops the text of a file that is no longer needed."""
        self._texts.pop(path, None)

    def module(self, path: str) -> ModuleFacts | None:
        """Facts of a file; None, and an entry in `problems`, for one that can't be read or parsed."""
        if path in self._modules:
            return self._modules[path]
        facts: ModuleFacts | None = None
        try:
            text = self.text(path)
            self.parsed.add(path)
            facts = module_facts(text, path)
        except Unreadable as error:
            self.problems[path] = Problem(path, error.reason, error.line)
        except Unparsable as error:
            self.problems[path] = Problem(path, error.reason, error.line)
        self._modules[path] = facts
        return facts

    # Imports

    def resolve_module(self, dotted: str, level: int, importer: str) -> str | None:
        """Path of an imported module or package, or None when it isn't in the tree.

        A package without `__init__.py` is given by its folder.
        """
        if level:
            folder = os.path.dirname(importer)
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._below(folder, dotted)
        head = dotted.split(".", 1)[0]
        for root in self._import_roots(importer):
            if self._below(root, head) is not None:
                found = self._below(root, dotted)
                if found is not None:
                    return found
        return None

    def _below(self, folder: str, dotted: str) -> str | None:
        key = (folder, dotted)
        if key in self._packages:
            return self._packages[key]
        path = os.path.join(folder, *dotted.split(".")) if dotted else folder
        found: str | None = None
        if self.overlay.is_file(init := os.path.join(path, "__init__.py")):
            found = init
        elif dotted and self.overlay.is_file(f"{path}.py"):
            found = f"{path}.py"
        elif self.overlay.is_dir(path):
            found = path
        self._packages[key] = found
        return found

    def imported(self, imported: Imported, importer: str, depth: int = 0) -> Definition:
        """What an import stands for."""
        path = self.resolve_module(imported.module, imported.level, importer)
        if imported.attribute is None:
            return ModuleDef(path) if path is not None else External(imported.module)
        if path is None:
            return External(f"{'.' * imported.level}{imported.module}.{imported.attribute}")
        member = self.member(path, imported.attribute, depth + 1)
        return member if member is not None else External(f"{imported.module}.{imported.attribute}")

    def member(self, path: str, name: str, depth: int = 0) -> Definition | None:
        """A name of a module or package, by path; None when it isn't there."""
        if depth > _MAX_LINKS:
            return None
        folder = path
        if path.endswith(".py"):
            module = self.module(path)
            if module is not None:
                found = self.lookup(module, name, depth + 1)
                if found is not None:
                    return found
            if os.path.basename(path) != "__init__.py":
                return None
            folder = os.path.dirname(path)
        child = self._below(folder, name)
        return ModuleDef(child) if child is not None else None

    def lookup(self, module: ModuleFacts, name: str, depth: int = 0) -> Definition | None:
        """A module-level name, through aliases' imports and star imports; None when the module doesn't bind it."""
        key = (module.path, name)
        if key in self._resolved:
            return self._resolved[key]
        if depth > _MAX_LINKS:
            return None
        found = self._lookup(module, name, depth)
        self._resolved[key] = found
        return found

    def _lookup(self, module: ModuleFacts, name: str, depth: int) -> Definition | None:
        later = module.stars_before.get(name)
        if later is not None:
            found = self._from_stars(module, name, module.star_imports[later:], depth)
            if found is not None:
                return found
        if name in module.classes:
            return self.class_def(module, name)
        if name in module.functions:
            return self.function_def(module, module.functions[name])
        if name in module.assigns:
            value = module.assigns[name]
            if isinstance(value, Name) and value.id != name:
                target = self.lookup(module, value.id, depth + 1)
                if target is not None:
                    return target
            if isinstance(value, Attr):
                target = self.dotted(module, value, depth + 1)
                if target is not None:
                    return target
            return AssignDef(module, name, value)
        if name in module.imports:
            return self.imported(module.imports[name], module.path, depth + 1)
        return self._from_stars(module, name, module.star_imports, depth)

    def _from_stars(self, module: ModuleFacts, name: str, stars: tuple[Imported, ...], depth: int) -> Definition | None:
        """What the last of some star imports that brings a name binds it to; a package of very many isn't read."""
        if len(stars) > _MAX_STARS:
            return None
        for star in reversed(stars):
            path = self.resolve_module(star.module, star.level, module.path)
            if path is not None and self._is_exported(path, name):
                found = self.member(path, name, depth + 1)
                if found is not None:
                    return found
        return None

    def _is_exported(self, path: str, name: str) -> bool:
        """Whether `from module import *` brings a name."""
        module = self.module(path) if path.endswith(".py") else None
        exported = module.assigns.get("__all__") if module is not None else None
        if isinstance(exported, Display):
            return any(isinstance(item, Const) and item.value == name for item in exported.items)
        return not name.startswith("_")

    def dotted(self, module: ModuleFacts, expr: Expr, depth: int = 0) -> Definition | None:
        """What a name or a dotted name at module level stands for."""
        if isinstance(expr, Name):
            return self.lookup(module, expr.id, depth)
        if isinstance(expr, Attr):
            base = self.dotted(module, expr.base, depth + 1)
            return None if base is None else self.attribute(base, expr.name, depth + 1)
        return None

    def attribute(self, base: Definition, name: str, depth: int = 0) -> Definition | None:
        """An attribute of a module, a class or something outside."""
        if isinstance(base, ModuleDef):
            return self.member(base.path, name, depth) or External(f"{_dotted_name(base.path)}.{name}")
        if isinstance(base, External):
            return External(f"{base.name}.{name}")
        if isinstance(base, ClassDef):
            nested = f"{base.facts.qualname}.{name}"
            if nested in base.module.classes:
                return self.class_def(base.module, nested)
            return self.method(base, name)
        return None

    # Classes and functions

    def class_def(self, module: ModuleFacts, qualname: str) -> ClassDef:
        key = (module.path, qualname)
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = ClassDef(module, module.classes[qualname])
        return found

    def function_def(self, module: ModuleFacts, facts: FunctionFacts, owner: ClassDef | None = None) -> FunctionDef:
        key = (module.path, facts.qualname)
        found = self._functions.get(key)
        if found is None or found.facts is not facts:
            found = self._functions[key] = FunctionDef(module, facts, owner)
        return found

    def mro(self, cls: ClassDef) -> tuple[ClassDef | External, ...]:
        """The class and its bases, depth first; bases outside the tree by name."""
        found = self._mros.get(cls)
        if found is not None:
            return found
        self._mros[cls] = (cls,)  # a class that inherits from itself
        lines: list[list[ClassDef | External]] = []
        for base in cls.facts.bases:
            target = self.dotted(cls.module, base)
            if isinstance(target, ClassDef):
                lines.append([item for item in self.mro(target) if item is not cls])
            else:
                lines.append([target if isinstance(target, External) else External("?")])
        self._mros[cls] = (cls, *_linearised([*lines, [line[0] for line in lines if line]]))
        return self._mros[cls]

    def method(self, cls: ClassDef, name: str) -> FunctionDef | None:
        """A method by the order of bases; None when it is not in the tree."""
        for base in self.mro(cls):
            if isinstance(base, ClassDef):
                if name in base.facts.methods:
                    return self.function_def(base.module, base.facts.methods[name], base)
                if name in base.facts.assigns:
                    return None  # a class-level name hides the method of a base
        return None

    def class_attribute(self, cls: ClassDef, name: str) -> tuple[ClassDef, Expr] | None:
        """A class-level assignment by the order of bases."""
        for base in self.mro(cls):
            if isinstance(base, ClassDef) and name in base.facts.assigns:
                return base, base.facts.assigns[name]
        return None

    def externals(self, cls: ClassDef) -> tuple[str, ...]:
        """Dotted names of the bases outside the tree."""
        return tuple(base.name for base in self.mro(cls) if isinstance(base, External))

    def inherits(self, cls: ClassDef, names: tuple[str, ...]) -> bool:
        """Whether a base outside the tree has one of these dotted names."""
        return any(name in names for name in self.externals(cls))

    def summary(self, function: FunctionDef) -> Function | None:
        """The function's summary; None when its text can't be read again."""
        module = function.module
        found = module.summaries.get(function.facts.qualname)
        if found is None:
            try:
                found = summary_of(function.facts, self.source_of(function))
            except Unparsable:
                return None
            module.summaries[function.facts.qualname] = found
        return found

    def source_of(self, function: FunctionDef) -> str:
        """The text of a function, for quick word tests; empty when it can't be read."""
        try:
            lines = self.lines(function.module.path)
        except Unreadable:
            return ""
        return "".join(lines[function.facts.first_line - 1 : function.facts.span.end_line])

    def lines(self, path: str) -> list[str]:
        """The lines of a file with their ends. Raises `Unreadable`."""
        found = self._lines.get(path)
        if found is None:
            found = self._lines[path] = split_lines(self.text(path))
        return found


def _linearised(lines: list[list[ClassDef | External]]) -> list[ClassDef | External]:
    """Python's order of bases (C3); what is inconsistent follows in the order given."""
    result: list[ClassDef | External] = []
    lines = [list(line) for line in lines]
    while any(lines):
        lines = [line for line in lines if line]
        heads = (line[0] for line in lines)
        head = next((h for h in heads if not any(h in line[1:] for line in lines)), lines[0][0])
        result.append(head)
        lines = [[item for item in line if item != head] for line in lines]
    return result


def _dotted_name(path: str) -> str:
    return os.path.basename(path).removesuffix(".py")
