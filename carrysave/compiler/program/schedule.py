"""What of a program is on chip, and with which blocks its jobs run: by a rule, or by an ILP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.choices import choices_of
from carrysave.compiler.program.cost import moved_bytes
from carrysave.compiler.program.floats import SectionStep
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.on_chip import (
    Parts,
    Placed,
    move_on_chip,
    parts_with,
    rooms_of,
    tell,
)
from carrysave.compiler.program.on_chip_ilp import Problem, Solution, Unit, solve
from carrysave.compiler.program.packing import Block
from carrysave.compiler.program.pool import Room
from carrysave.compiler.program.program import Solved
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.driver.system import Tensor
from carrysave.errors import ArgumentError, check_choice, needs

__all__ = ["GREEDY", "GREEDY_SCHEDULE", "ILP", "SCHEDULES", "Schedule", "place", "spent_by"]

GREEDY, ILP = "greedy", "ilp"
SCHEDULES = (GREEDY, ILP)
"""Rooms one after the other, those first that are read and written most; an integer program."""
_SECONDS = 10.0
_CLOSE = 0.01
"""Bytes: the solver's tolerance."""
_MORE = 1.05
"""Cycles that fewer bytes may cost, times those of the greedy schedule."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How a program is scheduled.

    Members
    -------
    way : one of :data:`SCHEDULES`.
    seconds : that the solver may take.
    """

    way: str = GREEDY
    seconds: float = _SECONDS

    def check(self) -> None:
        """Check both.

        Raises
        ------
        ArgumentError, ModuleNotSolutionError
            No such way, no time, or no solver.
        """
        check_choice("schedule", self.way, SCHEDULES)
        if not 0 < self.seconds <= 3600:
            text = "{schedule_seconds} must be above 0, at most 3600, not {_given}"
            raise ArgumentError(text, _given=self.seconds)
        if self.way == ILP:
            needs("scipy")


GREEDY_SCHEDULE = Schedule()
"""The rule."""


def place(
    image: Image, parts: Parts, scores: int, tensors: dict[str, Tensor], schedule: Schedule
) -> tuple[Parts, Solved | None]:
    """Move rooms on chip, by the rule or by the integer program; return the parts as they are then.

    The solver has what the rule makes as its limit: its bytes are fewer, its cycles at most
    :data:`_MORE` times as many, job by job.

    Parameters
    ----------
    image, parts, scores, tensors : see :func:`.on_chip.move_on_chip`.
    schedule : how.

    Raises
    ------
    ArgumentError, ModuleNotSolutionError
        Of the schedule; or nothing is on chip for the solver to place.
    """
    schedule.check()
    if schedule.way == GREEDY:
        return move_on_chip(image, parts, scores, tensors), None
    if not image.target.spec.scratch:
        text = "{schedule} must be greedy where nothing is on chip, not ilp: give -p scratch=65536"
        raise ArgumentError(text)
    before = list(image.steps), dict(image.buffers), dict(tensors)
    by_rule = move_on_chip(image, parts, scores, tensors)
    ruled = list(image.steps), dict(image.buffers), dict(tensors)
    greedy, cycles = spent_by(image.steps, image.target)
    _restore(image, tensors, before)
    rooms = dict(enumerate(rooms_of(image, scores)))
    changed, solution = scheduled(image, rooms, round(_MORE * cycles), schedule.seconds)
    taken = bool(changed) and solution.bytes < greedy
    solved = Solved(
        greedy=greedy,
        bound=min(ceil(solution.bound - _CLOSE), greedy),
        seconds=solution.seconds,
        taken=taken,
    )
    if not taken:
        _restore(image, tensors, ruled)
        return by_rule, solved
    for one, at in solution.places.items():
        tell(image, Placed(room=rooms[one], at=at), tensors)
    return parts_with(image, parts, changed), solved


State = tuple[list[SectionStep], dict[str, Buffer], dict[str, Tensor]]


def _restore(image: Image, tensors: dict[str, Tensor], state: State) -> None:
    """Have all be as it was."""
    image.steps = list(state[0])
    for now, then in ((image.buffers, state[1]), (tensors, state[2])):
        now.clear()
        now.update(then)  # type: ignore[arg-type]


def spent_by(steps: Sequence[SectionStep], target: Target) -> tuple[int, int]:
    """Return the bytes on the bus of starts that no parameter changes, and cycles, job by job."""
    groups = [
        group
        for step in steps
        if isinstance(step, Start) and not step.varies
        for group in step.groups
    ]
    return (
        sum(one.count * moved_bytes(one.job, target) for one in groups),
        sum(one.count * job_cycles(one.job, target) for one in groups),
    )


def scheduled(
    image: Image, rooms: Mapping[int, Room], most_cycles: int, seconds: float
) -> tuple[dict[int, SectionStep], Solution]:
    """Choose what is on chip.

    Parameters
    ----------
    image : with all steps, none of which has a room on chip.
    rooms : that can be on chip, by number.
    most_cycles : of all jobs, one by one.
    seconds : of the solver.

    Returns
    -------
    Changed steps by their ids, and what was found; no steps: nothing was.
    """
    target, units = image.target, list[Unit]()
    of_step: dict[int, list[int]] = {}
    for at, step in enumerate(image.steps):
        if not isinstance(step, Start) or step.varies:
            continue
        here = {one: room for one, room in rooms.items() if room.first <= at < (room.last or 0)}
        for group in step.groups:
            choices = choices_of(step, group, here, target)
            near = frozenset[int]().union(*(one.near for one in choices))
            of_step.setdefault(at, []).append(len(units))
            units.append(Unit(step=at, rooms=near, choices=choices))
    blocks = {one: Block(room.first, room.last or 0, room.size) for one, room in rooms.items()}
    solution = solve(
        Problem(size=target.spec.scratch, rooms=blocks, units=units, most_cycles=most_cycles),
        seconds,
    )
    placed = {one: (rooms[one], at) for one, at in solution.places.items()}
    changed: dict[int, SectionStep] = {}
    for at, numbers in of_step.items() if solution.chosen else ():
        step = image.steps[at]
        assert isinstance(step, Start)
        groups = (solution.chosen[one].jobs(placed, solution.copies.get(one, 0)) for one in numbers)
        changed[id(step)] = replace(step, groups=tuple(chain.from_iterable(groups)))
    return changed, solution
