"""Names that a checkpointed function reads again during backward, when something else may be in them."""

from __future__ import annotations

import pytest

from conformance.callpaths.paths import CallPaths
from tests.callpaths.looking import model, place_of, project_of, snippets


def late_names(body: str, **parts: str) -> set[str]:
    """The names that are read late in a model whose forward has this body."""
    project = project_of({"model.py": model(body, **parts)})
    module = project.module(place_of("model.py"))
    assert module is not None
    found: set[str] = set()
    for entry in CallPaths(project).entries(module, every_forward=True):
        assert not entry.trace.problems
        found |= {read.capture.name for read in entry.late}
    return found


@pytest.mark.parametrize(
    "source",
    snippets("""
        # late: block
        for block in self.blocks:
            x = checkpoint(lambda h: block(h), x)
        ---
        # late: block
        for block in self.blocks:
            def run(h):
                return block(h)
            x = checkpoint(run, x)
        ---
        # late: block index
        for index, block in enumerate(self.blocks):
            def run(h):
                return block(h, scale=index)
            x = checkpoint(run, x)
        ---
        # late: index
        for index in range(3):
            x = checkpoint(lambda h: self.blocks[index](h), x)
        ---
        # late: mask
        for block in self.blocks:
            def run(h, b=block):
                return b(h, mask)
            x = checkpoint(run, x)
            mask = None
        ---
        # late: mask
        for block in self.blocks:
            mask = mask + 1
            def run(h, b=block):
                return b(h, mask)
            x = checkpoint(run, x)
        ---
        # late: mask
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h, mask), x)
        mask = None
        ---
        # late: x
        for block in self.blocks:
            x = checkpoint(lambda b=block: b(x))
        ---
        # late: mask
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h, mask), x)
            mask += 1
        ---
        # late: mask
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        if (mask := x.mean()) > 0:
            pass
        ---
        # late: mask
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        with torch.autocast("cpu") as mask:
            pass
        ---
        # late: mask
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        del mask
        ---
        # late: mask
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        for mask in scale:
            pass
        ---
        # late: mask
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        try:
            pass
        except ValueError as mask:
            pass
        ---
        # late: mask
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        import mask
        ---
        # late: mask
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        first, mask = scale
        ---
        # late: mask
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        if self.training:
            mask = None
        ---
        # late: mask
        def change():
            nonlocal mask
            mask = None
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        change()
        ---
        # late: mask
        def make(block):
            mask = scale
            def run(h):
                return block(h, mask)
            x = checkpoint(run, scale)
            mask = None
            return x
        x = make(self.blocks[0])
        ---
        # late: mask
        def inner(h, b):
            return b(h, mask)
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: inner(h, b), x)
            mask = None
        ---
        # late: block
        x = [checkpoint(lambda h: block(h), x) for block in self.blocks]
        ---
        # late: index
        index = 0
        while index < 3:
            x = checkpoint(lambda h: self.blocks[index](h), x)
            index += 1
        ---
        # late: block
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(lambda h: block(h), x)
            else:
                x = block(x)
        ---
        # late: block
        for block in self.blocks:
            run = lambda h: block(h)
            x = checkpoint(run, x) if self.gradient_checkpointing else run(x)
        ---
        # late: block
        def run(h):
            return block(h)
        for block in self.blocks:
            x = checkpoint(run, x)
        ---
        # late: layer
        for block in self.blocks:
            layer = block
            x = checkpoint(lambda h: layer(h), x)
        ---
        # late: mask
        for block in self.blocks:
            mask = self.make_mask(block)
            x = checkpoint(lambda h, b=block: b(h, mask), x)
        ---
        # late: mask
        for block in self.blocks:
            def run(h, b=block):
                for _ in range(2):
                    h = b(h, mask)
                return h
            x = checkpoint(run, x)
            mask = x
        ---
        # late: block
        for block in self.blocks:
            x = self._gradient_checkpointing_func(lambda h: block(h), x)
        ---
        # late: mask
        for block in self.blocks:
            x = checkpoint(partial(lambda b, h: b(h, mask), block), x)
            mask = x
    """),
)
def test_late(source: str) -> None:
    first, _, body = source.partition("\n")
    assert late_names(body, before="from functools import partial") == set(first.removeprefix("# late: ").split())


@pytest.mark.parametrize(
    "body",
    snippets("""
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h), x)
        ---
        for block in self.blocks:
            x = checkpoint(lambda h, block=block: block(h), x)
        ---
        for block in self.blocks:
            x = checkpoint(block, x, mask)
            mask = None
        ---
        def make(block):
            def run(h):
                return block(h)
            return run
        for block in self.blocks:
            x = checkpoint(make(block), x)
        ---
        for block in self.blocks:
            x = checkpoint(partial(block, mask=mask), x)
            mask = None
        ---
        def run(block, h):
            return block(h)
        for block in self.blocks:
            x = checkpoint(run, block, x)
        ---
        mask = mask + 1
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h, mask), x)
        ---
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(lambda h, b=block: b(h, mask), x)
            else:
                x = block(x, mask)
                mask = None
        ---
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(lambda h, b=block: b(h, mask), x)
        if not self.gradient_checkpointing:
            mask = None
        ---
        for block in self.blocks:
            run = lambda h: block(h)
            x = run(x)
        ---
        for block in self.blocks:
            if self.gradient_checkpointing:
                x = checkpoint(block, x)
            else:
                run = lambda h: block(h)
                x = run(x)
        ---
        block = self.blocks[0]
        return checkpoint(lambda h: block(h), x)
        ---
        for block in self.blocks:
            return checkpoint(lambda h: block(h), x)
        ---
        for block in self.blocks:
            def run(h, b=block):
                h = b(h)
                mask = h
                return b(h, mask)
            x = checkpoint(run, x)
        ---
        for block in self.blocks:
            mask = mask
            x = checkpoint(lambda h, b=block: b(h, mask), x)
        ---
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h, MASK), x)
        ---
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h, self.mask), x)
        ---
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h.view(x.shape)), x)
        ---
        def change():
            nonlocal mask
            mask = None
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        ---
        def change():
            mask = None
        x = checkpoint(lambda h: self.blocks[0](h, mask), x)
        change()
        ---
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h, [mask for mask in h]), x)
            mask = None
        ---
        if self.training:
            x = checkpoint(lambda h: self.blocks[0](h, mask), x)
            return x
        mask = None
        return self.blocks[0](x, mask)
        ---
        for block in self.blocks:
            def run(h, b=block):
                def inner(mask):
                    return b(h, mask)
                return inner(h)
            x = checkpoint(run, x)
            mask = None
        ---
        for block in self.blocks:
            def run(h, b=block):
                return self.keep(b, h)
            x = checkpoint(run, x)
        ---
        for block in self.blocks:
            def run(h, b=block):
                return b(h)
            def again(h):
                return run(h)
            x = run(x)
        ---
        with torch.no_grad():
            for block in self.blocks:
                x = block(x)
        for block in self.blocks:
            x = checkpoint(lambda h, b=block: b(h), x)
    """),
)
def test_not_late(body: str) -> None:
    assert late_names(body, before="from functools import partial\nMASK = 1\n") == set()


def test_place_and_owner() -> None:
    source = model(
        """
        for block in self.blocks:
            def run(h):
                return block(h, mask)
            x = checkpoint(run, x)
            mask = None
        """
    )
    project = project_of({"model.py": source})
    module = project.module(place_of("model.py"))
    assert module is not None
    (entry,) = (e for e in CallPaths(project).entries(module) if e.public.class_name == "Model")
    lines = source.split("\n")
    by_name = {read.capture.name: read for read in entry.late}
    assert set(by_name) == {"block", "mask"}
    for name, rebinding in (("block", "for block in self.blocks:"), ("mask", "mask = None")):
        read = by_name[name]
        assert read.owner == "Model.forward"
        assert read.path == place_of("model.py")
        assert read.capture.function.name == "run"
        assert lines[read.capture.site.span.line - 1].strip() == "def run(h):"
        assert lines[read.capture.checkpoint.site.span.line - 1].strip() == "x = checkpoint(run, x)"
        assert lines[read.rebinding.line - 1].strip() == rebinding
    assert by_name["block"].rebinding.is_target
    assert by_name["mask"].rebinding.value is not None


def test_flag_that_says_which_iteration_checkpoints() -> None:
    """The first blocks run in an eager loop that re-binds; the checkpointed loop comes after it."""
    body = """
        for block in self.blocks[:2]:
            mask = block(x, mask)
        for block in self.blocks[2:]:
            x = checkpoint(lambda h, b=block: b(h, mask), x)
        return x
        """
    assert late_names(body) == set()


def test_local_flag_excludes_the_rebinding() -> None:
    body = """
        use = self.gradient_checkpointing and self.training
        for block in self.blocks:
            if use:
                x = checkpoint(lambda h, b=block: b(h, mask), x)
            else:
                x = block(x, mask)
            if not use:
                mask = x
        return x
        """
    assert late_names(body) == set()
