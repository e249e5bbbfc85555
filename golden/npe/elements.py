"""Arithmetic on integers, element by element, requantised: gates, sums, products, scaling."""

from dataclasses import replace
from math import frexp

import numpy as np

from golden.check import Choice
from golden.npe.activation import exp_parts
from golden.npe.requantiser import Requantisation, RequantiserSpec, requantiser
from golden.npe.vector import GATES, VectorUnitSpec

__all__ = ["add", "blend", "factored", "gate", "multiply", "scale", "shifted", "sigmoid"]

_GATE = Choice("operation", "silu", tuple(GATES))


def gate(
    spec: VectorUnitSpec, operation: str, x: np.ndarray, out: RequantiserSpec, to: Requantisation
) -> np.ndarray:
    """Multiply values by a sigmoid of them, and requantise; or the sigmoid alone, by one.

    With e the exponential of minus the magnitude of the argument, rounded down to gate_width bits
    after the binary point, the sigmoid of values above zero is 1 / (1 + e). The multiplier is
    divided by 1 + e, rounding down; the quotient is the factor of values above zero, the multiplier
    less the quotient that of others. So a multiplier of many bits makes an exact
    sigmoid.

    Parameters
    ----------
    spec : widths.
    operation : of :data:`GATES`.
    x : of `spec.in_format`, in units of 2^-scale_width.
    out : of one column, with a multiplier of at most reciprocal_width bits.
    to : the requantisation of x times the sigmoid, in units of 2^-scale_width; of the sigmoid
        alone, of that.

    Returns
    -------
    int64 codes of `out`, of the shape of `x`.
    """
    _GATE.check("operation", operation)
    if out.multiplier_width > spec.reciprocal_width:
        raise ValueError(
            f"out must have a multiplier of 2..{spec.reciprocal_width} bits, "
            f"not {out.multiplier_width}"
        )
    to.check(out)
    x = spec.in_format.check("x", x)
    values = np.ones_like(x) if operation == "sigmoid" else x
    product = values * sigmoid(spec, operation, x, int(np.asarray(to.multiplier)[0]))
    scaled = replace(out, width=spec.width + spec.reciprocal_width, multiplier_width=2)
    by_one = replace(to, multiplier=np.array([1]))
    return requantiser(scaled, product.reshape(-1, 1), by_one).reshape(x.shape)


def sigmoid(spec: VectorUnitSpec, operation: str, x: np.ndarray, multiplier: int) -> np.ndarray:
    """Compute the factor of :func:`gate`: a multiplier times the sigmoid of values.

    Parameters
    ----------
    spec, operation, x : as of :func:`gate`.
    multiplier : 0 or more, of at most reciprocal_width bits.

    Returns
    -------
    int64, 0..multiplier, of the shape of `x`.
    """
    _GATE.check("operation", operation)
    x, one = spec.in_format.check("x", x), 1 << spec.gate_width
    argument = x * np.where(x < 0, 1, -1) * GATES[operation]
    # Its magnitude is rounded down.
    mantissa, whole = exp_parts(1 << spec.scale_width, -(-argument >> 6))
    exponential = mantissa << spec.gate_width - spec.scale_width - 1 >> np.minimum(whole, 62)
    quotient = (multiplier << spec.gate_width) // (one + exponential)
    return np.where(x > 0, quotient, multiplier - quotient)


def add(
    a: np.ndarray, b: np.ndarray, factors: tuple[int, int], out: RequantiserSpec, to: Requantisation
) -> np.ndarray:
    """Add a times the one factor to b times the other, and requantise, element by element.

    Parameters
    ----------
    a, b : integers, of one shape; rows along the last axis.
    factors : integers. The sums are of `out.sum_format`.
    out, to : how the sums become codes; with one column, or one for each value of a row.

    Returns
    -------
    int64 codes of `out`, of the shape of `a`.
    """
    first, second = _pair(a, b)
    return _requantised(first * factors[0] + second * factors[1], out, to)


def factored(scales: tuple[float, float], width: int) -> tuple[tuple[int, int], float]:
    """Approximate scales by whole numbers times a scale: the greater is a power of two.

    So sums of scales whose ratio is a power of two are exact, and halves are halves. If one of the
    scales is a whole number times a power of two, that is what both are multiplied by: what is
    exact stays so.

    Parameters
    ----------
    scales : of the codes to be added; below 0 to be subtracted.
    width : bits of a factor, two's complement.

    Returns
    -------
    Factors of :func:`add`, and what a sum of codes times them is to be multiplied by.
    """
    unit = max(abs(scale) for scale in scales) / (1 << width - 2)
    if not unit > 0:
        raise ValueError(f"scales must be some above 0, not {scales!r}")
    mantissa, exponent = frexp(unit)
    whole = 2.0 ** (exponent - (mantissa == 0.5))
    if any(scale and (scale / whole).is_integer() for scale in scales):
        unit = whole
    first, second = (round(scale / unit) for scale in scales)
    return (first, second), unit


def multiply(a: np.ndarray, b: np.ndarray, out: RequantiserSpec, to: Requantisation) -> np.ndarray:
    """Multiply element by element, and requantise.

    Parameters
    ----------
    a, b : integers, of one shape; rows along the last axis. The products are of `out.sum_format`.
    out, to : how the products become codes; with one column, or one for each value of a row.

    Returns
    -------
    int64 codes of `out`, of the shape of `a`.
    """
    first, second = _pair(a, b)
    return _requantised(first * second, out, to)


def scale(x: np.ndarray, out: RequantiserSpec, to: Requantisation) -> np.ndarray:
    """Requantise, element by element; see :func:`shifted` for rows of several scales.

    Parameters
    ----------
    x : integers of `out.sum_format`; rows along the last axis.
    out, to : how they become codes; with one column, or one for each value of a row.

    Returns
    -------
    int64 codes of `out`, of the shape of `x`.
    """
    return _requantised(np.asarray(x, dtype=np.int64), out, to)


def shifted(to: Requantisation, exponent: int, out: RequantiserSpec) -> Requantisation:
    """Return the requantisation of a row that represents its values times 2^-exponent.

    A shift that its format does not have is the greatest: no multiple of a code is left of a value
    of up to 32 bits.

    Parameters
    ----------
    to : of rows of exponent 0.
    exponent : 0..63.
    out : its widths.
    """
    return replace(to, shift=np.minimum(to.shift + exponent, out.shift_format.high))


def _pair(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = (np.asarray(values, dtype=np.int64) for values in (a, b))
    if first.shape != second.shape:
        raise ValueError(f"b must be of the shape {first.shape}, not {second.shape}")
    return first, second


def _requantised(sums: np.ndarray, out: RequantiserSpec, to: Requantisation) -> np.ndarray:
    return requantiser(out, sums.reshape(-1, out.n), to).reshape(sums.shape)


def blend(
    a: np.ndarray, b: np.ndarray, factors: np.ndarray, places: int, limits: tuple[int, int]
) -> np.ndarray:
    """Weigh values of two rows: a f + b (1 - f), in one rounding, to the nearest, halves up.

    Parameters
    ----------
    a, b : integers of one scale, of at most 16 bits.
    factors : f, in units of 2^-places, of at most 16 bits. From 0 to 1, a result lies between a
        and b; of others, too, it is exact before it is limited.
    places : 0..15.
    limits : least and greatest result.

    Returns
    -------
    int64, of the scale of `a` and `b`.
    """
    a, b, factors = (np.asarray(each, np.int64) for each in (a, b, factors))
    total = factors * (a - b) + (b << places) + (1 << places >> 1)
    return np.clip(total >> places, *limits)
