"""A co-processor between streams in software, and channels of DMAs to and from it."""

from dataclasses import replace
from typing import Any

import numpy as np

from carrysave.sim.cocotb.device_memory import CachedBuffer
from golden.soc.coprocessor_stream import CoprocessorStreamSpec, coprocessor_stream, rows
from golden.soc.job import Error, Job
from golden.soc.job_check import error_of, matrices
from verif.soc.driver.software_device import SoftwareDevice

__all__ = ["Channel", "SoftwareStream"]


class SoftwareStream(SoftwareDevice):
    """Takes all of A and B when it is started, and then has all of C.

    Members
    -------
    sent, came : bytes on streams "a" and "b", and on that of C; whole beats.
    """

    def __init__(self, spec: CoprocessorStreamSpec) -> None:
        super().__init__(spec, np.zeros(0, np.uint8))
        self.sent = {"a": b"", "b": b""}
        self.came = b""

    def _do(self, job: Job) -> Error:
        """Do a job on matrices somewhere in a memory, which is filled from the streams."""
        spec = self.spec
        assert isinstance(spec, CoprocessorStreamSpec)
        error = error_of(spec, job)
        if error:
            return error
        places: dict[str, Any] = {}
        free = 5
        for name, matrix in matrices(spec, job).items():
            places[name] = free
            if name not in ("bias", "records"):
                side = {"a_scales": "sa", "b_scales": "sb"}.get(name, name)
                places[f"ld{side}"] = matrix.row_bytes + 3
            free += matrix.rows * (matrix.row_bytes + 3)
        job, memory = replace(job, **places), np.full(free, 0xA5, np.uint8)
        parts = list(rows(spec, job))
        for part in parts:
            if part.name != "c":
                side = "a" if part.name in ("a", "a_scales") else "b"
                place = slice(part.address, part.address + part.bytes)
                data = self.sent[side][: part.bytes]
                assert len(data) == part.bytes, f"the stream of {side} ends within {part}"
                memory[place] = np.frombuffer(data, np.uint8)
                self.sent[side] = self.sent[side][self._whole(part.bytes) :]
        assert not any(self.sent.values()), "more came than the job reads"
        coprocessor_stream(spec, memory, job)
        for part in parts:
            if part.name == "c":
                data = memory[part.address : part.address + part.bytes].tobytes()
                self.came += data + bytes(self._whole(part.bytes) - part.bytes)
        return error

    def _whole(self, count: int) -> int:
        return -(-count // self.spec.bytes) * self.spec.bytes


class Channel:
    """A channel of a DMA: memory to one of the streams that go in, or from that of C."""

    def __init__(self, device: SoftwareStream, memory: np.ndarray, side: str) -> None:
        self.device, self.memory, self.side = device, memory, side
        self._place: slice | None = None

    def start(self) -> None:
        """Be ready."""

    def stop(self) -> None:
        """Forget what is under way."""
        self._place = None
        self.device.came = b""
        if self.side != "c":
            self.device.sent[self.side] = b""

    def transfer(self, buffer: CachedBuffer) -> Any:
        """Begin to send a buffer's bytes in memory, or to fill them."""
        self.transfer_bytes(buffer.device_address, buffer.nbytes)

    def transfer_bytes(self, address: int, count: int) -> None:
        """Begin to send bytes in memory, or to fill them."""
        assert self._place is None, "a transfer is under way"
        self._place = slice(address, address + count)
        if self.side != "c":
            self.device.sent[self.side] += self.memory[self._place].tobytes()

    def wait(self) -> None:
        """See that all is sent, or take what came."""
        assert self._place is not None
        if self.side == "c":
            self.memory[self._place] = np.frombuffer(self.device.came, np.uint8)
            self.device.came = b""
        else:
            assert not self.device.sent[self.side]
        self._place = None
