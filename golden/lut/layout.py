"""The order of weight codes in memory: the order in which an engine reads them."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.lut.bits import pack_fields, unpack_fields
from golden.lut.table import fold
from golden.lut.ternary import key_width, table_key
from golden.lut.trits import TRITS, pack_trits, unpack_trits

__all__ = ["LAYOUTS", "LayoutSpec", "blocks", "pack_codes", "unblock", "unpack_codes"]

LAYOUTS = ("beats", "planes_inner", "planes_outer", "trits5", "keys")


@dataclass(frozen=True, kw_only=True)
class LayoutSpec:
    """A matrix of codes, K x N, in blocks of n columns; in a block, group after group of scales.

    Each group of `group` rows, the last of K rows perhaps fewer, is filled up to beats of k rows,
    and the last block to n columns, with padding codes, which meet zero activations: code 0
    or, of trits and keys, weight 0. By `layout`, a block holds, from the lowest bit of its first
    byte, and filled up to whole bytes at its end:

    - "beats": beats; in a beat, row by row, n codes: as an engine's stream of B;
    - "planes_inner": beats; in a beat, bit planes, least significant first; in a plane, column by
      column, k bits;
    - "planes_outer": for each group, bit planes, most significant first; in a plane, beats; in a
      beat, column by column, k bits;
    - "trits5": beats; in a beat, five rows after the other, n bytes of
      :func:`golden.lut.trits.pack_trits`;
    - "keys": beats; in a beat, `fold` rows after the other, n keys of ternary tables, 8 bits of
      `fold` 5.

    If `fold` is not 0, the codes in beats and planes are folded to keys of `fold` rows
    (:func:`golden.lut.table.fold`): in a plane, bits 0 .. fold - 2 of a key are the index, and the
    last is the sign.
    """

    layout: str = parameter(Choice("order of codes", "planes_inner", LAYOUTS))
    bits: int = parameter(Integer("bits of a code", 4, 1, 8, "bits"))
    k: int = parameter(Integer("rows of a beat", 16, 1, 256, "rows"))
    n: int = parameter(Integer("columns of a block", 64, 1, 256, "columns"))
    group: int = parameter(Integer("rows per scale", 128, 1, 1 << 24, "rows"))
    fold: int = parameter(Integer("rows of a key; 0 leaves codes as they are", 0, 0, 5, "rows"))

    def __post_init__(self) -> None:
        """Check the fields, and that they go together."""
        check_fields(parameters_of(LayoutSpec), vars(self))
        if self.ternary and self.bits != 2:
            raise ValueError(f"bits must be 2 where layout is {self.layout}, not {self.bits!r}")
        if self.layout == "trits5" and self.fold:
            raise ValueError(f"fold must be 0 where layout is {self.layout}, not {self.fold!r}")
        if self.layout == "trits5" and self.k % TRITS:
            raise ValueError(f"k must be a multiple of 5 where layout is trits5, not {self.k}")
        if self.fold == 1 or (self.layout == "keys" and not self.fold):
            least = "2..5" if self.layout == "keys" else "0 or 2..5"
            raise ValueError(f"fold must be {least} where layout is {self.layout}, not {self.fold}")
        if self.fold and self.k % self.fold:
            raise ValueError(f"k must be a multiple of fold, {self.fold}, not {self.k!r}")

    @property
    def ternary(self) -> bool:
        """Codes are 0..2, and 1 represents weight 0."""
        return self.layout in ("trits5", "keys")

    @property
    def field(self) -> int:
        """Bits of a packed field."""
        widths = {"beats": self.bits, "trits5": 8}
        return key_width(self.fold) if self.layout == "keys" else widths.get(self.layout, 1)

    def rows(self, depth: int) -> np.ndarray:
        """Return the place of each of `depth` rows among those of whole beats."""
        row = np.arange(depth)
        whole = -(-self.group // self.k) * self.k
        return row // self.group * whole + row % self.group

    def beats(self, depth: int) -> int:
        """Beats of a block."""
        full, rest = divmod(depth, self.group)
        return full * -(-self.group // self.k) + -(-rest // self.k)

    def group_beats(self, depth: int) -> list[int]:
        """Beats of each group."""
        counts = [self.group] * (depth // self.group)
        counts += [depth % self.group] * (depth % self.group > 0)
        return [-(-count // self.k) for count in counts]

    def fields(self, depth: int) -> int:
        """Fields of a block."""
        codes = self.beats(depth) * self.k * self.n
        if self.layout == "keys":
            return codes // self.fold
        if self.layout == "trits5":
            return codes // TRITS
        return codes * self.bits if self.field == 1 else codes

    def block_bytes(self, depth: int) -> int:
        """Bytes of a block."""
        return -(-self.fields(depth) * self.field // 8)


def pack_codes(spec: LayoutSpec, codes: np.ndarray) -> bytes:
    """Lay out codes, K x N, in memory.

    Parameters
    ----------
    spec : the layout.
    codes : 0 .. 2^bits - 1; of trits and keys, 0..2.
    """
    depth = codes.shape[0]
    zero = 1 if spec.ternary else 0
    whole = np.full((spec.beats(depth) * spec.k, codes.shape[1]), zero, dtype=np.int64)
    whole[spec.rows(depth)] = codes
    parts = []
    for block in blocks(whole, spec.n, zero):
        if spec.layout == "keys":
            fields = table_key(block - 1, spec.fold)
        elif spec.ternary:
            fields = pack_trits(block - 1)
        else:
            fields = fold(block, spec.fold) if spec.fold else block
        if spec.layout.startswith("planes"):
            fields = _bit_planes(spec, fields, depth)
        parts.append(pack_fields(fields, spec.field))
    return b"".join(parts)


def unpack_codes(spec: LayoutSpec, data: bytes, shape: tuple[int, int]) -> np.ndarray:
    """Return the codes, of shape K x N, that :func:`pack_codes` has laid out."""
    depth, columns = shape
    size = spec.block_bytes(depth)
    codes = []
    for number in range(-(-columns // spec.n)):
        part = data[number * size : (number + 1) * size]
        fields = unpack_fields(part, spec.field, spec.fields(depth))
        rows = spec.beats(depth) * spec.k
        if spec.layout.startswith("planes"):
            block = _from_bit_planes(spec, fields, depth)
        elif spec.layout == "keys":
            block = _from_keys(spec, fields.reshape(-1, spec.n)) + 1
        elif spec.ternary:
            block = unpack_trits(fields.reshape(-1, spec.n)) + 1
        else:
            block = fields.reshape(rows, spec.n)
        if spec.fold and not spec.ternary:
            block = fold(block, spec.fold)
        codes.append(block)
    return unblock(codes, columns)[spec.rows(depth)]


def blocks(array: np.ndarray, n: int, fill: int = 0) -> list[np.ndarray]:
    """Split columns into blocks of n, the last one padded."""
    padded = np.pad(array, ((0, 0), (0, -array.shape[1] % n)), constant_values=fill)
    return np.split(padded, padded.shape[1] // n, axis=1)


def unblock(parts: list[np.ndarray], columns: int) -> np.ndarray:
    """Concatenate blocks, without the padding of the last one."""
    return np.concatenate(parts, axis=1)[:, :columns]


def _bit_planes(spec: LayoutSpec, block: np.ndarray, depth: int) -> np.ndarray:
    """Return bits in the order of planes."""
    bits = block[:, :, None] >> np.arange(spec.bits) & 1
    beats = bits.reshape(-1, spec.k, spec.n, spec.bits)
    if spec.layout == "planes_inner":
        return beats.transpose(0, 3, 2, 1).reshape(-1)
    cuts = np.cumsum(spec.group_beats(depth))[:-1]
    return np.concatenate([
        part[..., ::-1].transpose(3, 0, 2, 1).reshape(-1) for part in np.split(beats, cuts)
    ])


def _from_bit_planes(spec: LayoutSpec, fields: np.ndarray, depth: int) -> np.ndarray:
    """Return codes of bits in the order of planes."""
    if spec.layout == "planes_inner":
        beats = fields.reshape(-1, spec.bits, spec.n, spec.k).transpose(0, 3, 2, 1)
    else:
        counts = spec.group_beats(depth)
        cuts = np.cumsum(counts)[:-1] * spec.bits * spec.n * spec.k
        beats = np.concatenate([
            part.reshape(spec.bits, count, spec.n, spec.k).transpose(1, 3, 2, 0)[..., ::-1]
            for part, count in zip(np.split(fields, cuts), counts, strict=True)
        ])
    codes = (beats << np.arange(spec.bits)).sum(axis=-1)
    return codes.reshape(-1, spec.n)


def _from_keys(spec: LayoutSpec, keys: np.ndarray) -> np.ndarray:
    """Return the weights of ternary keys, by the digits of balanced ternary."""
    width = key_width(spec.fold) - 1
    index = keys & (1 << width) - 1
    value = np.where(index < (3**spec.fold - 1) // 2, index + 1, 0)
    value = np.where(keys >> width, -value, value)
    weights = []
    for _ in range(spec.fold):
        digit = (value + 1) % 3 - 1
        weights.append(digit)
        value = (value - digit) // 3
    return np.stack(weights, axis=1).reshape(-1, keys.shape[1])
