"""SL8: one lane of 8-bit words between two streams."""

from golden.npe.sl8 import Sl8Spec
from hw.npe.lane.lane8 import Lane8
from hw.npe.lane.lane_stream import StreamLane

__all__ = ["Sl8"]


class Sl8(StreamLane):
    """Sums products of codes in any pair of the configured formats, exactly.

    Computes :func:`golden.npe.sl8.sl8`, exactly. A word is 8 bits: two codes if both formats
    have 4 bits, else one.

    Examples
    --------
    >>> lane = Sl8(Sl8Spec(formats="int8,e4m3"))
    >>> lane.i.payload.shape()  # words of 8 bits, and the format of each
    StructLayout({'a': 8, 'b': 8, 'a_format': 1, 'b_format': 1, 'last': 1})
    >>> lane.latency, lane.operations_per_cycle
    (2, 2)
    """

    SPEC = Sl8Spec
    SUMMARY = "mixed-precision lane: integers, minifloats, posits of up to 8 bits, exact sums"
    BENCH = "tb_lane"
    EVIDENCE = (
        "cocotb against numpy: all operand pairs, mixed formats, stalls, resets, extremes",
        "formal proof of decoders and accumulation step",
        "mutants",
        "netlist simulation",
    )

    CELL = Lane8
