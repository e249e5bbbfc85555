"""What the result writer knows of the row at the sum store's output."""

from typing import Any, NamedTuple, Self

from amaranth import Module, Signal, Value

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.block_done import BlockDone

__all__ = ["StoredRow"]


class StoredRow(NamedTuple):
    """The row of a tile at the store's output, and what is known of the next one.

    Members
    -------
    move : the next row may be read.
    valid : there is a row.
    ends_half : it is the last one of its half of the store.
    ends_job : it is the last one of its job.
    last_block : the block is the last one of its job.
    right : the next one is of the last tile in its row of C.
    columns : columns of C from the next one's first on.
    inside : a bit for each column of the row: it is one of C. Others must not fill half of a byte,
        nor flag a NaN.
    """

    move: Signal
    valid: Signal
    ends_half: Signal
    ends_job: Signal
    last_block: Signal
    right: Signal
    columns: Signal
    inside: Signal

    @classmethod
    def of(cls, spec: CoprocessorSpec) -> Self:
        """Make its signals."""
        return cls(
            # `keep`: else synthesis would merge this table with those that follow it.
            move=Signal(name="move", attrs={"keep": 1}),
            valid=Signal(name="valid"),
            ends_half=Signal(name="ends_half"),
            ends_job=Signal(name="ends_job"),
            last_block=Signal(name="last_block"),
            right=Signal(name="right"),
            columns=Signal(BlockDone(spec)["columns"].shape, name="columns"),
            inside=Signal(spec.inside.n, name="inside", reset_less=True),
        )

    def place(self, m: Module, writer: Any, final: Value) -> tuple[Signal, Signal]:
        """Return the place of the next tile's row in its half, and whether it begins a row of C.

        Parameters
        ----------
        m : where.
        writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
        final : the row is the block's last one: the next one begins where its half does.
        """
        # Of the first tile of the row of C, and of this one.
        base, at = Signal(range(writer.spec.rows)), Signal(range(writer.spec.rows))
        left_side = Signal(init=1)
        with m.If(writer.sums.en):
            m.d.sync += [at.eq(at + 1), left_side.eq(self.right)]
            with m.If(self.right):
                m.d.sync += [one.eq(base + writer.i_geometry.across) for one in (base, at)]
            with m.If(final):
                m.d.sync += [at.eq(0), base.eq(0)]
        return at, left_side
