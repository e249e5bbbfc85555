"""Weights that are in memory as codes of fewer bits, which a table expands; needs only numpy.

As eDKM (Cho et al., 2023) has them of 3 bits, and QLoRA (Dettmers et al., 2023) of 4: NF4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = [
    "CODEBOOKS",
    "NF4",
    "PLAIN",
    "TRITS_OF_BYTES",
    "ExpanderSpec",
    "codes_of",
    "expand",
    "pack_codes",
    "table_of",
    "unpack_codes",
]

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
    """

    name: str
    width: int
    bits: int
    deep: int = 1
    table: tuple[int, ...] | None = None

    @property
    def entries(self) -> int:
        """Numbers of a table: one for each code."""
        return 1 << self.width

    @property
    def table_bytes(self) -> int:
        """Bytes of the table of a job; 0 if jobs have none."""
        return self.entries if self.table is None else 0


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
    )
}
"""Kinds of constant tables, and of a job's, by their entries. Of signs, bit 1 is -1."""


def expand(codes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the numbers of codes.

    Parameters
    ----------
    codes : integers, each less than the entries of the table.
    table : numbers, by their codes.

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
    """Return the table of a matrix's own numbers, in their order; entries that are left are 0.

    Raises
    ------
    ValueError
        There are more of them than entries.
    """
    distinct = np.unique(numbers).tolist()
    if len(distinct) > spec.entries:
        raise ValueError(f"numbers must be of {spec.entries} or fewer, not of {len(distinct)}")
    return (*distinct, *(0,) * (spec.entries - len(distinct)))
