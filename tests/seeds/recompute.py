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
        for keyword in call.keywords:
            if keyword.arg == "use_reentrant":
                yield Edit(text, (text.removed(keyword),), call, "use_reentrant", (call,))
            elif keyword.arg is None and isinstance(keyword.value, ast.Name):
                yield from _out_of_dictionary(text, call, keyword.value.id)


def _out_of_dictionary(text: Text, call: ast.Call, name: str) -> Iterator[Edit]:
    """Takes `use_reentrant` out of the dictionary of keywords that a call gets."""
    bound = [
        node
        for node in ast.walk(text.top_function(call) or call)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        in (name, f"{name}['use_reentrant']")
        and node.lineno < call.lineno
    ]
    for node in bound[-1:]:
        if node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Subscript):
            yield Edit(text, (text.replaced(node, "pass"),), call, f"{name} item", (call,))
            continue
        for part in ast.walk(node.value):
            if isinstance(part, ast.Dict):
                for key, value in zip(part.keys, part.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "use_reentrant":
                        gone = text.removed(value)
                        start = text.start(key)
                        yield Edit(text, (Replacement(start, gone.end, ""),), call, f"{name} entry", (call,))


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
    """Packs two tensors into one tuple, where the checkpoint offloads what it is handed."""
    for block in blocks(text):
        for call in block.on(Route.CHECKPOINTED):
            function = text.top_function(call.run)
            if function is None or "offloaded" not in text.source(function) or not isinstance(call.run.func, ast.Name):
                continue
            if call.call is call.run and isinstance(call.also, ast.Call) and len(call.positional) > 2:
                yield from _packed_for_star(text, call.run, call.also, call.positional)
            elif isinstance(call.wrapper, ast.FunctionDef) and call.call is not call.run and call.also is None:
                yield from _packed_for_names(text, call.run, call.wrapper)


def _packed_for_star(text: Text, run: ast.Call, inner: ast.Call, values: list[ast.expr]) -> Iterator[Edit]:
    starred = [node for node in inner.args if isinstance(node, ast.Starred)]
    if len(starred) != 1 or any(isinstance(value, ast.Starred) for value in run.args):
        return
    name = ast.unparse(starred[0].value)
    one, last = values[1], values[-1]
    parts = (
        Replacement(text.start(one), text.start(one), "("),
        Replacement(text.end(last), text.end(last), ")"),
        text.replaced(starred[0], f"{name}[0], *{name}[1]"),
    )
    yield Edit(text, parts, run, "packed", (run,))


def _packed_for_names(text: Text, run: ast.Call, wrapper: ast.FunctionDef) -> Iterator[Edit]:
    values = run.args[1:]
    plain = [p for p in wrapper.args.args if p not in {q for q, _ in defaults(wrapper.args)}]
    if len(values) < 2 or len(plain) < len(values) or any(isinstance(value, ast.Starred) for value in values):
        return
    one, other = plain[len(values) - 2], plain[len(values) - 1]
    parts = (
        Replacement(text.start(values[-2]), text.start(values[-2]), "("),
        Replacement(text.end(values[-1]), text.end(values[-1]), ")"),
        Replacement(text.start(one), text.end(other), "packed"),
        text.inserted(wrapper.body[0], f"{one.arg}, {other.arg} = packed"),
    )
    yield Edit(text, parts, run, "packed", (run,))


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
