"""SL16: one lane of 16-bit words between two streams."""

from golden.npe.sl16 import Sl16Spec
from hw.npe.lane.lane16 import Lane16
from hw.npe.lane.lane_stream import StreamLane

__all__ = ["Sl16"]


class Sl16(StreamLane):
    """Sums products of codes in any pair of the configured formats, exactly.

    Computes :func:`golden.npe.sl16.sl16`, exactly. A word is 16 bits: four codes if both formats
    have 4 bits, one if either has 16, else two. With two passes a word of one code takes two
    cycles, and is accepted in the second.

    Examples
    --------
    >>> lane = Sl16(Sl16Spec(formats="int8,int16"))
    >>> lane.latency, lane.operations_per_cycle
    (2, 4)
    """

    SPEC = Sl16Spec
    SUMMARY = "mixed-precision lane, 16-bit words: two 8-bit halves, joined for 16-bit formats"
    BENCH = "tb_lane"
    EVIDENCE = (
        "cocotb against numpy: all pairs of 8-bit codes, 16-bit corners and random, mixed"
        " formats, stalls, resets, extremes, exact cycle count",
        "formal proof of 8-bit decoders, all 16-bit codes simulated",
        "netlist simulation",
    )

    CELL = Lane16
