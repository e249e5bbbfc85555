"""Tables of floats, with every entry and every sum rounded."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import minifloat
from golden.lut.table import fold, half_table, keys, lookup
from golden.npe.float_sum import MinifloatName, add_to_odd, float_sums

__all__ = ["FloatLookupSpec", "float_lookup_matmul", "float_tables"]


@dataclass(frozen=True, kw_only=True)
class FloatLookupSpec:
    """Lookups in tables of floats, of weights on the odd grid.

    Entries have the activations' format. Each addition of :func:`golden.lut.table.half_table` is
    rounded to it, to nearest even: two successive roundings for groups of 3 and 4, one for 2, three
    for 5. A looked-up entry (sign flipped if the key says so, zeros included; plane added to its
    exponent, without limit) is added to the sum with one rounding, starting from +0, in the order
    of beats of `lookups` groups; within a beat, of planes, least significant first; within a plane,
    of groups. In order "outer": planes first, most significant first, then groups.
    """

    group: int = parameter(Integer("activations per table", 4, 2, 5, "activations"))
    planes: int = parameter(Integer("bits of a weight", 2, 1, 8, "planes"))
    lookups: int = parameter(Integer("groups per beat", 1, 1, 64, "groups"))
    order: str = parameter(Choice("order of planes and beats", "inner", ("inner", "outer")))
    a_format: str = parameter(MinifloatName("format of activations", "fp16", 11, ieee=True))
    sum_format: str = parameter(MinifloatName("format of sums", "fp32", 24, ieee=True))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(FloatLookupSpec), vars(self))

    @property
    def formats(self) -> tuple[MinifloatFormat, MinifloatFormat]:
        """Formats of activations and entries, and of sums."""
        return minifloat(self.a_format), minifloat(self.sum_format)


def float_tables(spec: FloatLookupSpec, a: np.ndarray) -> np.ndarray:
    """Return the codes of entries, M x groups x 2^(group - 1).

    Parameters
    ----------
    spec : group and formats.
    a : codes of activations, M x K; +0 is appended up to a multiple of the group.
    """
    fmt, _ = spec.formats
    a = fmt.check("a", a)
    padded = np.pad(a, ((0, 0), (0, -a.shape[1] % spec.group)))
    values = fmt.to_float(padded).reshape(a.shape[0], -1, spec.group)

    def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y = np.broadcast_arrays(x, y)
        return fmt.to_float(fmt.encode(add_to_odd(x, y), saturate=False))

    return fmt.encode(half_table(values, add), saturate=False)


def float_lookup_matmul(spec: FloatLookupSpec, a: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Multiply by lookup in tables of floats.

    Parameters
    ----------
    spec : formats and order.
    a : codes of activations, M x K.
    codes : weights 0 .. 2^planes - 1, K x N.

    Returns
    -------
    int64 codes of sums, M x N; NaN is the quiet NaN without sign.
    """
    fmt, sum_format = spec.formats
    k = spec.group * spec.lookups
    more = -a.shape[1] % k
    entries = float_tables(spec, np.pad(a, ((0, 0), (0, more))))
    folded = fold(np.pad(codes, ((0, more), (0, 0))), spec.group)
    columns = []
    for plane in range(spec.planes):
        index, sign = keys(folded, spec.group, plane)
        values = fmt.to_float(lookup(entries, index) ^ np.where(sign, fmt.sign_code, 0))
        columns.append(values * 2.0**plane)
    terms = np.stack(columns)  # planes x M x groups x N
    if spec.order == "outer":
        ordered = terms[::-1].transpose(1, 3, 0, 2)
    else:
        shape = (spec.planes, a.shape[0], -1, spec.lookups, codes.shape[1])
        ordered = terms.reshape(shape).transpose(1, 4, 2, 0, 3)
    flat = ordered.reshape(a.shape[0] * codes.shape[1], -1)
    last = np.zeros(flat.shape, dtype=bool)
    last[:, -1:] = True
    sums = float_sums(sum_format, flat.reshape(-1), last.reshape(-1))
    return sums.reshape(a.shape[0], codes.shape[1])
