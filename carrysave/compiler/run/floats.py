"""Does the steps of a program on floats; see :mod:`carrysave.compiler.program.floats`."""

from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.program.floats import OPERANDS, Floats, Format, Operand, Operation
from golden.npe.activation import exp_parts
from golden.single import SINGLES, encode

__all__ = ["calculate"]

_SIGNS = {Format.POWER: 1, Format.FRACTION: -1}
_LEAST = -60
"""Exponent of a row that is aligned, at least."""


def calculate(memory: np.ndarray, step: Floats) -> None:
    """Do a step.

    Parameters
    ----------
    memory : uint8; the result is written into it.
    """
    names = OPERANDS[step.operation]
    apart = np.array([steps for _, steps in step.loops], np.int64).reshape(-1, len(names))
    for index in np.ndindex(*(size for size, _ in step.loops)):
        more = dict(zip(names, (np.array(index, np.int64) @ apart).tolist(), strict=True))
        _once(step, _Operands(memory, {
            name: replace(one, address=one.address + more[name])
            for name, one in step.operands.items()
        }))  # fmt: skip


def _once(to: Floats, step: "_Operands") -> None:
    """Do a step without the loops around it."""
    operation, shift, width, low, high = to.operation, to.shift, to.width, to.low, to.high
    rows, columns = size = to.rows, to.columns
    with np.errstate(all="ignore"):
        match operation:
            case Operation.GROUPS:
                made = step.groups(size)
            case Operation.ALIGN:
                made, powers = _aligned(step.load("a", size), width)
                step.store("powers", powers)
            case Operation.PRODUCT:
                made = step.load("a", (rows, width)) @ step.load("b", (width, columns))
            case Operation.BITS:
                made = step.view("a", size).astype(np.int64) >> shift & (1 << width) - 1
            case Operation.SIGMOID:
                made = _sigmoid(step.view("a", size), shift, width, high)
            case Operation.DECODE:
                made = (step.load("a", size) + shift) * step.load("b", size)
            case Operation.ENCODE:
                made = encode(step.load("a", size), step.load("b", size), shift, low, high)
            case Operation.LOOK_UP:
                made = step.looked_up(size)
            case _:
                made = np.ldexp(step.made(operation, size), shift)
                if operation == Operation.HALF_UP:
                    made = np.floor(made + 0.5)
        step.store("out", made, low, high)


@dataclass(frozen=True)
class _Operands:
    """The operands of a step, by name."""

    memory: np.ndarray
    places: dict[str, Operand]

    def view(self, name: str, size: tuple[int, ...]) -> np.ndarray:
        """Return the numbers of an operand, in place."""
        at = self.places[name]
        return np.ndarray(size, at.format.type, self.memory, at.address, (at.row, at.column))

    def load(self, name: str, size: tuple[int, ...]) -> np.ndarray:
        """Return the numbers of an operand as doubles."""
        numbers, sign = self.view(name, size), _SIGNS.get(self.places[name].format)
        if sign is None:
            return numbers.astype(np.float64)
        return np.ldexp(1.0, sign * numbers.astype(np.int64))

    def store(
        self, name: str, made: np.ndarray, low: int = -(1 << 31), high: int = (1 << 31) - 1
    ) -> None:
        """Round numbers, and write them to an operand."""
        to = self.view(name, made.shape)
        if to.dtype.kind == "i":
            limits = np.iinfo(to.dtype)
            least, most = max(low, limits.min), min(high, limits.max)
            made = np.rint(np.where(made > least, np.where(made < most, made, most), least))
        to[:] = made.astype(to.dtype)

    def made(self, operation: int, size: tuple[int, int]) -> np.ndarray:
        """Compute what is one number for each, or for each row."""
        a = self.load("a", size)
        b = self.load("b", size) if "b" in self.places else a
        match operation:
            case Operation.ROOT:
                return np.sqrt(np.where(a > 0, a, 0))
            case Operation.ADD:
                return a + b
            case Operation.SUBTRACT:
                return a - b
            case Operation.MULTIPLY:
                return a * b
            case Operation.DIVIDE:
                return np.asarray(a / np.where(b > 0, b, 1))
            case Operation.QUOTIENT:
                return np.asarray(a / b)
            case Operation.MAXIMUM:
                return np.where(a > b, a, b)
            case Operation.MINIMUM:
                return np.where(a < b, a, b)
            case Operation.EXP | Operation.LOGISTIC | Operation.TANH | Operation.ERF:
                single = SINGLES[Operation(operation).name.lower()](a.astype(np.float32))
                return single.astype(np.float64)
            case Operation.GREATEST:
                return np.asarray(a.max(axis=1, keepdims=True) + 0.0)  # no 0 has a sign
            case Operation.LEAST:
                return np.asarray(a.min(axis=1, keepdims=True) + 0.0)
            case Operation.SUM:
                return np.asarray(np.add.accumulate(a, axis=1)[:, -1:] + 0.0)
        return a

    def looked_up(self, size: tuple[int, int]) -> np.ndarray:
        """Return numbers of the tables at b, by the codes of a."""
        at = self.places["b"]
        ways = at.row, at.column, at.format.type.itemsize
        tables = np.ndarray((*size, 256), at.format.type, self.memory, at.address, ways)
        codes = self.view("a", size).astype(np.intp) + 128
        return np.take_along_axis(tables, codes[..., None], axis=2)[..., 0]

    def groups(self, size: tuple[int, int]) -> np.ndarray:
        """Add up rows, scaled, in float32."""
        rows, columns = size
        powers = self.load("powers", (rows, 1)).astype(np.float32)
        terms = self.view("a", size).astype(np.float32) * powers
        terms *= self.load("b", size).astype(np.float32)
        total = np.zeros(columns, np.float32)
        more = None
        offsets = self.places.get("offsets")
        if offsets is not None and offsets.format:
            ones = self.load("ones", (rows, 1)).astype(np.float32) * powers
            more = ones * self.load("offsets", size).astype(np.float32)
        for row in range(rows):
            total += terms[row]
            if more is not None:
                total += more[row]
        return total[None]


def _aligned(x: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return integers, and exponents of rows, rows x 1."""
    most = (1 << width - 1) - 1
    exponents = np.frexp(np.abs(x).max(axis=1, keepdims=True))[1].astype(np.int64)
    powers = np.minimum(exponents - 1, 127) - (width - 2)
    small = (powers < _LEAST) | ~x.any(axis=1, keepdims=True)
    codes = np.clip(np.rint(np.ldexp(x, -powers)), -most, most) + 0.0  # no 0 has a sign
    return np.where(small, 0.0, codes), np.where(small, 0, powers)


def _sigmoid(x: np.ndarray, scale_width: int, gate_width: int, multiplier: int) -> np.ndarray:
    """Multiply by the sigmoid; the same as golden's of SiLU."""
    x = x.astype(np.int64)
    mantissa, whole = exp_parts(1 << scale_width, -np.abs(x))
    exponential = mantissa << gate_width - scale_width - 1 >> np.minimum(whole, 62)
    quotient = (multiplier << gate_width) // ((1 << gate_width) + exponential)
    return np.where(x < 0, multiplier - quotient, quotient)
