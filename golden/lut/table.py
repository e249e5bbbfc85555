"""Tables of a few activations: sums of some, or +-a_0 +-a_1 ..., and the keys for these."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from golden.check import Flag, Integer, check_fields, parameter, parameters_of
from golden.formats.integer import IntFormat

__all__ = ["FORMS", "TableSpec", "fold", "full_table", "half_table", "keys", "lookup", "tables"]

FORMS = ("full", "half")


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """A table of `group` integers a_0 .. a_(group-1): half of the sums with all signs.

    Of two opposite sums, the one with -a_(group-1) is stored: entry `index` is the sum over
    j < group - 1 of a_j if bit j of the index is set, else -a_j; minus the last activation.
    """

    group: int = parameter(Integer("activations per table", 4, 2, 5, "activations"))
    a_width: int = parameter(Integer("bits of an activation", 8, 2, 16, "bits"))
    a_signed: bool = parameter(Flag("activations are two's complement", True))
    symmetric: bool = parameter(Flag("the most negative code never occurs", False))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(TableSpec), vars(self))

    @property
    def a_format(self) -> IntFormat:
        """Format of activations."""
        return IntFormat(width=self.a_width, signed=self.a_signed)

    @property
    def entries(self) -> int:
        """Entries of the half table."""
        return 1 << (self.group - 1)

    @property
    def greatest(self) -> int:
        """Largest magnitude of an activation."""
        fmt = self.a_format
        return fmt.high if self.symmetric else max(fmt.high, -fmt.low)

    @property
    def entry_format(self) -> IntFormat:
        """Format of an entry: the narrowest that holds all of them, and their complements."""
        return IntFormat(width=(self.group * self.greatest).bit_length() + 1)

    def sum_format(self, count: int) -> IntFormat:
        """Format of sums of `count` activations, without signs."""
        least = -self.greatest if self.symmetric else self.a_format.low
        most = max(count * self.a_format.high, -count * least - 1)
        return IntFormat(width=most.bit_length() + self.a_signed, signed=self.a_signed)

    def check(self, a: np.ndarray) -> np.ndarray:
        """Return activations as int64; refuse what is out of range."""
        a = self.a_format.check("a", a)
        if self.symmetric and a.size and a.min() < -self.greatest:
            raise ValueError(f"a must be {-self.greatest}.. where symmetric, not {a.min()}")
        return a


def half_table(
    a: np.ndarray, add: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.add
) -> np.ndarray:
    """Build half tables as the generator does, from those of the two halves of each group.

    The low half has group // 2 activations. A group of 2 takes 2 additions, of 3 six, of 4 twelve
    and of 5 twenty-four, of which none has more than two or, of 5, three behind each other. The
    order matters where additions round.

    Parameters
    ----------
    a : activations, ... x group.
    add : how two numbers are added; negation is exact.

    Returns
    -------
    The entries, ... x 2^(group - 1).
    """
    group = a.shape[-1]
    if group == 1:
        return -a
    low = group // 2
    half = half_table(a[..., :low], add)
    # All signs: with the last activation of the low half added, the complement's negative.
    full = np.concatenate([half, -half[..., ::-1]], axis=-1)
    high = half_table(a[..., low:], add)
    sums = add(full[..., None, :], high[..., :, None])
    return sums.reshape(*a.shape[:-1], 1 << (group - 1))


def full_table(a: np.ndarray) -> np.ndarray:
    """Build full tables: entry `number` is the sum of the activations whose bits it has, from 1 on.

    Parameters
    ----------
    a : activations, ... x group.

    Returns
    -------
    The entries, ... x (2^group - 1).
    """
    group = a.shape[-1]
    return a @ (np.arange(1, 1 << group) >> np.arange(group)[:, None] & 1)


def tables(spec: TableSpec, a: np.ndarray) -> np.ndarray:
    """Return the tables of rows of activations.

    Parameters
    ----------
    spec : the table.
    a : activations, M x K; zeros are appended up to a multiple of the group.

    Returns
    -------
    int64 entries, M x groups x 2^(group - 1).
    """
    a = spec.check(a)
    padded = np.pad(a, ((0, 0), (0, -a.shape[1] % spec.group)))
    return half_table(padded.reshape(a.shape[0], padded.shape[1] // spec.group, spec.group))


def fold(codes: np.ndarray, group: int) -> np.ndarray:
    """Replace weights by keys, or keys by weights: the function is its own inverse.

    In each bit plane, the last weight of a group becomes the sign and the others the index: they
    are complemented where the sign is set. A key is thus as long as the weights that it replaces.

    Parameters
    ----------
    codes : bit patterns of weights, K x N, K a multiple of the group.
    group : weights per key.
    """
    if codes.shape[0] % group:
        raise ValueError(f"K must be a multiple of the group, {group}, not {codes.shape[0]}")
    parts = codes.reshape(-1, group, codes.shape[1]).copy()
    parts[:, :-1] ^= parts[:, -1:]
    return parts.reshape(codes.shape)


def keys(folded: np.ndarray, group: int, plane: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the index and the sign of each key in one bit plane, groups x N."""
    bits = (folded >> plane & 1).reshape(-1, group, folded.shape[1])
    index = (bits[:, :-1] << np.arange(group - 1)[:, None]).sum(axis=1)
    return index, bits[:, -1]


def lookup(entries: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Look up every row's entry for each column's index.

    Parameters
    ----------
    entries : M x groups x entries.
    index : groups x N.

    Returns
    -------
    The entries, M x groups x N, not negated.
    """
    return entries[:, np.arange(index.shape[0])[:, None], index]
