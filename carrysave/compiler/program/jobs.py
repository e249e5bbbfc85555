"""Jobs on matrices in memory, each computed by the golden model of a unit."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from carrysave.compiler.lowered import golden
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from golden.npe import elements, vector
from golden.npe import requantiser as unit
from golden.npe.requantiser import RequantiserSpec
from golden.npe.vector import VectorUnitSpec

__all__ = [
    "Add", "Gate", "Gather", "Job", "Multiply", "Norm", "Product", "Scale", "Scaling", "Softmax",
    "Transpose",
]  # fmt: skip

_SUMS = 48
"""Bits of what the vector unit requantises."""
_FACTOR = 15
"""Bits of its multiplier there."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """How results of the vector unit become codes.

    Members
    -------
    scale : codes per unit of the results.
    bits : of a code, two's complement.
    zero_point : code of 0.
    """

    scale: float
    bits: int
    zero_point: int = 0

    @property
    def spec(self) -> RequantiserSpec:
        """Widths."""
        return RequantiserSpec(n=1, width=_SUMS, multiplier_width=_FACTOR, out_width=self.bits)

    @property
    def to(self) -> unit.Requantisation:
        """The requantisation."""
        multiplier, shift = unit.dyadic(self.scale, _FACTOR)
        return unit.Requantisation(
            multiplier=multiplier, shift=shift, zero_point=np.array([self.zero_point])
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Job(ABC):
    """A job.

    Members
    -------
    layer : of the network, such as ``0.up``; several jobs may have one name.
    c : where results go.
    """

    KIND: ClassVar[str]

    layer: str
    c: View

    @abstractmethod
    def run(self, memory: Memory) -> None:
        """Compute, and write the results."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Product(Job):
    """C = A x B + bias: sums of 32 bits, or requantised to 8, or 16 if `wide`.

    Members
    -------
    a, b : M x K and K x N codes of 8 bits.
    bias : sums, 1 x N, or None.
    how : the requantisation, or None.
    wide : codes are of 16 bits.
    target : the co-processor.
    """

    KIND: ClassVar[str] = "product"

    a: View
    b: View
    target: Target
    bias: View | None = None
    how: Requantisation | None = None
    wide: bool = False

    def work(self, memory: Memory) -> Work:
        """Return the product as the driver takes it."""
        return Work(
            a=memory.read(self.a),
            b=memory.read(self.b),
            bias=None if self.bias is None else memory.read(self.bias)[0],
            requantisation=self.how,
            mode=self.target.mode,
            wide=self.wide,
        )

    def run(self, memory: Memory) -> None:
        """Multiply."""
        memory.write(self.c, golden.run(self.target.spec, [self.work(memory)])[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class Softmax(Job):
    """C = softmax of the rows of X, times 2^n; each row ends with its n.

    Members
    -------
    x : rows.
    spec : the unit.
    narrow : codes are rounded to 8 bits, or fewer, see :func:`golden.npe.vector.narrowed`.
    """

    KIND: ClassVar[str] = "softmax"

    x: View
    spec: VectorUnitSpec
    narrow: bool = False

    def run(self, memory: Memory) -> None:
        """Compute."""
        codes, exponents = vector.softmax(self.spec, memory.read(self.x))
        if self.narrow:
            codes, exponents = vector.narrowed(self.spec, codes, exponents)
        memory.write(self.c, np.concatenate([codes, exponents[:, None]], axis=1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Norm(Job):
    """C = rows of X divided by their deviation or root mean square, times 2^norm_fraction.

    Members
    -------
    x : rows.
    centred : layer norm, else RMS norm.
    spec : the unit.
    """

    KIND: ClassVar[str] = "norm"

    x: View
    centred: bool
    spec: VectorUnitSpec

    @property
    def operation(self) -> str:
        """The vector unit's name of it."""
        return "layer_norm" if self.centred else "rms_norm"

    def run(self, memory: Memory) -> None:
        """Compute."""
        memory.write(self.c, vector.norm(self.spec, memory.read(self.x), centred=self.centred))


@dataclass(frozen=True, kw_only=True, eq=False)
class Gate(Job):
    """C = X times a sigmoid of it.

    Members
    -------
    x : codes in units of 2^-scale_width.
    operation : of :data:`golden.npe.vector.GATES`.
    scaling : codes per unit of what X represents.
    spec : the unit.
    """

    KIND: ClassVar[str] = "gate"

    x: View
    operation: str
    scaling: Scaling
    spec: VectorUnitSpec

    def run(self, memory: Memory) -> None:
        """Compute."""
        memory.write(self.c, elements.gate(self.spec, self.operation, memory.read(self.x),
                                           self.out, self.to))  # fmt: skip

    @property
    def out(self) -> RequantiserSpec:
        """Widths: of a multiplier of as many bits as the unit takes."""
        return replace(self.scaling.spec, multiplier_width=self.spec.reciprocal_width)

    @property
    def to(self) -> unit.Requantisation:
        """The requantisation."""
        scale = self.scaling.scale * 2.0**-self.spec.scale_width
        multiplier, shift = unit.dyadic(scale, self.spec.reciprocal_width)
        return replace(self.scaling.to, multiplier=multiplier, shift=shift)


@dataclass(frozen=True, kw_only=True, eq=False)
class Add(Job):
    """C = A times a factor plus B times another, requantised.

    Members
    -------
    a, b : codes; B may be one row, for all.
    factors : of A and B.
    scaling : codes per unit of the sums.
    """

    KIND: ClassVar[str] = "add"

    a: View
    b: View
    factors: tuple[int, int]
    scaling: Scaling

    def run(self, memory: Memory) -> None:
        """Compute."""
        a = memory.read(self.a)
        b = np.broadcast_to(memory.read(self.b), a.shape)
        how = self.scaling
        memory.write(self.c, elements.add(a, b, self.factors, how.spec, how.to))


@dataclass(frozen=True, kw_only=True, eq=False)
class Multiply(Job):
    """C = A times B, element by element, requantised.

    Members
    -------
    a, b : codes; B may be one row, for all, or one value for each row.
    scaling : codes per unit of the products.
    """

    KIND: ClassVar[str] = "multiply"

    a: View
    b: View
    scaling: Scaling

    def run(self, memory: Memory) -> None:
        """Compute."""
        a = memory.read(self.a)
        b = np.broadcast_to(memory.read(self.b), a.shape)
        how = self.scaling
        memory.write(self.c, elements.multiply(a, b, how.spec, how.to))


@dataclass(frozen=True, kw_only=True, eq=False)
class Scale(Job):
    """C = X, each row times 2^-n, requantised.

    Members
    -------
    x : codes.
    exponents : n of each row, rows x 1.
    scaling : codes per unit.
    """

    KIND: ClassVar[str] = "scale"

    x: View
    exponents: View
    scaling: Scaling

    def run(self, memory: Memory) -> None:
        """Compute."""
        x, how = memory.read(self.x), self.scaling
        exponents = memory.read(self.exponents)[:, 0]
        codes = np.empty_like(x)
        for one in np.unique(exponents).tolist():
            own = exponents == one
            to = elements.shifted(how.to, one, how.spec)
            codes[own] = elements.scale(x[own], how.spec, to)
        memory.write(self.c, codes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Transpose(Job):
    """C = X with rows for columns.

    Members
    -------
    x : codes.
    """

    KIND: ClassVar[str] = "transpose"

    x: View

    def run(self, memory: Memory) -> None:
        """Move."""
        memory.write(self.c, memory.read(self.x).T)


@dataclass(frozen=True, kw_only=True, eq=False)
class Gather(Job):
    """C = the rows of a table whose numbers are given.

    Members
    -------
    x : table.
    rows : numbers, M x 1.
    """

    KIND: ClassVar[str] = "gather"

    x: View
    rows: View

    def run(self, memory: Memory) -> None:
        """Copy."""
        memory.write(self.c, memory.read(self.x)[memory.read(self.rows)[:, 0]])
