"""Matrix products by lookup, one bit plane of the weights after the other."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, parameter
from golden.formats.integer import IntFormat
from golden.lut.table import TableSpec, fold, keys, lookup, tables

__all__ = ["LookupSpec", "constants", "lookup_matmul", "planes"]


@dataclass(frozen=True, kw_only=True)
class LookupSpec(TableSpec):
    """Lookups of weights on the odd grid: code q of W bits is 2 q - (2^W - 1), W signs +-2^w.

    A beat has `lookups` groups, whose entries are added before the accumulator; it takes one cycle
    per plane. In order "inner", the planes of a beat follow each other, least significant first,
    and their sums are shifted; in order "outer", all beats of a plane follow each other, most
    significant plane first, and the accumulator doubles between planes. An entry is negated by
    "carry", exactly, or by "constant": its bits are inverted, which is 1 too little, and
    :func:`constants` must be added.
    """

    planes: int = parameter(Integer("bits of a weight", 2, 1, 8, "planes"))
    lookups: int = parameter(Integer("tables looked up per cycle", 4, 1, 64, "groups"))
    order: str = parameter(Choice("order of planes and beats", "inner", ("inner", "outer")))
    negation: str = parameter(
        Choice(
            "entries are negated exactly, or but for a constant",
            "carry",
            ("carry", "constant"),
        )
    )

    @property
    def k(self) -> int:
        """Activations of a beat."""
        return self.group * self.lookups

    @property
    def q_format(self) -> IntFormat:
        """Format of a weight's code."""
        return IntFormat(width=self.planes, signed=False)

    @property
    def lane_format(self) -> IntFormat:
        """Format of the sum of a cycle's entries."""
        return IntFormat(width=self.entry_format.width + (self.lookups - 1).bit_length())


def planes(codes: np.ndarray, width: int) -> np.ndarray:
    """Return the signs -1 and 1 of each bit plane, width x K x N; their sum is odd."""
    return 2 * (codes[None] >> np.arange(width)[:, None, None] & 1) - 1


def constants(codes: np.ndarray, group: int) -> np.ndarray:
    """Return the constants that negation by "constant" lacks, for each column.

    It is the sum of signs times powers of two, and so of the last codes of all groups. Padded
    groups need none: their last code is 0.

    Parameters
    ----------
    codes : weights on the odd grid, K x N.
    group : rows per key.
    """
    return codes[group - 1 :: group].sum(axis=0)


def lookup_matmul(spec: LookupSpec, a: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Multiply activations by weights on the odd grid, by lookup.

    Beats are padded with activations 0 and codes 0, which add nothing.

    Parameters
    ----------
    spec : tables, planes, and their order.
    a : activations, M x K.
    codes : weights, K x N.

    Returns
    -------
    int64 sums, M x N; with negation by "constant", without :func:`constants`.
    """
    codes = spec.q_format.check("codes", codes)
    beats = -(-codes.shape[0] // spec.k)
    entries = tables(spec, np.pad(a, ((0, 0), (0, beats * spec.k - a.shape[1]))))
    folded = fold(np.pad(codes, ((0, beats * spec.k - codes.shape[0]), (0, 0))), spec.group)
    # The sum of lookups for each plane and beat: the accumulator's input in a cycle.
    cycles = []
    for plane in range(spec.planes):
        index, sign = keys(folded, spec.group, plane)
        looked_up = lookup(entries, index)
        looked_up = np.where(
            sign, ~looked_up if spec.negation == "constant" else -looked_up, looked_up
        )
        lanes = looked_up.reshape(a.shape[0], beats, spec.lookups, codes.shape[1]).sum(axis=2)
        cycles.append(spec.lane_format.check("lane sums", lanes))
    total = np.zeros((a.shape[0], codes.shape[1]), dtype=np.int64)
    if spec.order == "inner":
        for beat in range(beats):
            for plane in range(spec.planes):
                total += cycles[plane][:, beat] << plane
    else:
        for plane in reversed(range(spec.planes)):
            total = 2 * total
            for beat in range(beats):
                total += cycles[plane][:, beat]
    return total
