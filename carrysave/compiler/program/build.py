"""Builds a program of jobs and steps on floats: arrays in its memory, and steps in order."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from carrysave.compiler.program import group_jobs, jobs
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.digits import by_byte, digits, packed, weight_range
from carrysave.compiler.program.floats import OPERANDS, Floats, Format, Operation, SectionStep
from carrysave.compiler.program.groups import JobGroup, appended
from carrysave.compiler.program.image import COUNTERS, Image
from carrysave.compiler.program.packed import weights
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.program.steps import Start, Varies
from carrysave.compiler.program.words import JOBS
from carrysave.compiler.timing.products import job_of_shape
from carrysave.driver import Requantisation
from carrysave.driver.job import Job

__all__ = ["Builder", "Weights"]

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


@dataclass(frozen=True)
class Weights:
    """Weights in memory, as digits: see :mod:`.digits`.

    Members
    -------
    parts : of each digit the matrices B of all groups, one behind the other; or one of all digits.
    places : of each digit.
    offset : of all together.
    beside : digits of a weight that lie side by side, as columns.
    values : weights by the byte in which all their digits are; None: they are not in one.
    """

    parts: tuple[Buffer, ...]
    places: tuple[int, ...]
    offset: int
    beside: int = 1
    values: np.ndarray | None = None


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
    _taken: list[int] | None = None
    _groups: list[tuple[JobGroup, tuple[Varies, ...], JobGroup, int]] = field(default_factory=list)

    @contextmanager
    def naming(self, node: str, operator: str) -> Iterator[None]:
        """Name the steps within a ``with``."""
        before = self.node, self.operator
        self.node, self.operator = node, operator
        yield
        self.run()
        self.node, self.operator = before

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Give arrays that are made within a ``with`` the rooms of others that were, before it."""
        before, self._taken = self._taken, []
        yield
        for address in self._taken:
            self.image.pool.give(address)
        self._taken = before

    def array(self, format_: Format, columns: int, rows: int = 1) -> Buffer:
        """Return room for numbers, rows in whole beats; see :meth:`passing`."""
        made = self._room(format_, columns, rows, lasting=self._taken is None)
        if self._taken is not None:
            self._taken.append(made.address)
        return made

    def _room(self, format_: Format, columns: int, rows: int, *, lasting: bool = True) -> Buffer:
        bits = 8 * format_.type.itemsize
        stride = self.image.stride(bits, columns)
        room = self.image.room if lasting else self.image.pool.take
        return Buffer(
            name=self.node, address=room(rows * stride), rows=rows, columns=columns, bits=bits,
            stride=stride, format=format_,
        )  # fmt: skip

    def state(self, format_: Format, columns: int, rows: int = 1) -> Buffer:
        """Return room for numbers that are zeros before the first run."""
        state = self._room(format_, columns, rows)
        self.image.parts[state.address] = bytes(state.rows * state.stride)
        return state

    def constant(self, values: Any, format_: Format) -> Buffer:
        """Place numbers, rows x columns or fewer axes."""
        values = np.atleast_2d(np.asarray(values, format_.type))
        made = self._room(format_, values.shape[1], len(values))
        padded = np.zeros((len(values), made.stride), np.uint8)
        padded[:, : made.row_bytes] = np.ascontiguousarray(values).view(np.uint8)
        self.image.parts[made.address] = padded.tobytes()
        return made

    def floats(
        self,
        operation: Operation,
        out: Buffer,
        *others: Buffer | None,
        shift: int = 0,
        width: int = 0,
        limits: tuple[int, int] = (_LEAST, _MOST),
    ) -> Buffer:
        """Add a step on floats, of the size of its first operand that is read, or of `out`."""
        self.run()
        named = dict(zip(OPERANDS[operation], (out, *others), strict=False))
        arrays = {name: one for name, one in named.items() if one is not None}
        of = [one for name, one in arrays.items() if name in ("a", "b")]
        size = out if operation not in _NARROWS else of[0]
        grows, by = next(((one.grows, one.by) for one in arrays.values() if one.grows), ("", 1))
        varies = [
            Varies(parameter=parameter, field=f"{name}.address", factor=bytes_)
            for name, one in arrays.items()
            for parameter, bytes_ in one.moves
        ]
        if grows:
            varies.append(Varies(parameter=grows, field="columns", factor=by))
        self.steps.append(Floats(
            node=self.node, operator=self.operator, operation=operation, rows=size.rows,
            columns=by if grows else size.columns,
            operands={name: one.operand for name, one in arrays.items()}, shift=shift,
            width=width, low=limits[0], high=limits[1], varies=tuple(varies),
            numbers=size.rows * size.columns,
        ))  # fmt: skip
        return out

    def gathered(self, x: Buffer, places: np.ndarray) -> Buffer:
        """Add a move of a row's numbers into another order, by the place of each in `x`."""
        self.run()
        sources = x.places[0][places, None] + np.arange(x.bits // 8)
        reason = "numbers of a row in another order"
        to = self.image.move(self.node, self.operator, sources.reshape(-1, 1), reason=reason)
        if self._taken is not None:
            self._taken.append(to)
        self.steps.append(self.image.steps.pop())
        stride = self.image.stride(x.bits, len(places))
        return replace(x, address=to, columns=len(places), stride=stride, column=0, moves=())

    def weights(self, groups: np.ndarray, *, beside: bool = False, packs: bool = True) -> Weights:
        """Place weights, groups x K x N, as the engine takes them.

        Parameters
        ----------
        beside : digits that fill a byte are its columns, so that it can be read as one weight.
        packs : zeros may be left out, of each group by itself; then no byte is read as a weight.
        """
        target, (count, deep, columns) = self.image.target, groups.shape
        flat = groups.reshape(-1, columns)
        parts = digits(flat, *weight_range(target))
        every, side = [one.codes for one in parts], 1
        wide = len(every) * columns < 1 << target.spec.dimension_width
        if beside and wide and len(every) * target.mode.b_stored.bits == 8:
            every, side = [np.stack(every, axis=-1).reshape(len(flat), -1)], len(every)
        placed, values = [], None
        for codes in every:
            each = [packed(target.mode, one) for one in np.split(codes, count)]
            job = job_of_shape(target, (1, deep, codes.shape[1]))
            placed.append(weights(self.image, self.node, job, each, packs=packs))
            if len(every) == 1 and placed[0].packing is None:
                values = by_byte(np.concatenate(each), flat)
        places = tuple(one.shift for one in parts)
        offset = sum(one.offset << one.shift for one in parts)
        return Weights(tuple(placed), places, offset, side, values)

    def product(
        self, a: Buffer, b: Buffer, c: Buffer, *, macs: int | None = None, at: group_jobs.At = None
    ) -> None:
        """Add a job C = A x B, of integers; it runs with those before it that follow each other.

        Parameters
        ----------
        macs, at : products that the model needs; of :func:`.group_jobs.any_product`. None: all.
        """
        most = group_jobs.any_product(self.image.target, a, b, c, at)
        job = replace(most, n=b.by if b.grows else most.n, k=a.by if a.grows else most.k)
        ways = {"k": (a.grows, a.by), "n": (b.grows, b.by), "b": next(iter(b.moves), ("", 0))}
        self._add(job, ways, most, most.m * most.k * most.n if macs is None else macs)

    def multiply(self, a: Buffer, b: Buffer, c: Buffer) -> None:
        """Add the same as a step on floats."""
        self.floats(Operation.PRODUCT, c, replace(a, grows=""), b, width=a.columns)
        if a.grows:
            step = self.steps[-1]
            assert isinstance(step, Floats)
            more = Varies(parameter=a.grows, field="width", factor=1)
            self.steps[-1] = replace(step, width=1, varies=(*step.varies, more))

    def rows(self, operation: str, *of: Buffer, how: Requantisation | None = None) -> None:
        """Add a job on rows of A, to C, and of B if any, of integers; or that lists places."""
        a, c, *b = of
        most = jobs.rows(self.image.target, operation, a, c, b=b[0] if b else None, how=how)
        job = replace(most, n=a.by if a.grows else most.n)
        self._add(job, {"n": (a.grows, a.by)}, most, 0)

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

    def _add(self, job: Job, ways: dict[str, tuple[str, int]], most: Job, macs: int) -> None:
        """Add a job; `most` is that of the greatest value of a parameter."""
        varies = tuple(
            Varies(parameter=parameter, field=name, factor=factor)
            for name, (parameter, factor) in ways.items()
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
