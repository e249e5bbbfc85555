"""Tries a cell library on two gates, so that a library that lacks cells is refused at once."""

from carrysave import cache
from carrysave.asic import sta
from carrysave.asic.elaborate import elaborate
from carrysave.asic.liberty.cells import Library
from carrysave.asic.mapping import Flow, Recipe, point
from hw.emit import tools
from hw.emit.yosys import YosysError

__all__ = ["probe"]

_VERILOG = """module probe(input clk, input a, output reg q);
  always @(posedge clk) q <= ~(q & a);
endmodule
"""
_DELAY_NS = 1.0


def probe(library: Library) -> float:
    """Map and time a flip-flop and its logic with a library.

    Returns
    -------
    Its clock-to-q and setup in ns, which are in every period, whatever the logic.

    Raises
    ------
    ValueError
        If the library has no NAND, inverter, buffer or flip-flop to map to, or Yosys, ABC or
        OpenSTA does not take it, as ABC does not without delays.
    """
    with tools.workplace() as folder:
        elaborated = elaborate([cache.write(folder / "probe.v", _VERILOG)], "probe")
    flow = Flow(elaborated, (), library, sta.Conditions())
    try:
        probed = point(flow, Recipe("tree", "dch2"), _DELAY_NS)
    except (YosysError, sta.StaError) as error:
        raise ValueError(
            f"library must be one that Yosys, ABC and OpenSTA take, not {library.called!r}: {error}"
        ) from error
    launch, end = probed["critical_path"][1], probed["critical_path"][-1]
    overhead: float = launch["arrival_ns"] + probed["period_ns"] - end["arrival_ns"]
    return overhead
