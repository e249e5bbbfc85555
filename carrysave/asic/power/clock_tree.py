"""Energy of the wires of a placed netlist, and of the clock tree that is estimated for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.liberty.cells import Library
from carrysave.asic.liberty.energies import energies
from carrysave.asic.liberty.tables import LibertyError
from carrysave.asic.power.flat_netlist import Flat

__all__ = ["Branch", "Wires", "clock_tree_fj"]

_SLEW = 0.1  # ns, of edges in a clock tree


@dataclass(frozen=True)
class Branch:
    """The tree below one net of the clock.

    Attributes
    ----------
    cell, pin : what drives it: a clock gate, or with no cell the clock's port.
    buffers : of each its kind, and what it drives, fF.
    farads : of its wires, fF.
    """

    cell: str
    pin: str
    buffers: Sequence[tuple[str, float]]
    farads: float


@dataclass(frozen=True)
class Wires:
    """Wires of a placed netlist.

    Attributes
    ----------
    spef : all of them, but the clock's.
    farads : those that a cell's output drives, fF, by cell and pin.
    clock : the tree below each net of the clock.
    """

    spef: str
    farads: Mapping[tuple[str, str], float]
    clock: Sequence[Branch]


def clock_tree_fj(
    branches: Sequence[Branch],
    flat: Flat,
    density: NDArray[np.float64],
    library: Library,
    clock: str | None,
) -> float:
    """Return the energy of a clock tree in fJ per cycle.

    It is that of its wires and buffers, and of the pins that the port drives; pins behind clock
    gates are counted with the gates.

    Parameters
    ----------
    density : transitions per cycle of each net.

    Raises
    ------
    LibertyError
        If the library states no voltage, or its energies are not understood.
    """
    voltage = library.corner["voltage"]
    if not isinstance(voltage, float):
        raise LibertyError(f"{library.name} states no voltage")
    kinds = sorted({kind for branch in branches for kind, _ in branch.buffers})
    known = energies(library, kinds)
    nets = {
        (cell, pin): int(flat.nets_of[name][0, ids[index]])
        for name, module in flat.modules.items()
        for group in module.groups
        if group.cell.gate
        for pin, ids in group.pins.items()
        for index, cell in enumerate(group.names)
    }
    total = 0.0
    for branch in branches:
        if branch.cell:
            rate, farads = density[nets[branch.cell, branch.pin]], branch.farads
        else:
            assert clock is not None
            (net,) = flat.port(clock)
            rate, farads = density[net], branch.farads + _pins(flat, int(net))
        for kind, load in branch.buffers:
            farads += sum(pin.capacitance for pin in library.cells[kind].inputs)
            total += rate * sum(
                float(entry.energy(np.array([_SLEW]), np.array([load]))[0])
                for entry in known[kind].internal
                if entry.when is None
            )
        total += 0.5 * farads * voltage * voltage * rate
    return total


def _pins(flat: Flat, net: int) -> float:
    """Return the capacitance of all pins on a net, fF."""
    return sum(
        pin.capacitance * int((flat.nets_of[name][:, group.pins[pin.name]] == net).sum())
        for name, module in flat.modules.items()
        for group in module.groups
        for pin in group.cell.inputs
    )
