"""An engine inside of a larger design, watched under cocotb: every tile against its twin."""

from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np
from cocotb.task import Task
from cocotb.triggers import RisingEdge

from carrysave.sim.cocotb.engine_driver import product_of
from carrysave.sim.cocotb.monitors import Monitor
from carrysave.sim.cocotb.streams import unpack
from golden.engine import EngineSpec
from golden.formats.integer import IntFormat

__all__ = ["EngineMonitor"]


class EngineMonitor:
    """Watches the three streams of an engine, and compares each tile of C with the twin's.

    A tile that differs fails the test at once, and so does a stream that breaks its rule.

    Parameters
    ----------
    block : the instance, such as ``dut.engine``.
    spec : of the engine.
    clk, rst, was_reset : as for :class:`carrysave.sim.cocotb.monitors.Monitor`.

    Members
    -------
    products : list of tuple   ``a b c`` of the tiles so far: codes m x K and K x n, int64 m x n.
    a, b, c : Monitor          The streams.

    Raises
    ------
    TypeError
        Operands cannot be read off the ports: they arrive as tables, keys or bit planes.
    """

    def __init__(
        self, block: Any, spec: EngineSpec, *, clk: Any, rst: Any = None, was_reset: bool = False
    ) -> None:
        self.spec = spec
        self.products: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        a = _codes(spec.a_patterns, spec.a_format, spec.a_code_width, 1, spec.a_low)
        b = _codes(spec.b_patterns, spec.b_format, spec.b_code_width, spec.k)
        if a is None or b is None:
            raise TypeError(
                "design must have a pattern for each code of A and of B, to be compared with its"
                f" twin, not {type(spec).__name__.removesuffix('Spec')} with these parameters"
            )
        self._a_codes, self._b_codes = a, b
        self._twin = product_of(spec)
        named: dict[str, Any] = {"clk": clk, "rst": rst, "was_reset": was_reset}
        self.a = Monitor(block, "i_a", ["data", "last"], **named)
        self.b = Monitor(block, "i_b", ["data"], **named)
        self.c = Monitor(block, "o_c", ["data", "last"], **named)
        self._due: list[int] = []  # beats of the tiles of which rows of C are to come
        self._beats = 0
        self._clk, self._was_reset = clk, was_reset

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
                    one.pop()
            if took_a:
                self._beats += 1
                if self.a.beats[-1][1] == "1":
                    self._due.append(self._beats)
                    self._beats = 0
            if took_c:
                self._row()

    def _row(self) -> None:
        """Take a row of C, and compare the tile if it is the last."""
        rows, number = self.c.beats, len(self.products)
        assert self._due, f"a row of C came before the end of tile {number} of A"
        last = rows[-1][1] == "1"
        assert last == (len(rows) == self.spec.m), (
            f"o_c_last is {int(last)} in row {len(rows) - 1} of tile {number}, of {self.spec.m}"
        )
        if not last:
            return
        beats = self._due.pop(0)
        assert len(self.b.beats) >= beats, f"C of tile {number} came before the end of its B"
        a, b = self._operands(beats)
        data, _ = self.c.pop()
        c, due = unpack(data, self.spec.c_format), self._twin(self.spec, a, b)
        wrong = np.argwhere(c != due)
        if wrong.size:
            i, j = wrong[0]
            raise AssertionError(
                f"tile {number}, K {a.shape[1]}: {len(wrong)} of {c.size} codes of C differ from"
                f" the twin's; row {i} column {j} is {c[i, j]} and must be {due[i, j]}"
            )
        self.products.append((a, b, c))

    def _operands(self, beats: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of the next tile, m x K and K x n, and drop its beats."""
        m, n, k = self.spec.m, self.spec.n, self.spec.k
        a, b = (
            codes([beat[0] for beat in one.beats[:beats]])
            for codes, one in ((self._a_codes, self.a), (self._b_codes, self.b))
        )
        del self.a.beats[:beats], self.b.beats[:beats]
        a, b = a.reshape(beats, m, k).swapaxes(0, 1).reshape(m, beats * k), b.reshape(-1, n)
        most = self.spec.k_max
        assert not a[:, most:].any(), f"K of a tile is {beats * k}, beyond k_max {most}"
        return a[:, :most], b[:most]

    def check(self, tiles: int | None = None) -> None:
        """Check that tiles were multiplied, as many as are due, and that none is under way.

        Parameters
        ----------
        tiles : how many; None: one at least.
        """
        found, under_way = len(self.products), len(self._due) + bool(self._beats)
        assert not under_way, f"C has not come out of {under_way} of the tiles that went in"
        assert found == tiles if tiles is not None else found, (
            f"{found} tiles were multiplied, and {'some' if tiles is None else tiles} are due"
            + ("" if self._was_reset or self.a.resets else "; no reset was seen")
        )


def _codes(
    patterns: Callable[[np.ndarray], np.ndarray],
    fmt: IntFormat,
    width: int,
    rows: int,
    low: int | None = None,
) -> Callable[[list[str]], np.ndarray] | None:
    """Return what makes codes of beats as the simulator has them, if each has its own pattern.

    Parameters
    ----------
    patterns : makes bit patterns of codes, whole beats.
    fmt, width : of the codes, and bits of a pattern.
    rows : of codes in a beat.
    low : least code; that of the format by default.
    """
    every = np.arange(fmt.low if low is None else low, fmt.high + 1)
    mixed = np.random.default_rng(1).integers(0, len(every), (4 * rows, 64))
    # A column of each code alone, and codes beside and above each other.
    alone, other = patterns(np.tile(every, (rows, 1))), patterns(every[mixed])
    if alone.shape != (rows, len(every)) or other.shape != mixed.shape:
        return None
    table = alone[0] & (1 << width) - 1
    if (alone != alone[0]).any() or (other != alone[0][mixed]).any():
        return None
    inverse = np.full(1 << width, fmt.high + 1)
    inverse[table] = every
    unsigned = IntFormat(width=width, signed=False)

    def codes(values: list[str]) -> np.ndarray:
        found = inverse[unpack(values, unsigned)]
        assert (found <= fmt.high).all(), f"a pattern came that no code of {fmt.name} has"
        return found

    return codes
