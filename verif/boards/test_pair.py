"""Two clocks of one PLL: what makes them, what is around them, and which paths are too long."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from carrysave.boards import build as builds
from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.build import build
from carrysave.boards.implement import Placement, mapped, routed
from carrysave.boards.pair_timing import PairTiming
from carrysave.boards.top import ARRAY, TOP, Clock, clock_of, top
from carrysave.fpga.place import FpgaError
from hw.emit import constraints, tools
from hw.emit.verilog import Emission

BOARD = BOARDS["ulx3s_85f"]
PARAMETERS = {"array_clock": "2", "m": "1", "n": "1"}


def quiet(text: str) -> None:
    """Say nothing."""


@pytest.mark.parametrize("mhz", [75, 91, 97.3])
def test_one_output_is_twice_the_other(mhz: float, tmp_path: Path) -> None:
    """Of one divider the other is twice, and both have one phase."""
    clock = clock_of(BOARD, mhz, tmp_path, second=ARRAY)
    assert clock.pair
    assert 0.9 * mhz < clock.mhz <= mhz
    values = {name: float(value) for name, value in re.findall(r"\.(\w+)\((\d+)\)", clock.verilog)}
    assert values["CLKOS_DIV"] == 2 * values["CLKOP_DIV"]
    assert values["CLKOS_CPHASE"] == values["CLKOP_CPHASE"]
    assert values["CLKOS_FPHASE"] == values["CLKOP_FPHASE"] == 0
    fast = BOARD.oscillator_mhz * values["CLKFB_DIV"] / values["CLKI_DIV"]
    assert fast == pytest.approx(2 * clock.mhz)


def test_top_has_both_clocks() -> None:
    """The design's is the second output, its array's the first; the reset is the design's."""
    emission = Emission(design_of(BOARD, PARAMETERS))
    text = top(BOARD, emission.design.module, Clock(90, "module pll", pair=True))
    assert {"clk", "clk_fast"} <= {port["name"] for port in emission.ports}
    assert ".clk(slow), .clk_fast(fast), .rst(reset)" in text
    assert ".clkout0(first), .clkout1(second)" in text
    assert "wire fast = first;" in text
    assert "wire slow = second;" in text
    assert "always @(posedge slow)" in text


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("icebreaker", {}, "array_clock must be 1 on icebreaker, of whose PLL the tools make one"),
        ("tang_nano_9k", {}, "array_clock must be 1 on tang_nano_9k, of whose PLL"),
        ("arty_a7_35t", {}, "array_clock must be 1 in a project for Vivado, where there is one"),
        ("pynq_z2", {}, "array_clock must be 1 in a project for Vivado, where there is one"),
        ("ulx3s_85f", {"memory": "external"}, "array_clock must be 1 with external memory, not 2"),
    ],
)
def test_where_there_is_one_clock(
    name: str, more: dict[str, str], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=expected):
        build(BOARDS[name], {"array_clock": "2", **more}, tmp_path, quiet)


def report(to_fast: float, to_slow: float, slow: float = 100, fast: float = 190) -> dict[str, Any]:
    """Return what nextpnr reports, of paths in two steps."""

    def path(one: str, other: str, delay: float) -> dict[str, Any]:
        steps = [{"type": "clk-to-q", "delay": 0.5}, {"type": "routing", "delay": delay - 0.5}]
        return {"from": f"posedge {one}", "to": f"posedge {other}", "path": steps}

    return {
        "fmax": {
            "$glbnet$first": {"achieved": fast, "constraint": 180},
            "$glbnet$second": {"achieved": slow, "constraint": 90},
        },
        "critical_paths": [
            path("$glbnet$first", "$glbnet$first", 1e3 / fast),
            path("$glbnet$second", "$glbnet$second", 1e3 / slow),
            path("$glbnet$second", "$glbnet$first", to_fast),
            path("$glbnet$first", "$glbnet$second", to_slow),
            {"from": "<async>", "to": "posedge $glbnet$first", "path": []},
        ],
    }


@pytest.mark.parametrize(
    ("facts", "mhz"),
    [
        (report(3.5, 4.0), 95),
        (report(3.5, 4.0, slow=80), 80),
        (report(3.5, 4.0, fast=150), 75),
        (report(6.25, 4.0), 80),
        (report(3.5, 6.25), 80),
    ],
    ids=["fast clock", "slow clock", "fast clock by far", "to the array", "from the array"],
)
def test_what_is_between_clocks_has_a_period_of_the_fast_one(
    facts: dict[str, Any], mhz: float
) -> None:
    """As has the fast clock; the slow one, twice that."""
    assert PairTiming.of(facts).fmax_mhz == pytest.approx(mhz)


def test_what_is_not_known_of_clocks_is_an_error() -> None:
    alone, unsaid = report(3.5, 4), report(3.5, 4)
    del alone["fmax"]["$glbnet$second"]
    with pytest.raises(FpgaError, match=r"nextpnr must time two clocks, not \$glbnet\$first"):
        PairTiming.of(alone)
    del unsaid["critical_paths"][3]
    with pytest.raises(FpgaError, match=r"nextpnr must say what is between .*first and .*second"):
        PairTiming.of(unsaid)


def test_clock_is_refused_that_a_path_between_clocks_misses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build at a clock that all but one path meet is not one that is met."""
    monkeypatch.setattr(builds, "_FORMAT", f"{tmp_path}")
    monkeypatch.setattr(builds, "verilog_of", lambda design: "")

    def implement(*arguments: Any) -> tuple[dict[str, Any], bytes]:
        assert arguments[-1].pair
        both = PairTiming.of(report(6.25, 4.0))
        facts = dict.fromkeys((*BOARD.part.capacity, "carry", "lutrams"), 1)  # type: ignore[union-attr]
        more = {"critical_path": [], "untimed": False, "notes": [str(both)]}
        return {**facts, **more, "fmax_mhz": both.fmax_mhz, "clocks": both._asdict()}, b"bits"

    monkeypatch.setattr(builds, "_implement", implement)
    _, facts = build(BOARD, PARAMETERS, tmp_path, quiet, clock_mhz=90, seeds=1)
    assert not facts["ok"]
    assert facts["fmax_mhz"] == pytest.approx(80)
    assert facts["clocks"]["to_fast_ns"] == pytest.approx(6.25)
    assert facts["gops"] == pytest.approx(4 * 90 / 1e3)
    assert json.loads((tmp_path / "ulx3s_85f.json").read_text())["notes"][0].endswith("4.00 ns")
    _, facts = build(BOARD, PARAMETERS, tmp_path, quiet, clock_mhz=80, seeds=1)
    assert facts["ok"]


DESIGN = """
module carrysave_board(input clk, input rx, output reg tx, output busy);
  wire first, second, locked;
  pll clocks (.clkin(clk), .clkout0(first), .clkout1(second), .locked(locked));
  reg a, b, c, d;
  assign busy = d;
  always @(posedge second) begin a <= rx; d <= c; tx <= d ^ a; end
  always @(posedge first) begin b <= a; c <= b; end
endmodule
"""


@pytest.mark.prove
def test_nextpnr_says_what_is_between_clocks() -> None:
    """Of a top with one register behind another: both clocks, and both ways between them."""
    board = BOARDS["ulx3s_25f"]
    with tools.workplace() as folder:
        clock = clock_of(board, 90, folder, second=ARRAY)
        (folder / "top.v").write_text(DESIGN + clock.verilog)
        taken, _ = mapped(board, "pair", TOP, [folder / "top.v"], folder, quiet)
        pins = constraints.pins("lpf", board.facts["pins"], board.facts["clock_hz"])
        facts, image = routed(board, "pair", TOP, taken, pins, folder, quiet, Placement(pair=True))
    assert image
    both = PairTiming(**facts["clocks"])
    assert facts["fmax_mhz"] == both.fmax_mhz > 90
    assert min(both) > 0
    assert both.slow_mhz != both.fast_mhz
