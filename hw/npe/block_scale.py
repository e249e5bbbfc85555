"""Block sums: exact integers, scaled and accumulated, in fp32 or exactly."""

from typing import Any

from amaranth import Module, Signal, Value
from amaranth.lib import data

from golden.npe.block_scale import BlockScaleSpec
from hw.lib.evidence import FLOAT
from hw.npe.floats.scaling import Scaling
from hw.npe.floats.stream import FloatStream, Steps

__all__ = ["BlockScale", "BlockSum"]


class BlockSum(data.StructLayout):
    """Sum of a block, its two scales, NaN flag; ``last`` ends the run.

    ``sum`` is two's complement. The sign of "e4m3" scales is ignored.
    """

    def __init__(self, spec: BlockScaleSpec):
        super().__init__({
            "sum": spec.sum_width,
            "a_scale": 8,
            "b_scale": 8,
            "invalid": 1,
            "last": 1,
        })


class BlockScale(FloatStream):
    """Scales block sums and accumulates them.

    Computes :func:`golden.npe.block_scale.block_scale`, exactly. Scales "e8m0": each scaled sum is
    rounded to fp32, then added to the accumulator. Scales "e4m3": scaled sums go to a fixed-point
    accumulator, which is rounded to fp32 at the end of the run; two of the register places are
    after it. Members: see :class:`FloatStream`; ``i`` takes :class:`BlockSum`.

    Parameters
    ----------
    spec : BlockScaleSpec
        What: format of scales, widths.
    build
        How: see :data:`hw.npe.floats.stream.FLOAT_BUILD`.

    Examples
    --------
    >>> unit = BlockScale(BlockScaleSpec(sum_width=24))
    >>> unit.i.payload.shape()  # a block's sum, and the scale of either operand
    StructLayout({'sum': 24, 'a_scale': 8, 'b_scale': 8, 'invalid': 1, 'last': 1})
    >>> unit.latency
    3
    """

    SPEC = BlockScaleSpec
    SUMMARY = "block sums scaled and accumulated: MX scales in fp32, NVFP4 scales exactly"
    BENCH = "tb_float"
    EVIDENCE = FLOAT

    def __init__(self, spec: BlockScaleSpec, **build: Any):
        if not isinstance(spec, BlockScaleSpec):
            raise TypeError(f"spec must be a BlockScaleSpec, not {spec!r}")
        super().__init__(spec, BlockSum(spec), spec.total, **build)
        self._scaling = Scaling(spec, self.encoding, self.adder)

    def term(self, m: Module, beat: data.View, steps: Steps) -> data.View:
        """Scale a sum."""
        scales = beat.a_scale, beat.b_scale
        return self._scaling.term(m, beat.sum, scales, beat.invalid, steps)

    def total(self) -> Signal:
        """Make the accumulator: a code, or NaN and a fixed-point number."""
        return Signal(self._scaling.width, name="total", reset_less=True)

    def add(self, m: Module, total: Value, term: data.View) -> Value:
        """Add."""
        return self._scaling.add(m, total, term)

    def result(self, m: Module, total: Value, steps: Steps) -> Value:
        """Round an exact sum."""
        return self._scaling.result(m, total, steps)
