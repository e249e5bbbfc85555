"""An array of lanes inside of a larger design, watched under cocotb: tiles against the twin."""

from typing import Any

import numpy as np

from carrysave.sim.cocotb.npe_driver import numbers_of
from carrysave.sim.cocotb.npe_tiles import Rows, Tile, compare
from carrysave.sim.cocotb.streams import unpack
from carrysave.sim.cocotb.tile_monitor import Beats, TileMonitor
from golden.formats.integer import IntFormat
from golden.npe.npe import NpeSpec

__all__ = ["NpeMonitor"]

_BIT, _SCALE = IntFormat(width=1, signed=False), IntFormat(width=8, signed=False)


class NpeMonitor(TileMonitor):
    """Watches an array of lanes, and compares each tile of C with the twin's.

    A tile that differs fails the test at once, and so does a stream that breaks its rule.

    Parameters
    ----------
    block : the instance, such as ``dut.engine``.
    spec : of the array.
    clk, rst, was_reset : as for :class:`carrysave.sim.cocotb.monitors.Monitor`.

    Members
    -------
    products : list of tuple   Of each tile so far: codes, formats and scales of A and B, and rows
                               of C: numbers, invalid and overflow.
    """

    def __init__(
        self, block: Any, spec: NpeSpec, *, clk: Any, rst: Any = None, was_reset: bool = False
    ) -> None:
        scale = [] if spec.scale == "none" else ["scale"]
        fields = (
            ["data", "format", "last", *scale],
            ["data", "format", *scale, *["zero"] * spec.zeros],
            ["data", "invalid", "overflow", "last"],
        )
        super().__init__(block, spec, fields, clk=clk, rst=rst, was_reset=was_reset)
        self.spec = spec

    def compare(self, number: int, a: Beats, b: Beats, c: Beats) -> tuple[Any, ...]:
        """Compare a tile."""
        lane, pair = self.spec.element, (int(a[0][1], 2), int(b[0][1], 2))
        assert pair in lane.pairs, f"formats of tile {number} are {pair}, of {len(lane.names)}"
        word, pitch = IntFormat(width=lane.word_width, signed=False), lane.pitch(*pair)
        left, right = (
            lane.unpack(unpack([beat[0] for beat in beats], word), index, pitch)
            for beats, index in zip((a, b), pair, strict=True)
        )  # beats x m or n x codes of a word
        sides = self._sides(a, b, pair)
        tile = Tile(
            left.swapaxes(0, 1).reshape(self.spec.m, -1),
            right.swapaxes(1, 2).reshape(-1, self.spec.n),
            pair,
            *sides,
        )
        data, invalid, overflow, _ = zip(*c, strict=True)
        rows = Rows(
            numbers_of(self.spec, data),
            unpack(invalid, _BIT) == 1,
            unpack(overflow, _BIT).reshape(-1) == 1,
        )
        try:
            compare(self.spec, [tile], rows)
        except AssertionError as error:
            raise AssertionError(f"tile {number} is not the twin's: {error}") from None
        return tile, rows

    def _sides(self, a: Beats, b: Beats, pair: tuple[int, int]) -> list[np.ndarray | None]:
        """Return scales and zero points, which come with the first beat of each block."""
        spec, every = self.spec, self.spec.beats(*pair)
        made: list[np.ndarray | None] = [None, None, None]
        if spec.scale != "none":
            mask = (1 << spec.block_scale.scale_width) - 1
            ours, theirs = (
                unpack([beat[place] for beat in beats[::every]], _SCALE) & mask
                for beats, place in ((a, 3), (b, 2))
            )
            made[:2] = ours.T, theirs
        if spec.zeros:
            fmt = spec.element.elements[pair[1]]
            codes = unpack([beat[-1] for beat in b[::every]], _SCALE) & (1 << fmt.width) - 1
            made[2] = fmt.wrap(codes)
        return made
