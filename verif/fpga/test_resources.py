"""Resources of mapped designs: each kind of cell, by what its vendor says that it takes."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from carrysave.fpga import place
from carrysave.fpga.implementation import mapping, resources
from hw.device import NAMES, family
from hw.emit import tools, yosys
from verif.support.cases import long

_PYOSYS = find_spec("pyosys")
assert _PYOSYS is not None
assert _PYOSYS.origin is not None
SHARE = Path(_PYOSYS.origin).parent / "share"
LUT_RAM = {
    # 64 bits in tables of 16, and what writes them is not counted (TN1265).
    "ecp5": ({"TRELLIS_DPR16X4": 4}, "lattice/lutrams_map_trellis.v"),
    "nexus": ({"DPR16X4": 4}, "lattice/lutrams_map_nexus.v"),
    # A slice's four tables, however many bits are used.
    "gowin": ({"RAM16SDP1": 4, "RAM16SDP2": 4, "RAM16SDP4": 4}, "gowin/lutrams_map.v"),
    # UG474, table 2-3, but for 32M16 and what follows.
    "xilinx7": (
        {"RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM64X1D": 2, "RAM128X1D": 4,
         "RAM32M": 4, "RAM64M": 4},
        "xilinx/lutrams_xc5v_map.v",
    ),
    # UG574, table 2-1: 8 tables a slice.
    "ultrascale": (
        {"RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM512X1S": 8, "RAM64X1D": 2,
         "RAM128X1D": 4, "RAM256X1D": 8, "RAM32M16": 8, "RAM64M8": 8, "RAM64X8SW": 8,
         "RAM32X16DR8": 8},
        "xilinx/lutrams_xc5v_map.v",
    ),
}  # fmt: skip
"""The tables that each memory in look-up tables takes, and which memories Yosys has."""
OTHERS = {
    "ecp5": ({"LUT4": 7, "CCU2C": 3, "TRELLIS_FF": 5, "MULT18X18D": 2, "DP16KD": 1, "PDPW16KD": 1,
              "ALU54B": 1},
             {"luts": 13, "ffs": 5, "dsps": 2, "alus": 1, "brams": 2, "lutrams": 0, "carry": 3}),
    "ice40": ({"SB_LUT4": 7, "SB_DFF": 1, "SB_DFFER": 4, "SB_CARRY": 3, "SB_MAC16": 2,
               "SB_RAM40_4K": 1, "SB_RAM40_4KNR": 1, "SB_SPRAM256KA": 1},
              {"luts": 7, "ffs": 5, "dsps": 2, "brams": 2, "sprams": 1, "carry": 3}),
    "nexus": ({"LUT4": 7, "CCU2": 3, "FD1P3IX": 5, "MULT9X9": 3, "MULT18X18": 1,
               "MULTADDSUB9X9WIDE": 1, "MULTADDSUB18X18": 1, "PDP16K": 1, "SP512K": 1},
              {"luts": 13, "ffs": 5, "dsps": 6, "places": 6.5, "brams": 1, "lrams": 1,
               "lutrams": 0, "carry": 3}),
    "gowin": ({"LUT1": 1, "LUT4": 6, "ALU": 3, "DFFRE": 5, "MULT9X9": 3, "MULT18X18": 1,
               "MULT36X36": 1, "MULTALU18X18": 1, "ALU54D": 1, "SDPX9B": 1},
              {"luts": 10, "ffs": 5, "dsps": 6, "places": 8.5, "alus": 1, "brams": 1,
               "lutrams": 0, "carry": 3}),
    "xilinx7": ({"LUT1": 1, "LUT6": 5, "INV": 1, "SRLC32E": 2, "FDRE": 4, "FDSE_1": 1,
                 "DSP48E1": 2, "RAMB36E1": 1, "RAMB18E1": 3, "CARRY4": 3},
                {"luts": 9, "ffs": 5, "dsps": 2, "brams": 2.5, "lutrams": 0, "carry": 3}),
    "ultrascale": ({"LUT1": 1, "LUT6": 5, "INV": 1, "SRL16E": 2, "FDCE": 5, "DSP48E2": 2,
                    "RAMB36E2": 1, "RAMB18E2": 2, "CARRY8": 3},
                   {"luts": 9, "ffs": 5, "dsps": 2, "brams": 2, "lutrams": 0, "carry": 3}),
}  # fmt: skip


def test_resources_of_every_family_are_listed() -> None:
    assert set(OTHERS) == set(NAMES)


@pytest.mark.parametrize("target", OTHERS)
def test_resources_are_counted_by_cells(target: str) -> None:
    cells, taken = OTHERS[target]
    # Names as Yosys writes them, and what is none of the family's takes nothing.
    named = {f"\\{kind}": count for kind, count in cells.items()} | {"$scopeinfo": 9, "XLUT4X": 5}
    assert resources(family(target).flow, named) == taken
    twice = {kind: 2 * count for kind, count in cells.items()}
    assert resources(family(target).flow, twice) == {name: 2 * of for name, of in taken.items()}


@pytest.mark.parametrize("target", LUT_RAM)
def test_every_memory_in_luts_is_counted(target: str) -> None:
    tables, mapping = LUT_RAM[target]
    for kind, luts in tables.items():
        found = resources(family(target).flow, {kind: 3})
        assert (kind, found["luts"], found["lutrams"]) == (kind, 3 * luts, 3)
        assert sum(found.values()) == 3 * luts + 3
    text = (SHARE / mapping).read_text()
    made = set(re.findall(r"^\s*((?:TRELLIS_)?(?:DPR|RAM)\d\w+)\s*(?:#|_TECH|$)", text, re.M))
    # Of a file for two families.
    larger = {"RAM512X1S", "RAM256X1D", "RAM32M16", "RAM64M8", "RAM64X8SW", "RAM32X16DR8"}
    others = {"xilinx7": larger, "ultrascale": {"RAM32M", "RAM64M"}}.get(target, set())
    assert made - others <= set(tables)
    assert made & set(tables)


RAM = """
module ram(input clk, input in, output out);
  reg [15:0] s;
  reg [3:0] words[0:15], q;
  always @(posedge clk) begin
    s <= {s, in};
    if (s[12]) words[s[3:0]] <= s[11:8];
    q <= words[s[7:4]];
  end
  assign out = ^q;
endmodule
"""


@pytest.mark.parametrize("target", long(["ecp5"]))
def test_a_memory_in_luts_takes_what_nextpnr_packs(target: str) -> None:
    flow = family(target).flow
    part = flow.parts[0]
    with tools.workplace() as folder:
        (folder / "ram.v").write_text(RAM)
        synth = mapping(flow, part, (), flow.bare, "-top ram -json ram.json")
        yosys.run(["read_verilog ram.v", *synth], cwd=folder)
        arguments = [*part.arguments, "--json", "ram.json", "--pack-only"]
        said = place.call(str(flow.nextpnr), folder, arguments).output
    packed = re.search(r"RAM LUTs: +(\d+)/", said)
    assert packed is not None
    assert int(packed[1]) == resources(flow, {"TRELLIS_DPR16X4": 1})["luts"]
