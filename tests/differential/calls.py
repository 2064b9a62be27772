"""The spellings of one call of one block: directly, through a checkpoint, through every kind of wrapper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.differential.blocks import BlockClass, Parameter
from tests.differential.sheet import Lines, Sheet, indent

Value = tuple[Parameter, str]
"""A parameter of the block with the expression that it gets."""
Capturable = Callable[[str], bool]
"""Whether an inner function may read an expression that stands outside it."""


@dataclass(frozen=True)
class Want:
    """A value that a callable still wants from its caller."""

    name: str
    """The keyword."""
    value: str
    by: str
    """`position`, `keyword` or `either`."""


@dataclass(frozen=True)
class Target:
    """Something that runs the block when it is called."""

    expression: str
    wants: tuple[Want, ...]
    before: tuple[str, ...] = ()
    """Statements that make it."""


@dataclass(frozen=True)
class Site:
    """A place in the code where one block is to be called."""

    block: str
    """The expression of the block."""
    kind: BlockClass
    states: tuple[str, ...]
    """The local names of the states, in the block's order."""
    plan: tuple[Value, ...]
    """The other values that the block is to get, in the order of its signature."""
    checkpoint: str
    """The expression of the checkpoint callable."""
    reentrant: tuple[str, ...]
    """What else the callable is told: a keyword, a splat or nothing."""
    in_method: bool = True
    """Whether this is inside a method of the model, so that `self` is the model."""
    returns: bool = False
    """Whether the result is returned, not assigned."""
    maybe: frozenset[str] = frozenset()
    """The expressions that are None in some runs."""
    before_loop: Lines | None = None
    """Statements before the loop, where a function could be made as well; None when it couldn't."""
    loop_names: frozenset[str] = frozenset()
    """Names that only the loop knows."""

    @property
    def values(self) -> tuple[Value, ...]:
        """States and the rest, in the order of the block's signature."""
        return tuple(zip(self.kind.states, self.states, strict=True)) + self.plan

    def without(self, parameter: Parameter) -> Site:
        """The same place, where the block doesn't get that parameter."""
        return replace(self, plan=tuple(item for item in self.plan if item[0] is not parameter))


# -- arguments and results


def joined(sheet: Sheet, callee: str, arguments: Sequence[str]) -> str:
    """A call, on one line or on several."""
    if len(arguments) > 1 and sheet.chance(0.3):
        return "\n".join([f"{callee}(", *indent("\n".join(f"{a}," for a in arguments).split("\n")), ")"])
    return f"{callee}({', '.join(arguments)})"


def wants_of(kind: BlockClass, values: Sequence[Value]) -> tuple[Want, ...]:
    """What a block wants: its leading parameters in either way, those after a gap by keyword."""
    given = {parameter.name: value for parameter, value in values}
    wants: list[Want] = []
    by = "either"
    for parameter in (*kind.states, *kind.parameters):
        if parameter.name not in given or parameter.keyword_only:
            by = "keyword"
        if parameter.name in given:
            wants.append(Want(parameter.name, given[parameter.name], by))
    return tuple(wants)


def arguments(sheet: Sheet, wants: Sequence[Want]) -> list[str]:
    """The wants as arguments: by position, by keyword or mixed."""
    least = sum(want.by == "position" for want in wants)
    most = sum(want.by != "keyword" for want in wants)
    split = sheet.choose("arguments", "positional*2", "keyword", "mixed*2")
    count = {"positional": most, "keyword": least}.get(split, sheet.random.randint(least, most))
    named = [f"{want.name}={want.value}" for want in wants[count:]]
    if sheet.chance(0.2):
        sheet.random.shuffle(named)
    return [want.value for want in wants[:count]] + named


def result(sheet: Sheet, site: Site, call: str) -> Lines:
    """The statements around a call: what becomes of its result."""
    if site.returns:
        return f"return {call}".split("\n")
    names = ", ".join(site.states if site.kind.result != "swapped" else reversed(site.states))
    how = "name"
    if site.kind.result == "tuple":
        how = sheet.choose("unpacking", "index", "starred-target", "later-index")
    elif site.kind.result != "value":
        how = sheet.choose("unpacking", "names*4", "later-names")
    match how:
        case "index":
            return f"{names} = {call}[0]".split("\n")
        case "starred-target":
            return f"({names},) = {call}".split("\n")
        case "later-index":
            return [*f"output = {call}".split("\n"), f"{names} = output[0]"]
        case "later-names":
            return [*f"output = {call}".split("\n"), f"{names} = output"]
        case _:
            return f"{names} = {call}".split("\n")


# -- wrappers: functions that call the block


def anything(_expression: str) -> bool:
    """For functions that stand where the block is called: they may read everything there."""
    return True


def is_constant(expression: str) -> bool:
    """For functions that stand elsewhere: they may only hold constants."""
    return expression in ("None", "True", "False") or expression.isdigit()


def inside(sheet: Sheet, site: Site, parameter: Parameter, value: str, taken: Sequence[str]) -> str:
    """A name for a value inside a function: the block's, the caller's (which it then shadows), or a new one."""
    name = sheet.random.choice((parameter.name, f"{parameter.name}_in", value))
    if not name.isidentifier() or is_constant(name):
        name = parameter.name
    others = [other for owner, other in site.values if owner is not parameter]
    while name in taken or name in others:
        name += "_"
    return name


def wrapper(
    sheet: Sheet,
    site: Site,
    name: str,
    callee: str,
    capturable: Capturable,
    leading: Sequence[str] = (),
    defaults: Sequence[str] = (),
    kept: Sequence[str] = (),
) -> Target:
    """A function that calls the block as `callee`; its statements are in `before`.

    `leading` and `defaults` are parameters before and after those for the values; the caller adds what they want.
    `kept` are values that only the place where the function is made knows.
    """
    head, tail, body = list(leading), list(defaults), list[str]()
    wants: list[Want] = []
    inner: list[Value] = []
    states = len(site.kind.states)
    style = sheet.choose("wrapper", "named*4", "star*2", "star-index", "star-slice", "star-unpack", "options")
    moved = 0
    if style.startswith("star"):
        leads = [want for want in wants_of(site.kind, site.values) if want.by == "either"]
        most = next((k for k, want in enumerate(leads) if want.value in kept), len(leads))
        moved = sheet.random.randint(states, most)
        head.append("*inputs")
        wants += [replace(want, by="position") for want in leads[:moved]]
        inner += [(parameter, f"inputs[{k}]") for k, (parameter, _) in enumerate(site.values[:moved])]
        if style == "star-unpack":
            names: list[str] = []
            for parameter, value in site.values[:moved]:
                names.append(inside(sheet, site, parameter, value, [*names, *head, "inputs"]))
            body.append(f"{', '.join(names)}{',' if moved == 1 else ''} = inputs")
            inner = [(parameter, own) for (parameter, _), own in zip(inner, names, strict=True)]
    maybe = {own for (_, own), (_, value) in zip(inner, site.values, strict=False) if value in site.maybe}
    taken = [*(own for _, own in inner), *head, callee, *(text.partition("=")[0] for text in tail), "options", "self"]
    splat = False
    for parameter, value in site.values[moved:]:
        how = "argument"
        if value in kept:
            how = sheet.choose("captured", "default", "free*2")
        elif style == "options" and parameter.kind != "state":
            how = "option"
        elif parameter.kind == "state":
            how = "free" if capturable(value) and sheet.chance(0.1) else "argument"
        elif capturable(value):
            late = capturable is is_of_model and not is_constant(value)  # a method's default can't read `self`
            how = sheet.choose("captured", "argument*2", *([] if late else ["default"]), "free*2")
        if how == "free":
            sheet.note(f"captured/{'state' if parameter.kind == 'state' else 'free'}")
            taken.append(value)
            inner.append((parameter, value))
            maybe |= {value} & site.maybe
            continue
        if how == "option":
            splat = True
            wants.append(Want(parameter.name, value, "keyword"))
            continue
        own = inside(sheet, site, parameter, value, taken)
        taken.append(own)
        inner.append((parameter, own))
        maybe |= {own} if value in site.maybe else set()
        if how == "default":
            tail.append(f"{own}={value}")
        else:
            head.append(own)
            wants.append(Want(own, value, "keyword" if "*inputs" in head else "either"))
    if splat:
        tail.append("**options")

    def call(values: Sequence[Value]) -> str:
        """The block's call with these values of `inner`."""
        held = [value for _, value in values if value.startswith("inputs[")]
        rest = [item for item in values if item[1] not in held]
        if held and style in ("star", "star-slice"):
            given = ["*inputs"] if style == "star" else ["inputs[0]", "*inputs[1:]"]
            given += [f"{parameter.name}={value}" for parameter, value in rest]
        else:
            given = arguments(sheet, wants_of(site.kind, values))
        return joined(sheet, callee, [*given, "**options"] if splat else given)

    optional = [item for item in inner if item[1] in maybe]
    droppable = [item for item in inner if item[0].default is not None and not item[1].startswith("inputs[")]
    branch = sheet.random.choice(("none", "none", "none", "dead"))
    if optional and sheet.chance(0.5):
        sheet.note("branches/live")
        tested = sheet.random.choice(optional)
        body += [f"if {tested[1]} is not None:", *indent(f"return {call(inner)}".split("\n"))]
        inner.remove(tested)
    elif branch == "dead" and droppable:
        sheet.note("branches/dead")
        dropped = sheet.random.choice(droppable)
        tail.insert(0, "never=None")
        body += ["if never is not None:"]
        body += indent(f"return {call([item for item in inner if item is not dropped])}".split("\n"))
    if sheet.chance(0.2):
        body += [*f"output = {call(inner)}".split("\n"), "return output"]
    else:
        body += f"return {call(inner)}".split("\n")
    wants.sort(key=lambda want: want.by == "keyword")
    return Target(name, tuple(wants), (f"def {name}({', '.join(head + tail)}):", *indent(body)))


# -- targets: what a checkpoint is handed


def target(sheet: Sheet, site: Site, wrapped: bool = False) -> Target:
    """Something that runs the block, and what it wants; `wrapped` asks for something else than the block."""
    options = ["partial*2", "factory*4", "nested-function*4", "lambda*2", "module-function*2", "partial-of-function"]
    options += ["function-of-function*2"] + (["bound-helper*2"] if site.in_method else [])
    shape = sheet.choose("target", *options, *([] if wrapped else ["direct*6", "dunder-call*2", "method*2"]))
    direct = wants_of(site.kind, site.values)
    match shape:
        case "direct":
            return Target(site.block, direct)
        case "dunder-call":
            return Target(f"{site.block}.__call__", direct)
        case "method":
            return Target(f"{site.block}.{site.kind.method or 'forward'}", direct)
        case "partial":
            callee = sheet.random.choice((site.block, f"{site.block}.__call__"))
            return partial(sheet, callee, direct, keep=len(site.kind.states))
        case "factory":
            return factory(sheet, site)
        case "nested-function":
            return nested(sheet, site)
        case "lambda":
            return as_lambda(sheet, nested(sheet, replace(site, before_loop=None)))
        case "bound-helper":
            name = sheet.name("_run_one")
            made = wrapper(sheet, site, name, "module", is_of_model, leading=["self", "module"])
            sheet.method(list(made.before))
            return Target(f"self.{name}", (Want("module", site.block, "position"), *made.wants))
    made = module_function(sheet, site)
    block, *wants = made.wants
    match shape:
        case "partial-of-function":
            keep = max(len(site.kind.states), sum(want.by == "position" for want in wants))
            return partial(sheet, f"{made.expression}, {block.value}", wants, keep)
        case "function-of-function":
            return over(sheet, site, made)
    return made


def is_of_model(expression: str) -> bool:
    """For methods of the model: constants and the model's attributes."""
    return is_constant(expression) or expression.startswith("self.")


def module_function(sheet: Sheet, site: Site) -> Target:
    """A function of the module that takes the block first."""
    name = sheet.name("run_block")
    made = wrapper(sheet, site, name, "module", is_constant, leading=["module"])
    sheet.function(list(made.before))
    return Target(name, (Want("module", site.block, "position"), *made.wants))


def over(sheet: Sheet, site: Site, made: Target) -> Target:
    """A nested function that calls another function, which calls the block."""
    name = sheet.name("run_two")
    block, *wants = made.wants
    own = [f"{want.name}_o" for want in wants]
    given = arguments(sheet, [replace(want, value=inner) for want, inner in zip(wants, own, strict=True)])
    by_default = sheet.chance(0.6)
    parameters = [*own, *([f"b={block.value}"] if by_default else [])]
    call = joined(sheet, made.expression, ["b" if by_default else block.value, *given])
    before = (f"def {name}({', '.join(parameters)}):", *indent(f"return {call}".split("\n")))
    return Target(name, tuple(Want(n, want.value, "either") for n, want in zip(own, wants, strict=True)), before)


def as_lambda(sheet: Sheet, made: Target) -> Target:
    """The same function as a lambda, where it is a single expression."""
    header, statements = made.before[0], made.before[1:]
    if not statements[0].startswith("    return "):
        return made
    parameters = header[header.index("(") + 1 : -2]
    body = "\n".join(statements).removeprefix("    return ").replace("\n    ", "\n")
    text = f"lambda {parameters}: {body}".replace("lambda :", "lambda:")
    if sheet.chance(0.5):
        return Target(text, made.wants)
    return Target(made.expression, made.wants, tuple(f"{made.expression} = {text}".split("\n")))


def partial(sheet: Sheet, callee: str, wants: Sequence[Want], keep: int) -> Target:
    """`functools.partial` of a callable, with some of what it wants bound, not of the first ones."""
    bound = {want.name for want in wants[keep:] if sheet.chance(0.6)}
    keywords = [f"{want.name}={want.value}" for want in wants if want.name in bound]
    text = joined(sheet, "partial", [callee, *keywords])
    left: list[Want] = []
    for position, want in enumerate(wants):
        if want.name not in bound:
            left.append(want if len(left) == position else replace(want, by="keyword"))
    if sheet.chance(0.4):
        name = sheet.name("bound")
        sheet.note("partial/named")
        return Target(name, tuple(left), tuple(f"{name} = {text}".split("\n")))
    sheet.note("partial/inline")
    return Target(text, tuple(left))


def nested(sheet: Sheet, site: Site) -> Target:
    """A function made where the block is called, or before the loop."""
    name = sheet.name("run_one")
    how = sheet.choose("block-of-wrapper", "default*3", "free*3", "argument")
    if how == "default":
        return wrapper(sheet, site, name, "b", anything, defaults=[f"b={site.block}"])
    leading = [] if how == "free" else ["module"]
    made = wrapper(sheet, site, name, site.block if how == "free" else "module", anything, leading=leading)
    known = not any(value in site.loop_names for _, value in site.plan)
    if site.before_loop is not None and known and sheet.chance(0.5):
        sheet.note("block-of-wrapper/before-loop")
        site.before_loop.extend(made.before)
        made = replace(made, before=())
    if how == "argument":
        return replace(made, wants=(Want("module", site.block, "position"), *made.wants))
    return made


def factory(sheet: Sheet, site: Site) -> Target:
    """A call that makes the function: the block, and some of the values, are arguments of that call."""
    where = sheet.choose("factory", "nested*2", "module*2", "method", "static")
    if not site.in_method and where != "nested":
        where = "module"
    name = sheet.name("make_runner")
    extras: list[tuple[str, str]] = []
    plan: list[Value] = []
    for parameter, value in site.plan:
        if sheet.chance(0.3):
            own = f"{parameter.name}_given"
            extras.append((own, value))
            plan.append((parameter, own))
        else:
            plan.append((parameter, value))
    known = [own for own, _ in extras]
    maybe = site.maybe | {own for own, value in extras if value in site.maybe}
    inner = replace(site, plan=tuple(plan), maybe=maybe)
    if where == "nested":
        made = wrapper(sheet, inner, "runner", "module", anything, kept=known)
    else:
        made = wrapper(sheet, inner, "runner", "module", is_constant, kept=known)
    header = ["module", *known]
    text = [*made.before, "return runner"]
    if sheet.chance(0.2):
        sheet.note("factory/two-functions")
        header.append("plain=False")
        text = ["if plain:", "    return module", *text]
    given = [site.block, *(value if sheet.chance(0.5) else f"{own}={value}" for own, value in extras)]
    if extras:
        sheet.note("factory/extra")
        first = next((k for k, argument in enumerate(given[1:], 1) if "=" in argument), len(given))
        given[first:] = [f"{own}={value}" for own, value in extras[first - 1 :]]
    before: tuple[str, ...] = ()
    callee = name
    if where == "nested":
        before = (f"def {name}({', '.join(header)}):", *indent(text))
    elif where == "module":
        sheet.function([f"def {name}({', '.join(header)}):", *indent(text)])
    else:
        decorated = ["@staticmethod"] if where == "static" else []
        own_self = [] if where == "static" else ["self"]
        sheet.method([*decorated, f"def {name}({', '.join([*own_self, *header])}):", *indent(text)])
        callee = f"self.{name}"
    return Target(joined(sheet, callee, given), made.wants, before)


# -- routes


def checkpointed(sheet: Sheet, site: Site) -> Lines:
    """The block under a checkpoint of its own."""
    made = target(sheet, site)
    given = arguments(sheet, made.wants)
    split = next((k for k, argument in enumerate(given) if is_keyword(argument)), len(given))
    named = [*given[split:], *site.reentrant]
    if sheet.chance(0.3):
        named.sort(key=lambda text: text.startswith("**") or "reentrant" not in text)
        named.sort(key=lambda text: text.startswith("**"))
    if any(want.by == "keyword" for want in made.wants) and sheet.chance(0.3):
        return with_options(sheet, site, site.checkpoint, made, list(site.reentrant))
    if split > 1 and sheet.chance(0.2):
        sheet.note("inputs/checkpointed")
        inputs = sheet.name("inputs")
        made = replace(made, before=(*made.before, f"{inputs} = ({', '.join(given[:split])})"))
        given, split = [f"*{inputs}"], 1
    call = joined(sheet, site.checkpoint, [made.expression, *given[:split], *named])
    return [*made.before, *result(sheet, site, call)]


def is_keyword(argument: str) -> bool:
    """Whether the argument is `name=value`."""
    name, equals, _ = argument.partition("=")
    return bool(equals) and name.isidentifier()


def with_options(sheet: Sheet, site: Site, callee: str, made: Target, more: list[str]) -> Lines:
    """A call whose keywords come from a dictionary that is built before, in one go, step by step, or by an update."""
    options = sheet.name("options")
    leading = [want.value for want in made.wants if want.by != "keyword"]
    named = [(want.name, want.value) for want in made.wants if want.by == "keyword"]
    options_of = ["literal", "call", "items", "update", "merged"]
    droppable = {parameter.name for parameter, _ in site.plan if parameter.default is not None}
    if made.expression == site.block and site.in_method and named and named[-1][0] in droppable:
        options_of.append("conditional*4")
    how = sheet.choose("dictionary", *options_of)
    literal = ", ".join(f'"{name}": {value}' for name, value in named)
    called = ", ".join(f"{name}={value}" for name, value in named)
    match how:
        case "literal":
            built = [f"{options} = {{{literal}}}"]
        case "call":
            built = [f"{options} = dict({called})"]
        case "items":
            built = [f"{options} = {{}}", *(f'{options}["{name}"] = {value}' for name, value in named)]
        case "update":
            built = [
                f"{options} = {{}}",
                f"{options}.update({called})" if sheet.chance(0.5) else f"{options}.update({{{literal}}})",
            ]
        case _:
            built = [f"base = {{{literal}}}", f"{options} = {{**base}}"]
    given = [made.expression, *leading] if callee != made.expression else leading
    call = joined(sheet, callee, [*given, *more, f"**{options}"])
    return [*made.before, *built, *result(sheet, site, call)]


def eager(sheet: Sheet, site: Site, extra: Sequence[str] = ()) -> Lines:
    """The block called by itself; `extra` are more keyword arguments."""
    shape = sheet.choose("eager", "direct*6", "options*3", "tuple*2", "method", "wrapped*3")
    direct = wants_of(site.kind, site.values)
    callee = site.block
    match shape:
        case "method":
            callee = f"{site.block}.{site.kind.method or 'forward'}"
        case "options":
            split = sheet.random.randint(0, len(direct))
            wants = tuple(replace(want, by="keyword") if k >= split else want for k, want in enumerate(direct))
            if any(want.by == "keyword" for want in wants):
                return with_options(sheet, site, callee, Target(callee, wants), list(extra))
        case "tuple":
            leads = [want for want in direct if want.by == "either"]
            inputs = sheet.name("inputs")
            named = [f"{want.name}={want.value}" for want in direct[len(leads) :]]
            values = ", ".join(want.value for want in leads)
            match sheet.choose("inputs", "tuple", "list", "appended"):
                case "tuple":
                    built = [f"{inputs} = ({values},)"]
                case "list":
                    built = [f"{inputs} = [{values}]"]
                case _:
                    built = [f"{inputs} = []", *(f"{inputs}.append({want.value})" for want in leads)]
            return [*built, *result(sheet, site, joined(sheet, callee, [f"*{inputs}", *named, *extra]))]
        case "wrapped":
            if not extra:
                made = target(sheet, site, wrapped=True)
                if "lambda" in made.expression:
                    made = replace(made, expression=f"({made.expression})")
                given = arguments(sheet, made.wants)
                return [*made.before, *result(sheet, site, joined(sheet, made.expression, given))]
    return result(sheet, site, joined(sheet, callee, [*arguments(sheet, direct), *extra]))
