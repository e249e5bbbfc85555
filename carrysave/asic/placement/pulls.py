"""Critical wires, for the placer to shorten: it knows lengths, not times."""

from carrysave.asic.placement.die import Die, Pull
from carrysave.asic.placement.timing import Timing

__all__ = ["pulls"]

_NEAR = 0.06
"""Share of the period: pins that may wait no longer are pulled to their driver."""
_MOST = 4
"""Times that a pin which may not wait at all is pulled; the net that it is on comes beside."""


def pulls(die: Die, timing: Timing) -> list[Pull]:
    """List driver and cell of each wire that is pulled, as often as it is."""
    times = timing.times()
    slack = timing.slack(times)
    near = _NEAR * times.period
    drivers = die.netlist.drivers()
    nets = {number: net for net, number in timing.nets.items()}
    listed: list[Pull] = []
    for pin in (slack < near).nonzero()[0].tolist():
        net = nets[int(timing.pin_net[pin])]
        ends = drivers[net].cell if net in drivers else "", timing.sink(pin).cell
        if all(ends) and ends[0] != ends[1] and net not in die.clocks:
            share = 1 - max(float(slack[pin]), 0.0) / near
            listed += [ends] * (1 + round((_MOST - 1) * share))
    return listed
