"""Products of codes in formats, by ml_dtypes and numpy, for the tests of the drivers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from carrysave.driver import Coprocessor, Mode, Product
from carrysave.driver_modes import modes
from golden.formats.names import parse
from golden.soc.spec import CoprocessorSpec
from verif.soc.driver.driver_checks import check_products

__all__ = ["Operand", "Pair", "check_any", "check_formats", "draw_pair", "place", "reference"]

Modes = Mapping[tuple[str, str], Mode]
TYPES: dict[str, Any] = {
    "int8": np.int8,
    "int4": ml_dtypes.int4,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e4m3": ml_dtypes.float8_e4m3fn,
}
"""Elements by their names; posits, which ml_dtypes has not, are the golden model's."""


class Operand(NamedTuple):
    """Codes, and scales and zero points of blocks along K, M or N first; None without."""

    codes: np.ndarray
    scales: np.ndarray | None
    zeros: np.ndarray | None = None


class Pair(NamedTuple):
    """Operands of a product, with the names of their formats."""

    names: tuple[str, str]
    mode: Mode
    a: Operand
    b: Operand

    @property
    def more(self) -> dict[str, Any]:
        """What :meth:`Coprocessor.matmul` takes besides codes."""
        (_, of_a, _), (_, of_b, zeros) = self.a, self.b
        if of_a is None or of_b is None:
            return {"mode": self.mode} | ({} if zeros is None else {"b_scales": zeros.T})
        of_b = of_b.T if zeros is None else self.mode.records(of_b.T, zeros.T)
        return {"mode": self.mode, "a_scales": of_a, "b_scales": of_b}


def decode(name: str, codes: np.ndarray) -> np.ndarray:
    """Return the values of codes, as doubles."""
    if name not in TYPES:
        return parse(name).to_float(codes)  # type: ignore[arg-type]
    return codes.astype(np.uint8).view(TYPES[name]).astype(np.float64)


def draw_pair(
    rng: np.random.Generator, known: Modes, names: tuple[str, str], m: int, n: int, k: int
) -> Pair:
    """Draw codes of numbers, and scales; sums of NVFP4's blocks are exact in doubles."""
    mode = known[names]
    operands: list[Operand] = []
    for name, number, rows in zip(names, (mode.a, mode.b), (m, n), strict=True):
        every = np.arange(number.low, number.high + 1)
        every = every[np.isfinite(decode(name, every))]
        scales, zeros = None, None
        if mode.scales and mode.block:
            low, high = (100, 140) if mode.scales.high == 255 else (40, 80)
            scales = rng.integers(low, high, (rows, mode.blocks(k)), dtype=np.uint8)
        if mode.zeros and operands:
            zeros = rng.integers(number.low, number.high + 1, (rows, mode.blocks(k)))
        operands.append(Operand(rng.choice(every, (rows, k)), scales, zeros))
    return Pair(names, mode, *operands)


def reference(pair: Pair) -> np.ndarray:
    """Multiply exactly; with scales, sums of blocks are rounded and added up in float32.

    Those of NVFP4 are rounded when all are added up.
    """
    mode = pair.mode
    left, right = (
        decode(name, x.codes) for name, x in zip(pair.names, (pair.a, pair.b), strict=True)
    )
    if pair.b.zeros is not None:
        right = right - np.repeat(pair.b.zeros, mode.block, axis=1)[:, : right.shape[1]]
    if pair.a.scales is None or pair.b.scales is None:
        return left @ right.T
    powers = mode.scales is None or mode.scales.high == 255
    kind = ml_dtypes.float8_e8m0fnu if powers else TYPES["e4m3"]
    scales = [x.view(kind).astype(np.float64) for x in (pair.a.scales, pair.b.scales)]
    total: Any = None
    for block, start in enumerate(range(0, left.shape[1], mode.block)):
        part = slice(start, start + mode.block)
        term = left[:, part] @ right[:, part].T * np.outer(*(x[:, block] for x in scales))
        if powers:
            term = term.astype(np.float32)
        total = term if total is None else total + term
    return total.astype(np.float32)


def place(device: Coprocessor, pair: Pair) -> Product:
    """Leave both operands on the device."""
    mode, more = pair.mode, pair.more
    for name in more:
        if name != "mode":
            number = mode.scales if name == "a_scales" else mode.b_sides
            assert number is not None
            more[name] = device.place(more[name], number)
    a, b = device.place(pair.a.codes, mode.a), device.place(mode.words(pair.b.codes.T), mode.b)
    return device.product(a, b, **more)


def check_any(
    device: Coprocessor,
    spec: CoprocessorSpec,
    rng: np.random.Generator,
    count: int,
    most: int = 1 << 24,
) -> None:
    """Multiply matrices of random sizes up to `most`, in all formats that the engine has."""
    known = modes(spec)
    if known:
        check_formats(device, known, rng, min(count, most), most)
    else:
        check_products(device, spec, rng, count, most)


def check_formats(
    device: Coprocessor, known: Modes, rng: np.random.Generator, count: int, most: int = 1 << 24
) -> None:
    """Multiply arrays of random sizes in all modes in turn, and then all by one list."""
    products, right = [], []
    every = list(known)
    for number in range(count):
        mode = known[every[number % len(every)]]
        m, n = (min(int(rng.integers(1, 9)), most) for _ in range(2))
        k = min(int(rng.integers(1, 4 * mode.block or 40)), most)
        pair = draw_pair(rng, known, every[number % len(every)], m, n, k)
        due = reference(pair)
        found = device.matmul(pair.a.codes, pair.b.codes.T, **pair.more)
        assert found.dtype == device.info.sums.dtype
        assert np.array_equal(found * 2.0**mode.exponent, due), (pair.names, m, n, k)
        assert "uncounted" in device.info.features or device.counters().macs == m * n * k
        products.append(place(device, pair))
        right.append(due)
    device.run(products)
    for product, due in zip(products, right, strict=True):
        assert np.array_equal(product.c.read() * 2.0**product.mode.exponent, due)
        for matrix in product.allocated:
            matrix.free()
