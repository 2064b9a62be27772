"""Edits of what is recomputed, and of the call that has it recomputed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.seeds.arguments import CONTROL, control_calls
from tests.seeds.sites import HOOK, Route, blocks, checkpoint_calls, function_named
from tests.seeds.text import Edit, Function, Node, Replacement, Text, defaults, names_bound, parameters


def late_binding(text: Text) -> Iterator[Edit]:
    """Reads a name of the loop in a recomputed function that had it as a default, or got it from a factory."""
    for call in checkpoint_calls(text):
        target = call.args[0]
        if isinstance(target, ast.Name) and (function := function_named(text, call, target.id)):
            for parameter, default in defaults(function.args):
                if isinstance(default, ast.Name) and default.id in _bound_in_loops(text, function):
                    uses = [
                        text.replaced(node, default.id)
                        for node in ast.walk(function)
                        if isinstance(node, ast.Name) and node.id == parameter.arg
                    ]
                    parts = (text.removed(parameter), *uses)
                    yield Edit(text, parts, function, default.id, (function,))
        elif isinstance(target, ast.Call) and len(target.args) == 1 and isinstance(target.args[0], ast.Name):
            name = target.args[0].id
            if name in _bound_in_loops(text, call) and not target.keywords and isinstance(target.func, ast.Name):
                factory = function_named(text, call, target.func.id)
                body = _called_by(text, factory, name) if factory else None
                if body is not None:
                    yield Edit(text, (text.replaced(target, f"lambda *inputs: {body}"),), target, name, (target,))


def _called_by(text: Text, factory: ast.FunctionDef, block: str) -> str | None:
    """What the wrapper of a factory returns, with the loop's block in place of the factory's parameter."""
    module = parameters(factory)[0].arg
    for node in ast.walk(factory):
        if isinstance(node, ast.Call) and ast.unparse(node).startswith(f"{module}(*inputs"):
            return f"{block}{text.source(node).removeprefix(module)}".replace("\n", " ")
    return None


def _bound_in_loops(text: Text, node: ast.AST) -> set[str]:
    """The names that the loops around a node bind."""
    loops = [outer for outer in text.enclosing(node) if isinstance(outer, ast.For | ast.While)]
    return set().union(*(names_bound(loop) for loop in loops))


def keyword_to_hook(text: Text) -> Iterator[Edit]:
    """Gives a checkpoint that takes no keywords `use_reentrant`, or the last argument by name."""
    for call in checkpoint_calls(text):
        if not _may_be_hook(text, call) or call.keywords:
            continue
        end = text.end(call.args[-1])
        part = Replacement(end, end, ", use_reentrant=False")
        yield Edit(text, (part,), call, "use_reentrant", (call,))
        last = call.args[-1]
        if len(call.args) > 1 and isinstance(last, ast.Name) and isinstance(call.args[0], ast.Name):
            start = text.start(last)
            yield Edit(text, (Replacement(start, start, f"{last.id}="),), call, last.id, (call,))


def _may_be_hook(text: Text, call: ast.Call) -> bool:
    """Whether a call's callable is, or was bound to, the model's hook."""
    if HOOK.fullmatch(ast.unparse(call.func)):
        return True
    function = text.top_function(call)
    return isinstance(call.func, ast.Name) and any(
        isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == call.func.id
        and HOOK.fullmatch(ast.unparse(node.value))
        for node in ast.walk(function or call)
    )


def keyword_lost(text: Text) -> Iterator[Edit]:
    """Passes the last argument by name to a wrapper that takes any keyword and hands none on, or that takes none."""
    for block in blocks(text):
        for call in block.on(Route.CHECKPOINTED):
            wrapper, inner = call.wrapper, call.also
            if call.call is not call.run or wrapper is None or inner is None or not call.positional:
                continue
            last = call.positional[-1]
            if call.is_starred or not isinstance(last, ast.Name) or wrapper.args.vararg is None or wrapper.args.kwarg:
                continue
            start, star = text.start(last), text.end(wrapper.args.vararg)
            named = Replacement(start, start, f"{last.id}=")
            taken = Replacement(star, star, ", **kwargs")
            due: tuple[Node, ...] = (call.run, inner, *((wrapper,) if isinstance(wrapper, ast.FunctionDef) else ()))
            yield Edit(text, (named, taken), call.run, f"lost {last.id}", due)
            yield Edit(text, (named,), call.run, f"rejected {last.id}", due)


def no_reentrant(text: Text) -> Iterator[Edit]:
    """Leaves `use_reentrant` to torch's default."""
    for call in checkpoint_calls(text):
        for what, value, gone in _modes(text, call):
            del value
            yield Edit(text, (gone,), call, what, (call,))


def _modes(text: Text, call: ast.Call) -> Iterator[tuple[str, ast.expr, Replacement]]:
    """What tells a checkpoint whether it is re-entrant: its value, and the removal of it."""
    for keyword in call.keywords:
        if keyword.arg == "use_reentrant":
            yield "use_reentrant", keyword.value, text.removed(keyword)
        elif keyword.arg is None and isinstance(keyword.value, ast.Name):
            yield from _modes_in(text, call, keyword.value.id)


def _modes_in(text: Text, call: ast.Call, name: str) -> Iterator[tuple[str, ast.expr, Replacement]]:
    """The same in the dictionary of keywords that a call gets."""
    found = [
        (target, node)
        for node in ast.walk(text.top_function(call) or call)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno < call.lineno
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if ast.unparse(target) in (name, f"{name}['use_reentrant']")
    ]
    for target, node in found[-1:]:
        if isinstance(target, ast.Subscript) and node.value is not None:
            yield f"{name} item", node.value, text.replaced(node, "pass")
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Dict):
                for key, value in zip(part.keys, part.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "use_reentrant":
                        yield f"{name} entry", value, Replacement(text.start(key), text.removed(value).end, "")


def state_changed(text: Text) -> Iterator[Edit]:
    """Counts the calls in an attribute: of the block, or, in a nested function that is recomputed, of the model."""
    for call in checkpoint_calls(text):
        target = call.args[0]
        function = function_named(text, call, target.id) if isinstance(target, ast.Name) else None
        owner = next((node for node in text.enclosing(call) if isinstance(node, ast.ClassDef)), None)
        if function is not None and owner is not None and (made := _counter_made(text, owner)):
            yield from _counting(text, function, made)
    used = {name for block in blocks(text) for name in _classes_of(text, block.name, block.scope)}
    for node in text.nodes:
        if isinstance(node, ast.ClassDef) and node.name in used and (made := _counter_made(text, node)):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "forward":
                    yield from _counting(text, method, made)


def _counting(text: Text, function: ast.FunctionDef, made: Replacement) -> Iterator[Edit]:
    first = function.body[1 if ast.get_docstring(function) and len(function.body) > 1 else 0]
    parts = (made, text.inserted(first, "self.calls += 1"))
    yield Edit(text, parts, function, function.name, (function,))


def _counter_made(text: Text, owner: ast.ClassDef) -> Replacement | None:
    """`self.calls = 0` behind the call of the base's initialiser."""
    for function in owner.body:
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            for statement in function.body:
                if ast.unparse(statement).startswith("super().__init__("):
                    return text.appended(statement, "self.calls = 0")
    return None


def _classes_of(text: Text, name: str, scope: ast.AST) -> set[str]:
    """The classes of the elements over which a loop runs, where the same class lists them."""
    loops = [node for node in ast.walk(scope) if isinstance(node, ast.For) and name in names_bound(node.target)]
    containers = {
        ast.unparse(node) for loop in loops for node in ast.walk(loop.iter) if isinstance(node, ast.Attribute)
    }
    owner = next((node for node in text.enclosing(scope) if isinstance(node, ast.ClassDef)), None)
    found = set()
    for node in ast.walk(owner) if owner is not None else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in containers:
            for made in ast.walk(node.value):
                if isinstance(made, ast.ListComp) and isinstance(made.elt, ast.Call):
                    found.add(ast.unparse(made.elt.func))
    return found


def nested_tensors(text: Text) -> Iterator[Edit]:
    """Packs the first two tensors into one tuple, in the mode that tracks no tensor in a tuple."""
    for block in blocks(text):
        for call in block.on(Route.CHECKPOINTED):
            values = call.run.args[1:]
            mode = next(_modes(text, call.run), None)
            if mode is None or len(values) < 2 or any(isinstance(value, ast.Starred) for value in values):
                continue
            unpacked: list[Replacement] = []
            if call.call is call.run and call.also is not None and isinstance(call.also.args[0], ast.Starred):
                name = text.source(call.also.args[0].value)
                unpacked = [text.replaced(call.also.args[0], f"*{name}[0], *{name}[1:]")]
            elif call.also is None and isinstance(call.wrapper, ast.FunctionDef) and len(call.wrapper.args.args) > 1:
                one, other = call.wrapper.args.args[:2]
                unpacked = [
                    Replacement(text.start(one), text.end(other), "packed"),
                    text.inserted(call.wrapper.body[0], f"{one.arg}, {other.arg} = packed"),
                ]
            if unpacked:
                start, end = text.start(values[0]), text.end(values[1])
                parts = (Replacement(start, start, "("), Replacement(end, end, ")"), text.replaced(mode[1], "True"))
                yield Edit(text, (*parts, *unpacked), call.run, "packed", (call.run,))


def no_offload_context(text: Text) -> Iterator[Edit]:
    """Runs attention outside the offload context, or doesn't tell it of the control."""
    for node in text.nodes:
        if isinstance(node, ast.With) and len(node.items) == 1:
            held = node.items[0].context_expr
            if isinstance(held, ast.Call) and ast.unparse(held.func) == "activation_offload_context":
                yield Edit(text, (text.unwrapped(node, node.body),), node, "context", (node,))
    for call in text.calls:
        for keyword in call.keywords:
            if keyword.arg == CONTROL and ast.unparse(keyword.value) == CONTROL:
                yield Edit(text, (text.removed(keyword),), call, "handed on", (call,))


def forgetful_branch(text: Text) -> Iterator[Edit]:
    """Gives a wrapper another branch, that passes `return_dict` and forgets the control.

    A wrapper is a function inside another, which hands the control to a callable that it got: as a parameter, as a
    default, from the factory around it, or as the loop's block. The new parameter goes to the factory where there is
    one, and no present call passes it.
    """
    for call, keyword in control_calls(text):
        functions = text.functions(call)
        if len(functions) < 2 or not isinstance(call.func, ast.Name):
            continue
        wrapper, *outer = functions
        name = call.func.id
        factory = next((f for f in outer[:-1] if name in {p.arg for p in parameters(f)}), None)
        loops = {
            bound for node in ast.walk(outer[-1]) if isinstance(node, ast.For) for bound in names_bound(node.target)
        }
        if not (factory or name in {p.arg for p in parameters(wrapper)} | loops):
            continue
        statement = text.statement(call)
        # The branch's own call: the same arguments without the control, and the new keyword.
        gone, start = text.removed(keyword), text.start(call)
        kept = (
            (text.text[start : gone.start] + text.text[gone.end : text.end(call)]).rstrip().removesuffix(")").rstrip()
        )
        comma = "" if kept.endswith((",", "(")) else ","
        margin = " " * 4
        own = f"return {kept}{comma} return_dict=return_dict)".split("\n")
        branch = text.inserted(statement, "if return_dict is not None:", "\n".join([f"{margin}{own[0]}", *own[1:]]))
        yield Edit(text, (branch, _new_parameter(text, factory or wrapper)), call, "branch", (statement,))


def _new_parameter(text: Text, function: Function) -> Replacement:
    """Adds `return_dict=None` as the last parameter."""
    arguments = function.args
    assert arguments.kwarg is None
    every: list[Node] = [*parameters(function), *(default for _, default in defaults(arguments))]
    every += [arguments.vararg] if arguments.vararg else []
    end = max(text.end(node) for node in every)
    return Replacement(end, end, ", return_dict=None")
