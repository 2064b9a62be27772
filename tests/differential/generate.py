"""Small random models, each a self-contained file of torch code, made from a seed and nothing else.

A model has block classes, containers of blocks, and loops that run them by two routes or three. Each choice that is
made is a *shape* (`container/append`, `checkpoint/lambda`), and a model knows the shapes that it is made of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tests.differential.blocks import FEED, REGISTERED, WORDS, BlockClass, Parameter, random_block
from tests.differential.calls import Site, Value, arguments, checkpointed, eager, is_constant, joined, result, wants_of
from tests.differential.containers import Container, Iteration, container, iteration, looped
from tests.differential.sheet import Lines, Sheet, indent

FLAGS = ("gradient_checkpointing", "grad_checkpointing", "use_checkpoint")


@dataclass(frozen=True)
class Generated:
    """One model file."""

    seed: int
    source: str
    shapes: frozenset[str]


@dataclass(frozen=True)
class Gate:
    """When a block is checkpointed: an expression, and statements that it needs before it."""

    expression: str
    before: tuple[str, ...] = ()


RUN_SAVED = """\
def run_saved(function, *args, use_reentrant=False, **kwargs):
    return checkpoint(function, *args, use_reentrant=use_reentrant, **kwargs)""".splitlines()

SHOULD_SAVE = """\
def should_save(index, enabled, every=None):
    if not enabled:
        return False
    return every is None or index % every == 0""".splitlines()

RUN_SEGMENTS = """\
def run_segments(blocks, size, state, run, function):
    state = state if isinstance(state, tuple) else (state,)
    for start in range(0, len(blocks), size):
        chunk = tuple(blocks[start : start + size])

        def segment(*current, _start=start, _chunk=chunk):
            for offset, block in enumerate(_chunk):
                output = run(_start + offset, block, *current)
                current = output if isinstance(output, tuple) else (output,)
            return current if len(current) > 1 else current[0]

        output = function(segment, *state, use_reentrant=False)
        state = output if isinstance(output, tuple) else (output,)
    return state""".splitlines()

RUN_SPACED = """\
def run_spaced(blocks, size, state, run, function, stride):
    for start in range(0, len(blocks), stride):
        chunk = tuple(blocks[start : start + size])

        def segment(*current, _start=start, _chunk=chunk):
            for offset, block in enumerate(_chunk):
                output = run(_start + offset, block, *current)
                current = output if isinstance(output, tuple) else (output,)
            return current if len(current) > 1 else current[0]

        output = function(segment, *state, use_reentrant=False)
        state = output if isinstance(output, tuple) else (output,)
        for index in range(start + len(chunk), min(start + stride, len(blocks))):
            output = run(index, blocks[index], *state)
            state = output if isinstance(output, tuple) else (output,)
    return state""".splitlines()


class Maker:
    """Makes one model."""

    def __init__(self, seed: int) -> None:
        self.sheet = Sheet(seed)
        self.flag = self.sheet.setting(self.sheet.random.choice(FLAGS), "(False, True)", "False")
        self.interval: str | None = None

    # -- the file

    def make(self) -> Generated:
        """The whole file."""
        sheet = self.sheet
        count = 2 if sheet.choose("states", "one*2", "two") == "two" else 1
        self.states = tuple(sheet.random.sample(("x", "y", "hidden", "context"), count))
        classes: list[BlockClass] = []
        body: Lines = []
        for _ in range(sheet.random.choice((1, 1, 2))):
            block = random_block(sheet, self.states)
            classes.append(block)
            body += self.loop(container(sheet, block, classes))
        forward = [*sheet.before, *body, f"return {', '.join(self.states)}"]
        given = sorted(sheet.arguments.items(), key=lambda item: not item[1])
        declared = [name if required else f"{name}=None" for name, required in given]
        if sheet.choose("signature", "plain*2", "annotated") == "annotated":
            declared = [f"{text.partition('=')[0]}: torch.Tensor = None" if "=" in text else text for text in declared]
            signature = ", ".join(["self", *(f"{state}: torch.Tensor" for state in self.states), *declared])
        else:
            signature = ", ".join(["self", *self.states, *declared])
        owner = sheet.choose("model", "plain*8", "inherits", "inherits-forward", "extends-forward", "delegates")
        init = ["    def __init__(self):", *indent(["super().__init__()", *sheet.init], 2), ""]
        methods = [f"    def forward({signature}):", *indent(forward, 2), *indent(sheet.methods)]
        handed = ", ".join([*self.states, *(f"{name}={name}" for name, _ in given)])
        match owner:
            case "plain":
                model = ["class Model(nn.Module):", *init, *methods]
            case "inherits":
                model = ["class Inner(nn.Module):", *init, *methods, "", "", "class Model(Inner):", "    label = 0"]
            case "inherits-forward":
                model = ["class Inner(nn.Module):", *methods, "", "", "class Model(Inner):", *init[:-1]]
            case "extends-forward":
                model = ["class Inner(nn.Module):", *init, *methods, "", "", "class Model(Inner):"]
                model += [f"    def forward({signature}):", f"        return super().forward({handed})"]
            case _:
                model = ["class Inner(nn.Module):", *init, *methods, "", "", "class Model(nn.Module):"]
                model += ["    def __init__(self):", "        super().__init__()", "        self.core = Inner()", ""]
                model += [f"    def forward({signature}):", f"        return self.core({handed})"]
        parts = [FEED] if any(block.scoped for block in classes) else []
        parts += [block.source() for block in classes]
        code = "\n\n\n".join("\n".join(part) for part in [*parts, *sheet.functions, model])
        wanted = [("run_saved", RUN_SAVED), ("should_save", SHOULD_SAVE), ("registered", REGISTERED)]
        wanted += [("run_segments", RUN_SEGMENTS), ("run_spaced", RUN_SPACED)]
        helpers = ["\n".join(lines) for name, lines in wanted if re.search(rf"\b{name}\b", code)]
        imports = ["import torch", "from torch import nn"]
        imports += ["from torch.utils import checkpoint as saving"] if "saving.checkpoint" in code else []
        imports += ["from torch.utils.checkpoint import checkpoint"]
        standard = [text for word, text in (("itertools.", "import itertools"), ("partial(", PARTIAL)) if word in code]
        modes = [mode for mode, word in (("training", "self.training"), ("grad", "is_grad_enabled")) if word in code]
        settings = ", ".join(f'"{name}": {values}' for name, values in sheet.settings.items())
        constants = f"SETTINGS = {{{settings}}}\nMODES = {tuple(modes)!r}"
        source = "\n\n\n".join(["\n".join([*standard, *imports]), *helpers, code, constants]) + "\n"
        return Generated(sheet.seed, source, frozenset(sheet.shapes))

    # -- loops

    def loop(self, where: Container) -> Lines:
        """A loop over a container, with everything in it."""
        sheet = self.sheet
        how = iteration(sheet, where)
        plan = self.plan(where.block, how)
        callable_before, checkpoint, reentrant = self.callable()
        maybe = frozenset(name for name, required in sheet.arguments.items() if not required)
        before: Lines = [*callable_before]
        site = Site(
            *(how.block, where.block, self.states, plan, checkpoint, reentrant),
            maybe=maybe,
            before_loop=before if how.header and how.block.isidentifier() and not how.partner else None,
            loop_names=frozenset(name for name in (how.index, how.item) if name),
        )
        if sheet.chance(0.12):
            before += self.rebinding(plan)
        shapes = ["inline*7", "method*2", "local-function", "module-function", "star-method"]
        segment_plan = tuple((p, "2" if value == how.index else value) for p, value in plan if value != how.item)
        required = {p for p in where.block.parameters if p.default is None}
        if where.kind == "list" and how.partner is None and required <= {p for p, _ in segment_plan}:
            shapes += ["segments*2", "spaced-segments"] + (["segments-in-loop*3"] if how.numbered else [])
        shape = sheet.choose("loop", *shapes)
        blocks = [how.block] + ([how.partner] if how.partner else [])
        body: Lines = []
        for block in blocks:
            one = replace(site, block=block)
            match shape:
                case "method" | "local-function" | "module-function":
                    body += self.helper(one, how, before, shape)
                case "star-method":
                    body += self.star_helper(one, how)
                case _:
                    body += self.routes(one, self.gate(how.index), loop=bool(how.header) and len(blocks) == 1)
        if sheet.chance(0.1):
            body = self.rebinding(plan) + body
        if how.index and how.header and sheet.chance(0.15):
            sheet.note("loop/skips")
            skip = sheet.setting("skip", "(None, 1)", "None")
            body = [f"if {how.index} == {skip}:", "    continue", *body]
        segment_site = replace(site, plan=segment_plan)
        if shape == "segments-in-loop":
            body = [*self.segments_in_loop(segment_site, where, how), *body]
        lines = looped(how, body) if how.header else body
        if shape in ("segments", "spaced-segments"):
            switch = sheet.setting("segmented", "(False, True)", "False")
            runner = "run_spaced" if shape == "spaced-segments" else "run_segments"
            inside = self.segments(segment_site, where.expression, "2", runner)
            lines = [f"if {switch} and {self.flag}:", *indent(inside), "else:", *indent(lines)]
        return [*before, *lines]

    def plan(self, block: BlockClass, how: Iteration) -> tuple[Value, ...]:
        """What each parameter of the block is to get; some optional ones get nothing."""
        chosen = [p for p in block.parameters if p.default is None or self.sheet.chance(0.75)]
        return tuple((parameter, self.source(parameter, how, block)) for parameter in chosen)

    def source(self, parameter: Parameter, how: Iteration, block: BlockClass) -> str:
        """An expression for a parameter."""
        sheet = self.sheet
        if parameter.kind == "flag":
            match sheet.choose("value", "setting*4", "constant"):
                case "setting":
                    return sheet.setting("offload", '(False, "<flag>")', "False")
                case _:
                    return sheet.random.choice(("True", "False"))
        if parameter.kind == "number":
            if how.index and sheet.chance(0.7):
                sheet.note("value/index")
                return how.index
            if sheet.chance(0.5):
                sheet.note("value/local-constant")
                name = sheet.name("factor")
                sheet.before.append(f"{name} = 3")
                return name
            sheet.note("value/constant")
            return "2"
        options = ["argument*3", "optional-argument*4", "attribute", "derived"] + (["item*4"] if how.item else [])
        if parameter.default is None:
            options.remove("optional-argument*4")
        else:
            options.append("none")
        match sheet.choose("value", *options):
            case "argument":
                return self.argument(parameter, block, required=True)
            case "optional-argument":
                return self.argument(parameter, block, required=False)
            case "attribute":
                return sheet.setting("shared", '("<tensor>",)', "None")
            case "derived":
                name = sheet.name("shift")
                sheet.before.append(f"{name} = {self.argument(parameter, block, required=True)} * 2")
                return name
            case "item":
                assert how.item
                return how.item
            case _:
                return "None"

    def argument(self, parameter: Parameter, block: BlockClass, required: bool) -> str:
        """An argument of the model, new or used again: named as the block's parameter or as none of the block's."""
        arguments = self.sheet.arguments
        others = {p.name for p in block.parameters if p is not parameter}
        known = [name for name, needed in arguments.items() if needed == required and name not in others]
        if known and self.sheet.chance(0.3):
            return self.sheet.random.choice(known)
        free = [word for word in WORDS if word not in arguments and word not in others]
        name = parameter.name if parameter.name in free and self.sheet.chance(0.5) else self.sheet.random.choice(free)
        arguments[name] = required
        return name

    def rebinding(self, plan: tuple[Value, ...]) -> Lines:
        """A value that changes on one branch of a setting that has nothing to do with checkpointing."""
        names = [value for _, value in plan if self.sheet.arguments.get(value)]
        if not names:
            return []
        name = self.sheet.random.choice(names)
        self.sheet.note("value/rebound")
        return [f"if {self.sheet.setting('reroute', '(False, True)', 'False')}:", f"    {name} = {name} * 2"]

    # -- gates and checkpoint callables

    def callable(self) -> tuple[Lines, str, tuple[str, ...]]:
        """A checkpoint callable: statements before the loop, its expression, and what it is told besides."""
        sheet = self.sheet
        kind = sheet.choose(
            "callable", "torch*4", "dotted", "module-alias", "attribute*2", "project", "method", "local-alias*2"
        )
        before: Lines = []
        told: tuple[str, ...] = ("use_reentrant=False",)
        match kind:
            case "torch":
                expression = "checkpoint"
            case "dotted":
                expression = "torch.utils.checkpoint.checkpoint"
            case "module-alias":
                expression = "saving.checkpoint"
            case "method":
                expression = sheet.name("_run_saved")
                lines = [f"def {expression}(self, function, *args, use_reentrant=False, **kwargs):"]
                lines.append("    return checkpoint(function, *args, use_reentrant=use_reentrant, **kwargs)")
                sheet.method(lines)
                return before, f"self.{expression}", ()
            case "project":
                expression = "run_saved"
                told = told if sheet.chance(0.5) else ()
            case "attribute":
                name = sheet.name("_checkpoint_func")
                sheet.init.append(f"self.{name} = partial(checkpoint, use_reentrant=False)")
                return before, f"self.{name}", ()
            case _:
                expression = sheet.name("checkpoint_fn")
                backend = sheet.setting("backend", '("plain", "own")', '"plain"')
                if sheet.chance(0.5):
                    before = [f'{expression} = checkpoint if {backend} == "plain" else run_saved']
                else:
                    before = [f'if {backend} == "own":', f"    {expression} = run_saved", "else:"]
                    before.append(f"    {expression} = checkpoint")
        if told and sheet.chance(0.15):
            name = sheet.name("saving_options")
            sheet.note("callable/told-by-dictionary")
            before.append(f'{name} = {{"use_reentrant": False}}')
            told = (f"**{name}",)
        return before, expression, told

    def gate(self, index: str | None) -> Gate:
        """A condition for checkpointing."""
        sheet = self.sheet
        options = ["flag*2", "training", "grad*2", "local", "walrus", "method"]
        if index:
            options += ["interval*2", "function*2", "index-method*2"]
        shape = sheet.choose("gate", *options)
        leading = {"training": "self.training and ", "grad": "torch.is_grad_enabled() and "}
        match shape:
            case "flag" | "training" | "grad":
                return Gate(leading.get(shape, "") + self.flag)
            case "local":
                name = sheet.name("saves")
                return Gate(name, (f"{name} = torch.is_grad_enabled() and {self.flag}",))
            case "walrus":
                return Gate(f"({sheet.name('saves')} := torch.is_grad_enabled() and {self.flag})")
            case "method":
                name = sheet.name("_saves")
                sheet.method([f"def {name}(self):", f"    return self.training and {self.flag}"])
                return Gate(f"self.{name}()")
        if self.interval is None:
            self.interval = sheet.setting("interval", "(None, 2)", "None")
        if shape == "interval":
            every = f"({self.interval} is None or {index} % {self.interval} == 0)"
            name = sheet.name("saves")
            if sheet.chance(0.5):
                return Gate(name, (f"{name} = {self.flag} and {every}",))
            return Gate(f"{self.flag} and {every}")
        if shape == "function":
            return Gate(f"torch.is_grad_enabled() and should_save({index}, {self.flag}, {self.interval})")
        name = sheet.name("_saves")
        sheet.method([f"def {name}(self, index):", f"    return should_save(index, {self.flag}, {self.interval})"])
        return Gate(f"self.{name}({index})")

    # -- routes

    def routes(self, site: Site, gate: Gate, loop: bool) -> Lines:
        """All routes to one block, behind the gate."""
        sheet = self.sheet
        saved, plain = self.varied(site), self.varied(site)
        routes = ["two*5"] + (["three*3", "scoped", "scoped-argument"] if site.kind.scoped and site.in_method else [])
        match sheet.choose("routes", *routes):
            case "two":
                first, second = checkpointed(sheet, saved), eager(sheet, plain)
            case "three":
                scope = sheet.setting("ffn_scope", "(False, True)", "False")
                first = [
                    f"if {scope}:",
                    *indent(self.scoped(saved)),
                    "else:",
                    *indent(checkpointed(sheet, self.varied(site))),
                ]
                second = eager(sheet, plain)
            case "scoped":
                first, second = self.scoped(saved), eager(sheet, plain)
            case _:
                asked = [f"checkpoint_ffn={gate.expression}", f"checkpoint_fn={site.checkpoint}"]
                return [*gate.before, *eager(sheet, plain, asked)]
        return [*gate.before, *self.branches(gate.expression, self.around(first), self.around(second), site, loop)]

    def varied(self, site: Site) -> Site:
        """The site, on one route of which an optional value may be missing."""
        optional = [parameter for parameter, _ in site.plan if parameter.default is not None]
        if optional and self.sheet.chance(0.12):
            self.sheet.note("value/missing-on-one-route")
            return site.without(self.sheet.random.choice(optional))
        return site

    def scoped(self, site: Site) -> Lines:
        """The block told to checkpoint a part of itself."""
        return eager(self.sheet, site, ["checkpoint_ffn=True", f"checkpoint_fn={site.checkpoint}"])

    def around(self, lines: Lines) -> Lines:
        """The statements, or the same inside a `with` or a `try`."""
        match self.sheet.choose("around", "nothing*8", "with", "try"):
            case "with":
                return ["with torch.autocast('cpu', enabled=False):", *indent(lines)]
            case "try":
                return ["try:", *indent(lines), "except KeyError:", "    raise"]
            case _:
                return lines

    def branches(self, gate: str, first: Lines, second: Lines, site: Site, loop: bool) -> Lines:
        """Two routes behind a gate."""
        sheet = self.sheet
        options = ["if-else*4", "negated"] + (["nested-if"] if site.in_method else [])
        if loop and not site.returns:
            options += ["continue*2"]
        if site.returns:
            options += ["early-return*3"]
        if len(first) == len(second) == 1 and " = " in first[0] and not site.returns:
            options.append("ternary*5")
        shape = sheet.choose("branches", *options)
        match shape:
            case "if-else":
                return [f"if {gate}:", *indent(first), "else:", *indent(second)]
            case "negated":
                return [f"if not ({gate}):", *indent(second), "else:", *indent(first)]
            case "nested-if":
                other = sheet.setting("whole", "(True, False)", "True")
                inner = [f"if {gate}:", *indent(first), "else:", *indent(second)]
                if sheet.chance(0.5):
                    return [
                        f"if {other} and {gate}:",
                        *indent(first),
                        "elif True:" if False else "else:",
                        *indent(second),
                    ]
                return [f"if {other}:", *indent(inner), "else:", *indent(second)]
            case "continue":
                return [f"if {gate}:", *indent(first), "    continue", *second]
            case "early-return":
                return [f"if {gate}:", *indent(first), *second]
            case _:
                names, _, one = first[0].partition(" = ")
                others, _, two = second[0].partition(" = ")
                if names != others:
                    return [f"if {gate}:", *indent(first), "else:", *indent(second)]
                return [f"{names} = {one} if {gate} else {two}"]

    # -- helpers that hold both routes

    def helper(self, site: Site, how: Iteration, before: Lines, where: str) -> Lines:
        """A function with both routes: a method, a local function that goes to `before`, or one of the module."""
        sheet = self.sheet
        local, module = where == "local-function", where == "module-function"
        name = sheet.name("_run_block" if where == "method" else "run_both")
        states = [f"{value}_" if sheet.chance(0.3) else value for value in site.states]
        plan: list[Value] = []
        passed: list[tuple[str, str]] = []
        maybe = set(site.maybe) if local else set()
        for parameter, value in site.plan:
            reachable = is_constant(value) or (value.startswith("self.") and not module)
            if (reachable or (local and value in sheet.arguments)) and sheet.chance(0.5):
                plan.append((parameter, value))
                continue
            own = parameter.name if sheet.chance(0.5) else f"{parameter.name}_"
            while own in (*states, *(other for _, other in plan)):
                own += "_"
            plan.append((parameter, own))
            passed.append((own, value))
            maybe |= {own} if value in site.maybe else set()
        index = sheet.name("number") if how.index else None
        checkpoint, reentrant = site.checkpoint, site.reentrant
        if not local and (checkpoint.startswith("checkpoint_fn") or (module and checkpoint.startswith("self."))):
            passed.append(("function", checkpoint))
            checkpoint = "function"
        if not local and reentrant and reentrant[0].startswith("**"):
            reentrant = ("use_reentrant=False",)
        gate = self.gate(how.index if module else index)
        prelude: tuple[str, ...] = ()
        if module:
            passed.append(("enabled", gate.expression))
            prelude, gate = gate.before, Gate("enabled")
        inner = Site(
            *("module", site.kind, tuple(states), tuple(plan), checkpoint, reentrant),
            in_method=not module,
            returns=True,
            maybe=frozenset(maybe),
        )
        body = self.routes(inner, gate, loop=False)
        parameters = ["module", *([index] if index else []), *states, *(own for own, _ in passed)]
        given = [site.block, *([how.index] if how.index else []), *site.states]
        split = sheet.random.randint(0, len(passed))
        given += [value for _, value in passed[:split]] + [f"{own}={value}" for own, value in passed[split:]]
        made = [f"def {name}({', '.join(['self', *parameters] if where == 'method' else parameters)}):", *indent(body)]
        if local:
            before += made
        elif module:
            sheet.function(made)
        else:
            sheet.method(made)
        callee = f"self.{name}" if where == "method" else name
        return [*prelude, *result(sheet, site, joined(sheet, callee, given))]

    def star_helper(self, site: Site, how: Iteration) -> Lines:
        """A method with both routes that hands on whatever it is given."""
        sheet = self.sheet
        name = sheet.name("_run_any")
        gate = self.gate("index" if how.index else None)
        reentrant = site.reentrant
        if reentrant and reentrant[0].startswith("**"):
            reentrant = ("use_reentrant=False",)
        parameters = ["self", *(["function"] if site.checkpoint.startswith("checkpoint_fn") else []), "block"]
        parameters += [*(["index"] if how.index else []), "*args", "**kwargs"]
        callee = "function" if "function" in parameters else site.checkpoint
        saved = f"return {callee}({', '.join(['block', '*args', *reentrant, '**kwargs'])})"
        body = [*gate.before, f"if {gate.expression}:", f"    {saved}", "return block(*args, **kwargs)"]
        sheet.method([f"def {name}({', '.join(parameters)}):", *indent(body)])
        given = [*([site.checkpoint] if "function" in parameters else []), site.block]
        given += [how.index] if how.index else []
        given += arguments(sheet, wants_of(site.kind, site.values))
        return result(sheet, site, joined(sheet, f"self.{name}", given))

    # -- segments

    def segments(self, site: Site, blocks: str, size: str, runner: str) -> Lines:
        """Blocks in groups under one checkpoint each."""
        sheet = self.sheet
        name = sheet.name("run_in_segment")
        order = list(range(len(site.states)))
        sheet.random.shuffle(order)
        inner_states = tuple(f"segment_{state}" for state in site.states)
        inner = replace(site, block="part", states=inner_states)
        leading = ", ".join(["_number", "part", *(inner_states[k] for k in order)])
        call = joined(sheet, "part", arguments(sheet, wants_of(site.kind, inner.values)))
        body = [*result(sheet, inner, call), f"return {', '.join(inner_states[k] for k in order)}"]
        if site.kind.result == "value" and sheet.chance(0.5):
            body = [f"return {call}"]
        made = [f"def {name}({leading}):", *indent("\n".join(body).split("\n"))]
        state = ", ".join(site.states[k] for k in order)
        state = f"({state},)" if len(order) == 1 else f"({state})"
        given = [blocks, size, state, name, site.checkpoint, *(["3"] if runner == "run_spaced" else [])]
        return [*made, *f"{state} = {joined(sheet, runner, given)}".split("\n")]

    def segments_in_loop(self, site: Site, where: Container, how: Iteration) -> Lines:
        """The same from inside a loop over the blocks: the first of a group runs the group, the others do nothing."""
        sheet = self.sheet
        switch = sheet.setting("segmented", "(False, True)", "False")
        chunk = sheet.name("chunk")
        inside = [f"if {how.index} % 2 != 0:", "    continue"]
        inside += [f"{chunk} = list({where.expression}[{how.index} : {how.index} + 2])"]
        inside += self.segments(site, chunk, f"len({chunk})", "run_segments")
        return [f"if {switch} and {self.flag}:", *indent([*inside, "continue"])]


PARTIAL = "from functools import partial"


def generate(seed: int) -> Generated:
    """The model of a seed."""
    return Maker(seed).make()
