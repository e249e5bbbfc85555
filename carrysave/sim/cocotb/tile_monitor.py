"""An array inside of a larger design, watched under cocotb: its three streams, tile by tile."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.task import Task
from cocotb.triggers import RisingEdge

from carrysave.sim.cocotb.monitors import Monitor
from golden.engine import TileSpec

__all__ = ["TileMonitor"]

Beats = Sequence[tuple[str, ...]]


class TileMonitor(ABC):
    """Watches the streams of an array, and has each tile of C compared when its last row passes.

    Parameters
    ----------
    block : the instance, such as ``dut.engine``.
    spec : of the array.
    fields : of the payloads of A, B and C; A and C have ``last``.
    clk, rst, was_reset : as for :class:`carrysave.sim.cocotb.monitors.Monitor`.

    Members
    -------
    products : list of tuple   Of each tile so far.
    a, b, c : Monitor          The streams.
    """

    def __init__(
        self,
        block: Any,
        spec: TileSpec,
        fields: tuple[Sequence[str], Sequence[str], Sequence[str]],
        *,
        clk: Any,
        rst: Any,
        was_reset: bool,
    ) -> None:
        self.products: list[tuple[Any, ...]] = []
        self.a, self.b, self.c = (
            Monitor(block, name, stream_fields, clk=clk, rst=rst, was_reset=was_reset)
            for name, stream_fields in zip(("i_a", "i_b", "o_c"), fields, strict=True)
        )
        self._rows = spec.m
        self._lasts = fields[0].index("last"), fields[2].index("last")
        self._due: list[int] = []  # beats of the tiles of which rows of C are to come
        self._beats = 0
        self._clk, self._was_reset = clk, was_reset

    @abstractmethod
    def compare(self, number: int, a: Beats, b: Beats, c: Beats) -> tuple[Any, ...]:
        """Compare a tile with the twin's; return what is kept of it.

        Parameters
        ----------
        number : of the tile.
        a, b, c : its beats.

        Raises
        ------
        AssertionError
            It differs.
        """

    def start(self) -> Task[None]:
        """Watch from now on."""
        return cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        edge = RisingEdge(self._clk)
        while True:
            await edge
            resets = self.a.resets
            took_a = self.a.look()
            self.b.look()
            took_c = self.c.look()
            if self.a.resets > resets:  # what was under way is lost
                self._beats, self._due = 0, []
                for one in (self.a, self.b, self.c):
                    one.beats.clear()
            if took_a:
                self._beats += 1
                if self.a.beats[-1][self._lasts[0]] == "1":
                    self._due.append(self._beats)
                    self._beats = 0
            if took_c:
                self._row()

    def _row(self) -> None:
        """Take a row of C, and have the tile compared if it is the last."""
        rows, number = self.c.beats, len(self.products)
        assert self._due, f"a row of C came before the end of tile {number} of A"
        last = rows[-1][self._lasts[1]] == "1"
        assert last == (len(rows) == self._rows), (
            f"o_c_last is {int(last)} in row {len(rows) - 1} of tile {number}, of {self._rows}"
        )
        if not last:
            return
        beats = self._due.pop(0)
        assert len(self.b.beats) >= beats, f"C of tile {number} came before the end of its B"
        a, b, c = self.a.beats[:beats], self.b.beats[:beats], rows[:]
        del self.a.beats[:beats], self.b.beats[:beats], rows[:]
        self.products.append(self.compare(number, a, b, c))

    def check(self, tiles: int | None = None) -> None:
        """Check that tiles were multiplied, as many as are due, and that none is under way.

        Parameters
        ----------
        tiles : how many; None: one at least.
        """
        multiplied, under_way = len(self.products), len(self._due) + bool(self._beats)
        assert not under_way, f"C has not come out of {under_way} of the tiles that went in"
        assert multiplied == tiles if tiles is not None else multiplied, (
            f"{multiplied} tiles were multiplied, and {'some' if tiles is None else tiles} are due"
            + ("" if self._was_reset or self.a.resets else "; no reset was seen")
        )
