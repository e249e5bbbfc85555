"""Rows of sums, as the engine makes them and as they are read."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec

__all__ = ["StoredRow", "SumRead"]


class StoredRow(data.StructLayout):
    """Row of n sums, each with its flag if it has one; ``last`` ends the tile."""

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({"data": spec.inside.n * spec.number_width, "last": 1})


class SumRead(wiring.Signature):
    """Rows of complete sums, from the side of their reader.

    Members
    -------
    en : Out(1)
        Read; ``row`` is that of the last one, in the next cycle and until then.
    half, address : Out
        Where.
    row : In
        n sums, each with its flag if it has one.
    row_complete : In(1)
        A row of C is complete; one pulse for each.
    half_complete : In(1)
        A block is complete, including rows of its last tiles below C.
    free : Out(1)
        Its half can be refilled.
    """

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({
            "en": Out(1),
            "half": Out(1),
            "address": Out(range(spec.rows)),
            "row": In(spec.inside.n * spec.number_width),
            "row_complete": In(1),
            "half_complete": In(1),
            "free": Out(1),
        })
