"""Models of modules against the modules themselves, timed whole."""

import pytest

from carrysave.asic import port_model, sta
from carrysave.asic.liberty import cells

LIBRARY = cells.osu018()
CONDITIONS = sta.Conditions()
PORTS = [("input", "clk", 1), ("input", "d", 1), ("output", "q", 1)]
TOP = """
module top(clk, d, q);
  input clk, d;
  output q;
  wire n;
  inner x(.clk(clk), .d(d), .q(n));
  DFFPOSX1 r(.CLK(clk), .D(n), .Q(q));
endmodule
"""


def inner(before: int, after: int, through: int) -> str:
    """Write a module: so many inverters before its register, behind it, and from d to q."""
    names = {"before": before, "after": after, "through": through}
    starts = {"before": "d", "after": "held", "through": "d"}
    wires = [f"{name}{i}" for name, count in names.items() for i in range(count)]
    chains = [
        f"  INVX1 i{name}{i}(.A({f'{name}{i - 1}' if i else starts[name]}), .Y({name}{i}));"
        for name, count in names.items()
        for i in range(count)
    ]
    last = {name: f"{name}{count - 1}" for name, count in names.items()}
    return "\n".join([
        "module inner(clk, d, q);",
        "  input clk, d;",
        "  output q;",
        f"  wire held, {', '.join(wires)};",
        *chains,
        f"  DFFPOSX1 r(.CLK(clk), .D({last['before']}), .Q(held));",
        f"  OR2X1 o(.A({last['after']}), .B({last['through']}), .Y(q));",
        "endmodule",
        "",
    ])


@pytest.mark.parametrize("lengths", [(30, 2, 2), (2, 30, 2), (2, 2, 30)])
def test_an_input_with_setup_and_a_way_through_is_no_latch(lengths):
    """Whichever of the three paths is the longest, it is the period: no half of it is borrowed."""
    text = inner(*lengths)
    whole = sta.analyse(text + TOP, top="top", library=LIBRARY, conditions=CONDITIONS)
    inside, model = port_model.model(
        text, top="inner", conditions=CONDITIONS, ports=PORTS, loads={"d": [20.0]}, library=LIBRARY
    )
    found = sta.analyse(TOP, top="top", library=LIBRARY, models=[model], conditions=CONDITIONS)
    assert whole["period_ns"] > 1.0
    assert max(inside, found["period_ns"]) == pytest.approx(whole["period_ns"], rel=0.1)
