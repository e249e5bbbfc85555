"""Rows that are read for the stores, and where matrices begin."""

from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.destination import Destination, destinations

__all__ = ["Bases", "RowRequest", "joins_rows"]


def joins_rows(spec: CoprocessorSpec) -> bool:
    """Return whether a row that is read may be a part of a row of a store."""
    return spec.windows or spec.lists > 0


class RowRequest(data.StructLayout):
    """A row to read: address, bytes, destination; whether it is the last of its block, of its job.

    Where jobs have windows or lists, a row may be one of several that make a row of a store, and
    ``joins`` the next one; and one that is to ``fill`` is not read.
    """

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({
            "address": spec.address_width,
            "bytes": spec.length_width,
            "to": range(destinations(spec)),
            "last": 1,
            "final": 1,
            **({"fill": 1, "joins": 1} if joins_rows(spec) else {}),
        })


class Bases(data.StructLayout):
    """The address of a matrix, by its destination; for C, the addend's."""

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({
            "valid": 1,
            "to": range(len(Destination)),
            "address": spec.address_width,
        })
