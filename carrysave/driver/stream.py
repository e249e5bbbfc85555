"""The driver of a co-processor with streams: matrices on the host, DMA channels."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from .blocking import Blocks, Part, order
from .control import Registers
from .coprocessor import Coprocessor
from .device_info import Counters
from .job import RECORD_BYTES, Job
from .matrix import Allocate, Product
from .vector import VectorWork

__all__ = ["Channel", "CoprocessorStream", "gather", "scatter"]

_SENT = {"a": ("a", "a_scales"), "b": ("bias", "records", "b", "b_scales")}
"""Input streams, and the matrices on them."""


class Channel(Protocol):
    """The used part of a channel of ``pynq.lib.DMA``, such as its ``sendchannel``."""

    def start(self) -> Any:
        """Start the channel."""

    def stop(self) -> Any:
        """Abort the current transfer."""

    def transfer(self, array: Any) -> Any:
        """Start sending an array, or filling it."""

    def wait(self) -> Any:
        """Wait until the transfer has ended."""


class _HostArray(np.ndarray):
    """Host memory that no device accesses, in the form that ``pynq.allocate`` returns."""

    device_address = 0

    def flush(self) -> None:
        """Do nothing."""

    def invalidate(self) -> None:
        """Do nothing."""


def _host_memory(shape: tuple[int, ...], dtype: Any) -> _HostArray:
    return np.zeros(shape, dtype).view(_HostArray)


def gather(parts: Iterable[Part], rows: Mapping[str, np.ndarray], beat: int) -> bytes:
    """Build the bytes of a stream, each part from byte 0 of a beat on.

    Parameters
    ----------
    parts : the parts of :func:`order` on this stream.
    rows : by names of matrices, uint8, rows x bytes.
    beat : bytes of a beat.
    """
    data = bytearray()
    for part in parts:
        data += rows[part.name][part.row, part.first : part.first + part.bytes].tobytes()
        data += bytes(-part.bytes % beat)
    return bytes(data)


def scatter(parts: Iterable[Part], rows: np.ndarray, data: np.ndarray, beat: int) -> None:
    """Put the bytes of the stream of C at their places in its rows.

    Parameters
    ----------
    parts : of :func:`order`, those of C.
    rows : uint8, rows x bytes; modified.
    data : uint8, whole beats.
    beat : bytes of a beat.
    """
    at = 0
    for part in parts:
        rows[part.row, part.first : part.first + part.bytes] = data[at : at + part.bytes]
        at += -(-part.bytes // beat) * beat


class CoprocessorStream(Coprocessor):
    """Multiplies matrices of codes on a co-processor with streams.

    Matrices are in host memory. After an error, channels are restarted.

    Parameters
    ----------
    registers : of the co-processor.
    allocate : allocates memory that DMAs can access, like ``pynq.allocate``.
    a, b, c : channels to ``s_axis_a``, to ``s_axis_b`` and from ``m_axis_c``. That of C stores
        whole beats, whatever their ``tkeep``.
    options : of :class:`~carrysave.driver.control.Control`.
    """

    STREAM: ClassVar[bool] = True

    def __init__(
        self,
        registers: Registers,
        allocate: Allocate,
        a: Channel,
        b: Channel,
        c: Channel,
        **options: Any,
    ) -> None:
        self._channels = {"c": c, "a": a, "b": b}
        self._allocate_buffer = allocate
        self._buffers: dict[str, Any] = {}
        """Of channels, while a product runs."""
        super().__init__(registers, _host_memory, **options)

    def open(self) -> None:
        """Read the discovery registers, and reset the hardware and the channels."""
        super().open()
        self.info.require("stream")

    def reset(self) -> None:
        """Soft reset; channels are stopped after it, as they absorb its last beats."""
        super().reset()
        for channel in self._channels.values():
            channel.stop()
            channel.start()

    def streams(self, product: Product) -> dict[str, bytes]:
        """Build a product's input bytes for each stream, "a" and "b"."""
        rows = {name: matrix.read_bytes() for name, matrix in product.matrices.items()}
        parts = self._parts(product)
        return {
            side: gather((part for part in parts if part.name in names), rows, self._beat)
            for side, names in _SENT.items()
        }

    def take(self, product: Product, data: np.ndarray) -> None:
        """Unpack the bytes of the stream of C, whole beats, into a product's C."""
        rows = np.empty_like(product.c.read_bytes())
        scatter((part for part in self._parts(product) if part.name == "c"), rows, data, self._beat)
        product.c.write_bytes(rows)

    def stream_bytes(self, product: Product) -> int:
        """Count the bytes of the stream of C."""
        beat = self._beat
        return sum(-(-p.bytes // beat) * beat for p in self._parts(product) if p.name == "c")

    def run(
        self, products: Sequence[Product | VectorWork], *, timeout: float | None = None
    ) -> Counters:
        """Run products in order, one start each; counters cover all.

        Vector jobs are refused: their rows are in memory.

        Raises
        ------
        ValueError, JobError, JobTimeout, CoprocessorError
            As :meth:`~carrysave.driver.control.Control.run_jobs`.
        """
        if not products:
            raise ValueError("products must be one or more, not none")
        checked = [one for one in products if isinstance(one, Product)]
        if len(checked) < len(products):
            raise ValueError("products must be products, not vector jobs, between streams")
        return self._run_each([partial(self._run, product) for product in checked], timeout)

    def _run(self, product: Product, timeout: float) -> Counters:
        """Run one product through DMA buffers."""
        self._buffers = {
            "c": self._buffer(bytes(self.stream_bytes(product))),
            **{side: self._buffer(data) for side, data in self.streams(product).items()},
        }
        try:
            counters = self.run_jobs([product.job], timeout=timeout)
            self._buffers["c"].invalidate()
            self.take(product, np.asarray(self._buffers["c"]))
            return counters
        finally:
            if self.lost:
                self._held.append(self._buffers)  # channels may still read and write them
            else:
                for buffer in self._buffers.values():
                    buffer.freebuffer()
            self._buffers = {}

    def _start(self, jobs: Sequence[Job]) -> None:
        """Start all transfers, C first, then the job."""
        for name, buffer in self._buffers.items():
            self._channels[name].transfer(buffer)
        super()._start(jobs)

    def _finish(self) -> Counters:
        """Read the outcome of a start; then all inputs have been sent, and C completes."""
        counters = super()._finish()
        for name in self._buffers:
            self._channels[name].wait()
        return counters

    def _buffer(self, data: bytes) -> Any:
        """Copy bytes to DMA memory."""
        buffer: Any = self._allocate_buffer(shape=(len(data),), dtype=np.uint8)
        buffer[:] = np.frombuffer(data, np.uint8)
        # Dirty cache lines must not overwrite the channel's data later.
        buffer.flush()
        return buffer

    def _parts(self, product: Product) -> list[Part]:
        """List the parts of rows on all streams, in order."""
        job, mode = product.job, product.mode
        stores = mode.stores(self.info.stores)
        blocks = Blocks(job.block_m, job.block_n, job.block_k, job.by_columns)
        bits = {name: matrix.number.bits for name, matrix in product.matrices.items()}
        bits |= {"a": stores.a_bits, "b": stores.b_bits}
        if "records" in bits:
            bits["records"] = 8 * RECORD_BYTES
        return list(order(stores, blocks, bits, job.m, job.n, -(-job.k // mode.codes)))

    @property
    def _beat(self) -> int:
        """Bytes of a beat."""
        return self.info.stores.data_width // 8
