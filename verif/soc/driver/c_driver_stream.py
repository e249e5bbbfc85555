"""The C driver for streams behind the interface of the Python one."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_bool, c_uint8, c_uint64, c_void_p
from pathlib import Path

import numpy as np

from carrysave.driver import CoprocessorStream, Counters, Product
from carrysave.ip import driver_sources
from verif.soc.driver.c_driver import CDevice
from verif.soc.driver.c_structs import CJob

__all__ = ["CStream", "stream_sources"]

_BYTES = POINTER(c_uint8)
_TRANSFER = CFUNCTYPE(None, c_void_p, c_void_p, c_uint64)
_WAIT = CFUNCTYPE(c_bool, c_void_p)
_RESTART = CFUNCTYPE(None, c_void_p)
_SIDES = "abc"


class _Channel(Structure):
    _fields_ = [
        ("context", c_void_p),
        ("transfer", _TRANSFER),
        ("wait", _WAIT),
        ("restart", _RESTART),
    ]


class _Streams(Structure):
    _fields_ = [("channels", _Channel * 3), ("buffers", _BYTES * 3)]


class _Matrices(Structure):
    _fields_ = [
        (name, c_void_p) for name in ("a", "b", "bias", "records", "a_scales", "b_scales", "c")
    ]


def stream_sources(folder: Path) -> Path:
    """Write what the C driver has for streams beside the rest; returns what is to be compiled."""
    driver_sources.c(folder, stream=True)
    return folder / "carrysave_stream.c"


class CStream(CDevice, CoprocessorStream):
    """A co-processor between streams that the C driver handles; channels are Python's.

    Parameters are those of :class:`CDevice`, and the channels `a`, `b` and `c`.
    """

    def open(self) -> None:
        """Open, and restart channels."""
        self._made = _Streams()
        for place, side in enumerate(_SIDES):
            self._made.channels[place] = self._channel(side)
        super().open()
        self.reset()

    def reset(self) -> None:
        """Reset, and channels after it."""
        self.check(self.call("stream_reset", byref(self._made)))

    def _channel(self, side: str) -> _Channel:
        """Make functions of a channel, whose memory is the buffer of the same side."""

        def transfer(context: int, place: int, count: int) -> None:
            buffer = self._buffers[side]
            assert (place, count) == (buffer.ctypes.data, buffer.nbytes)
            buffer.flush()
            self._channels[side].transfer(buffer)

        def wait(context: int) -> bool:
            self._channels[side].wait()
            self._buffers[side].invalidate()
            return True

        def restart(context: int) -> None:
            self._channels[side].stop()
            self._channels[side].start()

        return _Channel(
            None,
            _TRANSFER(self._guarded(transfer)),
            _WAIT(self._guarded(wait)),
            _RESTART(self._guarded(restart)),
        )

    def _run(self, product: Product, timeout: float) -> Counters:
        """Run a product whose streams are also those of the Python driver."""
        job = self.c_job(product.job)
        matrices, rows = _Matrices(), {}
        for name, matrix in product.matrices.items():
            rows[name] = np.zeros((matrix.shape[0], matrix.distance), np.uint8)
            rows[name][:, : matrix.row_bytes] = matrix.read_bytes()
            setattr(matrices, name, rows[name].ctypes.data)
        due = self.streams(product)
        for place, side in enumerate(_SIDES):
            count = self.stream_bytes_of(job, place)
            assert count == (self.stream_bytes(product) if side == "c" else len(due[side]))
            self._buffers[side] = buffer = self._allocate_buffer(shape=(count,), dtype=np.uint8)
            self._made.buffers[place] = ctypes.cast(buffer.ctypes.data, _BYTES)
            if side != "c":
                self.call("gather", byref(job), byref(matrices), place, self._made.buffers[place])
                assert buffer.tobytes() == due[side]
                buffer[:] = 0xA5
        try:
            run = byref(job), byref(matrices), byref(self._made), *self.waits(timeout)
            self.tell(self.call("stream_run", *run), 1, timeout)
        finally:
            for buffer in self._buffers.values():
                buffer.freebuffer()
            self._buffers = {}
        product.c.write_bytes(rows["c"][:, : product.c.row_bytes])
        return self.counters()

    def stream_bytes_of(self, job: CJob, place: int) -> int:
        """Count the bytes of a stream."""
        count = self._library.carrysave_stream_bytes
        count.restype = c_uint64
        return int(count(byref(self._device), byref(job), place))
