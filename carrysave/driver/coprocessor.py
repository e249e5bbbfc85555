"""The driver of a co-processor behind its registers."""

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from typing import Any, Unpack

import numpy as np

from .allocator import Room
from .blocking import Blocks
from .device_info import Counters
from .errors import LinkError
from .group_scales import blocks_for, check_sides, codes_of, side_numbers
from .job import Requantisation
from .matrix import Matrix, OnChip, Product
from .mode import Mode
from .number import FP32, Number
from .operands import Operands, check_array
from .packed import PackedMatrix, PackingControl
from .product import (
    FACTOR,
    ProductOptions,
    check_beside,
    check_factors,
    check_names,
    product_job,
    results_of,
    sizes_of,
)
from .vector import VectorWork

__all__ = ["Coprocessor"]


class Coprocessor(PackingControl):
    """Multiplies matrices of codes on a matmul co-processor: C = requantise(A x B + bias).

    Parameters and members are those of :class:`~.control.Control`.
    """

    def run(
        self, products: Sequence[Product | VectorWork], *, timeout: float | None = None
    ) -> Counters:
        """Run products and vector jobs in order; each may read the results of earlier ones.

        They run on one start, or one by one if the build has no ring; counters cover all.

        Raises
        ------
        ValueError, JobError, JobTimeout, CoprocessorError
            As :meth:`Control.run_jobs`.
        """
        for product in products:
            for name, matrix in product.matrices.items():
                if matrix.lost:
                    raise LinkError(f"{name} was lost by the device: write it again")
        try:
            return self.run_jobs([product.job for product in products], timeout=timeout)
        except BaseException:
            if self.lost:
                self._held.append(products)  # the device may still write to their memory
            raise

    def empty(self, shape: tuple[int, int], number: Number, *, on_chip: bool = False) -> Matrix:
        """Allocate a matrix on the device, such as ``empty((m, n), device.info.codes)``.

        Parameters
        ----------
        shape, number : of the matrix.
        on_chip : in the scratch, where no job takes the bus for it: only jobs read and write it.

        Raises
        ------
        ValueError
            A size that no job can have; or there is no scratch.
        MemoryError
            The scratch has no such room.
        """
        for size in shape:
            self._check_size(size, f"shape {shape}")
        if not on_chip:
            return self._matrix(shape, number)
        self.info.require("scratch")
        beat = self.info.stores.data_width // 8
        if self._chip is None:
            self._chip = Room(self.info.scratch, beat)
        return OnChip(self._chip, self.info.memory_end, shape, number, beat)

    def place(self, values: Any, number: Number, name: str = "values") -> Matrix:
        """Copy an array to a matrix on the device, for example of ``device.info.a``."""
        array = number.check(name, values)
        if array.ndim != 2:
            raise ValueError(f"{name} must be rows x columns, not of shape {array.shape}")
        matrix = self.empty(array.shape, number)
        with matrix.freed_on_error():
            matrix.write(array, name)
        return matrix

    def product(
        self,
        a: Matrix,
        b: Matrix,
        bias: Matrix | None = None,
        *,
        out: Matrix | None = None,
        a_scales: Matrix | None = None,
        b_scales: Matrix | None = None,
        blocks: Blocks | None = None,
        **options: Unpack[ProductOptions],
    ) -> Product:
        """Make a product of matrices that are on the device.

        Parameters
        ----------
        a, b : M x K numbers of ``info.a``, and K x N of ``info.b``; with `mode`, of its numbers,
            and B as :meth:`Mode.words` arranges it, as it also must be with an expander; of one
            that has a job's table, `mode` has it. B may be what :meth:`pack` returns.
        bias : 1 x N sums, added to each row.
        out : M x N, of ``info.sums`` or ``info.codes``; allocated if None.
        a_scales, b_scales : M x blocks and blocks x N ``mode.scales``, one per ``mode.block``
            codes along K for each row of A and column of B; C is float32 then; or of `group`.
        blocks : block sizes; None: the planner's choice, or the hardware's if it has
            ``fixed_blocks``.
        options : by name, those of :class:`~.product.ProductOptions`.

        Raises
        ------
        TypeError, ValueError
            The hardware would reject it, or not compute it.
        """
        check_names(options)
        mode, wide = self._mode(options.get("mode")), options.get("wide", False)
        accumulate = options.get("accumulate", False)
        m, n, _ = sizes = sizes_of(a, b, mode)
        asked = options.get("requantisation")
        number, requantisation = results_of(self.info, n, asked, wide=wide)
        if accumulate:
            self.info.require("accumulate")
            if requantisation is not None or out is None:
                raise ValueError("accumulate must be with sums in out, and without requantisation")
        group = check_sides(self.info, (a_scales, b_scales), sizes, mode, {**options, "bias": bias})
        number = FP32 if group else number
        check_beside(self.info, (m, n), bias, out, number)
        factors = options.get("row_factors")
        check_factors(self.info, m, factors, accumulates=accumulate)
        if isinstance(b, PackedMatrix):
            blocks = b.blocks_with(blocks)
        blocks = blocks_for(self.info, group, blocks, sizes, mode, number)
        c = self.empty((m, n), number) if out is None else out
        with c.freed_on_error() if out is None else nullcontext():
            tables = self._tables(mode, requantisation, n)
        operands = {"a": a, "b": b, "bias": bias, "a_scales": a_scales, "b_scales": b_scales}
        operands["row_factors"] = factors
        matrices = {name: one for name, one in operands.items() if one is not None} | {"c": c}
        matrices |= tables
        how = requantisation, accumulate, 2 if wide else 0
        return Product(product_job(matrices, sizes, mode, blocks, how), matrices, mode)

    def _tables(
        self, mode: Mode, requantisation: Requantisation | None, columns: int
    ) -> dict[str, Matrix]:
        """Place the table of B, and the records of columns, where a job has them."""
        placed: dict[str, Matrix] = {}
        if mode.expander.table_bytes:
            placed["b_scales"] = self._bytes(mode.table_bytes)
        if requantisation is not None and requantisation.recorded:
            placed["records"] = self._bytes(requantisation.placed(columns).reshape(1, -1))
        return placed

    def matmul(
        self,
        a: Any,
        b: Any,
        bias: Any = None,
        *,
        out: Any = None,
        a_scales: Any = None,
        b_scales: Any = None,
        timeout: float | None = None,
        **options: Unpack[ProductOptions],
    ) -> Any:
        """Multiply, once.

        Parameters
        ----------
        a, b, bias, out, a_scales, b_scales : arrays, or matrices on the device; see
            :meth:`product`. An array `out` receives C, and holds the existing sums to accumulate
            into. An array `b` is K x N, with any mode; a job's table is made of its numbers.
        timeout : seconds; the device's by default.
        options : by name, see :meth:`product`.

        Returns
        -------
        `out` if given; else an array of sums, codes or, with scales, float32.

        Raises
        ------
        TypeError, ValueError, JobError, JobTimeout
        """
        check_names(options)
        mode = self._mode(options.get("mode"))
        if not isinstance(b, Matrix):
            mode = mode.tabled(np.asarray(b))
        with ExitStack() as stack:
            operands = Operands(self, stack)
            target = out if isinstance(out, Matrix) else None
            if options.get("accumulate") and target is None and out is not None:
                target = operands.place(out, self.info.sums, "out")
            factors = operands.place_row(options.get("row_factors"), FACTOR, "row_factors")
            of_a, of_b = side_numbers(mode, options.get("group", 0))
            product = self.product(
                operands.place(a, mode.a, "a"),
                operands.place_words(b, mode),
                operands.place_row(bias, self.info.sums, "bias"),
                out=operands.noted(target),
                a_scales=operands.place_any(a_scales, of_a, "a_scales"),
                b_scales=operands.place_any(codes_of(self.info, b_scales), of_b, "b_scales"),
                **options | {"mode": mode, "row_factors": factors},
            )
            operands.release_rest(product)
            check_array(out, product.c)
            self.run([product], timeout=timeout)
            if out is None:
                return product.c.read()
            if not isinstance(out, Matrix):
                out[...] = product.c.read()
            return out

    def amax(self) -> int:
        """Read the greatest magnitude of the last product's numbers, where the device has `amax`.

        It counts a sum's last bit; of a C of float32, it is that number's code, without its sign.
        """
        self.info.require("amax")
        return self._get("amax_lo") | self._get("amax_hi") << 32

    def _check_size(self, size: int, what: str) -> None:
        most = (1 << self.info.dimension_width) - 1
        if not 1 <= size <= most:
            raise ValueError(f"sizes must be 1..{most}, not of {what}")
