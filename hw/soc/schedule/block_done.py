"""Blocks of C whose sums leave their store; of products that scale groups, one a group."""

from typing import Any

from amaranth import Module, Value
from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.geometry import block_widths, scales_groups

__all__ = ["BlockDone", "ends_codes", "mark_groups"]


class BlockDone(data.StructLayout):
    """A block of C: its size, and whether it is the last one of its row or column of blocks.

    If it is accumulated in the store, rows leave after all have been ``added``; else as they
    complete. Of a product that scales groups, each group of K is one, with rows that leave; it is
    the ``first_group``, or the ``last_group``, or neither.
    """

    def __init__(self, spec: CoprocessorSpec):
        widths = block_widths(spec)
        super().__init__({
            "rows": widths["rows"],
            "columns": widths["columns"],
            "last_row": 1,
            "last_column": 1,
            "added": 1,
            **(dict.fromkeys(("first_group", "last_group"), 1) if scales_groups(spec) else {}),
        })


def ends_codes(spec: CoprocessorSpec, job: Any, block: Any) -> Value:
    """Return whether sums of a block leave: it is the last one along K, or a group."""
    last: Value = block.last_code
    return last | job.grouped if scales_groups(spec) else last


def mark_groups(
    m: Module, spec: CoprocessorSpec, job: Any, block: Any, requests: tuple[Any, Any]
) -> None:
    """Say which group a block is; its sums are added to no others.

    Parameters
    ----------
    m : where.
    job : :class:`~hw.soc.schedule.geometry.Geometry`.
    block : :class:`~hw.soc.schedule.block_walk.Block`.
    requests : of sums, of what is done, already set as of other products.
    """
    sums, done = requests
    if scales_groups(spec):
        with m.If(job.grouped):
            m.d.comb += sums.add.eq(0)
        m.d.comb += done.first_group.eq(block.first_code)
        m.d.comb += done.last_group.eq(block.last_code)
