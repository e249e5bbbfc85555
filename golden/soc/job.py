"""Jobs of the matmul co-processor: arguments, error codes."""

from dataclasses import dataclass
from enum import IntEnum

from golden.npe.requantiser import Requantisation
from golden.soc.window import Window

__all__ = ["Error", "Job"]


class Error(IntEnum):
    """Why a job was rejected or aborted.

    By a timeout: memory had to take or to give something, and nothing moved on the bus for the
    `watchdog` of :class:`golden.soc.bus.BusSpec`. No other job runs before memory has answered what
    it owes, which is dropped.
    """

    NONE = 0
    DIMENSION = 1
    K_TOO_LARGE = 2
    MISALIGNED = 3
    WRAPS = 4
    MODE = 5
    BLOCKS = 6
    LEADING_DIMENSION = 7
    LONG_ROW = 8
    WINDOW = 9
    READ = 16
    WRITE = 17
    DESCRIPTOR = 18
    INDEX = 19
    READ_TIMEOUT = 20
    WRITE_TIMEOUT = 21
    DESCRIPTOR_TIMEOUT = 22
    OFFSET = 23


@dataclass(frozen=True, kw_only=True)
class Job:
    """One product, or one vector job. Addresses and row strides (ld*) are in bytes.

    a_format, b_format are indices of the engine's formats. C holds sums; or codes, with a
    requantisation, whose multiplier, shift and zero point come from `records` in memory if given;
    or codes with `encode`, which rounds sums to the engine's result format; where the build has a
    `random_width`, by :func:`golden.formats.placed_bits.placed_bits` of the job's `seed`. Where the
    build has `sizes`, requantised codes have `c_bytes` bytes, 0 and 1 for one. `accumulate` adds to
    the existing C; with `row_factors`, an address of M numbers of 16 bits, to what
    :func:`golden.soc.row_factors.scaled` makes of it. If the engine has block scales, those of A
    are a matrix of bytes, M x blocks, and those of B, blocks x N. block_m, block_n are the tiles of
    a block of C, block_k its beats of K; 0 leaves them to the hardware. Blocks are computed row by
    row, or by_columns. Blocks are written before all input is read: C must not overlap anything but
    the C it accumulates into.
    Where the build has a `scratch`, no matrix is in part in it.

    With a `window`, A is made of a map, see :func:`golden.soc.window.window_rows`: `a` is its
    address, `lda` is from a row of it to the next, and k are the codes of a window. All blocks are
    given, and block_k counts pixels of a window.

    Where the build has `group_scales`, and `ldsb` is not 0, blocks along K are groups of 2^i beats.
    The sum of each, times its column's scale at `b_scales`, groups x N, of 2 bytes, and 2^e, with e
    at `a_scales`, groups x M, of a byte, two's complement, -128 for NaN, is rounded to fp32 and
    added in fp32 to that of the groups before; see :mod:`golden.soc.group_scales`. C has one number
    of fp32 each. There is nothing else that is done with sums, and all blocks are given.

    A `vector` job is an operation of :func:`golden.npe.vector_unit.vector_unit` on each of m rows
    of n codes of A, of a_format + 1 bytes each, with sign. C has a row of n codes for each, 1 or 2
    bytes each; of a softmax n + 1, the last of which is the row's exponent. Rows of C may be where
    those of A are, one upon one. Where the build has `sizes`, `c_bytes` chooses, 0 for as many as
    the unit's codes take; if these take two, one byte is that of codes that are requantised within
    its limits, or of a softmax that :func:`golden.npe.vector.narrowed` has rounded.
    b, k, ldb are not looked at, and all else is 0. Gates, sums and
    products have a requantisation, of the unit's own `scaling`; the last two take rows of B, laid
    out as those of A, or one row for all if ldb is 0. So has a scale, which requantises A: rows of
    B are one byte, whose lowest 6 bits are an exponent of the row of A, see
    :func:`golden.npe.elements.shifted`. Where the build can `transpose`, that is a vector job, too:
    C has n rows of m bytes for m rows of n bytes of A, of any n; `c_bytes` is 1 where the unit's
    codes have two. Where it can `gather`, so is this: A is a table of k rows of n codes, and C has
    those m of them whose numbers, of 32 bits, are the rows of B, as they are, of a_format + 1 bytes
    a code. Only then k is looked at. An index of k or more ends the job with :attr:`Error.INDEX`;
    rows before it may have been written.

    Where the unit has them, `exps` makes rows of shares, as :mod:`golden.npe.exps`: C has codes of
    as many beats as n values take, zeros behind them, and then the exponents of blocks, as codes
    of two's complement. `divide` has a requantisation, whose multiplier is not looked at; n counts
    the last value, by which a row is divided, too. Both have one number in memory, `requantise`
    tells the one from the other.

    Where the build has `taps`, those on maps are vector jobs on rows of bytes of A and of B, or one
    row of B for all if ldb is 0, see :func:`golden.soc.maps.maps`: they take codes less `zeros`,
    `map_add` adds them times `factors`, `map_max` takes the greater of these, `map_multiply`
    multiplies them; that is requantised as sums of a product, for all columns alike.

    With `windows`, too, `depthwise` is a vector job: A is the map of a `window` whose pixels are
    its channels, in whole beats of the unit, and B k weights, one after the other, by taps and by
    channels, see :func:`golden.soc.depthwise.sums`. Each of m rows of C has the n channels of a
    window. There may be a bias; sums are requantised as a product's, `ldb` is not looked at.
    Where the build has `table`, requantised codes of a byte can be looked up in a `table` of 256
    bytes, by the code without its sign. It is behind the records of columns, which a product must
    have; of a job on maps it is at `records`.

    Where the build is `sparse`, B can be `packed`: `b` is the address of an image of `ldb` bytes,
    of the blocks that the job has, see :func:`golden.formats.bitmap.pack_image`. One that is none
    ends the job with :attr:`Error.OFFSET`; blocks of C before it may have been written.

    Where the build has `lists`, of up to as many places, `places` is the address of one of a
    product: K + 1 words of 32 bits, places of K in rising order and, in the last word, how many.
    Codes of A and rows of B at these places alone are read; C is that of the same A with zeros
    elsewhere. A list that does not rise, or has a place or count beyond K, ends the job with
    :attr:`Error.INDEX`, and nothing of C is written. A vector job `index` makes such a list of each
    row of A, of codes with sign of a_format + 1 bytes whose magnitude is `least` or more: rows of C
    are of n + 1 words, with zeros behind places. Each is a list for K = n.

    Where the build has `top_k`, a vector job of that name finds the k greatest codes of each row of
    A, of n codes with sign of a_format + 1 bytes: rows of C are of k + 1 words of 32 bits, their
    places, from the greatest code down, of equal ones the lower first, and k, and behind these the
    k codes, of as many bytes as those of A. k is at most `top_k`, and n, which is at most `lists`.
    There a product can have one of `ldsb` matrices B, `ldsa` bytes from one to the next, the first
    of them at `b`: `places` is then the address of the number of this one, of 32 bits. One that is
    not less than `ldsb` ends the job with :attr:`Error.INDEX`, and nothing of C is written. Where
    the others are is not checked.
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
    a_scales: int = 0
    b_scales: int = 0
    ldsa: int = 0
    ldsb: int = 0
    a_format: int = 0
    b_format: int = 0
    bias: int | None = None
    requantisation: Requantisation | None = None
    records: int | None = None
    encode: bool = False
    accumulate: bool = False
    row_factors: int | None = None
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

    @property
    def codes(self) -> bool:
        """C holds codes, not sums."""
        return self.requantisation is not None or self.encode
