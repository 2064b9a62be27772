"""Controls: settings that a model stores, that something outside sets, and that its blocks take as an argument."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.callpaths.compare import method_of, selector_parameters
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.paths import BlockPaths, Entry
from conformance.callpaths.values import Value, walk
from conformance.facts.ir import Parameter
from conformance.project.project import ClassDef, FunctionDef


@dataclass(frozen=True, slots=True)
class StoredControl:
    """A block's parameter and the model's attribute that it is to get."""

    parameter: str
    attribute: str


def stored_controls(entry: Entry, block: BlockPaths, interpreter: Interpreter) -> tuple[StoredControl, ...]:
    """The controls that a block accepts and the entry's model stores.

    A control is a parameter with a default that some path of the model binds to an attribute which `__init__` sets to
    a literal and a method sets from outside; or a pair that the profile names.
    """
    owner = entry.owner
    if owner is None:
        return ()
    selectors = selector_parameters(block, interpreter)
    accepted = {n: p for n, p in _accepted(block, interpreter).items() if n not in selectors}
    found: dict[str, str] = {}
    for control in interpreter.project.profile.handed_controls:
        if control.parameter in accepted and interpreter.attribute_value(owner, control.attribute) is not None:
            found[control.parameter] = control.attribute
    for other in entry.blocks:
        for path in other.paths:
            for bound in path.bindings.values():
                for name, value in bound.values.items():
                    if name in accepted and name not in found and is_setting(value, owner, interpreter):
                        found[name] = value.args[1]
    return tuple(StoredControl(name, attribute) for name, attribute in found.items())


def _accepted(block: BlockPaths, interpreter: Interpreter) -> dict[str, Parameter]:
    result: dict[str, Parameter] = {}
    for path in block.paths:
        if path.raw.direct is not None and path.raw.callee.op == "self":
            continue  # a method of the model has the control itself
        for cls in path.bindings:
            method = method_of(path, cls, interpreter)
            if method is not None:
                result.update({p.name: p for p in method.facts.parameters if p.default is not None})
    return result


def is_setting(value: Value, owner: ClassDef, interpreter: Interpreter) -> bool:
    """Whether a value is an attribute of the model that starts as a literal and that a setter changes."""
    if value.op != "attr" or value.args[0].op != "self":
        return False
    name = value.args[1]
    if name in interpreter.project.profile.flags:
        return False  # that turns checkpointing itself on
    initial = interpreter.attribute_value(owner, name)
    return initial is not None and initial.op == "const" and setter_of(owner, name, interpreter) is not None


def setter_of(owner: ClassDef, attribute: str, interpreter: Interpreter) -> str | None:
    """A method, other than `__init__` and `forward`, that sets the attribute; None when there is none."""
    for base in interpreter.project.mro(owner):
        if isinstance(base, ClassDef):
            for function in interpreter.stores(base).get(attribute, ()):
                if _sets(owner, function, attribute, interpreter):
                    return function.facts.name
    return None


def _sets(owner: ClassDef, function: FunctionDef, attribute: str, interpreter: Interpreter) -> bool:
    """Whether a method sets the attribute to what it is given, or to another literal than `__init__` does."""
    value = interpreter.value_after(owner, function, attribute)
    if value is None:
        return False
    if value.op == "const":
        return value is not interpreter.attribute_value(owner, attribute)
    return any(part.op == "param" for part in walk(value))
