"""Ports of every matrix engine: payloads of its three streams."""

from amaranth.lib import data

from golden.engine import EngineSpec

__all__ = ["ASlice", "BSlice", "CRow"]


class ASlice(data.StructLayout):
    """Slice of A: m rows by k columns of codes, row by row; ``last`` ends the tile's K.

    Engines that take tables or recoded digits instead of codes get those of k codes. Of bipolar
    codes, ``codes`` are there in the beat; the others are 0 in A and in B.
    """

    def __init__(self, spec: EngineSpec):
        codes = {"codes": range(spec.k + 1)} if spec.bipolar else {}
        super().__init__({
            "data": spec.m * spec.a_codes * spec.a_code_width,
            **codes,
            "last": 1,
        })


class BSlice(data.StructLayout):
    """Slice of B: k rows by n columns of codes, row by row; of sparse ones those that are kept."""

    def __init__(self, spec: EngineSpec):
        super().__init__({"data": spec.b_codes * spec.n * spec.b_code_width})


class CRow(data.StructLayout):
    """Row of C: n codes; ``last`` ends the tile."""

    def __init__(self, spec: EngineSpec):
        super().__init__({"data": spec.n * spec.c_format.width, "last": 1})
