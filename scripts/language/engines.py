"""Engines for language models, and the weights and activations that they take."""

from dataclasses import dataclass
from typing import Any

from golden.engine import EngineSpec
from golden.lut.trits import TRITS
from golden.tpe.lut_core import LutCoreSpec
from golden.tpe.shift_add_core import ShiftAddCoreSpec
from golden.tpe.systolic_os import SystolicOsSpec
from golden.tpe.ternary_core import TernaryCoreSpec

__all__ = ["CORES", "Core"]

_ROWS = 4
_DEEP = 8
"""Rows of a tile, and codes of K in a beat of all engines but systolic ones, and of trits 10."""


@dataclass(frozen=True, kw_only=True)
class Core:
    """An engine, and the weights that it takes.

    Members
    -------
    kind : of the engine: lut_core, shift_add_core, ternary_core, or systolic_os.
    bits : of a weight at the engine.
    scales : bits of the scale of 32 weights; 0: one for a column.
    cache : bits of a key or value.
    activation : bits of an activation; queries of 8 bits are digits of these.
    trits : weights are in memory five to a byte.
    """

    kind: str
    bits: int
    scales: int = 16
    cache: int = 8
    activation: int = 8
    trits: bool = False

    @property
    def stored(self) -> float:
        """Bits of a weight in memory."""
        return 8 / TRITS if self.trits else self.bits

    @property
    def digit(self) -> int:
        """Bits of a key or value in a code: one of ternary ones, as codes are -1, 0 and 1."""
        return 1 if self.kind == "ternary_core" else self.bits

    @property
    def cache_scales(self) -> int:
        """Bits of the step and the offset of 32 keys or values of 4 bits; of 8 bits none."""
        return 32 if self.cache == 4 else 0

    def rows(self, bits: int) -> int:
        """Count digits of a signed row of so many bits: all but the first have no sign."""
        return 1 + max(0, -(-(bits - self.activation) // (self.activation - 1)))

    def engine(self, weights: int) -> EngineSpec:
        """Return an engine of 4 rows that takes so many weights a cycle: 8 to 256 columns."""
        options: dict[str, Any] = {"m": _ROWS, "a_width": self.activation, "b_width": self.bits}
        if self.kind == "systolic_os":
            return SystolicOsSpec(**options, n=_power(weights))
        if self.kind == "ternary_core":
            deep = 2 * TRITS if self.trits else _DEEP
            return TernaryCoreSpec(**options, n=_power(-(-weights // deep)), k=deep)
        options["n"] = _power(-(-weights // _DEEP))
        if self.kind == "shift_add_core":
            return ShiftAddCoreSpec(**options, k=_DEEP)
        return LutCoreSpec(**options, group=2, lookups=_DEEP // 2, folded=False, parallel=True)


CORES = {
    "W4A8, lut_core": Core(kind="lut_core", bits=4),
    "W4A8, blocks or int8": Core(kind="systolic_os", bits=4),
    "W8A8, int8": Core(kind="systolic_os", bits=8),
    "W4A4, lut_core": Core(kind="lut_core", bits=4, activation=4),
    "W2A8, shift_add_core": Core(kind="shift_add_core", bits=2, scales=0),
    "W2A8 or W1.58A8, lut_core": Core(kind="lut_core", bits=2, scales=0),
    "W1.58A8, ternary_core": Core(kind="ternary_core", bits=2, scales=0, trits=True),
}
"""By weights, activations and engine; ternary weights of `lut_core` take 2 bits in memory."""


def _power(size: int) -> int:
    """Return the next power of two, 8 at least, 256 at most."""
    return min(256, max(8, 1 << (size - 1).bit_length()))
