"""The driver of a co-processor behind its registers."""

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from .allocator import Room
from .blocking import Blocks, plan
from .device_info import Counters
from .errors import LinkError
from .job import Job, Requantisation
from .matrix import Matrix, OnChip, Product
from .mode import Mode
from .number import Number
from .vector import VectorControl, VectorWork

__all__ = ["Coprocessor"]


class Coprocessor(VectorControl):
    """Multiplies matrices of codes on a matmul co-processor: C = requantise(A x B + bias).

    Parameters and members are those of :class:`~.control.Control`.
    """

    STREAM: ClassVar[bool] = False
    """Whether matrices are on streams, not in memory."""

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
        requantisation: Requantisation | None = None,
        out: Matrix | None = None,
        accumulate: bool = False,
        mode: Mode | None = None,
        a_scales: Matrix | None = None,
        b_scales: Matrix | None = None,
        blocks: Blocks | None = None,
        wide: bool = False,
    ) -> Product:
        """Make a product of matrices that are on the device.

        Parameters
        ----------
        a, b : M x K numbers of ``info.a``, and K x N of ``info.b``; with `mode`, of its numbers,
            and B as :meth:`Mode.words` arranges it, as it also must be with ``trits``.
        bias : 1 x N sums, added to each row.
        requantisation : None: C holds sums.
        out : M x N, of ``info.sums`` or ``info.codes``; allocated if None.
        accumulate : accumulate into the sums in `out`.
        mode : formats of A and B; needed if the engine has several, or scales.
        a_scales, b_scales : M x blocks and blocks x N ``mode.scales``, one per ``mode.block``
            codes along K for each row of A and column of B; C is float32 then.
        blocks : block sizes; None: the planner's choice, or the hardware's if it has
            ``fixed_blocks``.
        wide : requantised codes are of ``info.wide``, if jobs choose (``sizes``).

        Raises
        ------
        TypeError, ValueError
            The hardware would reject it, or not compute it.
        """
        info = self.info
        mode = self._mode(mode)
        (m, k), (rows, across) = a.shape, b.shape
        n, words = across // mode.codes, -(-k // mode.codes)
        deep = -(-words // mode.b_deep)
        if rows != deep:
            raise ValueError(f"b must have {deep} rows, for {k} columns of a, not {rows}")
        if k > mode.k_max:
            raise ValueError(f"K must be 1..{mode.k_max}, not {k}")
        _check_number("a", a, mode.a)
        _check_number("b", b, mode.b_stored)
        number, per_column = info.sums, False
        if wide:
            info.require("sizes")
            if requantisation is None:
                raise ValueError("wide must be false without requantisation, not true")
        if requantisation is not None:
            info.require("requantiser")
            codes = info.wide if wide else info.codes
            number, per_column = requantisation.check(codes, n), requantisation.per_column
            low, high = requantisation.limits(codes)
            requantisation = replace(requantisation, low=low, high=high)
        if per_column:
            info.require("per_column")
        if accumulate:
            info.require("accumulate")
            if requantisation is not None or out is None:
                raise ValueError("accumulate must be with sums in out, and without requantisation")
        self._check_scales((a_scales, b_scales), (m, n, k), mode)
        if bias is not None:
            info.require("bias")
            _check_number("bias", bias, info.sums)
            _check_shape("bias", bias, (1, n))
        if out is not None:
            _check_shape("out", out, (m, n))
            if not out.number.holds(number):
                raise ValueError(f"out must hold {number}, not {out.number}")
        stores = mode.stores(info.stores)
        if "fixed_blocks" in info.features:
            if blocks is not None:
                raise ValueError(f"blocks must be the hardware's own choice, not {blocks}")
            blocks = Blocks(0, 0, 0)
        elif blocks is None:
            blocks = plan(stores, m, n, words, number.bits)
        elif not stores.fits(blocks.m, blocks.n, blocks.k):
            raise ValueError(f"blocks must fit into the stores, not {blocks}")

        c = self.empty((m, n), number) if out is None else out
        records = None
        if requantisation is not None and per_column:
            with c.freed_on_error() if out is None else nullcontext():
                records = self._bytes(requantisation.records(n).reshape(1, -1))
        job = Job(
            a=a.address, b=b.address, c=c.address, m=m, n=n, k=k, lda=a.distance,
            ldb=b.distance, ldc=c.distance, bias=None if bias is None else bias.address,
            requantisation=requantisation, records=None if records is None else records.address,
            accumulate=accumulate, a_format=mode.a_format, b_format=mode.b_format,
            block_m=blocks.m, block_n=blocks.n, block_k=blocks.k, by_columns=blocks.by_columns,
            c_bytes=2 if wide else 0,
        )  # fmt: skip
        if a_scales is not None and b_scales is not None:
            job = replace(
                job, a_scales=a_scales.address, b_scales=b_scales.address,
                ldsa=a_scales.distance, ldsb=b_scales.distance,
            )  # fmt: skip
        kept = {
            "a": a, "b": b, "c": c, "bias": bias, "records": records,
            "a_scales": a_scales, "b_scales": b_scales,
        }  # fmt: skip
        return Product(job, {name: one for name, one in kept.items() if one is not None}, mode)

    def matmul(
        self,
        a: Any,
        b: Any,
        bias: Any = None,
        *,
        requantisation: Requantisation | None = None,
        out: Any = None,
        accumulate: bool = False,
        mode: Mode | None = None,
        a_scales: Any = None,
        b_scales: Any = None,
        timeout: float | None = None,
    ) -> Any:
        """Multiply, once.

        Parameters
        ----------
        a, b, bias, out, a_scales, b_scales : arrays, or matrices on the device; see
            :meth:`product`. An array `out` receives C, and holds the existing sums to accumulate
            into. An array `b` is K x N, with any mode.
        requantisation, accumulate, mode : see :meth:`product`.
        timeout : seconds; the device's by default.

        Returns
        -------
        `out` if given; else an array of sums, codes or, with scales, float32.

        Raises
        ------
        TypeError, ValueError, JobError, JobTimeout
            As :meth:`product` and :meth:`run`.
        """
        with ExitStack() as own:

            def release(matrix: Matrix) -> None:
                if not self.lost:
                    matrix.free()

            def place(values: Any, number: Number, name: str) -> Matrix:
                if isinstance(values, Matrix):
                    return values
                matrix = self.place(values, number, name)
                own.callback(release, matrix)
                return matrix

            info, mode = self.info, self._mode(mode)
            left = place(a, mode.a, "a")
            right = b
            if not isinstance(b, Matrix):
                right = place(mode.words(np.asarray(b)), mode.b_stored, "b")
            added = None
            if bias is not None:
                row = bias if isinstance(bias, Matrix) else np.atleast_2d(bias)
                added = place(row, info.sums, "bias")
            target = out if isinstance(out, Matrix) else None
            if accumulate and target is None and out is not None:
                target = place(out, info.sums, "out")
            scales = [
                None if values is None else place(values, mode.scales, name)
                for name, values in (("a_scales", a_scales), ("b_scales", b_scales))
            ]
            product = self.product(
                left, right, added, out=target, requantisation=requantisation,
                accumulate=accumulate, mode=mode, a_scales=scales[0], b_scales=scales[1],
            )  # fmt: skip
            given = {id(matrix) for matrix in (left, right, added, target, *scales)}
            for matrix in product.kept:
                if id(matrix) not in given:
                    own.callback(release, matrix)
            if isinstance(out, np.ndarray):
                _check_shape("out", out, product.c.shape)
                if not np.can_cast(product.c.number.dtype, out.dtype, "safe"):
                    raise TypeError(f"out must hold {product.c.number.dtype}, not {out.dtype}")
            self.run([product], timeout=timeout)
            if isinstance(out, Matrix):
                return out
            result = product.c.read()
            if out is None:
                return result
            out[...] = result
            return out

    def _mode(self, mode: Mode | None) -> Mode:
        info = self.info
        if ("stream" in info.features) != self.STREAM:
            raise ValueError("products must be made by CoprocessorStream between streams")
        for feature in ("formats", "scales"):
            if mode is None and feature in info.features:
                raise ValueError(f"mode must be given to an engine with {feature}")
        return mode or info.mode

    def _check_scales(
        self, scales: tuple[Matrix | None, ...], sizes: tuple[int, int, int], mode: Mode
    ) -> None:
        """Refuse scales that do not fit the mode, and a mode of another build."""
        m, n, k = sizes
        if not mode.block and "scales" in self.info.features:
            raise ValueError("mode must have blocks with scales, as this co-processor's modes do")
        if mode.block or any(scales):
            self.info.require("scales")
        blocks = mode.blocks(k)
        for name, matrix, shape in zip(
            ("a_scales", "b_scales"), scales, ((m, blocks), (blocks, n)), strict=True
        ):
            what = f"one for each block of {mode.block} codes"
            if matrix is None:
                if mode.block:
                    raise ValueError(f"{name} must be given, {what}: {shape}")
                continue
            _check_number(name, matrix, mode.scales)
            if matrix.shape != shape:
                raise ValueError(f"{name} must be {shape}, {what}, not {matrix.shape}")

    def _check_size(self, size: int, what: str) -> None:
        most = (1 << self.info.dimension_width) - 1
        if not 1 <= size <= most:
            raise ValueError(f"sizes must be 1..{most}, not of {what}")


def _check_number(name: str, matrix: Matrix, number: Number) -> None:
    if not number.holds(matrix.number):
        raise ValueError(f"{name} must be of {number}, not of {matrix.number}")


def _check_shape(name: str, matrix: Any, shape: tuple[int, int]) -> None:
    if matrix.shape != shape:
        raise ValueError(f"{name} must be of shape {shape}, not {matrix.shape}")
