"""Mixed-precision lanes: words of codes in formats chosen at run time, exact sums."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from golden.check import Integer, Subset, check_fields, parameter, parameters_of
from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.names import parse
from golden.formats.quire import QuireSpec

__all__ = ["LaneSpec", "cycles", "lane_sums"]

_SL8 = ("int8", "int4", "e2m1", "posit4e1", "e2m3", "e3m2", "e4m3", "posit8e0")


@dataclass(frozen=True, kw_only=True)
class LaneSpec:
    """Formats that a lane multiplies, in any pair, and the width of its accumulator.

    A format is chosen by its index in :attr:`names`. A code is in a container: the smallest of 4, 8
    and 16 bits that holds it. The pitch of a pair of formats is the larger container: a word of
    WORD bits is WORD / pitch codes, the first lowest, each in the low bits of its slot; bits above
    it are ignored. A sum is an integer times 2^:meth:`lsb`, two's complement, modulo
    2^accumulator_width. A NaN operand counts as zero.
    """

    formats: str = parameter(Subset("operand formats", ",".join(_SL8), _SL8))
    accumulator_width: int = parameter(Integer("bits of the accumulator", 48, 4, 128, "bits"))

    WORD: ClassVar[int] = 8
    """Bits of a word of operands."""

    FORMATS: ClassVar[tuple[str, ...]] = _SL8
    """All supported formats."""

    LIMIT: ClassVar[int] = 1 << 16
    """Maximum codes per sum."""

    def __post_init__(self) -> None:
        """Check the fields, and that the accumulator holds one word of any pair."""
        check_fields(parameters_of(type(self)), vars(self))
        least = max(
            QuireSpec(
                a_format=self.elements[a], b_format=self.elements[b], k_max=self.codes(a, b)
            ).width
            for a, b in self.pairs
        )
        if self.accumulator_width < least:
            raise ValueError(
                f"accumulator_width must be {least}..128 bits for {self.formats}, "
                f"not {self.accumulator_width!r}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the formats, each at its index."""
        return tuple(self.formats.split(","))

    @property
    def elements(self) -> tuple[ElementFormat, ...]:
        """The formats, each at its index."""
        return _elements(self.names)

    @property
    def format_width(self) -> int:
        """Bits of an index of a format, at least one."""
        return max((len(self.names) - 1).bit_length(), 1)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Indices of A and B of every pair of formats."""
        count = range(len(self.names))
        return [(a, b) for a in count for b in count]

    @property
    def sum_format(self) -> IntFormat:
        """Format of a sum of at most 63 bits."""
        return IntFormat(width=self.accumulator_width)

    def index(self, name: str) -> int:
        """Index of a format; ValueError if it is not among them."""
        if name not in self.names:
            raise ValueError(f"format must be one of {', '.join(self.names)}, not {name!r}")
        return self.names.index(name)

    def container(self, index: int) -> int:
        """Container bits of a format: 4, 8 or 16."""
        return max(4, 1 << (self.elements[index].width - 1).bit_length())

    def pitch(self, a: int, b: int) -> int:
        """Bits from one code to the next in a word, for a pair of formats."""
        return max(self.container(a), self.container(b))

    def codes(self, a: int, b: int) -> int:
        """Codes per word, for a pair of formats."""
        return self.WORD // self.pitch(a, b)

    def cycles(self, a: int, b: int) -> int:
        """Cycles per word, for a pair of formats."""
        return 1

    @property
    def operations(self) -> int:
        """A multiplication and an addition per product and cycle, for the pair with the most."""
        return max(2 * self.codes(*pair) // self.cycles(*pair) for pair in self.pairs)

    def lsb(self, a: int, b: int) -> int:
        """Exponent of the last bit of a sum, for a pair of formats."""
        return self.elements[a].lsb + self.elements[b].lsb

    def k_max_words(self, a: int, b: int) -> int:
        """Words per sum, 1 or more, that cannot overflow for any operands."""
        quire = QuireSpec(a_format=self.elements[a], b_format=self.elements[b])
        limit = min(quire.k_max_of(self.accumulator_width), self.LIMIT)
        return limit // self.codes(a, b)

    def pack(self, codes: np.ndarray, index: int, pitch: int) -> np.ndarray:
        """Pack codes into words, along the last axis; the last word is zero-padded.

        Parameters
        ----------
        codes : of one format, any number of axes.
        index : of that format.
        pitch : bits from one code to the next.

        Returns
        -------
        int64 words 0 .. 2^WORD - 1.
        """
        fmt = self.elements[index]
        bits = fmt.check("codes", codes) & (1 << fmt.width) - 1
        count = self.WORD // pitch
        fill = -bits.shape[-1] % count
        bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, fill)])
        slots = bits.reshape(*bits.shape[:-1], bits.shape[-1] // count, count)
        return (slots << pitch * np.arange(count)).sum(axis=-1)

    def unpack(self, words: np.ndarray, index: int, pitch: int) -> np.ndarray:
        """Undo :meth:`pack`, with a new last axis: the codes of a word."""
        fmt = self.elements[index]
        slots = words[..., None] >> pitch * np.arange(self.WORD // pitch)
        return fmt.wrap(slots & (1 << fmt.width) - 1)


def lane_sums(
    spec: LaneSpec,
    a: np.ndarray,
    b: np.ndarray,
    a_format: np.ndarray | int,
    b_format: np.ndarray | int,
    last: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum the products of each run of words; a run ends where `last` is set.

    Parameters
    ----------
    spec : formats and width of sums.
    a, b : words, one for each beat.
    a_format, b_format : indices of formats, one per beat or one for all; those of the first beat
        of a run are used.
    last : booleans, one per beat; beats after the last one set belong to no complete sum.

    Returns
    -------
    sums : one per `last`; int64, or Python integers if accumulator_width is more than 63.
    invalid : bool; an operand of the run was NaN.
    overflow : bool; the run was longer than :meth:`LaneSpec.k_max_words`.
    """
    word = IntFormat(width=spec.WORD, signed=False)
    a, b = word.check("a", a), word.check("b", b)
    last = np.asarray(last, dtype=bool)
    ends = np.flatnonzero(last) + 1
    starts = np.concatenate(([0], ends[:-1])) if ends.size else ends
    chosen = [
        _check_format(spec, name, np.broadcast_to(indices, last.shape)[starts])
        for name, indices in (("a_format", a_format), ("b_format", b_format))
    ]
    sums = np.zeros(len(ends), dtype=np.int64 if spec.accumulator_width <= 63 else object)
    invalid, overflow = np.zeros((2, len(ends)), dtype=bool)
    lengths = ends - starts
    for pair in {(int(x), int(y)) for x, y in zip(*chosen, strict=True)}:
        runs = (chosen[0] == pair[0]) & (chosen[1] == pair[1])
        beats = np.repeat(runs, lengths)
        words = a[: len(beats)][beats], b[: len(beats)][beats]
        products, wrong = _products(spec, pair, *words)
        stops = np.cumsum(lengths[runs])
        # int64 wraps modulo 2^64, which every narrower modulus divides.
        sums[runs] = _wrap(spec, _between(products, stops))
        invalid[runs] = _between(wrong.astype(np.int64), stops) > 0
        overflow[runs] = lengths[runs] > spec.k_max_words(*pair)
    return sums, invalid, overflow


def cycles(
    spec: LaneSpec,
    a: np.ndarray,
    b: np.ndarray,
    a_format: np.ndarray | int,
    b_format: np.ndarray | int,
    last: np.ndarray,
) -> np.ndarray:
    """Count the cycles that each beat occupies the lane: :meth:`LaneSpec.cycles` of its formats.

    Parameters
    ----------
    spec, a, b, a_format, b_format, last : as for :func:`lane_sums`; without stalls.

    Returns
    -------
    int64 cycles, one per beat. A beat's sum comes the component's latency after its last.
    """
    last = np.asarray(last, dtype=bool)
    starts = np.concatenate(([True], last[:-1]))
    first = np.maximum.accumulate(np.where(starts, np.arange(len(last)), 0))
    pairs = [np.broadcast_to(indices, last.shape)[first] for indices in (a_format, b_format)]
    table = np.ones((len(spec.names), len(spec.names)), dtype=np.int64)
    for pair in spec.pairs:
        table[pair] = spec.cycles(*pair)
    return table[pairs[0], pairs[1]]


def _products(
    spec: LaneSpec, pair: tuple[int, int], a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sum of the products of each pair of words, and whether an operand is NaN."""
    pitch = spec.pitch(*pair)
    exact = [
        spec.elements[index].decode(spec.unpack(words, index, pitch))
        for index, words in zip(pair, (a, b), strict=True)
    ]
    values = [part.fixed(spec.elements[index].lsb) for index, part in zip(pair, exact, strict=True)]
    if spec.accumulator_width > 63:
        values = [value.astype(object) for value in values]
    return (values[0] * values[1]).sum(axis=1), (exact[0].nan | exact[1].nan).any(axis=1)


def _between(values: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Sum consecutive runs that stop there."""
    running = np.concatenate((np.zeros(1, dtype=values.dtype), np.cumsum(values)))
    return running[stops] - running[np.concatenate(([0], stops[:-1]))]


def _wrap(spec: LaneSpec, values: np.ndarray) -> np.ndarray:
    """Reduce to two's complement of the width of sums."""
    if spec.accumulator_width <= 63:
        return spec.sum_format.wrap(values)
    half = 1 << (spec.accumulator_width - 1)
    return (values + half) % (2 * half) - half


def _check_format(spec: LaneSpec, name: str, indices: np.ndarray) -> np.ndarray:
    """Refuse an index out of range."""
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {indices.dtype}")
    wrong = indices[(indices < 0) | (indices >= len(spec.names))]
    if wrong.size:
        raise ValueError(f"{name} must be 0..{len(spec.names) - 1}, not {wrong[0]}")
    return indices


@cache
def _elements(names: tuple[str, ...]) -> tuple[ElementFormat, ...]:
    """Make the formats of these names."""
    formats = [parse(name) for name in names]
    assert all(isinstance(fmt, ElementFormat) for fmt in formats)
    return tuple(fmt for fmt in formats if isinstance(fmt, ElementFormat))
