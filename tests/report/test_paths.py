"""What `conformance paths` prints."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from conformance.callpaths.model import Block, CallPath, ClassRef, Condition, EntryPaths, Route
from conformance.callpaths.values import Values
from conformance.findings import Place, Severity
from conformance.report.paths import DEFAULT, render_json, render_text
from conformance.report.terminal import columns
from tests.report.samples import GATE, HOSTILE, MODEL, ROOT, place
from tests.report.test_json import validator

SCHEMA = validator("paths_schema.json")


@dataclass(frozen=True)
class Text:
    """A value as a report sees it."""

    text: str


def value(text: str) -> Any:
    return Text(text)


def condition(text: str, holds: bool = True) -> Condition:
    return Condition(value(text), holds)


def call_path(
    block: Block, route: Route, line: int, binding: dict[str, str] | None, *when: Condition, **changes: Any
) -> CallPath:
    where = place(line, 9, 30)
    path = CallPath(
        block=block,
        route=route,
        conditions=when,
        binding=None if binding is None else {name: value(text) for name, text in binding.items()},
        call=where,
        outer=where,
        function="Model.forward",
        result="name",
    )
    return replace(path, **changes)


BLOCK = Block("self.blocks[*]", (ClassRef("Layer", MODEL, 120),))
GATED = condition("self.gradient_checkpointing")
EAGER = condition("self.gradient_checkpointing", holds=False)
TRAINING = condition("self.training")
HELPER = Place(f"{ROOT}/helpers.py", 40, 9, 40, 30)

PATHS = (
    call_path(BLOCK, Route.EAGER, 530, {"x": "x", "temb": "temb", "rope": "rotary"}, TRAINING, EAGER),
    call_path(BLOCK, Route.CHECKPOINTED, 520, {"x": "x", "temb": "temb"}, GATED, condition("a or b"), TRAINING),
    call_path(
        BLOCK,
        Route.CHECKPOINTED,
        521,
        None,
        TRAINING,
        GATED,
        call=HELPER,
        dead=True,
        unknown="starred arguments of unknown length",
        result="unpack:2",
    ),
)


def entry(*paths: CallPath, **changes: Any) -> EntryPaths:
    return replace(EntryPaths(MODEL, "Model", "Model.forward", 400, paths), **changes)


def text(*entries: EntryPaths, width: int = 100) -> str:
    return render_text(entries, (), cwd=ROOT, width=width)


def test_matrix() -> None:
    found = text(entry(*PATHS, loops=2, unresolved_loops=(place(700, 9, 30),))).replace(DEFAULT, "-")
    assert (
        found
        == """\
models/model.py:400: Model.forward  (1 block, 3 paths, 1 of 2 loops over blocks resolved)
  models/model.py:700:9: the class of this loop's blocks is unknown

  self.blocks[*]: Layer (line 120)
    every path: self.training
       route         line                    result
    1  eager         530                     name
         when not self.gradient_checkpointing
    2  checkpointed  520                     name
         when self.gradient_checkpointing and (a or b)
    3  checkpointed  helpers.py:40 from 521  unpack:2
         when self.gradient_checkpointing
         no present call takes this branch
         unknown: starred arguments of unknown length

      parameter  1 eager  2 checkpointed  3 checkpointed
      x          x        x               ?
      temb       temb     temb            ?
    * rope       rotary   -               ?

- left to its default   ? unknown   * not the same on all paths
"""
    )


LONG = "torch.cat([encoder_hidden_states, hidden_states, other_states], dim=1)[:, text_length:]"


def test_long_value_of_all_paths_stands_across_the_columns() -> None:
    paths = [call_path(BLOCK, route, 1, {"x": LONG, "y": "y", "z": route}) for route in Route]
    assert """
      parameter  1 eager  2 checkpointed  3 segmented  4 scoped
      x          all: torch.cat([encoder_hidden_states, hidden_states,…
      y          y        y               y            y
    * z          eager    checkpointed    segmented    scoped
""" in text(entry(*paths), width=71)


def test_values_get_lines_where_a_matrix_is_too_wide() -> None:
    found = text(
        entry(
            call_path(BLOCK, Route.EAGER, 1, {"x": LONG, "mask": "m", "y": LONG}),
            *(call_path(BLOCK, Route.CHECKPOINTED, line, {"x": "x", "mask": "m", "y": LONG}) for line in (2, 3)),
            call_path(BLOCK, Route.SEGMENTED, 4, {"x": LONG, "mask": "m", "y": LONG}),
        ),
        width=75,
    )
    assert (
        """
      parameter  paths  value
    * x          1, 4   torch.cat([encoder_hidden_states, hidden_states,
                            other_states], dim=1)[:, text_length:]
                 2-3    x
      mask       all    m
      y          all    torch.cat([encoder_hidden_states, hidden_states, o…
"""
        in found
    )


def test_two_values_that_look_the_same_are_two() -> None:
    values = Values()
    paths = [
        replace(call_path(BLOCK, Route.EAGER, 1, {}), binding={"x": values.make("free", number, "x")})
        for number in range(2)
    ]
    assert "\n    * x          x        x\n" in text(entry(*paths))
    assert "\n      x          x        x\n" in text(entry(paths[0], paths[0]))


def test_matrix_drops_the_routes_before_it_gives_up_columns() -> None:
    paths = [call_path(BLOCK, Route.CHECKPOINTED, line, {"x": "a"}) for line in range(1, 6)]
    assert "\n      parameter  1  2  3  4  5\n      x          a  a  a  a  a\n" in text(entry(*paths), width=60)


def test_long_conditions_take_a_line_each() -> None:
    first, second, third = "first_" * 4, "second_" * 4, "third_ " * 10
    when = condition(first), condition(second), condition(first), condition(third)
    lines = text(entry(call_path(BLOCK, Route.EAGER, 1, {}, *when)), width=70).splitlines()
    start = lines.index(f"         when {first}")
    assert lines[start + 1] == f"           and {second}"
    assert lines[start + 2].startswith("           and third_ third_")
    assert lines[start + 3].startswith("               third_")
    assert "    nothing is passed" in lines


def test_conditions_have_the_parentheses_they_need() -> None:
    def shown(source: str, holds: bool) -> str:
        found = text(entry(call_path(BLOCK, Route.EAGER, 1, {"x": "x"}, condition(source, holds))))
        (line,) = [line for line in found.splitlines() if "when " in line]
        return line.strip().removeprefix("when ")

    assert shown("a", True) == "a"
    assert shown("(a and b)", True) == "a and b"
    assert shown("(a or b)", True) == "(a or b)"
    assert shown("(a).b(c)", True) == "(a).b(c)"
    assert shown("(a) and (b)", True) == "(a) and (b)"
    assert shown("self.flag", False) == "not self.flag"
    assert shown("(a and b)", False) == "not (a and b)"
    assert shown("(a) and (b)", False) == "not ((a) and (b))"
    assert shown("(cut…", False) == "not (cut…"


def test_path_without_conditions() -> None:
    found = text(entry(call_path(BLOCK, Route.EAGER, 1, {"x": "x"})))
    assert "\n         always\n" in found
    assert "every path" not in found


def test_tables_fit_the_width() -> None:
    when = [condition(f"self.flag_{number} and helper(self.interval, {number})") for number in range(5)]
    paths = [
        call_path(BLOCK, Route.CHECKPOINTED, line, {f"p{line}": f"some_value_{line} + " * 5 + "1"}, *when)
        for line in range(1, 5)
    ]
    assert max(columns(line) for line in text(entry(*paths)).splitlines()) <= 100


def test_blocks_are_told_apart_by_text_class_and_method() -> None:
    other = Block("self.blocks[*]", (ClassRef("Other", None),), method="run")
    lone = Block("self.norm", (), is_element=False)
    found = text(
        entry(
            call_path(BLOCK, Route.EAGER, 1, {"x": "x"}),
            call_path(other, Route.EAGER, 2, {"x": "x"}),
            call_path(lone, Route.EAGER, 3, None, unknown="no class found"),
        )
    )
    assert "  self.blocks[*]: Layer (line 120)\n" in found
    assert "  self.blocks[*].run: Other (elsewhere)\n" in found
    assert "  self.norm: class unknown\n" in found
    assert "unknown: no class found\n" in found
    assert "    the arguments are unknown\n" in found
    assert "(3 blocks, 3 paths)" in found


def test_class_of_another_file_is_shown_with_it() -> None:
    elsewhere = Block("self.blocks[*]", (ClassRef("Layer", f"{ROOT}/layers.py", 7),))
    assert ": Layer (layers.py:7)\n" in text(entry(call_path(elsewhere, Route.EAGER, 1, {})))


def test_functions_that_call_no_block_are_left_out() -> None:
    assert text(entry(function="Model.helper"), entry(*PATHS)) == text(entry(*PATHS))
    assert text(entry()) == ""


def test_problems_are_lines() -> None:
    broken = replace(GATE, code="CF900", name="unreadable-source", severity=Severity.ERROR, message="no Python")
    assert render_text((), (broken,), cwd=ROOT) == "models/model.py:4:16: error[CF900] unreadable-source: no Python\n"


def test_color_changes_no_text() -> None:
    import re

    colored = render_text((entry(*PATHS),), (), cwd=ROOT, color=True)
    assert "\x1b[1m    * rope" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == text(entry(*PATHS))


def test_json() -> None:
    broken = replace(GATE, code="CF900", name="unreadable-source", severity=Severity.ERROR)
    found = json.loads(
        render_json("m.py", (entry(*PATHS, loops=1, unresolved_loops=(HELPER,)),), (broken,), cwd=ROOT, version="1.0")
    )
    SCHEMA.validate(found)
    assert found["target"] == "m.py"
    assert [problem["code"] for problem in found["problems"]] == ["CF900"]
    (only,) = found["entries"]
    assert (only["path"], only["class"], only["function"], only["line"]) == (
        "models/model.py",
        "Model",
        "Model.forward",
        400,
    )
    assert only["unresolved_loops"] == [
        {"path": "helpers.py", "line": 40, "column": 9, "end_line": 40, "end_column": 30}
    ]
    eager, checkpointed, unknown = only["paths"]
    assert eager["block"] == {
        "text": "self.blocks[*]",
        "classes": [{"name": "Layer", "path": "models/model.py", "line": 120}],
        "method": "forward",
        "is_element": True,
    }
    assert eager["binding"] == {"x": "x", "temb": "temb", "rope": "rotary"}
    assert eager["conditions"] == [
        {"text": "self.training", "holds": True},
        {"text": "self.gradient_checkpointing", "holds": False},
    ]
    assert (checkpointed["route"], checkpointed["result"], checkpointed["unknown"]) == ("checkpointed", "name", None)
    assert (unknown["binding"], unknown["dead"], unknown["unknown"]) == (
        None,
        True,
        "starred arguments of unknown length",
    )
    assert unknown["call"]["path"] == "helpers.py"
    assert unknown["outer"]["line"] == 521


def test_hostile_text_is_harmless() -> None:
    path = f"{ROOT}/{HOSTILE}"
    block = Block(HOSTILE, (ClassRef(HOSTILE, path, 1), ClassRef("Elsewhere", None)))
    odd = entry(
        call_path(block, Route.EAGER, 1, {HOSTILE: HOSTILE, "x": "漢字"}, condition(HOSTILE), unknown=HOSTILE),
        path=path,
    )
    SCHEMA.validate(json.loads(render_json(HOSTILE, (odd,), (), cwd=ROOT, version="1.0").encode("ascii")))
    found = text(odd)
    assert not {"\x1b", "\r", "\u202e", "\udcff"} & set(found)
    assert found.encode("utf-8")
