"""An engine inside of a larger design, watched under cocotb: every tile against its twin."""

from collections.abc import Callable
from typing import Any

import numpy as np

from carrysave.sim.cocotb.engine_driver import product_of
from carrysave.sim.cocotb.streams import unpack
from carrysave.sim.cocotb.tile_monitor import Beats, TileMonitor
from golden.engine import EngineSpec
from golden.formats.integer import IntFormat

__all__ = ["EngineMonitor"]


class EngineMonitor(TileMonitor):
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
        Operands cannot be read off the ports: they arrive as tables, keys or bit planes, or are
        bipolar.
    """

    def __init__(
        self, block: Any, spec: EngineSpec, *, clk: Any, rst: Any = None, was_reset: bool = False
    ) -> None:
        self.spec = spec
        a = _codes(spec.a_patterns, spec.a_format, spec.a_code_width, 1, spec.a_low)
        b = _codes(spec.b_patterns, spec.b_format, spec.b_code_width, spec.k)
        if a is None or b is None or spec.bipolar:
            raise TypeError(
                "design must have a pattern for each code of A and of B, to be compared with its"
                f" twin, not {type(spec).__name__.removesuffix('Spec')} with these parameters"
            )
        self._a_codes, self._b_codes = a, b
        self._twin = product_of(spec)
        fields = ["data", "last"], ["data"], ["data", "last"]
        super().__init__(block, spec, fields, clk=clk, rst=rst, was_reset=was_reset)

    def compare(self, number: int, a: Beats, b: Beats, c: Beats) -> tuple[np.ndarray, ...]:
        """Compare a tile."""
        left, right = self._operands(a, b)
        came = unpack([beat[0] for beat in c], self.spec.c_format)
        due = self._twin(self.spec, left, right)
        wrong = np.argwhere(came != due)
        if wrong.size:
            i, j = wrong[0]
            raise AssertionError(
                f"tile {number}, K {left.shape[1]}: {len(wrong)} of {came.size} codes of C differ"
                f" from the twin's; row {i} column {j} is {came[i, j]} and must be {due[i, j]}"
            )
        return left, right, came

    def _operands(self, a: Beats, b: Beats) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of a tile, m x K and K x n."""
        m, n, k = self.spec.m, self.spec.n, self.spec.k
        rows = self._a_codes([beat[0] for beat in a]).reshape(-1, m, k)
        right = self._b_codes([beat[0] for beat in b]).reshape(-1, n)
        left, most = rows.swapaxes(0, 1).reshape(m, -1), self.spec.k_max
        assert not left[:, most:].any(), f"K of a tile is {left.shape[1]}, beyond k_max {most}"
        return left[:, :most], right[:most]


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
    if len(np.unique(table)) < len(every):
        return None
    inverse = np.full(1 << width, fmt.high + 1)
    inverse[table] = every
    unsigned = IntFormat(width=width, signed=False)

    def codes(values: list[str]) -> np.ndarray:
        indices = inverse[unpack(values, unsigned)]
        assert (indices <= fmt.high).all(), f"a pattern came that no code of {fmt.name} has"
        return indices

    return codes
