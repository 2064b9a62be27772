"""Calls that can't bind to the signature of what they call, or name a method that isn't there.

Two sources: the call paths of blocks, and every other call whose callee a link resolves. What seems not to fit is held
against all that could make it fit after all, and only then told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.callpaths.binding import Misfit, misfit, shape_of
from conformance.callpaths.machine import decorator_name
from conformance.callpaths.omissions import omissions
from conformance.callpaths.paths import BlockPaths, CallPaths, Entry, Path
from conformance.callpaths.signatures import Lacking, Signature, Signatures
from conformance.callpaths.trace import Site
from conformance.callpaths.values import Value
from conformance.callpaths.wrappers import losses
from conformance.facts.module import ModuleFacts
from conformance.facts.scopes import Surroundings
from conformance.facts.sites import CallSite, FunctionSites
from conformance.project.certainty import Certainty
from conformance.project.project import ClassDef, Definition, FunctionDef, ModuleDef

Target = Signature | Lacking
_REFLECTION = re.compile(r"\b(?:hasattr|getattr|callable|signature|inspect|issubclass|TYPE_CHECKING|__version__)\b")
_INSTANCE = re.compile(r"\bisinstance\b|\btype\(|__class__")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One call that fails before its callee runs."""

    site: Site
    target: Target
    misfit: Misfit
    """Empty where the class lacks the method."""
    path: Path | None
    """The call path, where the call is of a block."""
    conditions: tuple[str, ...]
    """The tests around the call, as text, where it is no call of a block."""
    is_swallowed: bool
    """Whether a handler of all errors takes the failure."""


class Mismatches:
    """Finds them in the entries and functions of one run."""

    def __init__(self, calls: CallPaths) -> None:
        self._calls = calls
        self._project = calls.project
        self._interpreter = calls.interpreter
        self._signatures = Signatures(calls.project)
        self._certainty = Certainty(calls.project)
        self._targets: dict[tuple[str, str, str], tuple[Target, ...]] = {}
        self._stored: dict[ClassDef, dict[str, list[tuple[FunctionSites, str | None]]]] = {}

    def find(self, entries: Sequence[Entry], files: Iterable[str]) -> Iterator[Mismatch]:
        """All mismatches, each once."""
        seen: set[Site] = set()
        told: set[Site] = set()
        for entry in entries:
            # What the checkpoint callable rejects, or a wrapper loses, is told by the rules about these.
            rejected = {use.call.site for use in self._calls.checkpoint_uses(entry) if use.rejected}
            lost = {
                (id(path), name) for loss in losses(self._calls, entry) for path in loss.blocks for name in loss.names
            }
            seen |= rejected
            for block in entry.blocks:
                for path in block.live:
                    if path.bindings:
                        seen.add(path.raw.site)
                for found in self._of_block(block, rejected, lost):
                    if found.site not in told:
                        told.add(found.site)
                        yield found
        places = {(site.path, site.span) for site in seen}
        for file in files:
            module = self._project.module(file)
            for found in self._of_module(module) if module is not None else ():
                if (found.site.path, found.site.span) not in places:
                    yield found

    # Call paths

    def _of_block(self, block: BlockPaths, rejected: set[Site], lost: set[tuple[int, str]]) -> Iterator[Mismatch]:
        dropped: set[tuple[int, str]] | None = None
        for path in block.live:
            if not any(bound.problem or bound.missing for bound in path.bindings.values()):
                continue
            raw = path.raw
            names = [(n, v) for n, v in raw.keywords if not (n is not None and self._may_be_absent(v))]
            sure = len(names) == len(raw.keywords)
            shape = shape_of(raw.arguments, names)
            targets = self._path_targets(path)
            found = [misfit(t.parameters, *shape) for t in targets if isinstance(t, Signature)]
            if not found or not all(found) or len(found) < len(targets):
                continue
            first = found[0]
            if not sure:
                first = Misfit(first.unknown, first.twice, first.excess)
            if first.unknown and self._is_for_checkpoint(path, rejected):
                continue
            if first.missing and not (first.unknown or first.twice or first.excess):
                if dropped is None:
                    dropped = {(id(o.path), o.parameter.name) for o in omissions(block, self._interpreter)} | lost
                left = tuple(name for name in first.missing if (id(path), name) not in dropped)
                first = Misfit(missing=left)
            if not first or path.assumptions(self._interpreter).contradictory:
                continue
            around = self._certainty.surroundings(raw.site.path, raw.site.span)
            outer = self._certainty.surroundings(raw.outer.path, raw.outer.span)
            if around is None or outer is None or not self._is_plain(around, "") or not self._is_plain(outer, ""):
                continue
            if not all(self._is_certain(t, raw.site.path) for t in targets) or not self._is_settled_value(raw.callee):
                continue
            yield Mismatch(
                path.raw.written or path.raw.site,
                targets[0],
                first,
                path,
                (),
                around.is_swallowed or outer.is_swallowed,
            )

    def _may_be_absent(self, value: Value) -> bool:
        absent = self._interpreter.values.absent
        return value is absent or (value.op == "phi" and any(self._may_be_absent(part) for part in value.args[1:]))

    def _path_targets(self, path: Path) -> tuple[Target, ...]:
        """The signatures of all classes that the block can have; none where one of them isn't known."""
        raw = path.raw
        if raw.direct is not None:
            found: Target | None
            if raw.callee.op == "self":
                found = self._signatures.of_method(raw.callee.args[0], raw.direct.facts.name)
            else:
                found = self._signatures.of_function(raw.direct)
            return () if found is None else (found,)
        if len(path.bindings) < len(path.public.block.classes):
            return ()
        result: list[Target] = []
        for cls in path.bindings:
            if not isinstance(cls, ClassDef):
                return ()
            found = (
                self._signatures.of_instance(cls)
                if raw.method == "forward"
                else self._signatures.of_method(cls, raw.method)
            )
            if found is None:
                return ()
            result.append(found)
        return tuple(result)

    def _is_for_checkpoint(self, path: Path, rejected: set[Site]) -> bool:
        """Whether the checkpoint callable itself may take, or refuse, the keywords of the call."""
        raw = path.raw
        if raw.checkpoint is None or raw.checkpoint.site.span != raw.site.span:
            return False
        return raw.checkpoint.kind != "torch" or raw.checkpoint.site in rejected

    def _is_settled_value(self, value: Value) -> bool:
        """Whether the attributes by which a callee is reached hold what `__init__` stores."""
        while value.op in ("attr", "elem", "item"):
            if (
                value.op == "attr"
                and value.args[0].op == "self"
                and not self._is_settled_attribute(value.args[0].args[0], str(value.args[1]))
            ):
                return False
            value = value.args[1] if value.op == "elem" else value.args[0]
        return True

    # All other calls

    def _of_module(self, module: ModuleFacts) -> Iterator[Mismatch]:
        project = self._project
        for facts in module.functions.values():
            yield from self._of_function(module, project.function_def(module, facts))
        for class_facts in module.classes.values():
            owner = project.class_def(module, class_facts.qualname)
            for facts in class_facts.methods.values():
                yield from self._of_function(module, project.function_def(module, facts, owner))

    def _of_function(self, module: ModuleFacts, function: FunctionDef) -> Iterator[Mismatch]:
        sites = module.sites.get(function.facts.qualname)
        if sites is None:
            return
        for call in sites.calls:
            targets = self._resolve(module, function, call.callee, sites)
            if not targets:
                continue
            found: list[Misfit] = []
            for target in targets:
                if isinstance(target, Signature):
                    fit = misfit(target.parameters, call.positionals, call.starred, call.keywords, call.splat)
                    if not fit:
                        break
                    found.append(fit)
                else:
                    found.append(Misfit())
            else:
                if len({type(t) for t in targets}) == 1 and (
                    around := self._confirm(module, function, call, sites, targets)
                ):
                    class_name = "" if function.owner is None else function.owner.facts.qualname
                    site = Site(module.path, function.facts.qualname, class_name, call.span)
                    yield Mismatch(site, targets[0], found[0], None, around.conditions, around.is_swallowed)

    def _resolve(
        self, module: ModuleFacts, function: FunctionDef, callee: str, sites: FunctionSites
    ) -> tuple[Target, ...]:
        head = callee.partition(".")[0]
        if head in sites.imports:
            return self._find(module, function, callee, sites)
        owner = function.owner
        key = (module.path, "", callee)
        if owner is not None and (head == "super()" or self._is_receiver(function, head)):
            key = (module.path, f"{self._signatures.kind(function)} {owner.facts.qualname}", callee)
        found = self._targets.get(key)
        if found is None:
            found = self._targets[key] = self._find(module, function, callee, sites)
        return found

    def _is_receiver(self, function: FunctionDef, head: str) -> bool:
        """Whether a name is the object, or the class, whose method a function is."""
        parameters = function.facts.parameters
        if function.owner is None or not parameters or parameters[0].name != head:
            return False
        kind = self._signatures.kind(function)
        if kind is None:  # some decorator isn't known: it may hand over anything
            return head == "self" and "staticmethod" not in map(decorator_name, function.facts.decorators)
        return kind != "static"

    def _find(
        self, module: ModuleFacts, function: FunctionDef, callee: str, sites: FunctionSites
    ) -> tuple[Target, ...]:
        head, *rest = callee.split(".")
        signatures = self._signatures
        owner = function.owner
        found: Target | None
        if owner is not None and self._is_receiver(function, head):
            kind = signatures.kind(function)
            if len(rest) == 1:
                found = signatures.of_method(owner, rest[0], through_class=kind == "class")
                if isinstance(found, Signature):
                    return (found,)
                if kind == "class":
                    return () if found is None else (found,)
                called = self._attribute_classes(owner, rest[0])
                if called:
                    return self._each(signatures.of_instance(cls) for cls in called)
                return (found,) if found is not None and called is None else ()
            if len(rest) == 2 and kind != "class":
                classes = self._attribute_classes(owner, rest[0])
                return self._each(signatures.of_method(cls, rest[1]) for cls in classes or ())
            return ()
        if head == "super()":
            if owner is None or len(rest) != 1:
                return ()
            through = signatures.kind(function) == "class"
            return self._each([signatures.of_method(owner, rest[0], after=owner, through_class=through)])
        if head.endswith("()"):
            cls = self._definition(module, head[:-2], sites)
            if not isinstance(cls, ClassDef) or signatures.of_constructor(cls) is None:
                return ()
            return self._each([signatures.of_method(cls, rest[0])])
        target: Definition | None = self._definition(module, head, sites)
        for index, name in enumerate(rest):
            if isinstance(target, ClassDef):
                if f"{target.facts.qualname}.{name}" in target.module.classes:
                    target = self._project.class_def(target.module, f"{target.facts.qualname}.{name}")
                    continue
                if index < len(rest) - 1:
                    return ()
                return self._each([signatures.of_method(target, name, through_class=True)])
            if not isinstance(target, ModuleDef):
                return ()
            target = self._project.attribute(target, name)
        if isinstance(target, ClassDef):
            return self._each([signatures.of_constructor(target)])
        if isinstance(target, FunctionDef) and target.owner is None:
            return self._each([signatures.of_function(target)])
        return ()

    def _each(self, found: Iterable[Target | None]) -> tuple[Target, ...]:
        result = tuple(found)
        return () if None in result else result  # type: ignore[return-value]

    def _definition(self, module: ModuleFacts, name: str, sites: FunctionSites) -> Definition | None:
        imported = sites.imports.get(name)
        if imported is not None:
            return self._project.imported(imported, module.path)
        return self._project.lookup(module, name)

    def _attribute_classes(self, owner: ClassDef, name: str) -> tuple[ClassDef, ...] | None:
        """The classes of what an attribute holds, none where they aren't all known; None where nothing stores it.

        A first look, by the text of the assignments: what seems wrong is looked at again.
        """
        result: list[ClassDef] = []
        stored = False
        for base in self._project.mro(owner):
            if not isinstance(base, ClassDef):
                continue
            for sites, made in self._stores(base).get(name, ()):
                stored = True
                if made:
                    cls = self._dotted(base.module, made, sites)
                    if not isinstance(cls, ClassDef):
                        return ()
                    result.append(cls)
                elif made is None:
                    return ()
        return tuple(dict.fromkeys(result)) if stored else None

    def _stores(self, cls: ClassDef) -> dict[str, list[tuple[FunctionSites, str | None]]]:
        found = self._stored.get(cls)
        if found is None:
            found = self._stored[cls] = {}
            for facts in cls.facts.methods.values():
                sites = cls.module.sites.get(facts.qualname)
                for name, made in sites.stores if sites is not None else ():
                    assert sites is not None
                    found.setdefault(name, []).append((sites, made))
        return found

    def _dotted(self, module: ModuleFacts, text: str, sites: FunctionSites) -> Definition | None:
        head, *rest = text.split(".")
        found = self._definition(module, head, sites)
        for name in rest:
            found = None if found is None else self._project.attribute(found, name)
        return found

    # Certainty

    def _confirm(
        self,
        module: ModuleFacts,
        function: FunctionDef,
        call: CallSite,
        sites: FunctionSites,
        targets: tuple[Target, ...],
    ) -> Surroundings | None:
        """What stands around the call, where nothing makes the mismatch uncertain."""
        certainty = self._certainty
        head, *rest = call.callee.replace("()", "").split(".")
        owner = function.owner
        is_receiver = self._is_receiver(function, head)
        through_self = is_receiver and len(rest) == 1
        if not all(self._may_lack(t, module.path, through_self) for t in targets if isinstance(t, Lacking)):
            return None
        around = certainty.surroundings(module.path, call.span)
        if around is None or not self._is_plain(around, call.callee.rpartition(".")[0]):
            return None
        if is_receiver:
            if around.bound[head] != 1:
                return None
        elif head == "super":
            if around.bound["super"]:
                return None
        elif head in sites.imports:
            imported = sites.imports[head]
            path = self._project.resolve_module(imported.module, imported.level, module.path)
            if around.bound[head] != 1 or path is None:
                return None
            if imported.attribute is not None and path.endswith(".py"):
                source = self._project.module(path)
                if source is not None and not certainty.is_settled(source, imported.attribute):
                    return None
        elif around.bound[head] or not certainty.is_settled(module, head):
            return None
        if owner is not None and (is_receiver or head == "super"):
            if not certainty.is_settled_class(owner):
                return None
            if len(rest) == 2 or (rest and not all(getattr(t, "method", "") == rest[0] for t in targets)):
                if not self._is_settled_attribute(owner, rest[0]) or not self._holds(owner, rest[0], targets):
                    return None
            elif not self._is_final(owner, rest[0], head == "super"):
                return None
        if not all(self._is_certain(target, module.path) for target in targets) or certainty.is_template(module.path):
            return None
        if isinstance(targets[0], Lacking) and (around.is_swallowed or _asks_for(around, targets[0].method)):
            return None
        return around

    def _is_plain(self, around: Surroundings, receiver: str) -> bool:
        """Whether the failure is neither caught nor guarded by a test of what the callee can do."""
        if around.is_expected or around.is_unreachable or "signature(" in around.source:
            return False
        return not any(
            _REFLECTION.search(test) or (_INSTANCE.search(test) and (not receiver or receiver in test))
            for test in around.conditions
        )

    def _is_final(self, owner: ClassDef, method: str, is_super: bool) -> bool:
        """Whether no class of the package that inherits from `owner` puts another method in the place of this one."""
        subclasses = self._certainty.subclasses(owner)
        if subclasses is None:
            return False
        for cls in subclasses:
            ours = self._signatures.of_method(owner, method, after=owner if is_super else None)
            theirs = self._signatures.of_method(cls, method, after=owner if is_super else None)
            if isinstance(ours, Signature):
                if not isinstance(theirs, Signature) or (theirs.module, theirs.span) != (ours.module, ours.span):
                    return False
            elif not isinstance(theirs, Lacking):
                return False
        return True

    def _is_certain(self, target: Target, path: str) -> bool:
        """Whether nothing in the package binds the definition, or a name on the way to it, anew."""
        certainty = self._certainty
        receiver = target.receiver
        if isinstance(target, Lacking):
            return all(
                certainty.is_settled_class(base) and certainty.is_unbound_member(base, target.method)
                for base in self._project.mro(target.receiver)
                if isinstance(base, ClassDef)
            )
        if receiver is None:
            return certainty.is_settled(target.module, target.name) and not certainty.is_patched(
                target.name, (), (path, target.module.path)
            )
        bases = [base for base in self._project.mro(receiver) if isinstance(base, ClassDef)]
        if target.after is not None:
            bases = bases[bases.index(target.after) + 1 :]
        if target.owner in bases:
            bases = bases[: bases.index(target.owner) + 1]
            if not all(certainty.is_unbound_member(base, target.method) for base in bases[:-1]):
                return False
        if not all(certainty.is_settled_class(base) for base in bases):
            return False
        defined = target.owner is not None and target.method in target.owner.facts.methods
        if defined and target.owner is not None and not certainty.is_settled_member(target.owner, target.method):
            return False
        names = tuple(base.name for base in bases)
        return not certainty.is_patched(target.method, names, (path, target.module.path))

    def _holds(self, owner: ClassDef, name: str, targets: tuple[Target, ...]) -> bool:
        """Whether an attribute holds instances of the targets' classes and of no other."""
        found: set[object] = set()
        for value in self._interpreter.attribute_values(owner, name):
            found.update(self._interpreter.classes_of(value))
        return found == {target.receiver for target in targets}

    def _is_settled_attribute(self, owner: ClassDef, name: str) -> bool:
        """Whether only the `__init__` methods of a class and its bases store an attribute, None left out."""
        certainty = self._certainty
        subclasses = certainty.subclasses(owner)
        if subclasses is None:
            return False
        bases = [base for base in self._project.mro(owner) if isinstance(base, ClassDef)]
        ours = {*bases, *subclasses}
        paths = {cls.module.path for cls in ours}
        names = {cls.name for cls in ours}
        pattern = rf"\b(\w+)\.{re.escape(name)}\s*(?::[^=\n]+)?=(?!=)(?!\s*None\b)"
        for path, offset in certainty.mentions(owner.module.path, f".{name}", pattern):
            text = self._project.text(path)
            receiver = re.match(r"\w+", text[offset:])
            if receiver is None:
                return False
            if receiver[0] == "self":
                if path not in paths:
                    continue
                cls, method = certainty.class_at(path, offset)
                if cls is None or (cls in ours and not (cls in bases and method == "__init__")):
                    return False
            elif path in paths or any(word in text for word in names):
                return False
        return True

    def _may_lack(self, target: Lacking, path: str, through_self: bool) -> bool:
        """Whether nothing in the package speaks of such an attribute, and objects of the very class exist."""
        certainty = self._certainty
        name = re.escape(target.method)
        place = target.receiver.module.path
        if through_self:
            class_name = target.receiver.name
            if not certainty.has_mention(place, f"{class_name}(", rf"(?<!class )\b{re.escape(class_name)}\("):
                return False
            defined = rf"\bdef {name}\b|^[ \t]+{name}\b[^\n(]*="
            if certainty.files_of_subclasses(target.receiver) and certainty.has_mention(place, target.method, defined):
                return False
        if certainty.is_patched(target.method, (), (path, place)):
            return False
        for base in self._project.mro(target.receiver):
            if isinstance(base, ClassDef):
                text = self._project.text(base.module.path)
                if re.search(rf"[\"']{name}[\"']|__dict__|\bsetattr\(|\bvars\(", text):
                    return False
        return True


def _asks_for(around: Surroundings, name: str) -> bool:
    """Whether the function tests for an attribute anywhere: the call may stand behind an early return."""
    return re.search(rf"(?:hasattr|getattr)\([^()]*[\"']{re.escape(name)}[\"']", around.source) is not None
