"""Checks that LEF has what a netlist needs, and agrees with Liberty."""

from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.routing.lef import RoutingLef
from carrysave.errors import ArgumentError

__all__ = ["check_macros"]


def check_macros(netlist: Netlist, lef: RoutingLef, tap: str) -> None:
    """Refuse LEF without a cell or pin, or with cells of other sizes than Liberty has.

    Parameters
    ----------
    tap : the cell that ties wells; empty if there is none.
    """
    kinds = {cell.kind for cell in netlist.cells.values()} | ({tap} if tap else set())
    missing = sorted(kinds - lef.macros.keys())
    if missing:
        raise ArgumentError(
            "{lef} must have a MACRO of each cell, to {route}, and not of {missing}",
            missing=", ".join(missing[:5]) + (", ..." if len(missing) > 5 else ""),
        )
    for kind in sorted(kinds - {tap}):
        (wide, high), area = lef.macros[kind].size, netlist.library.cells[kind].area
        if abs(wide * high - area) > 0.01 * area:
            raise ArgumentError(
                "{lef} and {library} must agree, but {kind} is {wide:g} x {high:g} um in one and"
                " {area:g} um2 in the other",
                library=netlist.library.called,
                kind=kind,
                wide=wide,
                high=high,
                area=area,
            )
        pins = {pin.name for pin in netlist.library.cells[kind].pins}
        if lost := sorted(
            pin
            for pin in pins
            if pin not in lef.macros[kind].pins
            and any(cell.kind == kind and pin in cell.nets for cell in netlist.cells.values())
        ):
            raise ArgumentError(
                "{lef} must have pin {pin} of {kind}, and has not", pin=lost[0], kind=kind
            )
