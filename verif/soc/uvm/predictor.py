"""Predictor: what the golden twin makes of an order."""

from dataclasses import dataclass

import numpy as np
from pyuvm import uvm_analysis_port, uvm_subscriber

from golden.soc.coprocessor import CoprocessorSpec, Error, coprocessor, matrices
from verif.soc.uvm.orders import DESCRIPTOR, Order, moved
from verif.soc.uvm.registers import kept

__all__ = ["WAYS", "Expected", "Given", "Predictor", "first_fault", "predicted"]

WAYS = {"read": Error.READ, "write": Error.WRITE, "ring": Error.DESCRIPTOR}
"""What a job ends with, by what was on its way."""


@dataclass(frozen=True)
class Expected:
    """How an order ends.

    Members
    -------
    error : the code.
    done : jobs that are complete; the number of the one that fails.
    memory : bytes afterwards, but for those that differ in `partly`, if that is given: each of
        them may be there, or not.
    macs : products that count, of all jobs that are complete.
    address : that the co-processor reports, unless it is that of a burst.
    """

    order: Order
    error: Error
    done: int
    memory: np.ndarray
    partly: np.ndarray | None
    macs: int
    address: int


@dataclass(frozen=True)
class Given:
    """An order that begins, and memory as it is then."""

    order: Order
    memory: np.ndarray


def first_fault(spec: CoprocessorSpec, order: Order) -> tuple[int, Error] | None:
    """Find the first job that meets an error of memory, and where it meets it."""
    faults = {
        way: [(address - order.base) // spec.bytes for address in order.faults.get(way, ())]
        for way in "rw"
    }

    def meets(way: str, places: np.ndarray) -> bool:
        return bool(np.isin(places // spec.bytes, faults[way]).any())

    for number, task in enumerate(order.tasks):
        if order.ring is not None:
            start = order.ring - order.base + DESCRIPTOR * number
            if meets("r", start + np.arange(order.described(number))):
                return number, Error.DESCRIPTOR
        if task.refusal(spec):
            return None
        found = matrices(spec, moved(task.job, -order.base))
        for name, matrix in found.items():
            # What is added to is read before it is written.
            if (name != "c" or task.job.accumulate) and meets("r", matrix.places()):
                return number, Error.READ
            if name == "c" and meets("w", matrix.places()):
                return number, Error.WRITE
    return None


def predicted(spec: CoprocessorSpec, given: Given) -> Expected:
    """Run the twin."""
    order, memory = given.order, given.memory.copy()
    macs = 0

    def ended(
        error: Error, done: int, partly: np.ndarray | None = None, address: int = 0
    ) -> Expected:
        return Expected(order, error, done, memory, partly, macs, address)

    error = order.ring_error(spec)
    if error:
        assert order.ring is not None
        return ended(error, 0, address=kept(spec, "ring", order.ring) if spec.ring else 0)
    fault = first_fault(spec, order)
    for number, task in enumerate(order.tasks):
        if fault == (number, Error.DESCRIPTOR):
            return ended(Error.DESCRIPTOR, number)
        error = task.refusal(spec)
        if error:
            return ended(error, number)
        after = memory.copy()
        job = moved(task.job, -order.base)
        assert coprocessor(spec, after, job) == Error.NONE
        if fault is not None and fault[0] == number:
            if order.alike and fault[1] == Error.WRITE:
                # Those after it are under way.
                for later in order.tasks[number + 1 : number + 4]:
                    coprocessor(spec, after, moved(later.job, -order.base))
            return ended(fault[1], number, after)
        memory = after
        macs += job.m * job.n * job.k
    return ended(Error.NONE, len(order.tasks))


class Predictor(uvm_subscriber):
    """Tells the scoreboard how each order will end."""

    spec: CoprocessorSpec

    def build_phase(self) -> None:
        """Make the port."""
        self.expected = uvm_analysis_port("expected", self)

    def write(self, given: Given) -> None:
        """Predict the end of an order that begins."""
        self.expected.write(predicted(self.spec, given))
