"""From `ast` to function summaries: the one walk over a function's body."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from conformance.facts.ir import (
    Assert,
    Assign,
    Attr,
    Bind,
    Block,
    Bool,
    Call,
    Choice,
    Compare,
    Comprehension,
    Const,
    Define,
    Delete,
    Display,
    Evaluate,
    Expr,
    For,
    Function,
    Generator,
    If,
    Import,
    Imported,
    Item,
    Jump,
    Keyword,
    Lambda,
    Mapping,
    Name,
    Not,
    Op,
    Parameter,
    Raise,
    Return,
    Slice,
    Span,
    Star,
    Statement,
    Target,
    Try,
    While,
    With,
    Yield,
)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_NONE = Const(None)
_TRUE = Const(True)

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}

_MUTATORS = frozenset(
    {"append", "extend", "insert", "update", "setdefault", "pop", "popitem", "clear", "remove", "add_module"}
)


class _Scope:
    """Names of one function while its body is lowered."""

    __slots__ = ("bound", "bound_again", "changed", "global_", "is_generator", "nonlocal_", "read_inside")

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.global_: set[str] = set()
        self.nonlocal_: set[str] = set()
        self.read_inside: set[str] = set()
        """Names that functions inside read without binding them."""
        self.changed: list[set[str]] = []
        """One set for each loop that is being lowered: what its body changes."""
        self.bound_again: list[set[str]] = []
        """The same, without what is only changed in place."""
        self.is_generator = False

    def bind(self, name: str) -> None:
        self.bound.add(name)
        self.bind_again(name)

    def bind_again(self, name: str) -> None:
        self.change(name)
        for bound in self.bound_again:
            bound.add(name)

    def change(self, name: str) -> None:
        for changed in self.changed:
            changed.add(name)


class Lowerer:
    """Lowers functions of one file. `line_offset` is added to every line (for a function parsed by itself)."""

    def __init__(self, line_offset: int = 0) -> None:
        self._offset = line_offset
        self._qualname = ""
        self._scopes: list[_Scope] = []
        self._reads: list[set[str]] = []
        """For each open function: the names it reads, to find what it captures."""

    # Functions

    def function(self, node: FunctionNode, qualname: str) -> Function:
        """The summary of a `def`. Defaults are lowered in the enclosing scope."""
        return self._function(node, node.name, qualname, node.args, node.body)

    def _function(
        self,
        node: FunctionNode | ast.Lambda,
        name: str,
        qualname: str,
        arguments: ast.arguments,
        body: list[ast.stmt] | ast.expr,
    ) -> Function:
        parameters = self.parameters(arguments)
        scope = _Scope()
        scope.bound.update(p.name for p in parameters)
        self._scopes.append(scope)
        self._reads.append(set())
        outer_qualname = self._qualname
        self._qualname = qualname
        if isinstance(body, list):
            block = self.block(body)
        else:
            block = (Return(self.expr(body), body.lineno + self._offset),)
        self._qualname = outer_qualname
        self._scopes.pop()
        reads = self._reads.pop()
        local = scope.bound - scope.global_ - scope.nonlocal_
        free = (reads | scope.read_inside) - local
        if self._scopes:
            self._scopes[-1].read_inside |= free
            for name_ in scope.nonlocal_:
                self._scopes[-1].bind_again(name_)
        return Function(
            name=name,
            qualname=qualname,
            parameters=parameters,
            body=block,
            locals=frozenset(local),
            globals=frozenset(scope.global_),
            nonlocals=frozenset(scope.nonlocal_),
            captured=frozenset(scope.read_inside & local),
            is_generator=scope.is_generator,
            is_async=isinstance(node, ast.AsyncFunctionDef),
            span=self.span(node),
        )

    def parameters(self, arguments: ast.arguments) -> tuple[Parameter, ...]:
        """The signature in order, with lowered defaults."""
        result: list[Parameter] = []
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
        defaults.extend(arguments.defaults)
        for index, (argument, default) in enumerate(zip(plain, defaults, strict=True)):
            kind = "positional" if index < len(arguments.posonlyargs) else "any"
            result.append(self._parameter(argument, kind, default))
        if arguments.vararg:
            result.append(self._parameter(arguments.vararg, "variadic", None))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            result.append(self._parameter(argument, "keyword", default))
        if arguments.kwarg:
            result.append(self._parameter(arguments.kwarg, "keywords", None))
        return tuple(result)

    def _parameter(self, argument: ast.arg, kind: str, default: ast.expr | None) -> Parameter:
        annotation = argument.annotation
        text: str | None = None
        if isinstance(annotation, ast.Name):
            text = annotation.id
        elif isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            text = annotation.value
        return Parameter(argument.arg, kind, None if default is None else self.expr(default), text)

    def span(self, node: ast.stmt | ast.expr) -> Span:
        end_line = node.end_lineno if node.end_lineno is not None else node.lineno
        end_column = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return Span(node.lineno + self._offset, node.col_offset, end_line + self._offset, end_column)

    # Statements

    def block(self, body: Iterable[ast.stmt]) -> Block:
        """Lowers statements in order."""
        result: list[Statement] = []
        for node in body:
            lower = _STATEMENTS.get(type(node))
            if lower is not None:
                lower(self, node, result)
        return tuple(result)

    def _assign(self, node: ast.Assign, out: list[Statement]) -> None:
        value = self.expr(node.value)
        out.append(Assign(tuple(self.target(t) for t in node.targets), value, node.lineno + self._offset))

    def _ann_assign(self, node: ast.AnnAssign, out: list[Statement]) -> None:
        if node.value is None:
            if isinstance(node.target, ast.Name):
                self._bind(node.target.id)
            return
        value = self.expr(node.value)
        out.append(Assign((self.target(node.target),), value, node.lineno + self._offset))

    def _aug_assign(self, node: ast.AugAssign, out: list[Statement]) -> None:
        kind = _BINARY[type(node.op)]
        value = Op(kind, (self.expr(node.target), self.expr(node.value)))
        out.append(Assign((self.target(node.target),), value, node.lineno + self._offset, True))

    def _expression(self, node: ast.Expr, out: list[Statement]) -> None:
        if not isinstance(node.value, ast.Constant):
            out.append(Evaluate(self.expr(node.value), node.lineno + self._offset))

    def _if(self, node: ast.If, out: list[Statement]) -> None:
        test = self.expr(node.test)
        out.append(If(test, self.block(node.body), self.block(node.orelse), node.lineno + self._offset))

    def _for(self, node: ast.For | ast.AsyncFor, out: list[Statement]) -> None:
        iterable = self.expr(node.iter)
        self._enter_loop()
        target = self.target(node.target)
        body = self.block(node.body)
        changed, kept = self._leave_loop()
        orelse = self.block(node.orelse)
        span = Span(
            node.lineno + self._offset,
            node.col_offset,
            (node.iter.end_lineno or node.lineno) + self._offset,
            node.iter.end_col_offset or node.col_offset,
        )
        out.append(For(target, iterable, body, orelse, changed, kept, span))

    def _while(self, node: ast.While, out: list[Statement]) -> None:
        self._enter_loop()
        test = self.expr(node.test)
        body = self.block(node.body)
        changed, kept = self._leave_loop()
        out.append(While(test, body, self.block(node.orelse), changed, kept, node.lineno + self._offset))

    def _enter_loop(self) -> None:
        if self._scopes:
            self._scopes[-1].changed.append(set())
            self._scopes[-1].bound_again.append(set())

    def _leave_loop(self) -> tuple[frozenset[str], frozenset[str]]:
        """What the loop changes, and what of it is only changed in place."""
        if not self._scopes:
            return frozenset(), frozenset()
        changed, bound = self._scopes[-1].changed.pop(), self._scopes[-1].bound_again.pop()
        return frozenset(changed), frozenset(changed - bound)

    def _try(self, node: Any, out: list[Statement]) -> None:
        body = self.block(node.body)
        handlers = []
        for handler in node.handlers:
            caught: Block = ()
            if handler.name:
                self._bind(handler.name)
                caught = (Assign((Name(handler.name),), Op(handler.name, ()), handler.lineno + self._offset),)
            handlers.append((*caught, *self.block(handler.body)))
        orelse = self.block(node.orelse)
        out.append(Try(body, tuple(handlers), orelse, self.block(node.finalbody), node.lineno + self._offset))

    def _with(self, node: ast.With | ast.AsyncWith, out: list[Statement]) -> None:
        items = []
        for item in node.items:
            context = self.expr(item.context_expr)
            target = None if item.optional_vars is None else self.target(item.optional_vars)
            items.append((context, target))
        out.append(With(tuple(items), self.block(node.body), node.lineno + self._offset))

    def _return(self, node: ast.Return, out: list[Statement]) -> None:
        out.append(Return(None if node.value is None else self.expr(node.value), node.lineno + self._offset))

    def _raise(self, node: ast.Raise, out: list[Statement]) -> None:
        out.append(Raise(node.lineno + self._offset))

    def _break(self, node: ast.Break, out: list[Statement]) -> None:
        out.append(Jump("break", node.lineno + self._offset))

    def _continue(self, node: ast.Continue, out: list[Statement]) -> None:
        out.append(Jump("continue", node.lineno + self._offset))

    def _define(self, node: FunctionNode, out: list[Statement]) -> None:
        decorators = tuple(self.expr(d) for d in node.decorator_list)
        qualname = f"{self._qualname}.<locals>.{node.name}" if self._qualname else node.name
        function = self._function(node, node.name, qualname, node.args, node.body)
        self._bind(node.name)
        out.append(Define(function, decorators, node.lineno + self._offset))

    def _class(self, node: ast.ClassDef, out: list[Statement]) -> None:
        self._bind(node.name)
        out.append(Assign((Name(node.name),), Op("class", ()), node.lineno + self._offset))

    def _delete(self, node: ast.Delete, out: list[Statement]) -> None:
        names = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._bind(target.id)
                names.append(target.id)
            elif isinstance(target, ast.Subscript):
                self._mutated(target.value)
                removed = Call(Attr(self.expr(target.value), "pop"), (self.expr(target.slice),), (), self.span(target))
                out.append(Evaluate(removed, node.lineno + self._offset))
            elif isinstance(target, ast.Attribute):
                self.target(target)
        if names:
            out.append(Delete(tuple(names), node.lineno + self._offset))

    def _global(self, node: ast.Global, out: list[Statement]) -> None:
        if self._scopes:
            self._scopes[-1].global_.update(node.names)

    def _nonlocal(self, node: ast.Nonlocal, out: list[Statement]) -> None:
        if self._scopes:
            self._scopes[-1].nonlocal_.update(node.names)

    def _assert(self, node: ast.Assert, out: list[Statement]) -> None:
        out.append(Assert(self.expr(node.test), node.lineno + self._offset))

    def _import(self, node: ast.Import, out: list[Statement]) -> None:
        bindings = tuple(import_bindings(node))
        for name, _ in bindings:
            self._bind(name)
        out.append(Import(bindings, node.lineno + self._offset))

    def _import_from(self, node: ast.ImportFrom, out: list[Statement]) -> None:
        bindings = tuple(import_bindings(node))
        for name, _ in bindings:
            self._bind(name)
        out.append(Import(bindings, node.lineno + self._offset))

    def _match(self, node: ast.Match, out: list[Statement]) -> None:
        subject = self.expr(node.subject)
        result: Block = ()
        for case in reversed(node.cases):
            test: Expr
            pattern = case.pattern
            if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
                test = _TRUE
            elif isinstance(pattern, ast.MatchValue):
                test = Compare("==", subject, self.expr(pattern.value))
            elif isinstance(pattern, ast.MatchSingleton):
                test = Compare("is", subject, Const(pattern.value))
            else:
                test = Op(f"match {ast.unparse(pattern)}", (subject,))
            line = node.lineno + self._offset
            prelude: list[Statement] = []
            for part in ast.walk(pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self._bind(name)
                    captured = subject if part is pattern and test == _TRUE else Op(f"capture {name}", (subject,))
                    prelude.append(Assign((Name(name),), captured, line))
            if case.guard is not None:
                test = Bool("and", (test, self.expr(case.guard)))
            # A guard reads what the pattern binds, so that is bound first.
            result = (*prelude, If(test, self.block(case.body), result, line))
        out.extend(result)

    # Targets

    def _bind(self, name: str) -> None:
        if self._scopes:
            self._scopes[-1].bind(name)

    def target(self, node: ast.expr) -> Target:
        """Lowers an assignment target and notes what it binds."""
        if isinstance(node, ast.Name):
            self._bind(node.id)
            return Name(node.id)
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and self._scopes:
                self._scopes[-1].bind_again(f"{node.value.id}.{node.attr}")
            return Attr(self.expr(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            self._mutated(node.value)
            return Item(self.expr(node.value), self.expr(node.slice))
        if isinstance(node, ast.Starred):
            return Star(self.target(node.value))
        if isinstance(node, ast.Tuple | ast.List):
            return Display("tuple", tuple(self.target(item) for item in node.elts))
        return Item(self.expr(node), _NONE)

    def _mutated(self, node: ast.expr) -> None:
        """Notes that the object behind a name or an attribute of a name changes in place."""
        if not self._scopes:
            return
        if isinstance(node, ast.Name):
            self._scopes[-1].change(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            self._scopes[-1].change(f"{node.value.id}.{node.attr}")

    # Expressions

    def expr(self, node: ast.expr) -> Expr:
        """Lowers any expression."""
        lower = _EXPRESSIONS.get(type(node))
        if lower is None:
            return Op(type(node).__name__, ())
        result: Expr = lower(self, node)
        return result

    def _constant(self, node: ast.Constant) -> Expr:
        return Const(node.value)

    def _name(self, node: ast.Name) -> Expr:
        if self._reads:
            self._reads[-1].add(node.id)
        return Name(node.id)

    def _attribute(self, node: ast.Attribute) -> Expr:
        return Attr(self.expr(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Expr:
        return Item(self.expr(node.value), self.expr(node.slice))

    def _slice(self, node: ast.Slice) -> Expr:
        return Slice(self._optional(node.lower), self._optional(node.upper), self._optional(node.step))

    def _optional(self, node: ast.expr | None) -> Expr | None:
        return None if node is None else self.expr(node)

    def _call(self, node: ast.Call) -> Expr:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _MUTATORS:
            self._mutated(function.value)
        expr = self.expr
        return Call(
            expr(function),
            tuple([expr(a) for a in node.args]),
            tuple([Keyword(k.arg, expr(k.value)) for k in node.keywords]),
            self.span(node),
        )

    def _starred(self, node: ast.Starred) -> Expr:
        return Star(self.expr(node.value))

    def _tuple(self, node: ast.Tuple) -> Expr:
        return Display("tuple", tuple([self.expr(item) for item in node.elts]))

    def _list(self, node: ast.List) -> Expr:
        return Display("list", tuple([self.expr(item) for item in node.elts]))

    def _set(self, node: ast.Set) -> Expr:
        return Display("set", tuple([self.expr(item) for item in node.elts]))

    def _dict(self, node: ast.Dict) -> Expr:
        return Mapping(
            tuple((self._optional(key), self.expr(value)) for key, value in zip(node.keys, node.values, strict=True))
        )

    def _bool_op(self, node: ast.BoolOp) -> Expr:
        kind = "and" if isinstance(node.op, ast.And) else "or"
        return Bool(kind, tuple([self.expr(value) for value in node.values]))

    def _unary_op(self, node: ast.UnaryOp) -> Expr:
        if isinstance(node.op, ast.Not):
            return Not(self.expr(node.operand))
        operand = self.expr(node.operand)
        if isinstance(node.op, ast.USub) and type(operand) is Const and isinstance(operand.value, int | float):
            return Const(-operand.value)
        return Op(_UNARY[type(node.op)], (operand,))

    def _bin_op(self, node: ast.BinOp) -> Expr:
        return Op(_BINARY[type(node.op)], (self.expr(node.left), self.expr(node.right)))

    def _compare(self, node: ast.Compare) -> Expr:
        parts: list[Expr] = []
        left = self.expr(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.expr(comparator)
            parts.append(Compare(_COMPARE[type(op)], left, right))
            left = right
        return parts[0] if len(parts) == 1 else Bool("and", tuple(parts))

    def _if_exp(self, node: ast.IfExp) -> Expr:
        return Choice(self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def _named(self, node: ast.NamedExpr) -> Expr:
        value = self.expr(node.value)
        self._bind(node.target.id)
        return Bind(node.target.id, value)

    def _lambda(self, node: ast.Lambda) -> Expr:
        qualname = f"{self._qualname}.<lambda>".lstrip(".")
        return Lambda(self._function(node, "<lambda>", qualname, node.args, node.body))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Expr:
        # A comprehension binds in its own scope, a walrus inside it in the function's.
        names: set[str] = set()
        generators = []
        for generator in node.generators:
            iterable = self.expr(generator.iter)
            target = self._comprehension_target(generator.target, names)
            generators.append(Generator(target, iterable, tuple([self.expr(c) for c in generator.ifs])))
        key: Expr | None = None
        if isinstance(node, ast.DictComp):
            key = self.expr(node.key)
            element = self.expr(node.value)
        else:
            element = self.expr(node.elt)
        return Comprehension(type(node).__name__, element, key, tuple(generators), frozenset(names))

    def _comprehension_target(self, node: ast.expr, names: set[str]) -> Target:
        if isinstance(node, ast.Name):
            names.add(node.id)
            return Name(node.id)
        if isinstance(node, ast.Tuple | ast.List):
            return Display("tuple", tuple(self._comprehension_target(item, names) for item in node.elts))
        if isinstance(node, ast.Starred):
            return Star(self._comprehension_target(node.value, names))
        return self.target(node)

    def _joined(self, node: ast.JoinedStr) -> Expr:
        return Op("f-string", tuple([self.expr(v) for v in node.values]))

    def _formatted(self, node: ast.FormattedValue) -> Expr:
        if node.conversion == -1 and node.format_spec is None:
            return self.expr(node.value)
        return Op(
            f"format {node.conversion} {ast.unparse(node.format_spec) if node.format_spec else ''}",
            (self.expr(node.value),),
        )

    def _await(self, node: ast.Await) -> Expr:
        return self.expr(node.value)

    def _yield(self, node: ast.Yield) -> Expr:
        if self._scopes:
            self._scopes[-1].is_generator = True
        return Yield(self._optional(node.value), False)

    def _yield_from(self, node: ast.YieldFrom) -> Expr:
        if self._scopes:
            self._scopes[-1].is_generator = True
        return Yield(self.expr(node.value), True)


def import_bindings(node: ast.Import | ast.ImportFrom) -> Iterable[tuple[str, Imported]]:
    """Local names of an import. A star import yields the name `*`."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, Imported(alias.name, None, 0)
            else:
                head = alias.name.split(".", 1)[0]
                yield head, Imported(head, None, 0)
    else:
        for alias in node.names:
            yield alias.asname or alias.name, Imported(node.module or "", alias.name, node.level)


_StatementLowerer = Callable[[Lowerer, Any, list[Statement]], None]
_STATEMENTS: dict[type[ast.stmt], _StatementLowerer] = {
    ast.Assign: Lowerer._assign,
    ast.AnnAssign: Lowerer._ann_assign,
    ast.AugAssign: Lowerer._aug_assign,
    ast.Expr: Lowerer._expression,
    ast.If: Lowerer._if,
    ast.For: Lowerer._for,
    ast.AsyncFor: Lowerer._for,
    ast.While: Lowerer._while,
    ast.Try: Lowerer._try,
    ast.With: Lowerer._with,
    ast.AsyncWith: Lowerer._with,
    ast.Return: Lowerer._return,
    ast.Raise: Lowerer._raise,
    ast.Break: Lowerer._break,
    ast.Continue: Lowerer._continue,
    ast.FunctionDef: Lowerer._define,
    ast.AsyncFunctionDef: Lowerer._define,
    ast.ClassDef: Lowerer._class,
    ast.Delete: Lowerer._delete,
    ast.Global: Lowerer._global,
    ast.Nonlocal: Lowerer._nonlocal,
    ast.Assert: Lowerer._assert,
    ast.Import: Lowerer._import,
    ast.ImportFrom: Lowerer._import_from,
    ast.Match: Lowerer._match,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = Lowerer._try

_EXPRESSIONS: dict[type[ast.expr], Callable[[Lowerer, Any], Expr]] = {
    ast.Constant: Lowerer._constant,
    ast.Name: Lowerer._name,
    ast.Attribute: Lowerer._attribute,
    ast.Subscript: Lowerer._subscript,
    ast.Slice: Lowerer._slice,
    ast.Call: Lowerer._call,
    ast.Starred: Lowerer._starred,
    ast.Tuple: Lowerer._tuple,
    ast.List: Lowerer._list,
    ast.Set: Lowerer._set,
    ast.Dict: Lowerer._dict,
    ast.BoolOp: Lowerer._bool_op,
    ast.UnaryOp: Lowerer._unary_op,
    ast.BinOp: Lowerer._bin_op,
    ast.Compare: Lowerer._compare,
    ast.IfExp: Lowerer._if_exp,
    ast.NamedExpr: Lowerer._named,
    ast.Lambda: Lowerer._lambda,
    ast.ListComp: Lowerer._comprehension,
    ast.SetComp: Lowerer._comprehension,
    ast.GeneratorExp: Lowerer._comprehension,
    ast.DictComp: Lowerer._comprehension,
    ast.JoinedStr: Lowerer._joined,
    ast.FormattedValue: Lowerer._formatted,
    ast.Await: Lowerer._await,
    ast.Yield: Lowerer._yield,
    ast.YieldFrom: Lowerer._yield_from,
}
