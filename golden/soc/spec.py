"""Parameters of a co-processor: engine, stores, bus."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from golden.check import Choice, Flag, Integer, check_fields, parameter, parameters_of
from golden.engine import EngineSpec
from golden.npe.npe import NpeSpec
from golden.npe.requantiser import ROUNDINGS, RequantiserSpec
from golden.npe.vector import VectorUnitSpec
from golden.soc.blocking import Stores, word_bytes
from golden.soc.bus import BusSpec
from golden.soc.code_table import CODES
from golden.soc.group_scales import SCALES
from golden.soc.lists import longest_list
from golden.soc.maps import MAPS
from golden.soc.mode import BOOKS, FormatMode, Inside, container, inside
from golden.soc.shares import longest_row
from golden.soc.side_words import side_bytes, side_words
from golden.soc.spec_checks import MOST_BITS, check_parts
from golden.soc.vector_jobs import vector_jobs
from golden.soc.write_checks import PLACED_WIDTH
from golden.tpe.systolic_os import SystolicOsSpec

__all__ = ["CoprocessorSpec", "CoprocessorStreamSpec"]


@dataclass(frozen=True, kw_only=True)
class CoprocessorSpec(BusSpec):
    """An engine between operand stores and a sum store, on a memory bus or streams.

    Operand stores are multi-buffered: buffers fill while one is multiplied. The sum store is
    double-buffered: one half leaves while the other accumulates. A block of C is computed as a
    whole, tile by tile, over all of K, so that each code is reused for several tiles. A vector unit
    beside the engine, if any, works on rows. Matrices at the last `scratch` addresses are on chip.
    """

    engine: EngineSpec | NpeSpec = field(default_factory=SystolicOsSpec)
    vector: VectorUnitSpec | None = None
    sums: int = parameter(Integer("maximum numbers of C in a block", 4096, 1, 1 << 16))
    a_bytes: int = parameter(Integer("one buffer of the store of A", 4096, 64, 1 << 20, "bytes"))
    b_bytes: int = parameter(Integer("one buffer of the store of B", 4096, 64, 1 << 20, "bytes"))
    bias: bool = parameter(Flag("biases per column", True))
    requantise: bool = parameter(Flag("requantiser for results", True))
    per_column: bool = parameter(Flag("requantisation per column", True))
    requantiser_rounding: str = parameter(
        Choice("rounding of requantised codes; even: as onnxruntime", "even", ROUNDINGS)
    )
    code_bytes: int = parameter(Integer("most bytes of a code of C; 2: either", 1, 1, 2, "bytes"))
    transpose: bool = parameter(Flag("vector jobs can transpose matrices of bytes", False))
    gather: bool = parameter(Flag("vector jobs can gather rows, by indices in memory", False))
    blend: bool = parameter(Flag("vector jobs can weigh two rows by factors", False))
    table: bool = parameter(Flag("jobs can look requantised codes up in a table of 256", False))
    taps: int = parameter(Integer("multipliers of a lane for jobs on maps; 0: no jobs", 0, 0, 7))
    tap_rows: int = parameter(Integer("rows of windows that depthwise jobs sum at once", 1, 1, 5))
    scratch: int = parameter(
        Integer("on chip, at the last addresses, a power of two; 0: none", 0, 0, 1 << 20, "bytes")
    )
    trits: bool = parameter(Flag("weights of B are in memory five to a byte, along K", False))
    codebook: str = parameter(Choice("table of the codes that B has in memory", "none", BOOKS))
    sparse: bool = parameter(Flag("B can be in memory as bitmaps and what is not zero", False))
    lists: int = parameter(Integer("most places of a list of B's rows; 0: no lists", 0, 0, 32767))
    top_k: int = parameter(Integer("most greatest codes of a row in a list; 0: no jobs", 0, 0, 63))
    windows: bool = parameter(Flag("jobs can make A of the windows of a map", False))
    accumulate: bool = parameter(Flag("jobs can accumulate into the existing C", True))
    row_factors: bool = parameter(Flag("the existing C can have a factor for each row", False))
    shares: bool = parameter(Flag("products can shift sums of blocks of exps by octaves", False))
    random_width: int = parameter(PLACED_WIDTH)
    amax: bool = parameter(Flag("a register has the greatest magnitude of a product's sums", False))
    group_scales: str = parameter(Choice("scales of groups' sums, fp32 then", "none", SCALES))
    blocks: bool = parameter(Flag("jobs can choose block sizes and order", True))
    ring: bool = parameter(Flag("a start can run a list of jobs in memory", True))
    counters: bool = parameter(Flag("performance counters", True))
    narrow: bool = parameter(Flag("registers only as wide as the build needs", False))
    dimension_width: int = parameter(Integer("bits of M, N and K", 24, 8, 24, "bits"))
    array_clock: int = parameter(Integer("cycles of the engine in one of all else", 1, 1, 2))

    PARTS = 4
    """Buffers of an operand store, a power of two."""

    RECORD_BYTES: ClassVar[int] = 8
    """A column's requantisation: multiplier (32 bits), shift (8), 0 (8), zero point (16)."""
    TABLE_BYTES: ClassVar[int] = CODES
    MAPS: ClassVar[tuple[str, ...]] = MAPS

    def __post_init__(self) -> None:
        """Check the fields, and that a tile fits."""
        super().__post_init__()
        check_fields(parameters_of(CoprocessorSpec), vars(self))
        inside = self.inside
        least = {
            "sums": inside.m * inside.n,
            "a_bytes": inside.m * self.a_word_bytes,
            "b_bytes": inside.k // self.b_deep * self.b_word_bytes,
        }
        for name, value in least.items():
            if getattr(self, name) < value:
                raise ValueError(f"{name} must be {value} or more, not {getattr(self, name)}")
        if inside.a_sides and not all(self.stores(kind).most_beats(1, 1) for kind in self.kinds):
            raise ValueError(
                f"a_bytes and b_bytes must hold a block of {inside.block} codes, and a row of a "
                "tile must be of whole bytes, of any formats"
            )
        if inside.a_sides and (self.bias or self.requantise):
            raise ValueError("bias and requantise must be false where blocks have scales, not true")
        check_parts(self)
        self._default_blocks  # noqa: B018  (refuses stores without a block)

    @property
    def scratch_base(self) -> int:
        """First address on chip; the end of all addresses, if none are."""
        return (1 << self.address_width) - self.scratch

    @cached_property
    def inside(self) -> Inside:
        """The engine, from the co-processor's side."""
        return inside(self.engine, trits=self.trits, codebook=self.codebook)

    @cached_property
    def kinds(self) -> tuple[FormatMode, ...]:
        """One mode for each memory layout."""
        return tuple({mode.kind: mode for mode in self.inside.modes.values()}.values())

    @property
    def a_bits(self) -> int:
        """Maximum bits of a word of A in memory."""
        return max(mode.a_bits for mode in self.kinds)

    @property
    def b_bits(self) -> int:
        """Maximum bits of a word of B in memory."""
        return max(mode.b_bits for mode in self.kinds)

    @property
    def b_deep(self) -> int:
        """Steps along K in a word of B."""
        return self.kinds[0].b_deep

    @property
    def sum_bytes(self) -> int:
        """Bytes of a sum in memory, two's complement if the engine's sums are."""
        return max(container(self.inside.sum_width) // 8, 1)

    @property
    def number_width(self) -> int:
        """Bits of a sum in its store: one more if it has a flag."""
        return self.inside.sum_width + self.inside.flags

    def stores(self, kind: FormatMode | None = None) -> Stores:
        """Collect the parameters that limit blocks, for one memory layout."""
        return self._stores[(kind or self.kinds[0]).kind]

    @cached_property
    def _stores(self) -> dict[tuple[int, int, int], Stores]:
        inside = self.inside
        return {
            kind.kind: Stores(
                tile_m=inside.m,
                tile_n=inside.n,
                tile_k=inside.k,
                a_bits=kind.a_bits,
                b_bits=kind.b_bits,
                data_width=self.data_width,
                outstanding=self.outstanding,
                sums=self.sums,
                a_bytes=self.a_bytes,
                b_bytes=self.b_bytes,
                a_widest=self.a_bits,
                b_widest=self.b_bits,
                block=inside.block // kind.codes,
                alone=inside.a_sides > 0,
                b_deep=kind.b_deep,
                latency=self.memory_timing.latency,
                array_clock=self.array_clock,
            )
            for kind in self.kinds
        }

    def a_slices(self, kind: FormatMode) -> int:
        """Beats of a row of A in a word of its store: a power of two."""
        return self.stores(kind).a_slices

    def b_slices(self, kind: FormatMode) -> int:
        """Tiles of a row of B in a word of its store: a power of two."""
        return self.stores(kind).b_slices

    @property
    def a_word_bytes(self) -> int:
        """Bytes of a word of the store of A, of one row."""
        return self.stores().a_word_bytes

    @property
    def b_word_bytes(self) -> int:
        """Bytes of a word of the store of B, of one row."""
        return self.stores().b_word_bytes

    @property
    def a_words(self) -> int:
        """Words per buffer of the store of A, for each of the tile's rows."""
        return self.stores().a_words

    @property
    def b_words(self) -> int:
        """Words per buffer of the store of B, for each of the beat's rows of words."""
        return self.stores().b_words

    @property
    def rows(self) -> int:
        """Rows of n sums in half of the sum store."""
        return self.stores().rows

    @property
    def length_width(self) -> int:
        """Bits of the bytes of a row, which is at most a block's, or a descriptor."""
        inside, records = self.inside, self.RECORD_BYTES * self.requantises_columns
        column = max(self.sum_bytes, self.code_bytes, records)
        most = max(
            max(longest_row(self), longest_list(self), self.rows * (self.group_scales != "none")),
            self.a_words * self.a_word_bytes,
            self.b_words * self.b_word_bytes,
            self.rows // inside.m * inside.n * column,
            side_bytes(self.scales, self.b_scale_bytes, inside),
            max(CODES * self.table, 128, 2 * self.b_bytes * self.sparse),
        )
        return min(most.bit_length(), super().length_width)

    def row_slices(self, size: int, across: int = 0) -> int:
        """Return the groups of columns, a tile's by default, in a word of some bytes per column."""
        each = (across or self.inside.n) * size
        return word_bytes(self.data_width, 8 * each) // each

    def row_words(self, size: int, across: int = 0) -> int:
        """Words of per-column data for the tiles side by side in a block."""
        groups = self.rows // self.inside.m * self.inside.n // (across or self.inside.n)
        return -(-groups // self.row_slices(size, across))

    @cached_property
    def scales(self) -> int:
        """Words of a buffer of the store of B's side bytes: blocks of K; 0 without them."""
        return side_words([(self.stores(kind), kind.codes) for kind in self.kinds], self.inside)

    @property
    def a_scale_bytes(self) -> int:
        """Bytes of a word of the store of A's scales, of one row."""
        return word_bytes(self.data_width, 8)

    @property
    def b_scale_bytes(self) -> int:
        """Bytes of a word of the store of B's side bytes: of the columns of a tile, or more."""
        return word_bytes(self.data_width, 8 * max(self.inside.b_sides, 1) * self.inside.n)

    @property
    def vector_in_bytes(self) -> int:
        """Most bytes of a code that the vector unit takes."""
        return 0 if self.vector is None else max(container(self.vector.width) // 8, 1)

    @property
    def vector_out_bytes(self) -> int:
        """Bytes of a code that the vector unit makes."""
        return 0 if self.vector is None else max(container(self.vector.out_width) // 8, 1)

    @property
    def vector_jobs(self) -> tuple[str, ...]:
        """Operations of vector jobs: the unit's, what needs no arithmetic, and those on maps."""
        return vector_jobs(self)

    @property
    def depthwise(self) -> bool:
        """Whether jobs on maps have windows, too: of lanes that are a power of two."""
        lanes = 0 if self.vector is None else self.vector.lanes
        return self.taps > 0 and self.windows and lanes.bit_count() == 1

    @property
    def vector_word_bytes(self) -> int:
        """Bytes of a word of a row for the vector unit: its lanes, or as many as fill a beat."""
        lanes = 0 if self.vector is None else self.vector.lanes
        return word_bytes(self.data_width, 8 * lanes * self.vector_in_bytes)

    @property
    def sizes(self) -> bool:
        """Whether jobs choose the bytes of a code of C."""
        return self.code_bytes > 1

    @property
    def code_bits(self) -> int:
        """Bits of a code of C in memory: whole bytes, or 4 if a tile's row is whole bytes.

        If jobs choose, those of the codes of one byte.
        """
        bits = container(_CODE if self.inside.result is None else self.inside.result.width)
        return bits if bits * self.inside.n % 8 == 0 else 8

    def fits(self, m: int, n: int, k: int, kind: FormatMode | None = None) -> bool:
        """Return whether m x n tiles and k beats fit into the stores, see :meth:`Stores.fits`."""
        return self.stores(kind).fits(m, n, k)

    def default_blocks(self, kind: FormatMode | None = None) -> tuple[int, int, int]:
        """Default blocks of the hardware: tiles down and across, and beats of K.

        They minimise the traffic of large matrices, then maximise beats. A tile's rows take m
        cycles to leave, so a block has at least as many beats of K, if the stores hold them.
        """
        return self._default_blocks[(kind or self.kinds[0]).kind]

    @cached_property
    def _default_blocks(self) -> dict[tuple[int, int, int], tuple[int, int, int]]:
        m, n = self.inside.m, self.inside.n
        ups = range(1, min(self.a_words, self.rows // m) + 1)
        acrosses = [np.arange(1, self.rows // (up * m) + 1) for up in ups]
        up, across = np.repeat(ups, [len(one) for one in acrosses]), np.concatenate(acrosses)
        traffic = 1 / (up * m) + 1 / (across * n)
        defaults = {}
        for kind in self.kinds:
            beats = self.stores(kind).most_beats_of(up, across)
            best, *_ = np.lexsort((-beats, traffic, beats < self.array_clock * m + 2, beats == 0))
            defaults[kind.kind] = int(up[best]), int(across[best]), int(beats[best])
        if not all(beats for *_, beats in defaults.values()):
            raise ValueError(
                "sums, a_bytes and b_bytes must hold a block whose rows are of whole bytes, not "
                f"{self.sums}, {self.a_bytes} and {self.b_bytes}"
            )
        return defaults

    @property
    def numbers(self) -> list[tuple[int, bool]]:
        """Bits of words of A and B, sums, codes of C, and whether signed, which floats are not."""
        inside, codes = self.inside, self.requantiser.out_format
        result = (_CODE, codes.signed) if inside.result is None else (self.code_bits, False)
        return [*inside.words, (inside.sum_width, inside.signed and not inside.a_sides), result]

    @cached_property
    def requantiser(self) -> RequantiserSpec:
        """The requantiser of integer sums."""
        width = min(max(self.inside.sum_width + (not self.inside.signed), 4), MOST_BITS)
        return RequantiserSpec(
            n=self.inside.n,
            width=width,
            out_width=_CODE * self.code_bytes,
            rounding=self.requantiser_rounding,
            per_column=self.requantises_columns,
        )

    @property
    def rounding(self) -> str | None:
        """Rounding of integer sums to codes; None: there is no requantiser of them."""
        return self.requantiser_rounding if self.requantise and self.inside.result is None else None

    @property
    def accumulates(self) -> bool:
        """Whether jobs can accumulate into the existing C."""
        return self.accumulate and not (self.STREAM or self.inside.a_sides)

    @property
    def follows_ring(self) -> bool:
        """Whether a start can run a list of jobs in memory."""
        return self.ring and not self.STREAM

    @property
    def distance_width(self) -> int:
        """Significant bits of a row stride: enough for a row's bytes and for the memory.

        A larger stride ends beyond memory, or belongs to a matrix of one row.
        """
        most = max(self.a_bits // 8, self.b_bits // 8, self.sum_bytes, self.RECORD_BYTES)
        return min(31, max(self.address_width, self.dimension_width + most.bit_length()))

    @property
    def requantises_columns(self) -> bool:
        """Whether jobs can have a requantisation per column."""
        return self.requantise and self.per_column and self.inside.result is None


@dataclass(frozen=True, kw_only=True)
class CoprocessorStreamSpec(CoprocessorSpec):
    """The same with a stream of A and its scales, one of all other inputs, and one of C.

    Rows of blocks come in the order of :func:`golden.soc.coprocessor_stream.rows`, each from byte 0
    of a beat on. Addresses and strides of a job are ignored.
    """

    STREAM: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check that the order of rows is known to the host."""
        super().__post_init__()
        if not self.blocks:
            raise ValueError("blocks must be true between streams, whose order they are, not false")


_CODE = 8
"""Bits of a byte, a requantised code's where jobs do not choose."""
