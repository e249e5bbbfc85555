"""Full adders in the gates of a design: recognised, and made cells of the library where they pay.

A full adder of gates is what this project's bit heaps and Yosys's ``$fa`` become: two XORs, and an
OR of two ANDs. A library's cell is smaller and takes less energy than these, and is slower.
"""

import re
from graphlib import CycleError, TopologicalSorter
from typing import Any

from carrysave.asic.liberty.cells import Cell, Library

__all__ = ["ADDERS", "FEWER", "FORMAT", "LATE", "PATTERN", "late", "pattern"]

FORMAT = 1  # of what is cached; raise it with any change of what is found

ADDERS = ("1", "0.91", "0.85")
"""Which full adders are cells: all; or but for those that make the longest path longer than this
share of it."""

FEWER = "0.77", "0.74"
"""For periods that none of these meets: the share is by a rough measure of time."""

LATE = "late_full_adder"
"""What those adders are called for a while that become gates again."""

PATTERN = "adder.v"
"""What Yosys sees :func:`pattern` as."""

_SUM = (0, 1, 1, 0, 1, 0, 0, 1)

# Delays in XOR gates: of what there is before mapping; of the carry and the sum of a full adder's
# cell; of the same in gates, from the last input and from the others.
_DELAYS = {"$_XOR_": 1.0, "$_XNOR_": 1.0, "$_MUX_": 1.0, "$_NOT_": 0.1, "$_BUF_": 0.0}
_GATE, _CLOCKED = 0.6, 2.5
_CELL = 2.3, 2.8
_LAST, _OTHERS = (1.2, 1.0), (2.2, 2.0)
_NEAR = 0.3  # of the longest path, where paths count as long, too


def _ports(cell: Cell) -> tuple[list[str], str, str]:
    """Return the pins of a full adder: inputs, sum, carry."""
    tables = {cell.table(pin): pin.name for pin in cell.outputs}
    total = tables.pop(_SUM)
    (carry,) = tables.values()
    return [pin.name for pin in cell.inputs], total, carry


def pattern(cell: Cell, name: str | None = None) -> str:
    """Return Verilog of the gates that Yosys's ``extract`` makes this cell of, ``techmap`` back.

    Of a cell of another name, but with the same pins, if one is given.
    """
    (a, b, c), total, carry = _ports(cell)
    return f"""module {name or cell.name} (input {a}, {b}, {c}, output {total}, {carry});
  wire half, both, late;
  \\$_XOR_ x (.A({a}), .B({b}), .Y(half));
  \\$_XOR_ s (.A(half), .B({c}), .Y({total}));
  \\$_AND_ g (.A({a}), .B({b}), .Y(both));
  \\$_AND_ p (.A(half), .B({c}), .Y(late));
  \\$_OR_ o (.A(both), .B(late), .Y({carry}));
endmodule
"""


def late(module: dict[str, Any], library: Library, share: float) -> list[str]:
    """Return a small set of full adders that must be gates, so that no path is too long.

    Parameters
    ----------
    module : as in Yosys's JSON; of gates, flip-flops and these cells. What is in other modules
        takes no time.
    share : of the longest path that there is with them.
    """
    paths = _Paths(module, library)
    cells: list[str] = []
    limit = share * paths.longest()
    while paths.longest() > limit and (name := paths.busiest()) is not None:
        paths.take_apart(name)
        cells.append(name)
    return cells


class _Paths:
    """Paths of a module by a rough measure of time."""

    def __init__(self, module: dict[str, Any], library: Library) -> None:
        cell = library.full_adder
        assert cell is not None
        inputs, total, carry = _ports(cell)
        self.before: dict[int, list[tuple[int, float]]] = {}  # nets that a net comes from, delays
        self.adders: dict[str, tuple[list[int], int, int]] = {}
        for name, description in module["cells"].items():
            kind, ways = description["type"], description.get("port_directions")
            if ways is None:
                ways = {pin.name: pin.direction for pin in library.cells[kind].pins}
            bits = {
                port: [bit for bit in nets if isinstance(bit, int)]
                for port, nets in description["connections"].items()
            }
            if kind == cell.name:
                into = [description["connections"][pin][0] for pin in inputs]
                ends = [(description["connections"].get(pin) or [-1])[0] for pin in (carry, total)]
                self.adders[name] = into, ends[0], ends[1]
                self._adder(name, (_CELL, _CELL, _CELL))
                continue
            logic = kind.startswith("$_") and not re.search("DFF|LATCH|_FF", kind)
            delay = _DELAYS.get(kind, _GATE)
            sources = [bit for port, nets in bits.items() if ways[port] == "input" for bit in nets]
            for port, nets in bits.items():
                for bit in nets if ways[port] == "output" else ():
                    self.before[bit] = (
                        [(source, delay) for source in sources] if logic else [(-1, _CLOCKED)]
                    )
        try:
            waits = {
                bit: [source for source, _ in description]
                for bit, description in self.before.items()
            }
            self.order = list(TopologicalSorter(waits).static_order())
        except CycleError:
            self.order = []
        self._time()

    def _adder(self, name: str, delays: tuple[tuple[float, float], ...]) -> None:
        into, *ends = self.adders[name]
        for index, end in enumerate(ends):
            self.before[end] = [
                (bit, delay[index])
                for bit, delay in zip(into, delays, strict=True)
                if isinstance(bit, int)
            ]

    def take_apart(self, name: str) -> None:
        """Make gates of a full adder."""
        self._adder(name, (_OTHERS, _OTHERS, _LAST))
        del self.adders[name]
        self._time()

    def _time(self) -> None:
        """Find the time to each net, and from it to the end."""
        self.arrival, self.left = dict.fromkeys(self.order, 0.0), dict.fromkeys(self.order, 0.0)
        for bit in self.order:
            arcs = self.before.get(bit, ())
            self.arrival[bit] = max((self.arrival[a] + delay for a, delay in arcs), default=0.0)
        for bit in reversed(self.order):
            for a, delay in self.before.get(bit, ()):
                self.left[a] = max(self.left[a], self.left[bit] + delay)

    def longest(self) -> float:
        """Return the longest path."""
        return max(self.arrival.values(), default=0.0)

    def busiest(self) -> str | None:
        """Return the full adder that most of the longest paths go through; None if there is none.

        Of several the one nearest to the end.
        """
        least = self.longest() - _NEAR
        ways, onward = dict.fromkeys(self.order, 0.0), dict.fromkeys(self.order, 0.0)

        def long(a: int, delay: float, bit: int) -> bool:
            return self.arrival[a] + delay + self.left[bit] >= least

        for bit in self.order:
            ways[bit] = sum(ways[a] for a, d in self.before.get(bit, ()) if long(a, d, bit)) or 1.0
        for bit in reversed(self.order):
            onward[bit] = onward[bit] or 1.0
            for a, delay in self.before.get(bit, ()):
                if long(a, delay, bit):
                    onward[a] += onward[bit]
        best = None
        for name, (_, *ends) in self.adders.items():
            on = [bit for bit in ends if self.arrival.get(bit, 0) + self.left.get(bit, 0) >= least]
            if on:
                count = sum(ways[bit] * onward[bit] for bit in on)
                best = max(best or (0.0, 0.0, ""), (count, self.arrival[on[0]], name))
        return best[2] if best else None
