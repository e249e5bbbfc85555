"""What a co-processor is made of: engine, stores, bus."""

from dataclasses import dataclass, field
from functools import cached_property

from golden.check import Flag, Integer, check_fields, parameter, parameters_of
from golden.engine import EngineSpec
from golden.npe.requantiser import RequantiserSpec
from golden.soc.bus import BusSpec
from golden.tpe.systolic_os import SystolicOsSpec

__all__ = ["CoprocessorSpec", "container"]

_BITS = (2, 4, 8, 16, 32, 64)


def container(width: int) -> int:
    """Bits in memory of a number of so many bits: the next power of two."""
    return next(bits for bits in _BITS if bits >= width)


@dataclass(frozen=True, kw_only=True)
class CoprocessorSpec(BusSpec):
    """An engine between operand stores and a store of sums, on one memory.

    Operands are stored in parts: some are filled while one is multiplied, so that the latency of
    memory does not count. Sums are stored in halves: one leaves while the other is added up. A
    block of C is computed as a whole, tile by tile, over all of K, so that each code of A and of B
    is used for several tiles.
    """

    engine: EngineSpec = field(default_factory=SystolicOsSpec)
    sums: int = parameter(Integer("numbers of C in a block, at most", 4096, 1, 1 << 20))
    a_bytes: int = parameter(Integer("a part of the store of A", 4096, 64, 1 << 22, "bytes"))
    b_bytes: int = parameter(Integer("a part of the store of B", 4096, 64, 1 << 22, "bytes"))
    bias: bool = parameter(Flag("a bias for each column can be added", True))
    requantise: bool = parameter(Flag("sums can leave as codes", True))

    PARTS = 4
    """Parts of a store of operands, a power of two."""

    DIMENSION_WIDTH = 24
    """Bits of M and of N."""

    def __post_init__(self) -> None:
        """Check the fields, and that a tile fits."""
        super().__post_init__()
        check_fields(parameters_of(CoprocessorSpec), vars(self))
        engine = self.engine
        least = {
            "sums": engine.m * engine.n,
            "a_bytes": engine.m * self.a_word_bytes,
            "b_bytes": engine.k * self.b_word_bytes,
        }
        for name, value in least.items():
            if getattr(self, name) < value:
                raise ValueError(f"{name} must be {value} or more, not {getattr(self, name)}")

    @property
    def a_bits(self) -> int:
        """Bits of a code of A in memory."""
        return container(self.engine.a_code_width)

    @property
    def b_bits(self) -> int:
        """Bits of a code of B in memory."""
        return container(self.engine.b_width)

    @property
    def sum_bytes(self) -> int:
        """Bytes of a sum in memory, two's complement if the engine's sums are."""
        return max(container(self.engine.c_format.width) // 8, 1)

    @property
    def a_slices(self) -> int:
        """Beats of a row of A in a word of its store: a power of two."""
        return _slices(self.bytes, self.engine.k * self.a_bits)

    @property
    def b_slices(self) -> int:
        """Tiles of a row of B in a word of its store: a power of two."""
        return _slices(self.bytes, self.engine.n * self.b_bits)

    @property
    def a_word_bytes(self) -> int:
        """Bytes of a word of the store of A, of one row."""
        return self.a_slices * self.engine.k * self.a_bits // 8

    @property
    def b_word_bytes(self) -> int:
        """Bytes of a word of the store of B, of one row."""
        return self.b_slices * self.engine.n * self.b_bits // 8

    @property
    def a_words(self) -> int:
        """Words of a part of the store of A, of each of the tile's rows."""
        return self.a_bytes // (self.engine.m * self.a_word_bytes)

    @property
    def b_words(self) -> int:
        """Words of a part of the store of B, of each of the beat's rows."""
        return self.b_bytes // (self.engine.k * self.b_word_bytes)

    @property
    def rows(self) -> int:
        """Rows of n sums in half their store."""
        return self.sums // self.engine.n

    @property
    def bias_slices(self) -> int:
        """Tiles' biases in a word of their store: a power of two."""
        return _slices(self.bytes, self.engine.n * 8 * self.sum_bytes)

    @property
    def bias_words(self) -> int:
        """Words of a part of the store of biases, of the tiles side by side in a block."""
        return -(-(self.rows // self.engine.m) // self.bias_slices)

    @property
    def code_bytes(self) -> int:
        """Bytes of a requantised code in memory."""
        return container(self.requantiser.out_width) // 8

    def fits(self, m: int, n: int, k: int) -> bool:
        """Whether the stores hold blocks of m x n tiles and k beats, whose rows begin at bytes."""
        engine = self.engine
        return (
            k * engine.k * self.a_bits % 8 == 0
            and n * engine.n * self.b_bits % 8 == 0
            and m * -(-k // self.a_slices) <= self.a_words
            and k * -(-n // self.b_slices) <= self.b_words
            and m * engine.m * n <= self.rows
        )

    def most_beats(self, m: int, n: int) -> int:
        """Count the beats of K that the stores hold of m x n tiles; 0 if none."""
        k = min(self.a_words // m * self.a_slices, self.b_words // -(-n // self.b_slices))
        while k and not self.fits(m, n, k):
            k -= 1
        return k

    @cached_property
    def default_blocks(self) -> tuple[int, int, int]:
        """Tiles down and across, and beats of K, of the blocks that the hardware chooses.

        Those of least traffic, of large matrices; then of most beats. The rows of a tile take as
        many cycles to leave: of K, a block has as many beats at least, if the stores hold them.
        """
        engine = self.engine
        return min(
            (
                (m, n, k)
                for m in range(1, min(self.a_words, self.rows // engine.m) + 1)
                for n in range(1, self.rows // (m * engine.m) + 1)
                if (k := self.most_beats(m, n))
            ),
            key=lambda sizes: (
                sizes[2] < engine.m + 2,
                1 / (sizes[0] * engine.m) + 1 / (sizes[1] * engine.n),
                -sizes[2],
            ),
        )

    @property
    def requantiser(self) -> RequantiserSpec:
        """What makes codes of sums."""
        return RequantiserSpec(n=self.engine.n, width=max(self.engine.c_format.width, 4))


def _slices(beat: int, bits: int) -> int:
    """Count slices of so many bits, a power of two of them, that are at least a beat of bytes."""
    slices = 1
    while slices * bits < 8 * beat or slices * bits % 8:
        slices *= 2
    return slices
