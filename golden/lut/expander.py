"""Weights that are in memory as codes of fewer bits, which a table expands; needs only numpy.

As eDKM (Cho et al., 2023) has them of 3 bits, and QLoRA (Dettmers et al., 2023) of 4: NF4. Or as
those that are not 0, N of each 4 along K, behind a mask of all: as AMD's AIE-ML has it (UG1603).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = [
    "CODEBOOKS",
    "MASKS",
    "NF4",
    "PLAIN",
    "TRITS_OF_BYTES",
    "ExpanderSpec",
    "codes_of",
    "expand",
    "kept_places",
    "masked",
    "pack_codes",
    "pack_masked",
    "table_of",
    "unpack_codes",
]

_BYTE = 8
NF4 = (-127, -88, -67, -50, -36, -23, -12, 0, 10, 20, 31, 43, 56, 71, 92, 127)
"""Quantiles of a normal distribution, times 127, rounded: a weight is one times absmax / 127."""


@dataclass(frozen=True, kw_only=True)
class ExpanderSpec:
    """Codes along K of a column of B in a word of memory, and the numbers that they stand for.

    Members
    -------
    name : of the kind.
    width : bits of a code.
    bits : those of a word.
    deep : codes along K of a word, the first one lowest.
    table : the numbers, by their codes; None: each job has its own, one to a byte of memory, of
        which the lowest bits that a number of B has count, two's complement if it is signed.
    mirrored : a job's table has only the numbers of the lower half of codes, without their signs;
        those of the upper half are their complements, -1 - number.
    count, group : codes that a word has of each so many along K, with a mask; 0: it has all.
    """

    name: str
    width: int
    bits: int
    deep: int = 1
    table: tuple[int, ...] | None = None
    mirrored: bool = False
    count: int = 0
    group: int = 0

    @property
    def present(self) -> int:
        """Codes that are in a word."""
        return self.deep // self.group * self.count if self.group else self.deep

    @property
    def first(self) -> int:
        """Bit of a word at which its codes begin, the last one at its upper end; behind a mask."""
        return self.bits - self.present * self.width if self.group else 0

    @property
    def entries(self) -> int:
        """Numbers of a table: one for each code."""
        return 1 << self.width

    @property
    def number_bits(self) -> int:
        """Bits in memory of a number that codes stand for: a byte, if these are none themselves."""
        return self.width if self.group else _BYTE

    @property
    def table_bytes(self) -> int:
        """Bytes of the table of a job; 0 if jobs have none."""
        return self.entries >> self.mirrored if self.table is None else 0

    def numbers(self, table: Sequence[int], most: int) -> tuple[int, ...]:
        """Return the numbers of all codes, by a job's table; `most` is the greatest of B."""
        if not self.mirrored:
            return tuple(table)
        return (*(one & most for one in table), *(~(one & most) for one in table))


PLAIN = ExpanderSpec(name="none", width=0, bits=0, table=())
"""None: numbers are in memory as they are."""
TRITS_OF_BYTES = ExpanderSpec(name="trits", width=2, bits=8, deep=5, table=(0, 1, 0, -1))
"""Weights of :mod:`golden.lut.trits`, five to a byte; the table is that of their two bits."""
CODEBOOKS = {
    one.name: one
    for one in (
        ExpanderSpec(name="nf4", width=4, bits=4, table=NF4),
        ExpanderSpec(name="sign", width=1, bits=1, table=(1, -1)),
        ExpanderSpec(name="job4", width=2, bits=2),
        ExpanderSpec(name="job8", width=3, bits=64, deep=21),
        ExpanderSpec(name="job16", width=4, bits=4),
        ExpanderSpec(name="mirror16", width=4, bits=4, mirrored=True),
    )
}
"""Kinds of constant tables, and of a job's, by their entries. Of signs, bit 1 is -1."""
MASKS = {"masks_1_4": (1, 4), "masks_2_4": (2, 4)}
"""Codes that are in memory, of each so many along K, by the names of these kinds."""
_MASKED_BITS = 64
"""Bits of a word of codes and their masks."""


def masked(name: str, width: int) -> ExpanderSpec:
    """Return one of :data:`MASKS`, of codes of so many bits, in containers of the power of two."""
    (count, group), bits = MASKS[name], 1 << (width - 1).bit_length()
    deep = _MASKED_BITS // (group + count * bits) * group
    return ExpanderSpec(
        name=name, width=bits, bits=_MASKED_BITS, deep=deep, table=(), count=count, group=group
    )


def kept_places(there: np.ndarray, count: int) -> np.ndarray:
    """Return the places of a group's codes that are kept, rising: int64, of each group `count`.

    Code j is at ``min(p, group - count + j)``, where p is the place of the j-th that is there, or
    infinity if there are no more: each code has a place of its own, and few to choose from.

    Parameters
    ----------
    there : bool, any shape x the codes of a group.
    """
    group = there.shape[-1]
    # Places of those that are there in their order, behind them of the others, too high.
    ones = np.sort(np.where(there, np.arange(group), group), axis=-1)[..., :count]
    return np.minimum(ones, group - count + np.arange(count))


def expand(codes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the numbers of codes, by a table that has one for each.

    Raises
    ------
    ValueError
        A code beyond the table; none can be in memory, where a table has all codes of a width.
    """
    numbers = np.asarray(table)
    wrong = codes[(codes < 0) | (codes >= len(numbers))]
    if wrong.size:
        raise ValueError(f"codes must be 0..{len(numbers) - 1}, not {wrong.flat[0]}")
    return numbers[codes.astype(np.int64)]


def pack_codes(codes: np.ndarray, spec: ExpanderSpec) -> np.ndarray:
    """Put rows of codes into rows of words.

    Parameters
    ----------
    codes : 0 .. entries - 1, K x N. Rows of code 0 are appended up to whole words; what that stands
        for counts for nothing: rows beyond K are masked behind the table.
    spec : the kind, of a table.

    Returns
    -------
    int64 words, ceil(K / deep) x N.
    """
    padded = np.pad(codes.astype(np.int64), ((0, -len(codes) % spec.deep), (0, 0)))
    rows = padded.reshape(-1, spec.deep, codes.shape[1])
    places = spec.width * np.arange(spec.deep, dtype=np.int64)[:, None]
    return np.bitwise_or.reduce(rows << places, axis=1)


def unpack_codes(words: np.ndarray, spec: ExpanderSpec) -> np.ndarray:
    """Return the codes of words, R x N: deep R x N. A bit that no code has is not looked at."""
    places = range(0, spec.width * spec.deep, spec.width)
    parts = [(words >> place) & (spec.entries - 1) for place in places]
    return np.stack(parts, axis=1).reshape(-1, words.shape[1]).astype(np.int64)


def codes_of(numbers: np.ndarray, table: Sequence[int]) -> np.ndarray:
    """Return the codes that :func:`expand` makes these numbers of; of equal entries the first one.

    Raises
    ------
    ValueError
        A number that the table does not have.
    """
    entries = np.asarray(table)
    order = np.argsort(entries, kind="stable")
    places = np.searchsorted(entries[order], numbers).clip(max=len(entries) - 1)
    codes = order[places]
    wrong = numbers[entries[codes] != numbers]
    if wrong.size:
        raise ValueError(f"numbers must be of {', '.join(map(str, table))}, not {wrong.flat[0]}")
    return codes


def table_of(numbers: np.ndarray, spec: ExpanderSpec) -> tuple[int, ...]:
    """Return the table of a job for a matrix's numbers, in their order; the rest of it is 0.

    Raises
    ------
    ValueError
        There are more of them than entries.
    """
    entries = np.maximum(numbers, ~numbers) if spec.mirrored else numbers
    distinct, most = np.unique(entries).tolist(), spec.table_bytes
    if len(distinct) > most:
        more = " and their complements" if spec.mirrored else ""
        raise ValueError(f"numbers must be of {most} or fewer{more}, not of {len(distinct)}")
    return (*distinct, *(0,) * (most - len(distinct)))


def pack_masked(numbers: np.ndarray, spec: ExpanderSpec) -> np.ndarray:
    """Put rows of numbers into rows of words: a bit for each that is not 0, and those behind.

    Parameters
    ----------
    numbers : K x N, of `spec.width` bits. Rows of 0 are appended up to whole words.
    spec : the kind, of masks.

    Returns
    -------
    uint64 words, ceil(K / deep) x N.

    Raises
    ------
    ValueError
        More of a group are not 0 than a word has room for.
    """
    padded = np.pad(numbers.astype(np.int64), ((0, -len(numbers) % spec.deep), (0, 0)))
    groups = padded.reshape(-1, spec.group, padded.shape[1])
    there = groups != 0
    if (wrong := np.argwhere(there.sum(axis=1) > spec.count)).size:
        at, column = map(int, wrong[0])
        raise ValueError(
            f"b must have {spec.count} of each {spec.group} along K that are not 0, or fewer, not"
            f" {int(there[at, :, column].sum())} in column {column} from row {at * spec.group} on"
        )
    places = kept_places(there.swapaxes(1, 2), spec.count).swapaxes(1, 2)
    codes = np.take_along_axis(groups, places, axis=1) & (1 << spec.width) - 1
    parts = [
        (there.reshape(-1, spec.deep, there.shape[2]), 0, 1),
        (codes.reshape(-1, spec.present, there.shape[2]), spec.first, spec.width),
    ]
    words = np.zeros((len(padded) // spec.deep, there.shape[2]), np.uint64)
    for values, first, bits in parts:
        for place in range(values.shape[1]):
            words |= values[:, place].astype(np.uint64) << np.uint64(first + place * bits)
    return words
