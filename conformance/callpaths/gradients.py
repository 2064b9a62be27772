"""Which values carry gradients for certain: what a module with parameters has computed, and what is made of that."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.callpaths.conditions import Assumptions
from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.values import Value
from conformance.project.project import ClassDef, External

_MAX_DEPTH = 24
_LEARNS = frozenset(
    {
        "Linear",
        "Bilinear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "Embedding",
        "EmbeddingBag",
        "MultiheadAttention",
        "LSTM",
        "GRU",
        "Parameter",
    }
)
"""Classes of torch.nn whose instances have, or are, parameters whatever they are given."""
_KEEPS = frozenset(
    {"chunk", "split", "unbind", "view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "permute"}
    | {"transpose", "expand", "repeat", "contiguous", "to", "type", "type_as", "float", "half", "bfloat16", "clone"}
)
"""Methods of a tensor whose result carries what the tensor carries."""
_JOINS = frozenset(
    {"torch.cat", "torch.concat", "torch.concatenate", "torch.stack", "torch.hstack", "torch.vstack"}
    | {"torch.nn.utils.rnn.pad_sequence"}
)
"""Functions that make one tensor of several."""
_ARITHMETIC = frozenset({"+", "-", "*", "/", "@"})


class Gradients:
    """Answers for the classes of one project."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._learning: dict[ClassDef, bool] = {}

    def carried(self, value: Value, setting: Iterable[tuple[Value, bool]] = ()) -> bool:
        """Whether a value is a tensor that needs gradients when the model is trained as a whole.

        Of a choice, one side that is possible under the setting is enough: then it shows when that side is taken.
        """
        return self._carried(value, Assumptions(self._interpreter.values, setting), set(), 0)

    def _carried(self, value: Value, assumptions: Assumptions, seen: set[Value], depth: int) -> bool:
        if depth > _MAX_DEPTH or value in seen:
            return False
        seen.add(value)

        def inside(*parts: Value) -> bool:
            return any(self._carried(part, assumptions, seen, depth + 1) for part in parts)

        op = value.op
        if op in ("mu", "out"):
            return inside(value.args[2])
        if op == "phi":
            test, body, orelse = value.args
            known = assumptions.truth(test)
            return inside(*((body, orelse) if known is None else (body,) if known else (orelse,)))
        if op == "item":
            return inside(value.args[0])
        if op == "op":
            return value.args[0] in _ARITHMETIC and inside(*value.args[1])
        if op != "call":
            return False
        callee, arguments, _ = value.args
        if callee.op == "ref" and callee.args[0] in _JOINS:
            parts = arguments[:1]
            return inside(*(parts[0].args if parts and parts[0].op in ("list", "tuple") else parts))
        if callee.op == "attr" and callee.args[1] in _KEEPS and inside(callee.args[0]):
            return True
        if callee.op == "bound":
            return False
        classes = self._interpreter.classes_of(callee)
        return bool(classes) and all(self._learns(cls) for cls in classes)

    def _learns(self, cls: ClassDef | External) -> bool:
        """Whether a module has parameters of its own, and computes with gradients."""
        if isinstance(cls, External):
            return cls.name.startswith("torch.nn.") and cls.name.rsplit(".", 1)[-1] in _LEARNS
        found = self._learning.get(cls)
        if found is None:
            self._learning[cls] = False  # while it leads back to itself
            found = self._learning[cls] = self._finds_parameters(cls)
        return found

    def _finds_parameters(self, cls: ClassDef) -> bool:
        project = self._interpreter.project
        forward = project.method(cls, "forward")
        if forward is None or any(
            word in project.source_of(forward) for word in ("no_grad", "inference_mode", ".detach")
        ):
            return False
        return any(
            self._learns(inner)
            for value in self._interpreter.attributes(cls).values()
            for inner in (*self._interpreter.classes_of(value), *self._interpreter.elements_of(value))
        )
