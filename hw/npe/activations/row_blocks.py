"""Exponents of blocks of shares, and where blocks end, along the stages of the vector unit."""

from amaranth import Cat, Module, Signal, Value, signed

from golden.npe.vector import VectorUnitSpec
from hw.npe.activations.row_banks import RowBanks
from hw.npe.activations.row_shares import octaves

__all__ = ["RowBlocks"]


class RowBlocks:
    """Moves what belongs to the block of a beat along with the beat.

    Parameters
    ----------
    m : where the gates go.
    spec : widths, and codes of a block.
    banks : where beats are read.
    move : clock enable of all stages.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    octaves : of stage d: those of the block's greatest value, its exponent.
    exponent, ends : of the last stage: that; and whether the beat is the block's last.
    """

    def __init__(self, m: Module, spec: VectorUnitSpec, banks: RowBanks, move: Value, adder: str):
        whole, _ = octaves(m, spec, banks.o_block_top, adder)
        stages = [
            Signal(signed(8), name=f"exponent{number}", reset_less=True)
            for number in range(1, spec.PASS)
        ]
        ends = Signal(spec.PASS, name="block_ends", reset_less=True)
        with m.If(move):
            m.d.sync += [now.eq(was) for now, was in zip(stages, [whole, *stages], strict=False)]
            m.d.sync += ends.eq(Cat(banks.block_ends, ends))
        self.octaves, self.exponent, self.ends = stages[0], stages[-1], ends[-1]
