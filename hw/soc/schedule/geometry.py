"""What the parts of the co-processor are told of a job."""

from collections.abc import Callable, Sequence

from amaranth import Array, Value
from amaranth.hdl import ValueLike
from amaranth.lib import data
from amaranth.utils import bits_for

from golden.soc.spec import CoprocessorSpec

__all__ = [
    "BYTES_WIDTH", "Geometry", "block_widths", "bytes_of", "pick", "scales_of", "words_bytes",
]  # fmt: skip

BYTES_WIDTH = 32
"""Bits of a distance between rows, in bytes."""


def block_widths(spec: CoprocessorSpec) -> dict[str, int]:
    """Count the bits of what a block has at most: rows, columns, codes; tiles across.

    The stores are the limit or, if jobs do not choose, the blocks that the hardware does.
    """
    inside = spec.inside
    most = [
        (spec.a_words, spec.b_words * spec.b_slices(kind), spec.a_words * spec.a_slices(kind))
        if spec.blocks
        else spec.default_blocks(kind)
        for kind in spec.kinds
    ]
    down, across, along = (max(side) for side in zip(*most, strict=True))
    sizes = {
        "rows": down * inside.m, "columns": across * inside.n, "codes": along * inside.k,
        "across": across,
    }  # fmt: skip
    return {name: min(bits_for(size), spec.dimension_width) for name, size in sizes.items()}


class Geometry(data.StructLayout):
    """A product and its blocks, checked: sizes in numbers, addresses and distances in bytes.

    ``kind`` is an index of :attr:`CoprocessorSpec.kinds`; ``k`` and ``codes``, of a block, count
    words along K, of the last of which ``tail`` bits are of the product, all, if that is 0, and
    ``missing`` codes are not.
    ``across`` are the tiles of a block's row; ``a_stride``, ``b_stride`` words of a row of a block
    in the stores; ``p_stride`` rows of sums from a tile to the one below it. ``exponent`` is how
    far that of a sum's last bit is above the least.
    """

    def __init__(self, spec: CoprocessorSpec):
        size, address = spec.dimension_width, spec.address_width
        distance = min(BYTES_WIDTH, address)
        most = max(mode.exponent for mode in spec.inside.modes.values())
        super().__init__({
            "kind": range(len(spec.kinds)),
            "tail": range(spec.inside.a_width),
            "missing": range(max(kind.codes for kind in spec.kinds)),
            "exponent": range(most + 1),
            "m": size,
            "n": size,
            "k": size,
            **block_widths(spec),
            "a_stride": range(spec.a_words + 1),
            "b_stride": range(spec.b_words + 1),
            "p_stride": size,
            "by_columns": 1,
            "a": address,
            "b": address,
            "c": address,
            "bias": address,
            "requant": address,
            "a_scales": address,
            "b_scales": address,
            "lda": distance,
            "ldb": distance,
            "ldc": distance,
            "ldsa": distance,
            "ldsb": distance,
            "biased": 1,
            "requantised": 1,
            "per_column": 1,
            "accumulate": 1,
        })


def pick(make: Callable[[int], ValueLike], keys: Sequence[int], index: Value) -> Value:
    """Make a value of the key that an index chooses; equal keys make one value."""
    made = {key: Value.cast(make(key)) for key in dict.fromkeys(keys)}
    if len(made) == 1:
        return made[keys[0]]
    return Value.cast(Array([made[key] for key in keys])[index])


def bytes_of(numbers: Value, bits: int) -> Value:
    """Count the bytes of so many numbers, whose bits are a power of two or whole bytes."""
    return numbers * (bits // 8) if bits >= 8 else (numbers + (8 // bits - 1)) // (8 // bits)


def words_bytes(spec: CoprocessorSpec, side: str, words: Value, kind: Value) -> Value:
    """Count the bytes of so many words of A or of B."""
    bits = [getattr(mode, f"{side}_bits") for mode in spec.kinds]
    return pick(lambda size: bytes_of(words, size), bits, kind)


def scales_of(spec: CoprocessorSpec, words: Value, kind: Value) -> Value:
    """Count the scales of so many words along K."""
    each = [spec.inside.block // mode.codes for mode in spec.kinds]
    return pick(lambda size: (words + (size - 1)) // size, each, kind)
