"""Steps of a program."""

from dataclasses import dataclass, field

from onnx import NodeProto

from carrysave.compiler.program.groups import JobGroup
from carrysave.driver.job import Job

__all__ = ["HostStep", "Move", "Start", "State", "Varies"]


@dataclass(frozen=True, kw_only=True)
class Varies:
    """A word of a step that a parameter changes.

    Members
    -------
    parameter : its name.
    field : of the job, or of the move; see :mod:`.words`.
    factor : added to the word for each one that the parameter is above its least value.
    job : number of its group in its start.
    """

    parameter: str
    field: str
    factor: int
    job: int = 0


@dataclass(frozen=True, kw_only=True)
class State:
    """What a run leaves for the next one: bytes that are copied when all steps are done.

    What a run changes in place, such as the rows of a cache, needs no copy, and is no such pair.

    Members
    -------
    name : of the state.
    output, input : addresses, from which and to which.
    bytes : how many.
    """

    name: str
    output: int
    input: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Start:
    """Jobs on one start of the co-processor; on several, if it is more than a runner has room for.

    Members
    -------
    node, operator : of the model.
    groups : of jobs, in order; addresses are from the start of the program's memory.
    cycles : by the cost model.
    macs : products of codes that the model needs.
    counters : address of those of the start.
    varies : what parameters change.
    """

    node: str
    operator: str
    groups: tuple[JobGroup, ...]
    cycles: int
    macs: int
    counters: int
    varies: tuple[Varies, ...] = ()

    @property
    def jobs(self) -> list[Job]:
        """All jobs, in order."""
        return [job for group in self.groups for job in group.jobs]


@dataclass(frozen=True, kw_only=True)
class Move:
    """Bytes that a processor moves, from one place each, or several of which it takes the greatest.

    Or whose codes it looks up in a table. See :mod:`.words`.

    Members
    -------
    node, operator : of the model.
    to, bytes : where they go, and how many.
    taps : sources of a byte.
    at, words : address of the words of records and loops, and how many.
    table : address of a table of 256 codes, or of 65,536 by two sources; 0: none.
    varies : what parameters change.
    reason : why it is no job; empty: not known.
    """

    node: str
    operator: str
    to: int
    bytes: int
    taps: int
    at: int
    words: int
    table: int
    varies: tuple[Varies, ...] = ()
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class HostStep:
    """Operators that neither the co-processor nor the firmware has.

    Members
    -------
    nodes : of the lowered model.
    reads : tensors of the program that they take.
    writes : tensors that go back to the program.
    reasons : why each is here, by node; empty if they are before or behind all products.
    """

    nodes: tuple[NodeProto, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    reasons: tuple[str, ...]
