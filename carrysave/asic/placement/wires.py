"""Wires of a placed netlist: a spanning tree for each net, its capacitance, delay, and as SPEF."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from carrysave.asic.placement.technology import Technology

__all__ = ["Tree", "joined", "spef", "spef_head"]


@dataclass(frozen=True)
class Tree:
    """Wires of a net: from each pin but the first, the driver, to the pin before it.

    Attributes
    ----------
    above : for each pin the pin that it hangs from; of the driver 0.
    lengths : um of wire to that.
    """

    above: tuple[int, ...]
    lengths: tuple[float, ...]

    @property
    def length(self) -> float:
        """All of its wire, um."""
        return sum(self.lengths)

    def delays(self, technology: Technology, loads: Sequence[float]) -> list[float]:
        """Return Elmore's delay to each pin, ns, with the capacitance of the pins, fF."""
        below = [
            load + length * technology.capacitance / 2
            for load, length in zip(loads, self.lengths, strict=True)
        ]
        for pin in range(len(below) - 1, 0, -1):
            # A pin hangs from one before it, so that its own sum is complete here.
            half = self.lengths[pin] * technology.capacitance / 2
            below[self.above[pin]] += below[pin] + half
        delays = [0.0] * len(below)
        for pin in range(1, len(below)):
            ohms = self.lengths[pin] * technology.resistance
            delays[pin] = delays[self.above[pin]] + ohms * below[pin] * 1e-6
        return delays


def joined(points: Sequence[tuple[float, float]]) -> tuple[list[int], list[int], list[float]]:
    """Return the order in which points join a tree (Prim), what each hangs from, and how far.

    Numbers of what they hang from are places in the order.
    """
    count = len(points)
    order, above, lengths = [0], [0], [0.0]
    left = list(range(1, count))
    x0, y0 = points[0]
    best = [abs(x - x0) + abs(y - y0) for x, y in points[1:]]
    near = [0] * (count - 1)
    while left:
        at = min(range(len(left)), key=best.__getitem__)
        pin, position = left.pop(at), len(order)
        order.append(pin)
        above.append(near.pop(at))
        lengths.append(best.pop(at))
        x0, y0 = points[pin]
        for index, other in enumerate(left):
            x, y = points[other]
            far = abs(x - x0) + abs(y - y0)
            if far < best[index]:
                best[index], near[index] = far, position
    return order, above, lengths


def spef_head(top: str) -> list[str]:
    """Return the lines that SPEF begins with: in ns, fF and ohm."""
    return [
        '*SPEF "IEEE 1481-1998"', f'*DESIGN "{top}"', '*DATE ""', '*VENDOR "carrysave"',
        '*PROGRAM "carrysave"', '*VERSION ""', '*DESIGN_FLOW ""', "*DIVIDER /", "*DELIMITER :",
        "*BUS_DELIMITER [ ]", "*T_UNIT 1 NS", "*C_UNIT 1 FF", "*R_UNIT 1 OHM", "*L_UNIT 1 HENRY",
    ]  # fmt: skip


def spef(top: str, nets: Iterator[tuple[str, Sequence[str], Tree]], technology: Technology) -> str:
    """Return the wires as SPEF, in fF and ohm.

    Parameters
    ----------
    nets : of each its name, its pins in the order of its tree, and the tree. A pin of a cell is
        ``cell:pin``, any other a port.
    """
    lines = spef_head(top)
    for name, pins, tree in nets:
        farads = [0.0] * len(pins)
        for pin in range(1, len(pins)):
            half = tree.lengths[pin] * technology.capacitance / 2
            farads[pin] += half
            farads[tree.above[pin]] += half
        lines += [f"*D_NET {name} {sum(farads):.4f}", "*CONN"]
        for index, end in enumerate(pins):
            kind = "*I" if ":" in end else "*P"
            lines.append(f"{kind} {end} {'O' if (index == 0) == (kind == '*I') else 'I'}")
        lines.append("*CAP")
        lines += [
            f"{at + 1} {pin} {load:.4f}"
            for at, (pin, load) in enumerate(zip(pins, farads, strict=True))
        ]
        lines.append("*RES")
        lines += [
            f"{pin} {pins[tree.above[pin]]} {pins[pin]} "
            f"{max(tree.lengths[pin] * technology.resistance, 0.001):.3f}"
            for pin in range(1, len(pins))
        ]
        lines.append("*END")
    return "\n".join([*lines, ""])
