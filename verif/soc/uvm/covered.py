"""Sampling of coverage: from orders that ended as they should, and from their bursts."""

from collections import defaultdict

import numpy as np
from pyuvm import uvm_subscriber

from golden.soc.coprocessor import CoprocessorSpec, matrices
from verif.soc.uvm.coverage import Coverage, Values
from verif.soc.uvm.memory import Burst
from verif.soc.uvm.orders import Order, moved
from verif.soc.uvm.place import PAGE
from verif.soc.uvm.points import classified
from verif.soc.uvm.scoreboard import Checked

__all__ = ["Collector", "burst_values", "kinds", "place"]

_RESPONSES = {0: "okay", 2: "slverr", 3: "decerr"}
_BEATS = {1: "one", 2: "two"}


def kinds(spec: CoprocessorSpec, order: Order, bursts: tuple[Burst, ...]) -> list[str | None]:
    """Tell what each burst is of; None if it may be of several things, or reads sums of before."""
    places: dict[str, list[np.ndarray]] = defaultdict(list)
    for task in order.tasks:
        if not task.refusal(spec):
            for name, matrix in matrices(spec, moved(task.job, -order.base)).items():
                places[name].append(matrix.places().ravel())
    if order.ring is not None and not order.ring_error(spec):
        places["ring"].append(np.arange(len(order.image)) + (order.ring - order.base))
    adds = any(task.job.accumulate for task in order.tasks)
    beats = {
        name: set((np.concatenate(found) // spec.bytes).tolist()) for name, found in places.items()
    }
    found: list[str | None] = []
    for burst in bursts:
        start = (burst.address - order.base) // spec.bytes
        names = [
            name
            for name, own in beats.items()
            if ((name == "c") == (burst.way == "w") or (name == "c" and adds))
            and not own.isdisjoint(range(start, start + burst.beats))
        ]
        known = len(names) == 1 and (names[0] == "c") == (burst.way == "w")
        found.append(names[0] if known else None)
    return found


def place(number: int, count: int) -> str:
    """Place of one of some."""
    if count == 1:
        return "only"
    return {0: "first", count - 1: "last"}.get(number, "middle")


def burst_values(
    spec: CoprocessorSpec, order: Order, bursts: tuple[Burst, ...]
) -> list[tuple[Burst, Values]]:
    """Tell the bins of bursts, of those whose kind is known."""
    names = kinds(spec, order, bursts)
    values = []
    numbers: dict[str, int] = defaultdict(int)
    for name, burst in zip(names, bursts, strict=True):
        if name is None:
            continue
        end = burst.address + burst.beats * spec.bytes
        found = {
            "of": name,
            "response": _RESPONSES[burst.response],
            "beats": _BEATS.get(burst.beats, "more"),
            "beat": place(next(iter(burst.errors)), burst.beats) if burst.errors else "none",
            "burst": place(numbers[name], names.count(name)),
            "end": "inside of 4 KiB" if end % PAGE else "at 4 KiB",
        }
        values.append((burst, found))
        numbers[name] += 1
    return values


class Collector(uvm_subscriber):
    """Samples coverage.

    Members
    -------
    orders, bursts : what is sampled; all tests of a run share it.
    before : what came before, a bin.
    """

    spec: CoprocessorSpec
    orders: list[Coverage]
    bursts: Coverage

    def build_phase(self) -> None:
        """Begin after a reset."""
        self.before = "hard_reset"
        self.new = 0

    def write(self, checked: Checked) -> None:
        """Sample an order and its bursts."""
        self.new = 0
        values = classified(self.spec, checked.order, self.before)
        if values is not None:
            for coverage in self.orders:
                self.new += coverage.sample(values)
        for _, found in burst_values(self.spec, checked.order, checked.bursts):
            self.new += self.bursts.sample(found)
        error = checked.order.error
        way = error.partition("_")[0]
        self.before = way if way in ("read", "write", "ring") and "err" in error else "refused"
        if error == "none":
            self.before = "done"
