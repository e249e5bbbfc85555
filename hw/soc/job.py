"""What the parts of the co-processor are told of a job."""

from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec

__all__ = ["BYTES_WIDTH", "Geometry", "Requantising"]

BYTES_WIDTH = 32
"""Bits of a distance between rows, in bytes."""


class Geometry(data.StructLayout):
    """A product and its blocks, checked: sizes in numbers, addresses and distances in bytes.

    ``across`` are the tiles of a block's row; ``a_stride``, ``b_stride`` words of a row of a block
    in the stores; ``p_stride`` rows of sums from a tile to the one below it.
    """

    def __init__(self, spec: CoprocessorSpec):
        size, address = spec.DIMENSION_WIDTH, spec.address_width
        super().__init__({
            "m": size,
            "n": size,
            "k": size,
            "rows": size,
            "columns": size,
            "codes": size,
            "across": size,
            "a_stride": size,
            "b_stride": size,
            "p_stride": size,
            "by_columns": 1,
            "a": address,
            "b": address,
            "c": address,
            "bias": address,
            "lda": BYTES_WIDTH,
            "ldb": BYTES_WIDTH,
            "ldc": BYTES_WIDTH,
            "biased": 1,
            "requantised": 1,
        })


class Requantising(data.StructLayout):
    """How sums become codes."""

    def __init__(self, spec: CoprocessorSpec):
        unit = spec.requantiser
        super().__init__({
            "multiplier": unit.multiplier_width,
            "shift": unit.shift_format.width,
            "zero_point": unit.out_width,
            "low": unit.out_width,
            "high": unit.out_width,
            "relu": 1,
        })
