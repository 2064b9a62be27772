"""Facts of one file: what it imports, defines and assigns. Pure, frozen in use, and picklable.

`module_facts` parses the text once. Function bodies that a checkpoint rule is likely to ask for are lowered on the
spot, since the syntax tree is dropped at once (it is far larger than the facts); any other body is lowered from its own
few lines when a link asks for it.
"""

from __future__ import annotations

import ast
import gc
import re
import sys
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from conformance.facts.ir import Expr, Function, Imported, Parameter, Span
from conformance.facts.lower import FunctionNode, Lowerer, import_bindings
from conformance.facts.sites import FunctionSites, function_sites, is_foreign

_WORDS = ("heckpoint", "CHECKPOINT", "remat", "ckpt")
"""Parts of words about checkpointing, in the spellings that occur; a plain search is many times a pattern's speed."""


def is_likely(text: str) -> bool:
    """Whether a text has a word of checkpointing: then its functions are lowered with the file, and may be entries."""
    return any(word in text for word in _WORDS)


class Unparsable(Exception):
    """The text is no Python: the reason, and the line if one is known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """A function at module or class level."""

    name: str
    qualname: str
    parameters: tuple[Parameter, ...]
    decorators: tuple[Expr, ...]
    span: Span
    first_line: int
    """The first line with decorators."""
    is_async: bool
    is_likely: bool = False
    """Whether its text, decorators included, has a word of checkpointing."""


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """An annotated name at class level: what a dataclass makes a parameter of."""

    name: str
    annotation: str
    """The last name of the annotation, without what is in brackets."""
    default: Expr | None


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """A class at module level, or inside another one."""

    name: str
    qualname: str
    bases: tuple[Expr, ...]
    decorators: tuple[Expr, ...]
    methods: dict[str, FunctionFacts]
    """The last definition of each name; overloads and property setters come before or after it."""
    assigns: dict[str, Expr]
    """Class-level `name = expression`; the last one."""
    redefined: frozenset[str]
    """Methods defined more than once without an overload or property decorator: conditional definitions."""
    fields: tuple[FieldFacts, ...]
    has_keywords: bool
    """Whether the class statement has keywords: a metaclass, or what `__init_subclass__` takes."""
    span: Span


@dataclass(slots=True)
class ModuleFacts:
    """All that a file says; `summaries` grows as function bodies are asked for."""

    path: str
    imports: dict[str, Imported]
    star_imports: tuple[Imported, ...]
    stars_before: dict[str, int]
    """For a name that a star import may bind anew: how many of them stand before its own binding."""
    functions: dict[str, FunctionFacts]
    classes: dict[str, ClassFacts]
    assigns: dict[str, Expr]
    calls: tuple[Expr, ...]
    """Expression statements at module level that are calls: registrations."""
    sites: dict[str, FunctionSites]
    """The calls of each function by its qualified name; none in a file without a word of checkpointing."""
    summaries: dict[str, Function] = field(default_factory=dict)

    def all_functions(self) -> Iterator[FunctionFacts]:
        """Functions at module level, then methods, in the order of definition."""
        yield from self.functions.values()
        for class_facts in self.classes.values():
            yield from class_facts.methods.values()


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split_lines(text: str) -> list[str]:
    """Lines with their ends as Python counts them; `str.splitlines` also ends lines at form feeds and others."""
    return _LINE.findall(text)


def parse(text: str, path: str) -> ast.Module:
    """`ast.parse` without the garbage collector, warnings or any of its many exceptions but `Unparsable`."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, path)
    except SyntaxError as error:
        version = ".".join(map(str, sys.version_info[:2]))
        detail = "" if error.msg == "invalid syntax" else f": {error.msg}"
        raise Unparsable(f"invalid syntax{detail} (read as Python {version})", error.lineno) from None
    except RecursionError:
        raise Unparsable("nested too deeply to parse") from None
    except MemoryError:
        raise Unparsable("nested too deeply to parse") from None
    except ValueError as error:
        raise Unparsable(str(error)) from None
    finally:
        if enabled:
            gc.enable()


def module_facts(text: str, path: str) -> ModuleFacts:
    """Parses a file and returns its facts.

    Raises `Unparsable`.
    """
    tree = parse(text, path)
    try:
        return _Scan(text, path).run(tree)
    except RecursionError:
        raise Unparsable("nested too deeply to analyse") from None


def function_summary(facts: FunctionFacts, text: str) -> Function:
    """Lowers one function from the lines of its file.

    Raises `Unparsable` when the text isn't the one the facts were made of.
    """
    return summary_of(facts, "".join(split_lines(text)[facts.first_line - 1 : facts.span.end_line]))


def summary_of(facts: FunctionFacts, source: str) -> Function:
    """Lowers one function from its own lines.

    Raises `Unparsable` when they aren't the ones the facts were made of.
    """
    offset = facts.first_line - 1
    if facts.span.column:
        source = f"if 1:\n{source}"
        offset -= 1
    node: ast.AST = parse(source, facts.name)
    while not isinstance(node, FunctionNode):
        body = getattr(node, "body", None)
        if not body:
            raise Unparsable("the text changed while it was read")
        node = body[0]
    return Lowerer(offset).function(node, facts.qualname)


class _Scan:
    """The walk over module and class level."""

    def __init__(self, text: str, path: str) -> None:
        self._path = path
        self._lines: list[str] | None = None
        self._text = text
        self._likely = self._likely_lines()
        self._lowerer = Lowerer()
        self._imports: dict[str, Imported] = {}
        self._stars: list[Imported] = []
        self._stars_before: dict[str, int] = {}
        self._functions: dict[str, FunctionFacts] = {}
        self._classes: dict[str, ClassFacts] = {}
        self._assigns: dict[str, Expr] = {}
        self._calls: list[Expr] = []
        self._summaries: dict[str, Function] = {}
        self._nodes: dict[str, FunctionNode] = {}
        """The functions whose calls are noted once all names of the module are known."""

    def _likely_lines(self) -> list[int]:
        """Numbers of the lines with a word of checkpointing."""
        text = self._text
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        starts: list[int] = []
        for word in _WORDS:
            position = text.find(word)
            while position >= 0:
                starts.append(position)
                position = text.find(word, position + len(word))
        starts.sort()
        lines: list[int] = []
        line, position = 1, 0
        for start in starts:
            line += text.count("\n", position, start)
            position = start
            if not lines or lines[-1] != line:
                lines.append(line)
        return lines

    def run(self, tree: ast.Module) -> ModuleFacts:
        self._module_level(tree.body)
        imports = {name for name, imported in self._imports.items() if not is_foreign(imported)}
        known = {*imports, *self._functions, *self._classes, *self._assigns}
        return ModuleFacts(
            path=self._path,
            imports=self._imports,
            star_imports=tuple(self._stars),
            stars_before={name: count for name, count in self._stars_before.items() if count < len(self._stars)},
            functions=self._functions,
            classes=self._classes,
            assigns=self._assigns,
            calls=tuple(self._calls),
            sites={qualname: function_sites(node, known) for qualname, node in self._nodes.items()},
            summaries=self._summaries,
        )

    def _module_level(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for name, imported in import_bindings(node):
                    if name == "*":
                        self._stars.append(imported)
                    else:
                        self._bind(name, self._imports)
                        self._imports[name] = imported
            elif isinstance(node, FunctionNode):
                self._bind(node.name, self._functions)
                self._functions[node.name] = self._function(node, node.name)
            elif isinstance(node, ast.ClassDef):
                self._bind(node.name, self._classes)
                self._class(node, node.name)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._assign(target.id, node.value)
            elif isinstance(node, ast.AnnAssign):
                if isinstance(node.target, ast.Name) and node.value is not None:
                    self._assign(node.target.id, node.value)
            elif isinstance(node, ast.Expr):
                if isinstance(node.value, ast.Call):
                    self._calls.append(self._lowerer.expr(node.value))
            elif isinstance(node, ast.If):
                self._module_level(node.body)
                self._module_level([other for other in node.orelse if not self._is_placeholder(other)])
            elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
                self._module_level(node.body)  # type: ignore[attr-defined]
                for handler in node.handlers:  # type: ignore[attr-defined]
                    self._fallbacks(handler.body)
                self._module_level(node.orelse)  # type: ignore[attr-defined]
                self._module_level(node.finalbody)  # type: ignore[attr-defined]
            elif isinstance(node, ast.With | ast.For | ast.While):
                self._module_level(node.body)
            elif isinstance(node, ast.Match):
                for case in node.cases:
                    self._module_level(case.body)

    def _bind(self, name: str, kind: Mapping[str, object]) -> None:
        """The last binding of a name counts, whatever it is."""
        for bound in (self._imports, self._functions, self._classes, self._assigns):
            if bound is not kind:
                bound.pop(name, None)
        self._stars_before[name] = len(self._stars)

    def _assign(self, name: str, value: ast.expr) -> None:
        """`name = value`, unless it only wraps what the name stood for: `run = compile(run)`."""
        wraps = (name in self._functions or name in self._classes or name in self._imports) and any(
            isinstance(node, ast.Name) and node.id == name for node in ast.walk(value)
        )
        if not wraps:
            self._bind(name, self._assigns)
            self._assigns[name] = self._lowerer.expr(value)

    def _is_placeholder(self, node: ast.stmt) -> bool:
        """`Name = None` in an `else`, where the `if` has bound it to something."""
        return (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and node.value.value is None
            and all(
                isinstance(target, ast.Name)
                and any(target.id in kind for kind in (self._imports, self._functions, self._classes))
                for target in node.targets
            )
        )

    def _fallbacks(self, body: list[ast.stmt]) -> None:
        """Module level of an `except`: what it binds counts only where the body of the `try` bound nothing."""
        known = {*self._imports, *self._functions, *self._classes, *self._assigns}
        self._module_level([node for node in body if not known.intersection(_bound_names(node))])

    def _function(self, node: FunctionNode, qualname: str) -> FunctionFacts:
        decorators = tuple([self._lowerer.expr(d) for d in node.decorator_list])
        first = min((d.lineno for d in node.decorator_list), default=node.lineno)
        span = self._lowerer.span(node)
        if self._is_likely(node.lineno, span.end_line):
            summary = self._lowerer.function(node, qualname)
            self._summaries[qualname] = summary
            parameters = summary.parameters
        else:
            parameters = self._lowerer.parameters(node.args)
        if self._likely:
            self._nodes[qualname] = node
        return FunctionFacts(
            name=node.name,
            qualname=qualname,
            parameters=parameters,
            decorators=decorators,
            span=span,
            first_line=first,
            is_async=isinstance(node, ast.AsyncFunctionDef),
            is_likely=self._is_likely(first, span.end_line),
        )

    def _is_likely(self, first: int, last: int) -> bool:
        index = bisect_left(self._likely, first)
        return index < len(self._likely) and self._likely[index] <= last

    def _class(self, node: ast.ClassDef, qualname: str) -> None:
        methods: dict[str, FunctionFacts] = {}
        assigns: dict[str, Expr] = {}
        redefined: set[str] = set()
        fields: list[FieldFacts] = []
        self._class_level(node.body, qualname, methods, assigns, redefined, fields)
        self._classes[qualname] = ClassFacts(
            name=node.name,
            qualname=qualname,
            bases=tuple([self._lowerer.expr(base) for base in node.bases]),
            decorators=tuple([self._lowerer.expr(d) for d in node.decorator_list]),
            methods=methods,
            assigns=assigns,
            redefined=frozenset(redefined),
            fields=tuple(fields),
            has_keywords=bool(node.keywords),
            span=self._lowerer.span(node),
        )

    def _class_level(
        self,
        body: list[ast.stmt],
        qualname: str,
        methods: dict[str, FunctionFacts],
        assigns: dict[str, Expr],
        redefined: set[str],
        fields: list[FieldFacts],
    ) -> None:
        overloaded: set[str] = set()
        for node in body:
            if isinstance(node, FunctionNode):
                if _is_accessor(node) and node.name in methods:
                    continue
                if node.name in methods and node.name not in overloaded:
                    redefined.add(node.name)
                if any(_last_name(d) == "overload" for d in node.decorator_list):
                    overloaded.add(node.name)
                else:
                    overloaded.discard(node.name)
                methods[node.name] = self._function(node, f"{qualname}.{node.name}")
            elif isinstance(node, ast.ClassDef):
                self._class(node, f"{qualname}.{node.name}")
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        assigns[target.id] = self._lowerer.expr(node.value)
            elif isinstance(node, ast.AnnAssign):
                if isinstance(node.target, ast.Name):
                    value = None if node.value is None else self._lowerer.expr(node.value)
                    fields.append(FieldFacts(node.target.id, _annotation(node.annotation), value))
                    if value is not None:
                        assigns[node.target.id] = value
            elif isinstance(node, ast.If):
                self._class_level(node.body, qualname, methods, assigns, redefined, fields)
                self._class_level(node.orelse, qualname, methods, assigns, redefined, fields)
            elif isinstance(node, ast.Try):
                self._class_level(node.body, qualname, methods, assigns, redefined, fields)


def _bound_names(node: ast.stmt) -> set[str]:
    """Names that a statement at module level binds."""
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    if isinstance(node, FunctionNode | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {name for name, _ in import_bindings(node)}
    return set()


def _is_accessor(node: FunctionNode) -> bool:
    """`@x.setter` and `@x.deleter`: the getter stays the method of that name."""
    return any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in node.decorator_list)


def _annotation(node: ast.expr) -> str:
    """The last name of an annotation: `ClassVar` of `typing.ClassVar[int]`."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.split("[", 1)[0].rsplit(".", 1)[-1]
    return _last_name(node) or ""


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
