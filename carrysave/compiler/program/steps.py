"""Steps of a program."""

from dataclasses import dataclass

from onnx import NodeProto

from carrysave.driver.job import Job

__all__ = ["HostStep", "Move", "Start", "Step"]


@dataclass(frozen=True, kw_only=True)
class Start:
    """Products on one start of the co-processor.

    Members
    -------
    node, operator : of the model.
    jobs : in order; addresses are from the start of the program's memory.
    cycles : by the cost model.
    macs : products of codes that the model needs.
    counters : address of those of the start.
    """

    node: str
    operator: str
    jobs: tuple[Job, ...]
    cycles: int
    macs: int
    counters: int


@dataclass(frozen=True, kw_only=True)
class Move:
    """Bytes that a processor moves, from one place each, or several of which it takes the greatest.

    Or whose codes it looks up in a table. See :mod:`.words`.

    Members
    -------
    node, operator : of the model.
    to, bytes : where they go, and how many.
    taps : sources of a byte.
    at, patterns : address of the patterns of records, and how many.
    table : address of a table of 256 codes, or of 65,536 by two sources; 0: none.
    """

    node: str
    operator: str
    to: int
    bytes: int
    taps: int
    at: int
    patterns: int
    table: int


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


Step = Start | Move | HostStep
