"""Runs programs of LPRE and LMMA on numpy arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.mx import MxFormat
from golden.formats.names import minifloat
from golden.lut.align import align, aligned_format
from golden.lut.float_table import FloatLookupSpec, float_lookup_matmul
from golden.lut.isa import Lmma, Lpre, decode
from golden.lut.lookup import LookupSpec, lookup_matmul
from golden.lut.table import TableSpec, tables
from golden.lut.table_scale import quantise_tables, scaled_matmul
from golden.lut.ternary import two_plane_matmul, two_planes

__all__ = ["ALIGNED_WIDTH", "Machine", "execute"]

ALIGNED_WIDTH = 13
"""Bits of an aligned activation."""

SCALED = 64
"""Activations whose tables have one scale; of groups of 3 and 5, as many tables as begin there."""

_INT32 = IntFormat(width=32)
_FP32 = minifloat("fp32")


@dataclass(kw_only=True, eq=False)
class _Tables:
    """The result of LPRE: the activations, and their tables in the requested form."""

    made_by: Lpre
    a: np.ndarray
    codes: np.ndarray | None = None
    scales: np.ndarray | None = None


@dataclass(kw_only=True, eq=False)
class Machine:
    """Registers by number; tables are the only ones that LPRE writes.

    Members
    -------
    a : activations, codes of their format, M x depth.
    b : weights, K x N: integers of s and u, codes q of the odd grid, -1, 0 and 1 of t.
    c : sums and results, M x N: integers, or codes of fp32 or fp16.
    """

    a: dict[int, np.ndarray] = field(default_factory=dict)
    b: dict[int, np.ndarray] = field(default_factory=dict)
    c: dict[int, np.ndarray] = field(default_factory=dict)
    t: dict[int, _Tables] = field(default_factory=dict)


def execute(words: list[int], machine: Machine) -> int:
    """Run descriptors one after the other.

    A register that an operation reads must hold an array of the operation's shape. If sums are fp32
    and weights have a zero point on the odd grid, the zero point times the sum of activations
    (exact for integers; for "float", the product with weights 1) is subtracted in fp32, and the
    difference halved; the sums of two trit planes are added in fp32, and halved. LMMA takes c in
    the sum format, int32 or fp32, and adds its sum: in int32 modulo 2^32, in fp32 after rounding
    the sum to fp32. Results of int8 saturate, those of fp16 and fp32 are rounded once, to nearest
    even; overflow becomes an infinity.

    Parameters
    ----------
    words : descriptors.
    machine : registers; modified.

    Returns
    -------
    Planes looked up, of all tables and columns: the cycles of a unit with one beat of all.
    """
    cycles = 0
    for number, word in enumerate(words):
        operation = decode(word)
        try:
            if isinstance(operation, Lpre):
                _lpre(operation, machine)
            else:
                _lmma(operation, machine)
                cycles += operation.cycles_per_beat
        except (KeyError, ValueError) as error:
            what = f"register {error} is empty" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"operation {number}: {what}") from None
    return cycles


def _format(a: str) -> ElementFormat:
    """Return the format of activations."""
    return IntFormat(width=int(a[3:])) if a.startswith("int") else minifloat(a)


def _read(
    registers: Mapping[int, np.ndarray], number: int, name: str, shape: tuple[int, int]
) -> np.ndarray:
    """Return a register's array, checking its shape."""
    if number not in registers:
        raise ValueError(f"{name}{number} must hold an array of shape {shape}, but is empty")
    array = registers[number]
    if array.shape != shape:
        raise ValueError(f"{name}{number} must be of shape {shape}, not {array.shape}")
    return array


def _lpre(op: Lpre, machine: Machine) -> None:
    """Make tables."""
    fmt = _format(op.a)
    a = fmt.check(f"a{op.rs}", _read(machine.a, op.rs, "a", (op.m, op.depth)))
    made = _Tables(made_by=op, a=a)
    if op.table == "aligned":
        blocks = align(minifloat(op.a), a, width=ALIGNED_WIDTH, block=op.depth)
        made.a, made.scales = blocks.codes, blocks.scales
    elif op.table in ("int8", "int8p"):
        spec = TableSpec(group=op.k, a_width=fmt.width)
        rule = "fp32" if op.table == "int8" else "pow2"
        made.codes, made.scales = quantise_tables(tables(spec, a), _share(op.k), rule=rule)
    machine.t[op.rd] = made


def _share(group: int) -> int:
    """Tables per scale."""
    return -(-SCALED // group)


def _lmma(op: Lmma, machine: Machine) -> None:
    """Multiply and add."""
    if op.ra not in machine.t:
        raise ValueError(f"t{op.ra} must hold tables, but is empty")
    made = machine.t[op.ra]
    pre = made.made_by
    if (pre.m, pre.k, pre.a, pre.table) != (op.m, op.k, op.a, op.table):
        raise ValueError(
            f"t{op.ra} must be of m{op.m}.k{op.k}.{op.a}.{op.table}, "
            f"not m{pre.m}.k{pre.k}.{pre.a}.{pre.table}"
        )
    weights = _read(machine.b, op.rb, "b", (pre.depth, op.n))
    acc = _read(machine.c, op.rc, "c", (op.m, op.n))
    if op.acc == "int32":
        total = _INT32.wrap(_INT32.check(f"c{op.rc}", acc) + _integers(op, made, weights))
        machine.c[op.rd] = _result(op, total.astype(np.float64), total)
        return
    before = _FP32.to_float(_FP32.check(f"c{op.rc}", acc)).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (before + _floats(op, made, weights)).astype(np.float64)
    machine.c[op.rd] = _result(op, sums, None)


def _integers(op: Lmma, made: _Tables, weights: np.ndarray) -> np.ndarray:
    """Multiply integer activations by lookup."""
    width = ALIGNED_WIDTH if op.table == "aligned" else _format(op.a).width
    if op.weights == "t":
        check = IntFormat(width=2).check(f"b{op.rb}", weights)
        return two_plane_matmul(TableSpec(group=op.k, a_width=width), made.a, check)
    codes, zero = _on_odd_grid(op, weights)
    spec = LookupSpec(group=op.k, a_width=width, planes=op.planes, lookups=1)
    sums = lookup_matmul(spec, made.a, codes)
    return sums if zero is None else sums - zero * made.a.sum(axis=1, keepdims=True) >> 1


def _on_odd_grid(op: Lmma, weights: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Return codes of the odd grid, and the zero point z' that integers have there."""
    fmt = IntFormat(width=op.planes, signed=op.weights == "s")
    codes = fmt.check(f"b{op.rb}", weights) - fmt.low
    if op.weights == "o":
        return codes, None
    return codes, 1 if op.weights == "s" else 1 - (1 << op.planes)


def _floats(op: Lmma, made: _Tables, weights: np.ndarray) -> np.ndarray:
    """Multiply by lookup in tables of floats, or of integers with scales, to float32."""
    if op.table == "aligned":
        fmt = aligned_format(ALIGNED_WIDTH, made.made_by.depth)
        exponent, nan = _exponents(fmt, made.scales)
        sums = _integers(op, made, weights).astype(np.float64)
        scaled = np.ldexp(sums, exponent - (ALIGNED_WIDTH - 2)).astype(np.float32)
        return np.where(nan, np.float32(np.nan), scaled)
    if op.weights == "t":
        high, low = (_grid(op, made, plane, 1) for plane in two_planes(weights))
        return (high + low) / np.float32(2)
    codes, zero = _on_odd_grid(op, weights)
    sums = _grid(op, made, codes, op.planes)
    if zero is None:
        return sums
    if op.table == "float":
        ones = _grid(op, made, np.ones((codes.shape[0], 1), dtype=np.int64), 1)
    else:
        ones = made.a.sum(axis=1, keepdims=True).astype(np.float32)
    return (sums - np.float32(zero) * ones) / np.float32(2)


def _grid(op: Lmma, made: _Tables, codes: np.ndarray, planes: int) -> np.ndarray:
    """Multiply by codes on the odd grid, to float32."""
    if op.table == "float":
        spec = FloatLookupSpec(group=op.k, planes=planes, a_format=op.a)
        return _FP32.to_float(float_lookup_matmul(spec, made.a, codes)).astype(np.float32)
    assert made.codes is not None
    assert made.scales is not None
    lookups = LookupSpec(group=op.k, planes=planes)
    return scaled_matmul(lookups, made.codes, made.scales, codes, _share(op.k))


def _exponents(fmt: MxFormat, scales: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return exponents of rows, and NaN flags."""
    assert scales is not None
    return scales - fmt.scale_bias, scales == fmt.scale_nan_code


def _result(op: Lmma, values: np.ndarray, integers: np.ndarray | None) -> np.ndarray:
    """Convert sums to the result format."""
    if op.result in ("fp32", "fp16"):
        return minifloat(op.result).encode(values, saturate=False)
    assert integers is not None
    return integers if op.result == "int32" else np.clip(integers, -128, 127)
