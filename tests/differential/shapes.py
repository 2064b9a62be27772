"""The shapes of code that the random models are made of, and those for which call paths may be more than what happens.

For every shape, each call that happens is among the call paths. For every shape that is not in `INCOMPLETE`, the
reverse holds too: each call path whose conditions can hold happens in some run, and no path leaves anything open.
"""

from __future__ import annotations

GROUPS: dict[str, tuple[str, str]] = {
    "container": (
        "how a model keeps its blocks",
        (
            "append builder-function builder-method class-alias class-by-name class-table comprehension concatenated "
            "dict-of-blocks dict-of-lists dict-of-lists-nested either-branch extend generator local-builder local-list "
            "namespace nested sequential subclass subclass-built submodule two-classes two-classes-append"
        ),
    ),
    "iteration": (
        "how it loops over them",
        (
            "alias chain-slices chain-two dict-items dict-keys dict-values enumerate enumerate-start enumerate-zip "
            "filtered index index-inline kept-list nested pairs pairs-comprehension plain range-zip reversed slice "
            "slice-enumerate starred-alias two-containers two-containers-kept while zip-item zip-two"
        ),
    ),
    "loop": (
        "where the routes stand: in the loop, in a helper, in a segment runner",
        "inline local-function method module-function segments segments-in-loop skips spaced-segments star-method",
    ),
    "gate": (
        "what decides whether a block is checkpointed",
        "flag function grad index-method interval local method training walrus",
    ),
    "branches": (
        "how the routes are parted, in the loop or inside a wrapper",
        "continue dead early-return if-else live negated nested-if ternary",
    ),
    "routes": ("which routes there are, FFN scope included", "scoped scoped-argument three two"),
    "around": ("what stands around a call", "nothing try with"),
    "callable": (
        "the checkpoint callable",
        "attribute dotted local-alias method module-alias project told-by-dictionary torch",
    ),
    "target": (
        "what it is handed",
        (
            "bound-helper direct dunder-call factory function-of-function lambda method module-function "
            "nested-function partial partial-of-function"
        ),
    ),
    "wrapper": ("the parameters of a wrapper", "named options star star-index star-slice star-unpack"),
    "block-of-wrapper": ("how a wrapper gets the block", "argument before-loop default free"),
    "captured": ("how it gets the other values", "argument default free state"),
    "factory": ("where a factory stands and what it takes", "extra method module nested static two-functions"),
    "partial": ("where a partial stands", "inline named"),
    "eager": ("the call outside a checkpoint", "direct method options tuple wrapped"),
    "arguments": ("how values are passed", "keyword mixed positional"),
    "dictionary": ("how a dictionary of keywords is built", "call conditional items literal merged update"),
    "inputs": ("how a list of positional values is built", "appended checkpointed list tuple"),
    "value": (
        "where a value comes from",
        (
            "argument attribute constant derived index item local-constant missing-on-one-route none optional-argument "
            "rebound setting"
        ),
    ),
    "block": ("what the block classes are like", "decorated extra-parameter inherits plain"),
    "signature": ("whether the model's forward has annotations", "annotated plain"),
    "states": ("how many tensors run through the loop", "one two"),
    "result": ("what a block returns", "pair swapped tuple value"),
    "unpacking": ("what becomes of the result", "index later-index later-names names starred-target"),
    "model": ("whose forward runs", "delegates extends-forward inherits inherits-forward plain"),
}
"""Group to what it is about and the names of its shapes."""

SHAPES = frozenset(f"{group}/{name}" for group, (_, names) in GROUPS.items() for name in names.split())
"""All shapes, as `group/name`."""

INCOMPLETE: dict[str, str] = {}
"""Shapes for which a call path may not happen, or may leave something open, with the reason."""
