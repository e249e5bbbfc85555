"""Builds a program of jobs and steps on floats: arrays in its memory, and steps in order."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from carrysave.compiler.program.array import BYTES, TYPES, Array
from carrysave.compiler.program.blocks import planned
from carrysave.compiler.program.cost import cycles_of
from carrysave.compiler.program.digits import digits, packed, weight_range
from carrysave.compiler.program.floats import OPERANDS, Floats, Format, Operation, SectionStep
from carrysave.compiler.program.groups import JobGroup, appended
from carrysave.compiler.program.image import COUNTERS, Image
from carrysave.compiler.program.steps import Start, Varies
from carrysave.compiler.program.words import JOBS
from carrysave.driver import Requantisation
from carrysave.driver.job import Job

__all__ = ["Builder", "Weights"]

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


@dataclass(frozen=True)
class Weights:
    """Weights in memory, as digits: see :mod:`.digits`.

    Members
    -------
    parts : of each digit, a row for a group; `column` are bytes of a row of B.
    places : of each.
    offset : of all together.
    """

    parts: tuple[Array, ...]
    places: tuple[int, ...]
    offset: int


@dataclass
class Builder:
    """Takes steps in order.

    Members
    -------
    image : of the program.
    steps : so far; see :meth:`run`.
    node, operator : those for which steps are now.
    """

    image: Image
    steps: list[SectionStep] = field(default_factory=list)
    node: str = ""
    operator: str = ""
    _groups: list[tuple[JobGroup, tuple[Varies, ...], JobGroup, int]] = field(default_factory=list)

    @contextmanager
    def naming(self, node: str, operator: str) -> Iterator[None]:
        """Name the steps within a ``with``."""
        before = self.node, self.operator
        self.node, self.operator = node, operator
        yield
        self.run()
        self.node, self.operator = before

    def array(self, format_: Format, columns: int, rows: int = 1) -> Array:
        """Return room for numbers, rows in whole beats."""
        each = BYTES[format_]
        row = self.image.stride(8 * each, columns)
        return Array(address=self.image.room(rows * row), format=format_, rows=rows,
                     columns=columns, row=row, column=each)  # fmt: skip

    def constant(self, values: Any, format_: Format) -> Array:
        """Place numbers, rows x columns or fewer axes."""
        values = np.atleast_2d(np.asarray(values, TYPES[format_]))
        each = values.itemsize
        row = self.image.stride(8 * each, values.shape[1])
        padded = np.zeros((len(values), row), np.uint8)
        padded[:, : each * values.shape[1]] = np.ascontiguousarray(values).view(np.uint8)
        return Array(address=self.image.put(padded.tobytes()), format=format_, rows=len(values),
                     columns=values.shape[1], row=row, column=each)  # fmt: skip

    def state(self, format_: Format, columns: int, rows: int = 1) -> Array:
        """Return room for numbers that are zeros before the first run."""
        state = self.array(format_, columns, rows)
        self.image.parts[state.address] = bytes(state.rows * state.row)
        return state

    def floats(
        self,
        operation: Operation,
        out: Array,
        *others: Array | None,
        shift: int = 0,
        width: int = 0,
        limits: tuple[int, int] = (_LEAST, _MOST),
    ) -> Array:
        """Add a step on floats, of the size of its first operand that is read, or of `out`."""
        self.run()
        named = dict(zip(OPERANDS[operation], (out, *others), strict=False))
        arrays = {name: one for name, one in named.items() if one is not None}
        of = [one for name, one in arrays.items() if name in ("a", "b")]
        size = out if operation not in _NARROWS else of[0]
        grows = next((one.grows for one in arrays.values() if one.grows), "")
        varies = [
            Varies(parameter=parameter, field=f"{name}.address", factor=bytes_)
            for name, one in arrays.items()
            for parameter, bytes_ in one.moves
        ]
        if grows:
            varies.append(Varies(parameter=grows, field="columns", factor=1))
        self.steps.append(Floats(
            node=self.node, operator=self.operator, operation=operation, rows=size.rows,
            columns=1 if grows else size.columns,
            operands={name: one.operand for name, one in arrays.items()}, shift=shift,
            width=width, low=limits[0], high=limits[1], varies=tuple(varies),
            numbers=size.rows * size.columns,
        ))  # fmt: skip
        return out

    def weights(self, groups: np.ndarray) -> "Weights":
        """Place weights, groups x K x N, as the engine takes them."""
        target, (count, _, columns) = self.image.target, groups.shape
        parts = digits(groups.reshape(-1, columns), *weight_range(target))
        placed = []
        for part in parts:
            rows = [packed(target.mode, one) for one in np.split(part.codes, count)]
            each = self.image.stride(8, rows[0].shape[1])
            whole = np.zeros((sum(map(len, rows)), each), np.uint8)
            whole[:, : rows[0].shape[1]] = np.concatenate(rows)
            placed.append(Array(
                address=self.image.put(whole.tobytes()), format=Format.I8, rows=count,
                columns=columns, row=len(rows[0]) * each, column=each,
            ))  # fmt: skip
        return Weights(
            tuple(placed),
            tuple(one.place for one in parts),
            sum(one.offset << one.place for one in parts),
        )

    def product(
        self, a: Array, b: Array, c: Array, *, ldb: int | None = None, macs: int | None = None
    ) -> None:
        """Add a job C = A x B, of integers; it runs with those before it that follow each other.

        Parameters
        ----------
        ldb : bytes of a row of B, if the engine has it packed, or None.
        macs : products that the model needs; None: all.
        """
        m, k, n = a.rows, a.columns, b.columns
        most = planned(Job(
            a=a.address, b=b.address, c=c.address, m=m, n=n, k=k, lda=a.row,
            ldb=ldb or b.row, ldc=c.row,
        ), self.image.target)  # fmt: skip
        job = replace(most, n=1 if b.grows else n, k=1 if a.grows else k)
        self._add(job, {"k": a.grows, "n": b.grows}, most, m * k * n if macs is None else macs)

    def multiply(self, a: Array, b: Array, c: Array) -> None:
        """Add the same as a step on floats."""
        self.floats(Operation.PRODUCT, c, replace(a, grows=""), b, width=a.columns)
        if a.grows:
            step = self.steps[-1]
            assert isinstance(step, Floats)
            more = Varies(parameter=a.grows, field="width", factor=1)
            self.steps[-1] = replace(step, width=1, varies=(*step.varies, more))

    def rows(self, operation: str, a: Array, c: Array, how: Requantisation | None = None) -> None:
        """Add a job of the vector unit on rows of integers of two bytes."""
        most = Job(
            a=a.address, b=0, c=c.address, m=a.rows, n=a.columns, k=0, lda=a.row, ldb=0, ldc=c.row,
            a_format=1, vector=operation, requantisation=how,
        )  # fmt: skip
        job = replace(most, n=1 if a.grows else a.columns)
        self._add(job, {"n": a.grows}, most, 0)

    def run(self) -> None:
        """Have the jobs so far run."""
        for first in range(0, len(self._groups), JOBS):
            some = self._groups[first : first + JOBS]
            self.steps.append(Start(
                node=self.node, operator=self.operator, groups=tuple(one[0] for one in some),
                cycles=sum(cycles_of(one[2], self.image.target) for one in some),
                macs=sum(one[3] for one in some),
                counters=self.image.room(COUNTERS),
                varies=tuple(
                    replace(way, job=number)
                    for number, one in enumerate(some) for way in one[1]
                ),
            ))  # fmt: skip
        self._groups.clear()

    def _add(self, job: Job, grows: dict[str, str], most: Job, macs: int) -> None:
        """Add a job; `most` is that of the greatest value of a parameter."""
        varies = tuple(
            Varies(parameter=parameter, field=name, factor=1)
            for name, parameter in grows.items()
            if parameter
        )
        group, greatest = JobGroup(job=job), JobGroup(job=most)
        if self._groups and self._groups[-1][1] == varies:
            last, _, before, sofar = self._groups[-1]
            some, others = appended([last], group), appended([before], greatest)
            if len(some) == len(others) == 1:
                self._groups[-1] = some[0], varies, others[0], sofar + macs
                return
        self._groups.append((group, varies, greatest, macs))


_NARROWS = (Operation.GREATEST, Operation.LEAST, Operation.SUM, Operation.GROUPS, Operation.ALIGN)
"""Operations that make fewer numbers than they take, or whose rows are those of what they take."""
