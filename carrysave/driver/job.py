"""Jobs: what is multiplied, and how sums become codes."""

from dataclasses import dataclass, replace

import numpy as np

from .number import Number
from .registers import FIELDS
from .window import Window

__all__ = ["FACTOR_BITS", "RECORD_BYTES", "TABLE_BYTES", "Job", "Requantisation"]

FACTOR_BITS = 16
"""Bits of a factor of a row, which counts 2^-15."""

RECORD_BYTES = 8
"""Bytes of a column's record: multiplier, 4; shift, 1; none, 1; zero point, 2."""

TABLE_BYTES = 256
"""Bytes of a table of codes, one for each code without its sign."""

Numbers = int | np.ndarray


@dataclass(frozen=True)
class Requantisation:
    """How sums become codes: clamp(round(sum * multiplier / 2^shift) + zero_point).

    Halves are rounded as the device was built: see `rounding` of :class:`Info`.

    Parameters
    ----------
    multiplier, shift, zero_point : integers; arrays if they are not the same for each column.
    low, high : limits of the codes; None for those of the codes' format.
    relu : raise codes below the zero point to it.
    table : :data:`TABLE_BYTES` codes of a byte, by these codes, both without their signs, if the
        device has such (``table``); None: codes are as they are.
    """

    multiplier: Numbers
    shift: Numbers
    zero_point: Numbers = 0
    low: int | None = None
    high: int | None = None
    relu: bool = False
    table: bytes | None = None

    @property
    def per_column(self) -> bool:
        """Whether columns differ."""
        return any(np.ndim(value) for value in (self.multiplier, self.shift, self.zero_point))

    def limits(self, codes: Number) -> tuple[int, int]:
        """Smallest and largest code; the format's by default."""
        low = codes.low if self.low is None else self.low
        high = codes.high if self.high is None else self.high
        return low, high

    def check(self, codes: Number, columns: int) -> Number:
        """Refuse unsupported values; return the range of output codes."""
        for name, number in (
            ("multiplier", Number.of(32, FIELDS["job_multiplier"][2], False)),
            ("shift", Number.of(8, FIELDS["job_shift"][2], False)),
            ("zero_point", codes),
        ):
            values = number.check(name, getattr(self, name))
            if values.ndim and values.shape != (columns,):
                raise ValueError(f"{name} must be one or {columns} in a row, not {values.shape}")
        low, high = self.limits(codes)
        codes.check("low", low)
        codes.check("high", high)
        zero = np.asarray(self.zero_point)
        top = max(low, int(zero.max())) if self.relu else low
        if top > high:
            raise ValueError(f"high must be {top} or more, not {high}")
        least = max(low, int(zero.min())) if self.relu else low
        if self.table is not None:
            if len(self.table) != TABLE_BYTES:
                raise ValueError(f"table must be of {TABLE_BYTES} codes, not {len(self.table)}")
            if codes.bits != 8:
                raise ValueError(f"table must be None for {codes}, which have no byte each")
            made = np.frombuffer(self.table, codes.dtype)
            return replace(codes, low=int(made.min()), high=int(made.max()))
        return replace(codes, low=least, high=high)

    def records(self, columns: int) -> np.ndarray:
        """Write the columns' records as in memory: columns x bytes."""
        kind = np.dtype([("m", "<u4"), ("shift", "u1"), ("none", "u1"), ("zero_point", "<i2")])
        records = np.zeros(columns, kind)
        records["m"], records["shift"] = self.multiplier, self.shift
        records["zero_point"] = self.zero_point
        return records.view(np.uint8).reshape(columns, RECORD_BYTES)

    @property
    def recorded(self) -> bool:
        """Whether a product has records: a table is behind them."""
        return self.per_column or self.table is not None

    def placed(self, columns: int) -> np.ndarray:
        """Write the columns' records, and the table behind them: bytes."""
        table = np.frombuffer(self.table or b"", np.uint8)
        return np.concatenate([self.records(columns).ravel(), table])


@dataclass(frozen=True)
class Job:
    """One product, or vector job: addresses, sizes, row strides in bytes, and options.

    `bias` and `records` are addresses, of sums and of requantisations of columns, None without.
    `row_factors` is the address of what rows of the C that is accumulated into are multiplied by.
    `encode` rounds sums to the engine's result format, by random bits where the build has
    `random_width`: they depend on `seed`, 31 bits, and on places in C. `a_scales`, `b_scales`,
    `ldsa`, `ldsb` are addresses and strides of block scales, if the engine has them; where the
    build has group scales, of powers, groups x M, and of scales, groups x N, of groups of block_k
    beats.
    Blocks of C are block_m x block_n tiles and block_k beats; 0 leaves that to the hardware.

    With `vector`, the name of an operation, each of m rows of n codes of A, of a_format + 1 bytes
    each, becomes a row of C; all else is 0 or None, but for operations that requantise, and for the
    rows of B of those that take two; one row for all if ldb is 0. Rows of B of a scale are a byte.

    `c_bytes` are those of a code of C, where jobs choose; 0 otherwise.

    With a `window`, A is made of a map: `a` is its address, `lda` from a row of it to the next, k
    the codes of a window; block_m, block_n and block_k are given, the last one in taps.

    Of a job on maps, `zeros` are the zero points of A and of B, and `factors` what a sum multiplies
    them by.

    With `table`, codes of a byte are looked up in :data:`TABLE_BYTES` behind the records, which a
    product has then; those of a job on maps, which has no records, in what is at `records`.

    A B that is `packed` is an image of `ldb` bytes, of the blocks of the job, see
    :func:`.bitmap.pack_image`.

    `places` is the address of a list, by whose places of K alone A and B are read: K + 1 numbers of
    32 bits, which rise, and in the last one how many there are. A vector job `index` makes rows of
    such places, where magnitudes are `least` or more. `top_k` makes rows of the places of the k
    greatest codes, in falling order, of k, and of these codes, as A has them. With `ldsa`, `places`
    is the address of a number of 32 bits, less than `ldsb`: of the B of the job, of so many that
    are `ldsa` bytes apart.
    """

    a: int
    b: int
    c: int
    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    bias: int | None = None
    requantisation: "Requantisation | None" = None
    records: int | None = None
    encode: bool = False
    accumulate: bool = False
    row_factors: int | None = None
    a_format: int = 0
    b_format: int = 0
    a_scales: int = 0
    b_scales: int = 0
    ldsa: int = 0
    ldsb: int = 0
    block_m: int = 0
    block_n: int = 0
    block_k: int = 0
    by_columns: bool = False
    vector: str | None = None
    c_bytes: int = 0
    window: Window | None = None
    zeros: tuple[int, int] = (0, 0)
    factors: tuple[int, int] = (0, 0)
    table: bool = False
    packed: bool = False
    places: int | None = None
    least: int = 0
    seed: int = 0
