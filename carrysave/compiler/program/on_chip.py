"""Rooms of a program that jobs alone use, moved to the memory on chip as far as it goes.

What is there between two jobs does not cross the bus. The processor does not see it: a room that a
move or a step on floats reads or writes stays in memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from carrysave.compiler.program.floats import Floats, SectionStep
from carrysave.compiler.program.groups import addresses_of
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.map_copies import copied_before
from carrysave.compiler.program.pool import Room
from carrysave.compiler.program.program import Layer
from carrysave.compiler.program.steps import HostStep, Start
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned_again
from carrysave.compiler.timing.golden_job import CHIP, golden_job
from carrysave.driver.job import Job
from carrysave.driver.system import Tensor
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix

__all__ = [
    "ALIGN",
    "Parts",
    "Placed",
    "free_place",
    "layers_at",
    "matrices_of",
    "move_on_chip",
    "parts_with",
    "rooms_of",
    "tell",
    "used_bytes",
]

Parts = list[list[Any] | HostStep]


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A room, and where it is on chip."""

    room: Room
    at: int

    def meets(self, steps: range, at: int, size: int) -> bool:
        """Return whether others would take some of its bytes in steps in which it is in use."""
        room = self.room
        in_time = room.first < steps.stop and steps.start < (room.last or 0)
        return in_time and self.at < at + size and at < self.at + room.size

    def address(self, address: int) -> int | None:
        """Return where a byte of it is on chip; None: it is of another room."""
        at = address - self.room.address
        return CHIP + self.at + at if 0 <= at < self.room.size else None


def move_on_chip(image: Image, parts: Parts, scores: int, tensors: dict[str, Tensor]) -> Parts:
    """Move rooms, those first that are read and written most; return the parts as they are then.

    Parameters
    ----------
    image : with all steps.
    parts : of the program: steps, or one of the host.
    scores : an address that is read behind the last step.
    tensors : of the program, by name: where codes are is changed.
    """
    size = image.target.spec.scratch
    rooms = rooms_of(image, scores)
    placed: list[Placed] = []
    for room in sorted(rooms, key=lambda one: -used_bytes(image, one)):
        at = free_place(size, placed, range(room.first, room.last or 0), room.size)
        if at is not None:
            placed.append(Placed(room=room, at=at))
    changed: dict[int, SectionStep] = {}
    for number, step in enumerate(image.steps):
        if not isinstance(step, Start) or not size:
            continue
        here = [one for one in placed if one.room.first <= number < (one.room.last or 0)]
        moved = _moved(image, step, here) if here else step
        free = partial(free_place, size, placed, range(number, number + 1))
        changed[id(step)] = copied_before(moved, image.target, free)
    for one in placed:
        tell(image, one, tensors)
    return parts_with(image, parts, changed)


def rooms_of(image: Image, scores: int) -> list[Room]:
    """Return the rooms of the pool that can be on chip.

    Parameters
    ----------
    scores : an address that is read behind the last step.
    """
    # Of the rooms at one address the last one's bytes are there in the end.
    for room in [room for room in image.pool.rooms if room.has(scores)][-1:]:
        room.seen = True
    return [room for room in image.pool.rooms if used_bytes(image, room)]


def parts_with(image: Image, parts: Parts, changed: Mapping[int, SectionStep]) -> Parts:
    """Have some steps, by their ids, be others; return the parts as they are then."""
    image.steps = [changed.get(id(step), step) for step in image.steps]
    return [
        [changed.get(id(step), step) for step in part] if isinstance(part, list) else part
        for part in parts
    ]


def free_place(size: int, placed: Sequence[Placed], steps: range, needed: int) -> int | None:
    """Return where so many bytes on chip are free in steps: behind a room, or at the begin."""
    ends = sorted({0, *(-(-(one.at + one.room.size) // ALIGN) * ALIGN for one in placed)})
    for at in ends:
        if at + needed <= size and not any(one.meets(steps, at, needed) for one in placed):
            return at
    return None


def layers_at(layers: list[Layer], tensors: Mapping[str, Tensor]) -> tuple[Layer, ...]:
    """Return layers whose codes are where the program's tensors are."""
    return tuple(replace(layer, y=tensors.get(layer.tensor, layer.y)) for layer in layers)


def tell(image: Image, one: Placed, tensors: dict[str, Tensor]) -> None:
    """Have the buffer of a room, and the tensors in it, be on chip."""
    room = one.room
    image.buffers[room.name] = replace(image.buffers[room.name], address=CHIP + one.at)
    for name in room.tensors & set(tensors):
        sources = tensors[name].sources
        inside = (sources >= room.address) & (sources < room.address + room.size)
        moved = np.where(inside, sources - room.address + CHIP + one.at, sources)
        tensors[name] = replace(tensors[name], sources=moved)


def used_bytes(image: Image, room: Room) -> int:
    """Return the bytes of a room that jobs read and write; 0: it cannot be on chip.

    What is there at the begin is not known: bytes that are read, padding of pixels too, have been
    written.
    """
    if room.last is None or room.seen or not room.name or room.size > image.target.spec.scratch:
        return 0
    total, written = 0, np.zeros(room.size, bool)
    for step in image.steps[room.first : room.last]:
        if isinstance(step, Floats):
            if any(room.has(one.address) for one in step.operands.values()):
                return 0
        elif isinstance(step, Start):
            for name, one, job in matrices_of(step, image.target):
                if room.has(one.address) and one.end <= room.address + room.size:
                    places = one.places()
                    if name == "a" and job.window is not None:
                        # Of a map, padding of pixels says nothing.
                        pixel = np.arange(one.row_bytes) % job.window.pixel
                        places = places[:, pixel < job.window.channels]
                    if step.varies or (name != "c" and not written[places - room.address].all()):
                        return 0
                    written[places - room.address] = True
                    total += one.end - one.address
                elif one.address < room.address + room.size and room.address < one.end:
                    return 0
    return total


def matrices_of(step: Start, target: Target) -> Iterator[tuple[str, Matrix, Job]]:
    """Yield the matrices of each job of a start: those that it reads, then C."""
    for group in step.groups:
        here = matrices(target.spec, golden_job(group.job, target.spec))
        for number in range(group.count):
            for name in sorted(here, key="c".__eq__):
                one, further = here[name], number * getattr(group, name, 0)
                yield name, replace(one, address=one.address + further), group.job


def _moved(image: Image, step: Start, here: list[Placed]) -> Start:
    """Return a start of jobs, some of whose matrices are on chip."""
    groups = []
    for group in step.groups:
        places: dict[str, Any] = {}
        read = matrices(image.target.spec, golden_job(group.job, image.target.spec))
        for name in set(read).intersection(addresses_of(group.job)):
            address = getattr(group.job, name)
            near = [at for one in here if (at := one.address(address)) is not None]
            if near:
                places[name] = near[0]
        job = replace(group.job, **places)
        if places and job.vector is None and not step.varies:
            job = planned_again(job, image.target)
        groups.append(replace(group, job=job))
    return replace(step, groups=tuple(groups))


ALIGN = 16
