"""Loop nests as text and as data: what is shown is the nest that golden executes."""

import json
from typing import Any

import pytest

from carrysave.show import data, describe
from golden.nest import Loop, Nest, Step, nest_of
from hw.catalog import CATALOG, Design

FAMILY = ("mac", "opt1", "systolic_os", "systolic_ws", "cube", "adder_tree", "matrix_2d")
DESIGNS = [
    Design(name, values)
    for name in FAMILY
    for values in [
        {},
        *({"pe": pe} for kind in [CATALOG[name].parameters.get("pe")] if kind
          for pe in getattr(kind, "options", ())),
        {"encoding": "ent"},
        {"encoding": "none", "a_width": 5, "b_width": 6},
    ]
]  # fmt: skip

SYSTOLIC = """\
systolic_os: C[m,n] = sum over k, bw of 4^bw d[m,k,bw] B[k,n], d the digits of A

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

x: pieces of hardware; to encode and to select, one for each code.
A turn of the loops in time around map is a cycle; sums leave during the next tile."""


def test_show_writes_as_the_paper_does() -> None:
    assert describe(Design("systolic_os", {"pe": "opt1"})) == SYSTOLIC


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
        flags = {name: of[name] for name in ("parallel", "chain", "nonzero")}
        return Loop(of["loop"], of["size"], tuple(node(one) for one in of["body"]), **flags)

    return Nest(tuple(node(one) for one in shown["nest"]), shown["radix"], shown["coded"])


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
            assert line.endswith(f" {nest.units(path, node)}")


def test_show_refuses_what_has_no_nest() -> None:
    with pytest.raises(ValueError, match="encoding must be other than operator"):
        describe(Design("opt1", {"encoding": "operator"}))
    with pytest.raises(ValueError, match="encoding must be other than operator"):
        data(Design("cube", {"encoding": "operator", "pe": "mac"}))
