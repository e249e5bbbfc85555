"""Loop nests as text and as data: what is shown is the nest that golden executes."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from carrysave.cli import main
from carrysave.report.loop_nest import data, describe
from golden.nest import Loop, Nest, Step, nest_of
from golden.nest.shapes import FAMILY
from hw.catalog import CATALOG, Design

Show = Callable[..., tuple[int, str, str]]
VALUES: dict[str, tuple[Any, ...]] = {
    "pe": ("mac", "opt1", "opt2", "opt3", "opt4c", "opt4e"),
    "encoding": ("none", "ent", "naf"),
    "k": (1, 4, 6),
    "constant_time": (True,),
    "a_recoded": (True,),
    "a_width": (5,),
    "a_signed": (False,),
}


def designs(name: str) -> Iterator[Design]:
    """Make a design with its defaults, and with each value that it takes; opt4e with each k."""
    yield Design(name)
    changes = [{of: value} for of, values in VALUES.items() for value in values]
    for change in [*changes, *({"pe": "opt4e", "k": k} for k in VALUES["k"])]:
        with suppress(ValueError):  # of other designs
            yield Design(name, change)


DESIGNS = [design for name in FAMILY for design in designs(name)]


def test_all_elements_are_shown_in_all_shapes_that_take_them() -> None:
    shown = {(design.name, design.parameters.get("pe", design.name)) for design in DESIGNS}
    kinds = {name: CATALOG[name].parameters.get("pe") for name in FAMILY}
    assert shown == {
        (name, pe) for name in FAMILY for pe in getattr(kinds[name], "options", (name,))
    }


SYSTOLIC = """\
systolic_os_encoding_booth: C[m,n] = sum over k, bw of 4^bw d[m,k,bw] B[k,n], d the digits of A

for m in M / 8
  for n in N / 8
    parallel for m in 8
      parallel for n in 8
        for k in K
          encode                codes of A to digits d   x  64
          parallel for bw in 4
            map                 d times code of B        x 256
            shift               by bw digits             x 256
          half-reduce           to sum and carry         x  64
          accumulate            onto those before        x  64
    for m in 8
      parallel for n in 8
        add                     sum and carry to number  x   8

x: hardware units; for encode and select, one per code.
Each iteration of the loops in time around map is a cycle; draining sums is not counted."""


PLANES = """\
opt2: C = sum over k, bw of 4^bw d[k,bw] B[k], d the digits of A

for k in K / 16
  encode                  codes of A to digits d   x 16
  parallel for bw in 4
    parallel for k in 16
      map                 d times code of B        x 64
    half-reduce           to sum and carry         x  4
    accumulate            onto those before        x  4
parallel for bw in 4
  shift                   by bw digits             x  4
half-reduce               to sum and carry         x  1
add                       sum and carry to number  x  1
"""

LANES = """
          for bw in 4, non-zero
            for k in 6 / 4, non-zero
              parallel for k in 4
"""


def test_show_writes_as_the_paper_does() -> None:
    assert describe(Design("systolic_os", {"pe": "opt1", "encoding": "booth"})) == SYSTOLIC
    assert describe(Design("opt2")).startswith(PLANES)


def test_show_says_which_lanes_have_less() -> None:
    text = describe(Design("digit_column", {"pe": "opt4e", "k": 6}))
    assert LANES in text


def test_show_knows_the_coded_operand_and_the_indices_that_there_are() -> None:
    first = describe(Design("systolic_ws", {"encoding": "none"})).partition("\n")[0]
    assert first.endswith("C[m,n] = sum over k, bw of 2^bw d[k,n,bw] A[m,k], d the bits of B")
    first = describe(Design("opt1")).partition("\n")[0]
    assert first == "opt1: C = sum over k, bw of 4^bw d[k,bw] B[k], d the digits of A"


def nest_from(shown: dict[str, Any]) -> Nest:
    """Make the nest again of what is shown."""

    def node(of: dict[str, Any]) -> Loop | Step:
        if "step" in of:
            return Step(of["step"])
        flags = {name: of[name] for name in ("parallel", "chain", "nonzero", "short")}
        return Loop(of["loop"], of["size"], tuple(node(one) for one in of["body"]), **flags)

    body = tuple(node(one) for one in shown["nest"])
    return Nest(body, *(shown[name] for name in ("radix", "coded", "recoded")))


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.module)
def test_show_is_the_nest(design: Design) -> None:
    """The data make the same nest again, and the text has all of it, in order."""
    nest = nest_of(design.name, design.parameters)
    shown = json.loads(json.dumps(data(design)))
    assert nest_from(shown) == nest
    assert shown["parameters"] == design.parameters
    lines = describe(design).split("\n\n")[1].splitlines()
    nodes = list(nest.walk())
    assert len(lines) == len(nodes)
    for line, (path, node) in zip(lines, nodes, strict=True):
        text = node.title if isinstance(node, Loop) else f"{node} "
        assert line.startswith("  " * len(path) + text)
        if isinstance(node, Step):
            own = "slowest" if node is Step.SYNC else f"{nest.units(path, node)}"
            assert line.endswith(f" {own}")


def test_show_refuses_what_has_no_nest() -> None:
    with pytest.raises(ValueError, match="encoding must be other than operator"):
        describe(Design("opt1", {"encoding": "operator"}))
    with pytest.raises(ValueError, match="encoding must be other than operator"):
        data(Design("cube", {"encoding": "operator", "pe": "mac"}))


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Show:
    """Run the command in this process: exit code, output, error output."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["carrysave", "show", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return (int(end.value.code or 0), *capsys.readouterr())

    return call


def test_command_prints_the_nest(show: Show) -> None:
    code, out, err = show("cube", "-p", "pe=opt2", "-p", "m=2")
    assert (code, err) == (0, "")
    assert out == describe(Design("cube", {"pe": "opt2", "m": 2})) + "\n"


def test_command_prints_json(show: Show) -> None:
    design = Design("digit_column", {"pe": "opt4e", "k": 6})
    code, out, err = show("digit_column", "-p", "pe=opt4e", "-p", "k=6", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == data(design)
    assert nest_from(json.loads(out)) == nest_of(design.name, design.parameters)


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("laconic",), "laconic has no loop nest; these have: mac, opt1, opt2"),
        (("opt1", "-p", "encoding=operator"), "encoding must be other than operator"),
        (("laconik",), "unknown design 'laconik'; did you mean laconic"),
    ],
)
def test_command_refuses_in_one_line(
    show: Show, form: tuple[str, ...], arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = show(*arguments, *form)
    assert (code, out) == (2, "")
    assert err.startswith(f"carrysave: {says}")
    assert err.count("\n") == 1
