"""Whether a name stands for one definition for certain, everything in its package considered.

Facts and links give the likeliest definition. These questions are asked for the few calls that seem to be wrong, and
may be slow: they parse a file again, and read every file of the package once.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from conformance.facts.ir import Attr, Call, Expr, Item, Name, Span
from conformance.facts.module import ModuleFacts, Unparsable, parse
from conformance.facts.scopes import ModuleScopes, Surroundings, module_scopes, surroundings
from conformance.project.project import ClassDef, Project
from conformance.sources.problems import Unreadable

_MAX_LINKS = 16
_MOST_FILES = 6_000
"""Files of a package that are still looked through; in a larger one nothing is certain."""
_HEADER = 2_000
"""Characters of a file in which it may say what it was generated from."""
_CLASS = re.compile(r"class[ \t]+(\w+)[ \t]*\(([^)]*)\)")
_WORD = re.compile(r"\w+")


class Certainty:
    """Questions about one project; keeps what it has read."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._trees: dict[str, ast.Module | None] = {}
        self._scopes: dict[str, ModuleScopes] = {}
        self._packages: dict[str, dict[str, str] | None] = {}
        self._bases: dict[str, dict[str, list[tuple[str, str]]]] = {}
        self._mentioned: dict[tuple[str, str], bool] = {}
        self._files: dict[ClassDef, set[str]] = {}
        self._subclasses: dict[ClassDef, tuple[ClassDef, ...] | None] = {}

    # One file

    def surroundings(self, path: str, span: Span) -> Surroundings | None:
        """What stands around a call; None where the file has no such call."""
        tree = self._tree(path)
        return None if tree is None else surroundings(tree, self._project.lines(path), span)

    def is_settled(self, module: ModuleFacts, name: str, depth: int = 0) -> bool:
        """Whether a name at module level is bound once, and so is what it is imported from."""
        if depth > _MAX_LINKS:
            return False
        scopes = self._module_scopes(module.path)
        if scopes is None or scopes.is_dynamic or name in scopes.rebound:
            return False
        if scopes.names[name] != 1:
            return False
        if name in module.imports:
            imported = module.imports[name]
            path = self._project.resolve_module(imported.module, imported.level, module.path)
            if imported.attribute is None or path is None or not path.endswith(".py"):
                return path is not None
            source = self._project.module(path)
            if source is None:
                return False
            bound = self._module_scopes(path)
            if bound is not None and not bound.names[imported.attribute]:
                return not source.star_imports  # a submodule
            return self.is_settled(source, imported.attribute, depth + 1)
        if name in module.assigns:
            value = module.assigns[name]
            head = _head(value)
            return isinstance(value, Name | Attr) and head is not None and self.is_settled(module, head, depth + 1)
        return name in module.functions or name in module.classes

    def is_settled_class(self, cls: ClassDef) -> bool:
        """Whether a class and the names of its bases are bound once."""
        top = cls.facts.qualname.partition(".")[0]
        scopes = self._module_scopes(cls.module.path)
        if scopes is None or scopes.names[top] != 1 or top in scopes.rebound or scopes.is_dynamic:
            return False
        if any(scopes.members[_split(cls.facts.qualname)] != 1 for _ in (0,) if "." in cls.facts.qualname):
            return False
        for base in cls.facts.bases:
            head = _head(base)
            if head is None:
                return False
            if scopes.names[head] > 1:
                return False
        return True

    def is_settled_member(self, cls: ClassDef, name: str) -> bool:
        """Whether a class body binds a name once."""
        scopes = self._module_scopes(cls.module.path)
        return scopes is not None and scopes.members[cls.facts.qualname, name] == 1

    def is_unbound_member(self, cls: ClassDef, name: str) -> bool:
        """Whether a class body binds no such name, by an import or a loop neither."""
        scopes = self._module_scopes(cls.module.path)
        return scopes is not None and not scopes.members[cls.facts.qualname, name]

    # The package

    def is_patched(self, name: str, near: tuple[str, ...], paths: tuple[str, ...]) -> bool:
        """Whether some code of the package assigns an attribute of this name from outside.

        Where `near` is given, only files that have one of these words, or are among `paths`, count.
        """
        pattern = re.compile(
            rf"\.\s*{re.escape(name)}\s*(?::[^=\n]+)?=(?!=)|\bdel\b[^\n]*\.\s*{re.escape(name)}\b"
            rf"|(?:setattr|patch|replace)\w*\s*\([^()]*[\"'](?:[\w.]*\.)?{re.escape(name)}[\"']"
        )
        texts = self._texts(paths[0])
        if texts is None:
            return True
        return any(
            pattern.search(text)
            for path, text in texts.items()
            if name in text and (not near or path in paths or any(word in text for word in near))
        )

    def is_template(self, path: str) -> bool:
        """Whether a file beside this one says that it was generated from it.

        What runs is then the generated file: a generator may read `super().__init__()` as "the parent's body here".
        """
        folder, name = os.path.split(path)
        pattern = re.compile(rf"\bgenerated\b[^\n]*\bfrom\b[^\n]*(?<!\w){re.escape(name)}(?!\w)")
        return any(
            place != path and os.path.dirname(place) == folder and pattern.search(text[:_HEADER])
            for place, text in (self._texts(path) or {}).items()
        )

    def mentions(self, path: str, word: str, pattern: str) -> Iterator[tuple[str, int]]:
        """File and offset of each match, in the package of a file, of a pattern that has a word in it."""
        compiled = re.compile(pattern, re.MULTILINE)
        for place, text in (self._texts(path) or {}).items():
            if word in text:
                for match in compiled.finditer(text):
                    yield place, match.start()

    def has_mention(self, path: str, word: str, pattern: str) -> bool:
        """Whether there is one."""
        key = (self._package(path), pattern)
        if key not in self._mentioned:
            self._mentioned[key] = any(True for _ in self.mentions(path, word, pattern))
        return self._mentioned[key]

    def is_small(self, path: str) -> bool:
        """Whether the package of a file can be looked through."""
        return self._texts(path) is not None

    def class_at(self, path: str, offset: int) -> tuple[ClassDef | None, str]:
        """The class and the name of the method that hold an offset of a text."""
        module = self._project.module(path)
        text = (self._texts(path) or {}).get(path, "")
        if module is None:
            return None, ""
        line = text.count("\n", 0, offset) + 1
        for facts in module.classes.values():
            for method in facts.methods.values():
                if method.first_line <= line <= method.span.end_line:
                    return self._project.class_def(module, facts.qualname), method.name
        return None, ""

    def subclasses(self, cls: ClassDef) -> tuple[ClassDef, ...] | None:
        """All classes of the package that inherit from a class; None where that can't be known."""
        if cls not in self._subclasses:
            self._subclasses[cls] = self._find_subclasses(cls)
        return self._subclasses[cls]

    def _find_subclasses(self, cls: ClassDef) -> tuple[ClassDef, ...] | None:
        if not self.is_small(cls.module.path):
            return None
        found: list[ClassDef] = []
        for path in sorted(self.files_of_subclasses(cls)):
            module = self._project.module(path)
            if module is None:
                return None
            for facts in module.classes.values():
                other = self._project.class_def(module, facts.qualname)
                if other is not cls and cls in self._project.mro(other):
                    found.append(other)
        return tuple(found)

    def files_of_subclasses(self, cls: ClassDef) -> set[str]:
        """The files of the package with a class that, by the names of bases, may inherit from a class."""
        if cls not in self._files:
            declared = self._declared(cls.module.path)
            names, paths = [cls.name], set()
            known = {cls.name}
            for name in names:
                for path, child in declared.get(name, ()):
                    paths.add(path)
                    if child not in known:
                        known.add(child)
                        names.append(child)
            self._files[cls] = paths
        return self._files[cls]

    def _declared(self, path: str) -> dict[str, list[tuple[str, str]]]:
        """For each word among the bases of a class statement: the files and classes it stands in."""
        root = self._package(path)
        if root not in self._bases:
            found = self._bases[root] = {}
            for place, text in (self._texts(path) or {}).items():
                for match in _CLASS.finditer(text):
                    for word in set(_WORD.findall(match[2])):
                        found.setdefault(word, []).append((place, match[1]))
        return self._bases[root]

    def _texts(self, path: str) -> dict[str, str] | None:
        """The texts of the package that holds a file, its tests left out; None where it is too large."""
        root = self._package(path)
        if root not in self._packages:
            self._packages[root] = self._read(root)
        return self._packages[root]

    def _package(self, path: str) -> str:
        folder = os.path.dirname(path)
        overlay = self._project.overlay
        while (
            overlay.is_file(os.path.join(os.path.dirname(folder), "__init__.py")) and os.path.dirname(folder) != folder
        ):
            folder = os.path.dirname(folder)
        return folder

    def _read(self, root: str) -> dict[str, str] | None:
        overlay = self._project.overlay
        result: dict[str, str] = {}
        folders = [root]
        while folders:
            folder = folders.pop()
            for name in overlay.list_dir(folder):
                path = os.path.join(folder, name)
                if name.endswith(".py"):
                    try:
                        result[path] = self._project.text(path)
                    except Unreadable:
                        continue
                elif name not in ("__pycache__", "node_modules") and not name.startswith(".") and overlay.is_dir(path):
                    folders.append(path)
                if len(result) > _MOST_FILES:
                    return None
        return result

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            try:
                self._trees[path] = parse(self._project.text(path), path)
            except (Unreadable, Unparsable):
                self._trees[path] = None
        return self._trees[path]

    def _module_scopes(self, path: str) -> ModuleScopes | None:
        if path not in self._scopes:
            tree = self._tree(path)
            if tree is None:
                return None
            self._scopes[path] = module_scopes(tree)
        return self._scopes[path]


def _split(qualname: str) -> tuple[str, str]:
    owner, _, name = qualname.rpartition(".")
    return owner, name


def _head(expr: Expr) -> str | None:
    """The first name of a dotted expression, a call or a subscript of one."""
    while isinstance(expr, Attr | Item | Call):
        expr = expr.function if isinstance(expr, Call) else expr.base
    return expr.id if isinstance(expr, Name) else None
