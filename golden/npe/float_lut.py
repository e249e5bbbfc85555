"""Lookups in tables of floats, with every entry and every sum rounded."""

from dataclasses import dataclass

import numpy as np

from golden.check import Integer, check_fields, parameter, parameters_of
from golden.formats.minifloat import MinifloatFormat
from golden.lut.float_table import FloatLookupSpec, float_tables
from golden.npe.float_sum import MinifloatName, float_sums

__all__ = ["FloatLutSpec", "float_lut"]


@dataclass(frozen=True, kw_only=True)
class FloatLutSpec:
    """A beat is a group of activations, and one plane of keys, one key per column."""

    columns: int = parameter(Integer("columns that share a table", 4, 1, 64, "columns"))
    group: int = parameter(Integer("activations per table", 4, 2, 5, "activations"))
    planes: int = parameter(Integer("bits of a weight", 2, 1, 8, "planes"))
    a_format: str = parameter(MinifloatName("format of activations", "fp16", 11, ieee=True))
    sum_format: str = parameter(MinifloatName("format of sums", "fp32", 24, ieee=True))

    def __post_init__(self) -> None:
        """Check all fields."""
        check_fields(parameters_of(FloatLutSpec), vars(self))

    @property
    def lookup(self) -> FloatLookupSpec:
        """The table spec: group, and the order of rounded additions."""
        return FloatLookupSpec(
            group=self.group,
            planes=self.planes,
            a_format=self.a_format,
            sum_format=self.sum_format,
        )

    @property
    def activation(self) -> MinifloatFormat:
        """Format of activations and entries."""
        return self.lookup.formats[0]

    @property
    def total(self) -> MinifloatFormat:
        """Format of sums."""
        return self.lookup.formats[1]


def float_lut(
    spec: FloatLutSpec, a: np.ndarray, keys: np.ndarray, planes: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """Accumulate the entries that keys select; a run of beats ends where `last` is set.

    Entries are those of :func:`golden.lut.float_table.float_tables`, rounded after each addition.
    The selected entry (sign flipped if the key's last bit is set, plane added to its exponent,
    without limit) is added to the sum of its column with one rounding, in the order of beats, from
    +0. The order of beats thus sets the order of planes and groups.

    Parameters
    ----------
    spec : formats, group and columns.
    a : codes of activations, beats x group.
    keys : beats x columns, see :func:`golden.lut.table.fold`.
    planes : one per beat, 0 .. planes - 1.
    last : booleans, one per beat; beats after the last one set belong to no complete sum.

    Returns
    -------
    int64 codes of the sums, runs x columns; NaN is the positive quiet NaN.
    """
    fmt = spec.activation
    entries = float_tables(spec.lookup, a)[:, 0]
    index, sign = keys & (1 << spec.group - 1) - 1, keys >> spec.group - 1
    codes = np.take_along_axis(entries, index, axis=1) ^ np.where(sign, fmt.sign_code, 0)
    terms = np.ldexp(fmt.to_float(codes), planes[:, None])
    return np.stack([float_sums(spec.total, column, last) for column in terms.T], axis=1)
