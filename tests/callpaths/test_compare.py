"""Which paths of a block stand for one another, and what one of them lacks."""

from __future__ import annotations

import pytest

from conformance.callpaths.compare import alternatives, selector_parameters
from conformance.callpaths.controls import stored_controls
from conformance.callpaths.omissions import omissions
from conformance.callpaths.paths import BlockPaths, CallPaths, Path
from tests.callpaths.looking import marker_at, model, place_of, project_of, snippets


class Seen:
    """The blocks of the model of one file."""

    def __init__(self, source: str, of: str = "Model") -> None:
        self._sources = {"model.py": source}
        project = project_of(self._sources)
        module = project.module(place_of("model.py"))
        assert module is not None
        self.calls = CallPaths(project)
        entries = self.calls.entries(module, every_forward=True)
        (self.entry,) = (entry for entry in entries if entry.public.class_name == of)
        self.interpreter = self.calls.interpreter

    def _name(self, path: Path) -> str:
        return marker_at(path.public, self._sources)

    def pairs(self) -> set[str]:
        """`first-second` for the markers of each two paths that stand for one another, in alphabetic order."""
        found = set()
        for block in self.entry.blocks:
            for first, second in alternatives(block, self.interpreter):
                found.add("-".join(sorted((self._name(first), self._name(second)))))
        return found

    def missing(self) -> set[str]:
        """`parameter@marker` for what a path leaves out though another passes it."""
        return {
            f"{omission.parameter.name}@{self._name(omission.path)}"
            for block in self.entry.blocks
            for omission in omissions(block, self.interpreter)
        }

    def block(self, text: str) -> BlockPaths:
        """The block of this text."""
        (found,) = (block for block in self.entry.blocks if block.text == text)
        return found


@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        (
            """
            for block in self.blocks:
                if self.gradient_checkpointing:
                    x = checkpoint(block, x)  # <- ck
                else:
                    x = block(x)  # <- eager
            """,
            {"ck-eager"},
        ),
        (
            """
            for block in self.blocks:
                if self.gradient_checkpointing:
                    x = checkpoint(block, x)  # <- ck
                    continue
                x = block(x)  # <- eager
            """,
            {"ck-eager"},
        ),
        (
            """
            if self.gradient_checkpointing:
                for block in self.blocks:
                    x = checkpoint(block, x)  # <- ck
            else:
                for block in self.blocks:
                    x = block(x)  # <- eager
            """,
            {"ck-eager"},
        ),
        (
            """
            for block in self.blocks:
                x = block(x)  # <- first
            for block in self.blocks:
                if self.gradient_checkpointing:
                    x = checkpoint(block, x)  # <- ck
                else:
                    x = block(x)  # <- eager
            """,
            {"ck-eager"},
        ),
        (
            """
            for block in self.blocks:
                if mask is None:
                    if self.gradient_checkpointing:
                        x = checkpoint(block, x)  # <- plain-ck
                    else:
                        x = block(x)  # <- plain
                elif self.gradient_checkpointing:
                    x = checkpoint(block, x, mask)  # <- masked-ck
                else:
                    x = block(x, mask)  # <- masked
            """,
            {"plain-plain-ck", "masked-masked-ck"},
        ),
        (
            """
            for block in self.blocks:
                if self.gradient_checkpointing:
                    if mask is None:
                        x = checkpoint(block, x)  # <- plain-ck
                    else:
                        x = checkpoint(block, x, mask)  # <- masked-ck
                else:
                    x = block(x, mask)  # <- eager
            """,
            {"eager-plain-ck", "eager-masked-ck"},
        ),
        (
            """
            for block in self.blocks:
                if self.training:
                    x = checkpoint(block, x)  # <- ck
                if not self.training and mask is None:
                    x = block(x)  # <- eager
            """,
            {"ck-eager"},
        ),
        (
            """
            for block in self.blocks:
                x = checkpoint(block, x)  # <- ck
                x = block(x)  # <- eager
            """,
            set(),
        ),
        (
            """
            for block in self.blocks:
                if self.training:
                    x = block(x)  # <- one
                else:
                    x = block(x, mask)  # <- other
            """,
            set(),
        ),
        (
            """
            for block in self.blocks:
                if isinstance(mask, str):
                    x = checkpoint(block, x)  # <- ck
                elif isinstance(mask, tuple) and scale:
                    x = block(x)  # <- eager
            """,
            {"ck-eager"},
        ),
        (
            """
            use = self.gradient_checkpointing and torch.is_grad_enabled()
            for block in self.blocks:
                x = checkpoint(block, x) if use else block(x)  # <- both
            """,
            {"both-both"},
        ),
        (
            """
            for block in self.blocks:
                if self.gradient_checkpointing and self.scope == "ffn":
                    x = block(x, checkpoint)  # <- scoped
                elif self.gradient_checkpointing:
                    x = checkpoint(block, x)  # <- ck
                else:
                    x = block(x)  # <- eager
            """,
            {"ck-eager", "ck-scoped", "eager-scoped"},
        ),
    ],
)
def test_alternatives(body: str, pairs: set[str]) -> None:
    assert Seen(model(body)).pairs() == pairs


@pytest.mark.parametrize(
    "source",
    snippets("""
        # missing: mask@ck
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x)  # <- ck
            else:
                x = block(x, mask)  # <- eager
        ---
        # missing: mask@eager
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, mask)  # <- ck
            else:
                x = block(x)  # <- eager
        ---
        # missing: mask@ck scale@eager
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, scale=scale)  # <- ck
            else:
                x = block(x, mask=mask)  # <- eager
        ---
        # missing: nothing, it is the default
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x)  # <- ck
            else:
                x = block(x, None, 1.0)  # <- eager
        ---
        # missing: nothing, it is the default under the condition
        for block in self.blocks:
            if self.gradient_checkpointing and mask is None:
                x = checkpoint(block, x)  # <- ck
            else:
                x = block(x, mask)  # <- eager
        ---
        # missing: nothing, the gate excludes the value
        cache = None if self.gradient_checkpointing else self.make()
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x)  # <- ck
            else:
                x = block(x, mask=cache)  # <- eager
        ---
        # missing: mask@ck
        cache = self.make()
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x)  # <- ck
            else:
                x = block(x, mask=cache)  # <- eager
        ---
        # missing: nothing, the block doesn't read it
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x)  # <- ck
            else:
                x = block(x, unused=mask)  # <- eager
        ---
        # missing: nothing, the block reads it only with a mask
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x)  # <- ck
            else:
                x = block(x, weight=scale)  # <- eager
        ---
        # missing: weight@ck
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, mask)  # <- ck
            else:
                x = block(x, mask, weight=scale)  # <- eager
        ---
        # missing: nothing, the paths are no alternatives
        for block in self.blocks:
            x = checkpoint(block, x)  # <- ck
        for block in self.others:
            x = block(x, mask)  # <- eager
        ---
        # missing: nothing, it is unknown what the splat holds
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, **scale)  # <- ck
            else:
                x = block(x, mask)  # <- eager
        ---
        # missing: mask@ck
        kwargs = {"scale": scale}
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x, **kwargs)  # <- ck
            else:
                x = block(x, mask, **kwargs)  # <- eager
        ---
        # missing: mask@run
        def make(module):
            def run(h):
                return module(h)  # <- run
            return run
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(make(block), x)
            else:
                x = block(x, mask)  # <- eager
    """),
)
def test_omissions(source: str) -> None:
    first, _, body = source.partition("\n")
    wanted = first.removeprefix("# missing: ")
    blocks = """
        class Block(nn.Module):
            def forward(self, x, mask=None, scale=1.0, unused=0, weight=None):
                if mask is not None:
                    x = x * mask if weight is None else x * weight
                return x * scale
        """
    seen = Seen(model(body, blocks=blocks, init="self.blocks = nn.ModuleList([Block()])\nself.others = self.blocks"))
    assert seen.missing() == (set() if wanted.startswith("nothing") else set(wanted.split()))


def test_selectors_say_only_how_a_block_is_run() -> None:
    source = model(
        """
        for block in self.blocks:
            if self.gradient_checkpointing and self.scope == "ffn":
                x = block(x, mask, checkpoint_ffn=True, checkpoint_fn=checkpoint)  # <- scoped
            elif self.gradient_checkpointing:
                x = checkpoint(block, x, mask)  # <- ck
            else:
                x = block(x, mask)  # <- eager
        return x
        """,
        blocks="""
        class Block(nn.Module):
            def forward(self, x, mask=None, checkpoint_ffn=False, checkpoint_fn=None):
                return checkpoint_fn(x.view, mask) if checkpoint_ffn else x * mask
        """,
    )
    seen = Seen(source)
    assert selector_parameters(seen.block("self.blocks[*]"), seen.interpreter) == {"checkpoint_ffn", "checkpoint_fn"}
    assert seen.missing() == set()


@pytest.mark.parametrize(
    ("methods", "controls"),
    [
        ("def set_offload(self, value):\n    self.offload = value", {("offload_attention", "offload")}),
        ("def enable_offload(self, value=True):\n    self.offload = value", {("offload_attention", "offload")}),
        ("def reset(self):\n    self.offload = False", set()),
        ("", set()),
    ],
)
def test_controls_are_found_by_what_they_are(methods: str, controls: set[tuple[str, str]]) -> None:
    """A parameter with a default, bound to an attribute that starts as a literal and that a setter changes."""
    source = model(
        """
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x)  # <- ck
            else:
                x = block(x, offload_attention=self.offload)  # <- eager
        return x
        """,
        blocks="""
        class Block(nn.Module):
            def forward(self, x, offload_attention=False):
                return x
        """,
        init="self.blocks = nn.ModuleList([Block()])\nself.offload = False",
        methods=methods,
    )
    seen = Seen(source)
    found = stored_controls(seen.entry, seen.block("self.blocks[*]"), seen.interpreter)
    assert {(control.parameter, control.attribute) for control in found} == controls
