"""Two's complement and unsigned integers."""

from dataclasses import dataclass

import numpy as np

from golden.check import Flag, Integer, check_fields, parameter, parameters_of

__all__ = ["IntFormat"]


@dataclass(frozen=True, kw_only=True)
class IntFormat:
    """An integer of `width` bits, two's complement where `signed`.

    A code is the value itself, held in int64; as a bit pattern it is the value modulo 2^width.
    """

    width: int = parameter(Integer("bits of a code", 8, 1, 63, "bits"))
    signed: bool = parameter(Flag("two's complement", True))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(IntFormat), vars(self))

    @property
    def low(self) -> int:
        """Least value."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """Greatest value."""
        return (1 << (self.width - 1 if self.signed else self.width)) - 1

    @property
    def name(self) -> str:
        """Short name, such as int8 or uint4."""
        return f"{'int' if self.signed else 'uint'}{self.width}"

    def check(self, name: str, codes: np.ndarray) -> np.ndarray:
        """Return `codes` as int64; refuse what is no integer or out of range."""
        array = np.asarray(codes)
        if array.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers ({self.name}), not {array.dtype}")
        if array.size and not (self.low <= array.min() and array.max() <= self.high):
            worst = array.max() if array.max() > self.high else array.min()
            raise ValueError(f"{name} must be {self.low}..{self.high} ({self.name}), not {worst}")
        return array.astype(np.int64)

    def wrap(self, values: np.ndarray) -> np.ndarray:
        """Reduce int64 `values` modulo 2^width into the format's range."""
        bits = np.asarray(values, dtype=np.int64) & ((1 << self.width) - 1)
        return bits - ((bits > self.high).astype(np.int64) << self.width) if self.signed else bits
