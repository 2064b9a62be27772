"""Several shapes at once, as models combine them."""

from __future__ import annotations

from tests.callpaths.looking import IMPORTS, bindings_of, entries_of, paths_of

FLAG = "self.gradient_checkpointing"


STAGES = f"""{IMPORTS}

class Resnet(nn.Module):
    def forward(self, x, temb, scale=1.0):
        return x

class Attend(nn.Module):
    def forward(self, x, context=None, mask=None, return_dict=True):
        return (x,)

class PlainStage(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.resnets = nn.ModuleList([Resnet() for _ in range(depth)])
        self.gradient_checkpointing = False

    def forward(self, x, temb=None):
        for resnet in self.resnets:
            if torch.is_grad_enabled() and self.gradient_checkpointing:
                x = self._gradient_checkpointing_func(resnet, x, temb)  # <- hook
            else:
                x = resnet(x, temb)  # <- plain
        return x

class CrossStage(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.has_context = True
        self.gradient_checkpointing = False
        resnets, attentions = [], []
        for index in range(depth):
            resnets.append(Resnet())
            attentions.append(Attend())
        self.resnets = nn.ModuleList(resnets)
        self.attentions = nn.ModuleList(attentions)

    def forward(self, x, temb=None, context=None, mask=None):
        outputs = ()
        for number, (resnet, attend) in enumerate(list(zip(self.resnets, self.attentions))):
            if self.training and self.gradient_checkpointing:

                def custom(module, return_dict=None):
                    def run(*inputs):
                        if return_dict is not None:
                            return module(*inputs, return_dict=return_dict)  # <- dict
                        return module(*inputs)  # <- tuple

                    return run

                options = {{"use_reentrant": False}} if number else {{}}
                y = torch.utils.checkpoint.checkpoint(custom(resnet), x, temb, **options)
                z = attend(y, context, return_dict=False)[0]  # <- attend-in-gate
            else:
                y = resnet(x, temb)  # <- resnet
                z = attend(y, context, mask=mask, return_dict=False)[0]  # <- attend
            x = z
            outputs = outputs + (x,)
        return x, outputs

def make_stage(kind, depth):
    if kind == "plain":
        return PlainStage(depth)
    elif kind == "cross":
        return CrossStage(depth)
    raise ValueError(kind)
"""


def test_stages_that_are_made_by_name() -> None:
    source = f"""{IMPORTS}
from .stages import make_stage

class Model(nn.Module):
    def __init__(self, kinds=("plain", "cross"), depth=2):
        super().__init__()
        self.down = nn.ModuleList([])
        for number, kind in enumerate(kinds):
            stage = make_stage(kind, depth)
            self.down.append(stage)

    def forward(self, x, temb, context=None):
        skips = (x,)
        for stage in self.down:
            if hasattr(stage, "has_context"):
                x, more = stage(x, temb=temb, context=context)  # <- cross
            else:
                x = stage(x, temb)  # <- plain
                more = ()
            skips += more
        return x
"""
    files = {"unet/__init__.py": "", "unet/stages.py": STAGES}
    test = "hasattr(self.down[*], 'has_context')"
    assert paths_of(source, files, "unet/model.py") == [
        f"cross: eager self.down[*]<CrossStage>(x=x, temb=temb, context=context) if {test} -> unpack:2",
        f"plain: eager self.down[*]<PlainStage>(x=x, temb=temb) if not {test}",
    ]


def test_two_lists_in_step_and_a_branch_that_nobody_takes() -> None:
    grad = f"is_grad_enabled() and {FLAG}"
    assert paths_of(STAGES, of="PlainStage") == [
        f"hook: checkpointed self.resnets[*]<Resnet>(x=x, temb=temb) if {grad}",
        f"plain: eager self.resnets[*]<Resnet>(x=x, temb=temb) if not ({grad})",
    ]
    train = f"self.training and {FLAG}"
    misfit = "the call doesn't fit the signature: no parameter `return_dict`"
    texts = paths_of(STAGES, of="CrossStage")
    assert [text for text in texts if "self.resnets[*]<" in text.split("(")[0]] == [
        f"dict: checkpointed self.resnets[*]<Resnet>(?) if {train} dead unknown: {misfit}",
        f"tuple: checkpointed self.resnets[*]<Resnet>(x=x, temb=temb) if {train}",
        f"resnet: eager self.resnets[*]<Resnet>(x=x, temb=temb) if not ({train})",
    ]
    attends = [text for text in texts if "self.attentions[*]<" in text.split("(")[0]]
    assert [text.split("(")[0] for text in attends] == [
        "attend-in-gate: eager self.attentions[*]<Attend>",
        "attend: eager self.attentions[*]<Attend>",
    ]
    assert ["mask=" in text for text in attends] == [False, True]
    assert all(text.endswith(" -> index:0") for text in attends)


TRAINER_HELPERS = """
from torch.utils.checkpoint import checkpoint

def should_run(index, flag, interval=None, stride=None):
    if not flag:
        return False
    if stride is not None:
        return index % stride < (interval or 1)
    return interval is None or index % interval == 0

def offloaded(function, *args, use_reentrant=False, **kwargs):
    return checkpoint(function, *args, use_reentrant=use_reentrant, **kwargs)

def run_segments(blocks, size, state, run, function, options):
    state = tuple(state)
    for start in range(0, len(blocks), size):
        part = tuple(blocks[start : start + size])

        def segment(*current, _start=start, _part=part):
            for offset, block in enumerate(_part):
                output = run(_start + offset, block, *current)
                current = output if isinstance(output, tuple) else (output,)
            return current

        state = function(segment, *state, **options)
    return state
"""
TRAINER = f"""{IMPORTS}
from trainer import offloaded, run_segments, should_run

class Block(nn.Module):
    def forward(self, x, context, temb, mask=None, offload=False, checkpoint_ffn=False, checkpoint_fn=None):
        return context, x

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.backend = "torch"
        self.interval = None
        self.stride = None
        self.offload = False
        self.double = nn.ModuleList([Block() for _ in range(4)])

    def set_backend(self, backend):
        self.backend = backend

    def set_offload(self, value):
        self.offload = bool(value)

    def forward(self, x, context, temb, mask=None, return_dict=True):
        if mask is not None and mask.ndim == 2:
            mask = mask.unsqueeze(1)
        ffn = self.backend.endswith("-ffn")
        function = offloaded if self.backend.startswith("offload") else checkpoint
        options = {{"use_reentrant": False}} if torch.__version__ > "1.11" else {{}}
        segmented = (
            torch.is_grad_enabled()
            and self.gradient_checkpointing
            and self.interval is not None
            and self.interval > 1
            and not ffn
        )
        if segmented:

            def run(index, block, c, h):
                c, h = block(h, c, temb, mask, offload=self.offload)  # <- segment
                return c, h

            context, x = run_segments(self.double, self.interval, (context, x), run, function, options)
        else:
            for index, block in enumerate(self.double):
                chosen = torch.is_grad_enabled() and should_run(
                    index, self.gradient_checkpointing, self.interval, self.stride
                )
                if chosen and not ffn:

                    def custom(*inputs, block=block):
                        return block(*inputs, offload=self.offload)  # <- ck

                    context, x = function(custom, x, context, temb, mask, **options)
                else:
                    context, x = block(  # <- eager
                        x,
                        context,
                        temb,
                        mask=mask,
                        offload=self.offload,
                        **({{"checkpoint_ffn": True, "checkpoint_fn": function}} if chosen else {{}}),
                    )
        if not return_dict:
            return (x,)
        return {{"x": x}}
"""


def test_trainer_with_every_route() -> None:
    """Segments, whole blocks and the feed-forward only, with a callable that two names give, and one eager call."""
    texts = bindings_of(TRAINER, {"trainer.py": TRAINER_HELPERS}, of="Model")
    mask = "(mask.unsqueeze(1) if (mask is not None and mask.ndim == 2) else mask)"
    blocks = [text for text in texts if " self.double[*](" in text]
    assert [text.split("(")[0] for text in blocks] == [
        "segment: segmented self.double[*]",
        "ck: checkpointed self.double[*]",
        "eager: scoped self.double[*]",
    ]
    for text in blocks:
        assert "temb=temb" in text
        assert f"mask={mask}" in text
        assert "offload=self.offload" in text
        assert text.endswith(" -> unpack:2")
        assert "unknown" not in text
    assert "checkpoint_ffn=(True if " in blocks[2]
    assert "checkpoint_ffn" not in blocks[0] + blocks[1]


def test_trainer_conditions() -> None:
    (segment, ck, eager) = (
        text for text in paths_of(TRAINER, {"trainer.py": TRAINER_HELPERS}, of="Model") if " self.double[*](" in text
    )
    ffn = "self.backend.endswith('-ffn')"
    assert (
        f" if is_grad_enabled() and {FLAG} and not self.interval is None and 1 < self.interval and not {ffn}" in segment
    )
    assert f"should_run(index, {FLAG}, self.interval, self.stride) and not {ffn}" in ck
    assert ck.count(FLAG) == 3, "the segments are excluded, and the helper can't open without the flag"
    assert "should_run" in eager.split(" if ", 1)[1]


def test_decoder_with_caches() -> None:
    """A cache that the gate excludes, keyword arguments collected before the loop, and a slice of the layers."""
    source = f"""{IMPORTS}
from functools import partial

class Layer(nn.Module):
    def forward(self, x, mask=None, positions=None, cache=None, use_cache=False, **kwargs):
        return (x,)

class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(config.depth)])
        self.gradient_checkpointing = False

    def forward(self, x, mask=None, positions=None, cache=None, use_cache=None, **flash):
        use_cache = use_cache if use_cache is not None else self.config.use_cache
        if self.gradient_checkpointing and self.training and use_cache:
            use_cache = False
        if use_cache and cache is None:
            cache = Cache()
        for layer in self.layers[: self.config.depth]:
            if self.gradient_checkpointing and self.training:
                outputs = self._gradient_checkpointing_func(
                    partial(layer.__call__, **flash), x, mask, positions, cache, use_cache  # <- ck
                )
            else:
                outputs = layer(  # <- eager
                    x, mask=mask, positions=positions, cache=cache, use_cache=use_cache, **flash
                )
            x = outputs[0]
        return x
"""
    found = {path.route.value: path for entry in entries_of(source) for path in entry.paths if path.block.is_element}
    assert set(found) == {"checkpointed", "eager"}
    for path in found.values():
        assert path.binding is not None
        assert set(path.binding) >= {"x", "mask", "positions", "cache", "use_cache"}
        assert path.unknown == "**flash has unknown keys"
    first, second = (found[name].binding for name in ("checkpointed", "eager"))
    assert first is not None
    assert second is not None
    assert all(first[name] is second[name] for name in ("mask", "positions", "cache", "use_cache"))


def test_sequence_helper_of_a_library() -> None:
    """A helper that checkpoints every few blocks, over a Sequential, its children or a list."""
    helper = """
        from itertools import chain
        import torch
        from torch.utils.checkpoint import checkpoint

        def checkpoint_every(functions, x, every=1, flatten=False):
            def make(start, end, functions):
                def run(h):
                    for index in range(start, end + 1):
                        h = functions[index](h)  # <- inside
                    return h
                return run

            if isinstance(functions, torch.nn.Sequential):
                functions = functions.children()
            if flatten:
                functions = chain.from_iterable(functions)
            if not isinstance(functions, (tuple, list)):
                functions = tuple(functions)
            count = len(functions)
            for start in range(0, count, every):
                end = min(start + every - 1, count - 1)
                x = checkpoint(make(start, end, functions), x, use_reentrant=False)
            return x
        """
    source = f"""{IMPORTS}
from helper import checkpoint_every

class Block(nn.Module):
    def forward(self, x):
        return x

class Model(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
        self.grad_checkpointing = False

    def forward(self, x):
        if self.grad_checkpointing and not torch.jit.is_scripting():
            x = checkpoint_every(self.blocks, x, every=2)
        else:
            for block in self.blocks:
                x = block(x)  # <- eager
        return x
"""
    texts = [text for text in paths_of(source, {"helper.py": helper}, of="Model") if "self.blocks" in text]
    assert [text.split(" if ")[0] for text in texts if " dead" not in text] == [
        "inside: segmented self.blocks[*](x=h)",
        "eager: eager self.blocks[*](x=x)",
    ]


def test_autoencoder_with_namespaces() -> None:
    source = f"""{IMPORTS}

class Resnet(nn.Module):
    def forward(self, x, temb=None, cache=None):
        return x

class Attend(nn.Module):
    def forward(self, x):
        return x

class Encoder(nn.Module):
    def __init__(self, levels=3, depth=2):
        super().__init__()
        self.use_checkpoint = False
        self.down = nn.ModuleList()
        for level in range(levels):
            block = nn.ModuleList()
            attn = nn.ModuleList()
            for _ in range(depth):
                block.append(Resnet())
                if level == 2:
                    attn.append(Attend())
            down = nn.Module()
            down.block = block
            down.attn = attn
            if level != levels - 1:
                down.downsample = nn.Conv2d(1, 1, 3)
            self.down.append(down)
        self.mid = nn.Module()
        self.mid.block_1 = Resnet()
        self.mid.attn_1 = Attend()

    def _run(self, module, *inputs):
        if self.use_checkpoint and self.training:
            return checkpoint(module, *inputs, use_reentrant=False)  # <- ck
        return module(*inputs)  # <- eager

    def forward(self, x, temb=None):
        for level in range(3):
            for index in range(2):
                x = self._run(self.down[level].block[index], x, temb)
                if len(self.down[level].attn) > 0:
                    x = self._run(self.down[level].attn[index], x)
        x = self._run(self.mid.block_1, x, temb)
        return self._run(self.mid.attn_1, x)
"""
    shown = {text.split("(")[0] for text in bindings_of(source, of="Encoder") if "unknown" not in text}
    blocks = (
        "self.down[*].block[*]<Resnet>",
        "self.down[*].attn[*]<Attend>",
        "self.mid.block_1<Resnet>",
        "self.mid.attn_1<Attend>",
    )
    assert shown == {
        f"{route}: {name} {b}" for route, name in (("ck", "checkpointed"), ("eager", "eager")) for b in blocks
    }


def test_blocks_from_a_generator_method() -> None:
    source = f"""{IMPORTS}

class Block(nn.Module):
    def forward(self, x, mask=None):
        return x

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.first = nn.ModuleList([Block()])
        self.second = nn.ModuleList([Block()])

    def _blocks(self, skip=None):
        for index, block in enumerate(self.first):
            if skip is None or index not in skip:
                yield index, block
        yield from enumerate(self.second)

    def forward(self, x, mask=None, skip=None):
        for index, block in self._blocks(skip):
            if self.gradient_checkpointing:
                x = checkpoint(block, x, mask, use_reentrant=False)  # <- ck
            else:
                x = block(x, mask)  # <- eager
        return x
"""
    assert bindings_of(source, of="Model") == [
        "ck: checkpointed self.first[*](x=x, mask=mask)",
        "ck: checkpointed self.second[*](x=x, mask=mask)",
        "eager: eager self.first[*](x=x, mask=mask)",
        "eager: eager self.second[*](x=x, mask=mask)",
    ]


def test_control_network_that_gathers_outputs() -> None:
    source = f"""{IMPORTS}
from base import Block, Net

class Control(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = Net()
        self.zero = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])

    @property
    def gradient_checkpointing(self):
        return self.core.gradient_checkpointing

    def forward(self, x, mask=None):
        kept = []
        for index, (block, zero) in enumerate(zip(self.core.blocks, self.zero)):
            x = self.core.run(block, x, mask)
            kept.append(zero(x))
        for block, residual in zip(self.core.blocks, kept):
            x = self.core.run(block, x + residual, mask=mask)
        return x
"""
    base = f"""{IMPORTS}

class Block(nn.Module):
    def forward(self, x, mask=None):
        return x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gradient_checkpointing = False
        self.blocks = nn.ModuleList([Block() for _ in range(3)])

    def run(self, block, x, mask=None):
        if self.gradient_checkpointing:
            return checkpoint(block, x, mask, use_reentrant=False)  # <- ck
        return block(x, mask)  # <- eager
"""
    texts = [text for text in paths_of(source, {"base.py": base}, of="Control") if " self.core.blocks[*](" in text]
    assert [text.split("(")[0] for text in texts] == [
        "ck: checkpointed self.core.blocks[*]",
        "ck: checkpointed self.core.blocks[*]",
        "eager: eager self.core.blocks[*]",
        "eager: eager self.core.blocks[*]",
    ]
    assert all("mask=mask" in text for text in texts)
