"""Orders: what a host asks of the co-processor with one start, and what memory does meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from carrysave.sim.cocotb.host import descriptor
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, error_of
from hw.soc.registers.rdl import layout_of
from verif.soc.uvm.modes import ADDRESSES

__all__ = ["DESCRIPTOR", "MEMORY", "Order", "Task", "moved"]

DESCRIPTOR = 128
"""Bytes of a job in memory."""
MEMORY = 1 << 16
"""Bytes of memory."""
_MODE = layout_of("JOB")["mode"]
_ALIKE, _ADDRESSES = (layout_of("JOB")[name].offset // 8 for name in ("alike", "m"))
_NOTHING = b"\xa5" * (DESCRIPTOR - _ADDRESSES)


@dataclass(frozen=True)
class Task:
    """A job, and fields of the register MODE that have no place in it."""

    job: Job
    modes: Mapping[str, int] = field(default_factory=dict)

    @property
    def image(self) -> bytes:
        """The job as memory has it."""
        value = int.from_bytes(descriptor(self.job), "little")
        for name, bits in self.modes.items():
            part = _MODE.shape[name]
            low = _MODE.offset + part.offset
            value &= ~(((1 << part.width) - 1) << low)
            value |= bits << low
        return value.to_bytes(DESCRIPTOR, "little")

    def refusal(self, spec: CoprocessorSpec) -> Error:
        """Say why it is refused; fields of MODE are only given that no build has."""
        error = error_of(spec, self.job)
        if self.modes and error != Error.DIMENSION:
            return Error.MODE
        return error


@dataclass(frozen=True, kw_only=True)
class Order:
    """Tasks of one start: that in the registers, or those of a ring.

    Members
    -------
    tasks : in order; without a ring, one.
    good : what the last of them would be, were nothing wrong with it.
    mode : that of `good`, a name in :data:`verif.soc.uvm.modes.MODES`.
    error : what goes wrong, a bin of :func:`verif.soc.uvm.points.order_coverage`.
    failing : number of the task that fails, or of the last one.
    ring : address of the descriptors.
    alike : they are marked as those of jobs that differ only in their addresses.
    base : address of the first byte of memory.
    faults : see :class:`carrysave.sim.cocotb.axi_memory.Memory`.
    speed : of memory, a name in :data:`verif.soc.uvm.points.SPEEDS`.
    """

    tasks: tuple[Task, ...]
    good: Job
    mode: str = "sums"
    error: str = "none"
    failing: int = 0
    ring: int | None = None
    alike: bool = False
    base: int = 0
    faults: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    speed: str = "immediate"

    @property
    def task(self) -> Task:
        """The one that it is about."""
        return self.tasks[self.failing]

    @property
    def image(self) -> bytes:
        """The ring."""
        image = bytearray(b"".join(task.image for task in self.tasks))
        if self.alike:
            # All else of those after the first is ignored.
            for number in range(1, len(self.tasks)):
                image[DESCRIPTOR * number + _ADDRESSES : DESCRIPTOR * (number + 1)] = _NOTHING
            image[_ALIKE : _ALIKE + 4] = (len(self.tasks) - 1).to_bytes(4, "little")
        return bytes(image)

    def of_ring(self, address: int) -> bool:
        """Return whether a byte is in the ring."""
        return self.ring is not None and 0 <= address - self.ring < DESCRIPTOR * len(self.tasks)

    def described(self, number: int) -> int:
        """Bytes that are read of a descriptor."""
        return _ADDRESSES if self.alike and number else DESCRIPTOR

    def ring_error(self, spec: CoprocessorSpec) -> Error:
        """Say why the ring is refused before a descriptor is read."""
        if self.ring is None:
            return Error.NONE
        if not spec.follows_ring:
            return Error.MODE
        if self.ring % spec.bytes:
            return Error.MISALIGNED
        if self.ring + DESCRIPTOR * len(self.tasks) > 1 << spec.address_width:
            return Error.WRAPS
        return Error.NONE

    def store(self, memory: np.ndarray) -> None:
        """Write the ring into memory, as much of it as there is memory."""
        if self.ring is not None and 0 <= self.ring - self.base < len(memory):
            image = np.frombuffer(self.image, np.uint8)
            part = memory[self.ring - self.base :][: len(image)]
            part[:] = image[: len(part)]


def moved(job: Job, distance: int) -> Job:
    """Move all that a job reads and writes; a table, which is never at 0, if there is one."""
    names = (name for name in ADDRESSES if name != "b_scales" or job.b_scales)
    places = {name: getattr(job, name) for name in names}
    return replace(
        job, **{name: place + distance for name, place in places.items() if place is not None}
    )
