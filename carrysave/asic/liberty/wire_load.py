"""Wire load of a library: capacitance and resistance of a net by how many pins it drives."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.liberty.cells import Library
from carrysave.asic.liberty.units import number

__all__ = ["WireLoad"]

_OHMS = {"1ohm": 1.0, "10ohm": 10.0, "100ohm": 100.0, "1kohm": 1000.0}

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class WireLoad:
    """The default wire load.

    Attributes
    ----------
    capacitance, resistance : fF and ohm of a wire of length 1.
    lengths : by pins, from one pin on.
    slope : length for each pin more.
    """

    capacitance: float
    resistance: float
    lengths: tuple[float, ...]
    slope: float

    @classmethod
    def of(cls, library: Library) -> "WireLoad | None":
        """Return that of a library; None if it has none."""
        text = library.text
        default = re.search(r'\bdefault_wire_load\s*:\s*"?([^";\s]+)"?', text)
        if default is None:
            return None
        group = re.search(
            rf'\bwire_load\s*\(\s*"?{re.escape(default[1])}"?\s*\)\s*\{{([^{{}}]*)\}}', text
        )
        if group is None:
            return None
        unit = re.search(r'\bpulling_resistance_unit\s*:\s*"?\s*(\w+)', text)
        ohms = _OHMS.get(unit[1].lower() if unit else "1kohm", 1000.0)
        numbers = dict(re.findall(r"\b(capacitance|resistance|slope)\s*:\s*([^;\s]+)", group[1]))
        rows = re.findall(r"\bfanout_length\s*\(\s*([^,\s]+)\s*,\s*([^,)\s]+)", group[1])
        by_pins = {
            int(number("fanout_length", pins, 1, 1000)): number("fanout_length", length, 0)
            for pins, length in rows
        }
        if not by_pins:
            return None
        points = sorted(by_pins)
        lengths = np.interp(range(1, points[-1] + 1), points, [by_pins[at] for at in points])
        values = {
            name: number(f"{name} of wire_load", numbers.get(name, "0"), 0)
            for name in ("capacitance", "resistance", "slope")
        }
        farads = library.capacitance_unit * 1e15
        return cls(
            values["capacitance"] * farads,
            values["resistance"] * ohms,
            tuple(lengths.tolist()),
            values["slope"],
        )

    def length(self, pins: Ids) -> Floats:
        """Return the length of nets by the pins that they drive."""
        known = np.array([0.0, *self.lengths])
        most = len(self.lengths)
        return known[np.minimum(pins, most)] + self.slope * np.maximum(pins - most, 0)

    def farads(self, pins: Ids) -> Floats:
        """Return the capacitance of such nets, fF."""
        return self.capacitance * self.length(pins)

    def delay(self, pins: Ids, load: Floats) -> Floats:
        """Return the delay to a pin of such a net, ns: each has a branch of its own.

        Parameters
        ----------
        load : of the pin, fF.
        """
        each = np.maximum(pins, 1)
        wire_delay = self.resistance * self.length(pins) / each
        return wire_delay * (self.farads(pins) / each + load) * 1e-6
