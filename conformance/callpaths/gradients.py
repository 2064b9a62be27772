"""Which values carry gradients for certain: what a module with parameters has computed, and what is made of that."""

from __future__ import annotations

from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.values import Value
from conformance.project.project import ClassDef, External

_MAX_DEPTH = 8
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
_ARITHMETIC = frozenset({"+", "-", "*", "/", "@"})


class Gradients:
    """Answers for the classes of one project."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._learning: dict[ClassDef, bool] = {}

    def carried(self, value: Value, depth: int = 0) -> bool:
        """Whether a value is a tensor that needs gradients when the model is trained as a whole."""
        if depth > _MAX_DEPTH:
            return False
        op = value.op
        if op in ("mu", "out"):
            return self.carried(value.args[2], depth + 1)
        if op == "phi":
            return all(self.carried(part, depth + 1) for part in value.args[1:])
        if op == "item":
            return self.carried(value.args[0], depth + 1)
        if op == "op":
            return value.args[0] in _ARITHMETIC and any(self.carried(part, depth + 1) for part in value.args[1])
        if op != "call":
            return False
        callee = value.args[0]
        if callee.op == "attr" and callee.args[1] in _KEEPS and self.carried(callee.args[0], depth + 1):
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
