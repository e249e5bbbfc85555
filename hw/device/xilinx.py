"""What the open tools of all Xilinx families have in common."""

from collections.abc import Mapping

from hw.device.description import Flow

__all__ = ["xilinx_flow"]


def xilinx_flow(family: str, version: int, *, luts: Mapping[str, float], lutrams: str) -> Flow:
    """Return the tools of a family.

    Parameters
    ----------
    family : as ``synth_xilinx`` calls it.
    version : of its blocks: 1 for ``DSP48E1`` and ``RAMB36E1``.
    luts : cells of lookup tables that not all families have, and the tables in each.
    lutrams : pattern of the cells that are memories in lookup tables.
    """
    return Flow(
        synth=f"synth_xilinx -family {family} -flatten",
        bare="-noiopad -noclkbuf",
        counts={
            "luts": {
                "LUT[1-6]|INV": 1,
                "SRL.*": 1,
                "RAM(32|64)X1S": 1,
                "RAM128X1S|RAM(32|64)X1D": 2,
                **luts,
            },
            "ffs": {"FD[RSCP]E(_1)?": 1},
            "dsps": {f"DSP48E{version}": 1},
            "brams": {f"RAMB36E{version}": 1, f"RAMB18E{version}": 0.5},
            "lutrams": {lutrams: 1},
            "carry": {f"CARRY{4 * version}": 1},
        },
    )
