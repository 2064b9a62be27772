"""Which signature a callee has: functions, methods, constructors and instances of the tree.

A signature is given only where the definition, its decorators and its bases leave no choice. Whether a name could have
been bound anew is another question: see `conformance.project.certainty`.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass, replace

from conformance.facts import ir
from conformance.facts.ir import Attr, Call, Const, Expr, Item, Name, Parameter
from conformance.facts.module import ModuleFacts
from conformance.project.project import ClassDef, External, FunctionDef, Project

_KEEPING = frozenset(
    {
        "abc.abstractmethod",
        "contextlib.asynccontextmanager",
        "contextlib.contextmanager",
        "functools.cache",
        "functools.lru_cache",
        "functools.wraps",
        "torch._dynamo.disable",
        "torch.compile",
        "torch.compiler.disable",
        "torch.enable_grad",
        "torch.inference_mode",
        "torch.jit.export",
        "torch.jit.ignore",
        "torch.jit.unused",
        "torch.no_grad",
        "typing.final",
        "typing.no_type_check",
        "typing.override",
        "typing_extensions.final",
        "typing_extensions.override",
    }
)
"""Decorators from outside that leave the signature as it is."""
_DATACLASSES = frozenset({"dataclasses.dataclass"})
_PLAIN_BASES = frozenset({"abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"})
"""Bases from outside that add no method that a class of the tree could lack, and no constructor."""
_MODULE_METHODS = frozenset(
    {
        *(
            "add_module",
            "apply",
            "bfloat16",
            "buffers",
            "children",
            "compile",
            "cpu",
            "cuda",
            "double",
            "eval",
            "float",
        ),
        *("get_buffer", "get_parameter", "get_submodule", "half", "load_state_dict", "modules", "named_buffers"),
        *("named_children", "named_modules", "named_parameters", "parameters", "register_buffer", "register_module"),
        *("register_parameter", "requires_grad_", "share_memory", "state_dict", "to", "to_empty", "train", "type"),
        *("zero_grad", "extra_repr", "set_extra_state", "get_extra_state", "__init__", "__call__"),
    }
)


_IMPLICIT = {"__new__": "static", "__init_subclass__": "class", "__class_getitem__": "class"}
"""Methods that are no instance's without a decorator."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a call of something takes, `self` left out."""

    label: str
    """How it is called in a sentence."""
    parameters: tuple[Parameter, ...]
    module: ModuleFacts
    """Where the definition stands."""
    span: ir.Span
    owner: ClassDef | None = None
    """The class that defines it."""
    receiver: ClassDef | None = None
    """The class of the object that is called, or whose method is called."""
    method: str = ""
    """The name that is looked up in the receiver."""
    name: str = ""
    """The name of a function at module level."""
    after: ClassDef | None = None
    """The class behind which `super()` looks the method up."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """A class that has no method of a name, all of its bases considered."""

    receiver: ClassDef
    method: str


class Signatures:
    """Signatures of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._kinds: dict[int, str | None] = {}
        self._faithful: dict[FunctionDef, bool] = {}

    def of_function(self, function: FunctionDef) -> Signature | None:
        """A function at module level, or a method looked up in its class."""
        kind = self.kind(function)
        if kind is None:
            return None
        facts = function.facts
        owner = function.owner
        parameters = facts.parameters if owner is None or kind != "class" else facts.parameters[1:]
        return Signature(
            facts.qualname,
            parameters,
            function.module,
            facts.span,
            owner,
            owner,
            facts.name if owner else "",
            facts.name,
        )

    def of_method(
        self, receiver: ClassDef, name: str, after: ClassDef | None = None, through_class: bool = False
    ) -> Signature | Lacking | None:
        """A method of an instance (or, `through_class`, of the class itself); None where it isn't known for certain.

        With `after` the search starts behind that class, as `super()` does.
        """
        project = self._project
        mro = project.mro(receiver)
        if after is not None:
            if after not in mro:
                return None
            mro = mro[mro.index(after) + 1 :]
            found = self._in(mro, receiver, name, through_class)
            return replace(found, after=after) if isinstance(found, Signature) else None
        found = self._in(mro, receiver, name, through_class)
        if found is None:
            return None
        if isinstance(found, Signature):
            return found
        return Lacking(receiver, name) if self.is_whole(receiver) and not hasattr(object, name) else None

    def _in(
        self, mro: tuple[ClassDef | External, ...], receiver: ClassDef, name: str, through_class: bool
    ) -> Signature | bool | None:
        """The method where the bases have it, False where they don't, None where that isn't certain."""
        project = self._project
        for base in mro:
            if isinstance(base, External):
                if base.name in _PLAIN_BASES:
                    continue
                if base.name in project.profile.module_bases and not _is_of_module(name):
                    continue
                if not self._is_object(base, receiver):
                    return None
                continue
            facts = base.facts
            if name in facts.methods:
                if (
                    name in facts.redefined
                    or name in facts.assigns
                    or f"{facts.qualname}.{name}" in base.module.classes
                ):
                    return None
                return self._bound(
                    project.function_def(base.module, facts.methods[name], base), receiver, through_class
                )
            if name in facts.assigns or any(field.name == name for field in facts.fields):
                return None
            if f"{facts.qualname}.{name}" in base.module.classes:
                return None
        return False

    def _bound(self, function: FunctionDef, receiver: ClassDef, through_class: bool) -> Signature | None:
        kind = self.kind(function)
        if kind is None:
            return None
        facts = function.facts
        parameters = facts.parameters
        if kind == "class" or (kind == "plain" and not through_class):
            if not parameters or parameters[0].kind not in ("any", "positional"):
                return None
            parameters = parameters[1:]
        return Signature(
            facts.qualname, parameters, function.module, facts.span, function.owner, receiver, facts.name, facts.name
        )

    def of_instance(self, cls: ClassDef) -> Signature | None:
        """Calling an instance: its `__call__`, or what a module's `__call__` runs."""
        found = self.of_method(cls, "__call__")
        if isinstance(found, Signature):
            return found
        project = self._project
        if found is None and project.inherits(cls, project.profile.module_bases):
            for base in project.mro(cls):
                if isinstance(base, External):
                    if base.name not in (*project.profile.module_bases, *_PLAIN_BASES):
                        return None
                elif "__call__" in base.facts.methods or "__call__" in base.facts.assigns:
                    return None
            forward = self.of_method(cls, "forward")
            return forward if isinstance(forward, Signature) else None
        return None

    def of_constructor(self, cls: ClassDef) -> Signature | None:
        """Calling a class."""
        project = self._project
        for base in project.mro(cls):
            if isinstance(base, External):
                if not self._may_be_base(base, cls):
                    return None
                continue
            facts = base.facts
            if facts.has_keywords or "__new__" in facts.methods or "__init__" in facts.assigns:
                return None
            if not self._keeps_class(base):
                return None
        if self._is_dataclass(cls) and "__init__" not in cls.facts.methods:
            parameters = self._fields(cls)
            if parameters is None:
                return None
            return Signature(cls.facts.qualname, parameters, cls.module, cls.facts.span, cls, cls, "__init__")
        if any(isinstance(base, External) and base.name == "typing.NamedTuple" for base in project.mro(cls)):
            return None
        if any(isinstance(base, ClassDef) and self._is_dataclass(base) for base in project.mro(cls)[1:]):
            return None
        found = self.of_method(cls, "__init__")
        if not isinstance(found, Signature):
            return None
        return Signature(
            cls.facts.qualname, found.parameters, found.module, found.span, found.owner, cls, "__init__", cls.name
        )

    def is_whole(self, cls: ClassDef) -> bool:
        """Whether every attribute of a class that isn't set on its instances is known."""
        for base in self._project.mro(cls):
            if isinstance(base, External):
                if base.name not in _PLAIN_BASES and not self._is_object(base, cls):
                    return False
            elif (
                base.facts.has_keywords
                or not self._keeps_class(base)
                or {"__getattr__", "__getattribute__"} & (base.facts.methods.keys() | base.facts.assigns.keys())
            ):
                return False
        return True

    def _is_object(self, base: External, cls: ClassDef) -> bool:
        """Whether what isn't resolved among the bases is only `object`, `Generic[T]` or `Protocol[T]`."""
        if base.name != "?":
            return False
        for item in self._project.mro(cls):
            if not isinstance(item, ClassDef):
                continue
            for expression in item.facts.bases:
                if self._project.dotted(item.module, expression) is not None:
                    continue
                if isinstance(expression, Name) and expression.id == "object":
                    continue
                if isinstance(expression, Item):
                    target = self._project.dotted(item.module, expression.base)
                    if isinstance(target, External) and target.name in _PLAIN_BASES:
                        continue
                return False
        return True

    def _may_be_base(self, base: External, cls: ClassDef) -> bool:
        """Whether a base from outside leaves the constructor to the classes of the tree."""
        if base.name == "?":
            return self._is_object(base, cls) or self._are_exceptions(cls)
        last = base.name.rsplit(".", 1)[-1]
        return not last.endswith(("Enum", "Flag", "Meta", "TypedDict", "BaseModel", "Structure"))

    def _are_exceptions(self, cls: ClassDef) -> bool:
        for item in self._project.mro(cls):
            if not isinstance(item, ClassDef):
                continue
            for expression in item.facts.bases:
                if self._project.dotted(item.module, expression) is None:
                    kind = getattr(builtins, expression.id, None) if isinstance(expression, Name) else None
                    if not (isinstance(kind, type) and (kind is object or issubclass(kind, BaseException))):
                        return False
        return True

    # Decorators

    def kind(self, function: FunctionDef) -> str | None:
        """`plain`, `static` or `class`; None where a decorator may have changed the signature."""
        key = id(function.facts)
        if key not in self._kinds:
            self._kinds[key] = self._find_kind(function)
        return self._kinds[key]

    def _find_kind(self, function: FunctionDef) -> str | None:
        kind = _IMPLICIT.get(function.facts.name, "plain") if function.owner is not None else "plain"
        for decorator in function.facts.decorators:
            named = decorator.function if isinstance(decorator, Call) else decorator
            target = self._project.dotted(function.module, named)
            if target is None and isinstance(named, Name) and named.id in ("staticmethod", "classmethod"):
                kind = named.id.removesuffix("method")
            elif isinstance(target, External):
                if target.name not in _KEEPING:
                    return None
            elif not (
                isinstance(target, FunctionDef) and not isinstance(decorator, Call) and self._is_faithful(target)
            ):
                return None
        return kind if function.owner is not None or kind == "plain" else None

    def _is_faithful(self, decorator: FunctionDef) -> bool:
        """Whether a decorator of the tree returns what it is given, or a function that hands everything on to it."""
        found = self._faithful.get(decorator)
        if found is None:
            found = False
            summary = self._project.summary(decorator)
            if summary is not None and summary.parameters and not decorator.facts.decorators:
                found = _hands_on(summary)
            self._faithful[decorator] = found
        return found

    def _keeps_class(self, cls: ClassDef) -> bool:
        for decorator in cls.facts.decorators:
            named = decorator.function if isinstance(decorator, Call) else decorator
            target = self._project.dotted(cls.module, named)
            if isinstance(target, External) and target.name in (*_DATACLASSES, *_KEEPING):
                continue
            return False
        return True

    # Dataclasses

    def _is_dataclass(self, cls: ClassDef) -> bool:
        return self._dataclass_decorator(cls) is not None

    def _dataclass_decorator(self, cls: ClassDef) -> Expr | None:
        for decorator in cls.facts.decorators:
            named = decorator.function if isinstance(decorator, Call) else decorator
            target = self._project.dotted(cls.module, named)
            if isinstance(target, External) and target.name in _DATACLASSES:
                return decorator
        return None

    def _fields(self, cls: ClassDef) -> tuple[Parameter, ...] | None:
        """The parameters that a dataclass makes of its fields; None where they aren't plain."""
        found: dict[str, Parameter] = {}
        for base in reversed(self._project.mro(cls)):
            if isinstance(base, External):
                if base.name not in _PLAIN_BASES and not self._is_object(base, cls):
                    return None
                continue
            decorator = self._dataclass_decorator(base)
            if decorator is None:
                if base.facts.fields or "__init__" in base.facts.methods:
                    return None
                continue
            keyword_only = False
            if isinstance(decorator, Call):
                options = {k.name: k.value for k in decorator.keywords}
                if None in options or options.get("init", Const(True)) != Const(True) or decorator.arguments:
                    return None
                keyword_only = options.get("kw_only", Const(False)) == Const(True)
            for field in base.facts.fields:
                if field.annotation == "ClassVar":
                    continue
                if field.annotation == "KW_ONLY":
                    keyword_only = True
                    continue
                if not field.annotation:
                    return None
                parameter = _field(field.name, field.default, keyword_only)
                if parameter is None:
                    return None
                if parameter is _NO_PARAMETER:
                    found.pop(field.name, None)
                else:
                    found[field.name] = parameter
        plain = [p for p in found.values() if p.kind == "any"]
        return (*plain, *(p for p in found.values() if p.kind == "keyword"))


_NO_PARAMETER = Parameter("", "", None)


def _field(name: str, default: Expr | None, keyword_only: bool) -> Parameter | None:
    """A dataclass field as a parameter; None where it can't be told."""
    if isinstance(default, Call):
        function = default.function
        last = function.name if isinstance(function, Attr) else getattr(function, "id", "")
        if last == "field":
            options = {k.name: k.value for k in default.keywords}
            if None in options or default.arguments:
                return None
            if options.get("init", Const(True)) == Const(False):
                return _NO_PARAMETER
            keyword_only = options.get("kw_only", Const(keyword_only)) == Const(True)
            default = options.get("default", options.get("default_factory"))
    return Parameter(name, "keyword" if keyword_only else "any", default)


def _is_of_module(name: str) -> bool:
    return name in _MODULE_METHODS or name.startswith(("register_", "_"))


# Decorators of the tree


def _hands_on(decorator: ir.Function) -> bool:
    """Whether all that a decorator returns is its first parameter, or a function that hands on all it gets."""
    given = decorator.parameters[0].name
    inner: dict[str, ir.Function] = {}
    returned: list[Expr | None] = []
    for statement in _statements(decorator.body):
        if isinstance(statement, ir.Define):
            inner[statement.function.name] = statement.function
        elif isinstance(statement, ir.Return):
            returned.append(statement.value)
        elif isinstance(statement, ir.Assign) and any(
            t == Name(given) or getattr(t, "id", "") in inner for t in statement.targets
        ):
            return False
    if not returned:
        return False
    for value in returned:
        if value == Name(given):
            continue
        function = inner.get(value.id) if isinstance(value, Name) else None
        if function is None or not _passes_all(function, given):
            return False
    return True


def _statements(block: ir.Block) -> list[ir.Statement]:
    """All statements of a function, those of nested functions left out."""
    result: list[ir.Statement] = []
    for statement in block:
        result.append(statement)
        for part in statement:
            if isinstance(part, tuple) and not isinstance(statement, ir.Define):
                result.extend(_statements(tuple(p for p in part if isinstance(p, _STATEMENTS))))
                for block_ in part:
                    if isinstance(block_, tuple) and not hasattr(block_, "_fields"):
                        result.extend(_statements(tuple(p for p in block_ if isinstance(p, _STATEMENTS))))
    return result


_STATEMENTS = (
    *(ir.Assign, ir.Evaluate, ir.If, ir.For, ir.While, ir.Try, ir.With, ir.Return, ir.Raise, ir.Jump, ir.Define),
    *(ir.Delete, ir.Assert, ir.Import),
)


def _passes_all(function: ir.Function, given: str) -> bool:
    """Whether a wrapper takes anything and hands it on as it is, and does nothing else with it."""
    leading = [p.name for p in function.parameters if p.kind in ("any", "positional")]
    variadic = next((p.name for p in function.parameters if p.kind == "variadic"), None)
    keywords = next((p.name for p in function.parameters if p.kind == "keywords"), None)
    if variadic is None or keywords is None or any(p.kind == "keyword" for p in function.parameters):
        return False
    if any(p.default is not None for p in function.parameters):
        return False
    wanted = (*(Name(n) for n in leading), ir.Star(Name(variadic)))
    calls = 0

    def visit(node: object) -> bool:
        nonlocal calls
        if isinstance(node, Call) and node.function == Name(given):
            calls += 1
            return node.arguments == wanted and node.keywords == (ir.Keyword(None, Name(keywords)),)
        if isinstance(node, Name):
            return node.id not in (variadic, keywords, given)
        if isinstance(node, tuple):
            return all(visit(part) for part in node)
        return True

    return visit(function.body) and calls > 0
