"""Replays what the inputs of a design do on its netlist, with the delays of its gates."""

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.native import compiled
from carrysave.asic.power.delays import Delays
from carrysave.asic.power.flat_netlist import ONE, ZERO, Flat, Ids, SimulationError
from carrysave.asic.power.gates import Logic, logic

__all__ = ["Switching", "Trace", "replay"]

Bits = NDArray[np.uint8]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """What the ports of a design do.

    Members
    -------
    ports : cycles x bits of each port, before each rising edge of the clock.
    first, end : cycles that count, whole sums; at least one is before them.
    products : multiply-accumulates in them.
    """

    ports: dict[str, NDArray[np.uint8]]
    first: int
    end: int
    products: int


@dataclass(frozen=True)
class Switching:
    """What the nets of a netlist do, per net.

    Members
    -------
    density : transitions per cycle.
    functional : of these, the ones there would be without delays; the others are glitches.
    duty : share of the cycles at whose end it is 1.
    """

    density: Floats
    functional: Floats
    duty: Floats


class _Netlist(ctypes.Structure):
    _fields_ = (
        ("nets", ctypes.c_int64),
        ("gates", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in ("gate_in", "gate_out", "gate_table", "gate_delays", "delays")
        ),
        ("registers", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in ("data", "q", "qn", "register_clock", "q_delays", "qn_delays")
        ),
        ("clock_gates", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("gate_clock", "enable", "gated")),
    )


def replay(flat: Flat, trace: Trace, clock: str, delays: Delays) -> tuple[Switching, Ids]:
    """Replay what the inputs do on a netlist.

    Inputs change at the rising edge of the clock, as the registers of a neighbour without delay
    would have them; outputs of flip-flops and gates change after their delays. A pulse shorter
    than the delay of a gate does not pass it and counts nothing (inertial delay): a partial swing
    has no energy here. Each cycle lasts until nothing moves, whatever the period; that it is long
    enough is for timing analysis to say. The clock and its gates have no delay.

    Parameters
    ----------
    delays : per module, type of cell and output, in ns.

    Returns
    -------
    What the nets do in the cycles that count; the numbers of the simulated nets.

    Raises
    ------
    SimulationError
        If the netlist cannot be simulated, an output differs from what was recorded, or a net
        ends a cycle with another value than it has without delays.
    """
    what = logic(flat, delays)
    pins, rows = _stimulus(flat, trace, clock)
    clock_net = int(flat.port(clock)[0])
    counts = _counted(flat, trace, what, pins, rows, clock_net)
    cycles = trace.end - trace.first
    density, settled, duty = (each[: flat.nets] / cycles for each in counts)
    clocks = np.append(what.gated, clock_net)
    clocks = clocks[clocks < flat.nets]
    duty[clocks] = density[clocks] / 4  # high for half of each cycle in which it rises
    driven = np.concatenate([pins["input"], clocks, what.gate_out, what.q, what.qn, [ZERO, ONE]])
    return Switching(density, settled, duty), driven


def _stimulus(flat: Flat, trace: Trace, clock: str) -> tuple[dict[str, Ids], dict[str, Bits]]:
    """Return the nets of all inputs and outputs but the clock, and their bits in each cycle."""
    nets: dict[str, list[Ids]] = {"input": [_none()], "output": [_none()]}
    bits: dict[str, list[Bits]] = {
        way: [np.zeros((len(next(iter(trace.ports.values()))), 0), np.uint8)] for way in nets
    }
    for name, (direction, _) in flat.modules[flat.top].ports.items():
        if name != clock:
            nets[direction].append(flat.port(name))
            bits[direction].append(trace.ports[name])
    return (
        {way: np.ascontiguousarray(np.concatenate(one), np.int32) for way, one in nets.items()},
        {way: np.ascontiguousarray(np.concatenate(one, axis=1)) for way, one in bits.items()},
    )


def _counted(
    flat: Flat,
    trace: Trace,
    what: Logic,
    pins: dict[str, Ids],
    rows: dict[str, Bits],
    clock_net: int,
) -> NDArray[np.int64]:
    """Replay; return of each net its transitions, those without glitches, and cycles at one."""
    transitions, functional, ones = counts = np.zeros((3, what.nets), np.int64)
    arrays = {
        name: np.ascontiguousarray(getattr(what, name))
        for name in Logic.__dataclass_fields__
        if name != "nets"
    }
    netlist = _Netlist(
        nets=what.nets,
        gates=len(what.gate_out),
        registers=len(what.q),
        clock_gates=len(what.gated),
        **{name: array.ctypes.data for name, array in arrays.items()},
    )
    assert trace.first > 0
    ended = _library().replay(
        ctypes.byref(netlist),
        *map(ctypes.c_int64, (len(rows["input"]), trace.first, trace.end)),
        ctypes.c_int32(clock_net),
        *(ctypes.c_int64(len(pins["input"])), _at(pins["input"]), _at(rows["input"])),
        *(ctypes.c_int64(len(pins["output"])), _at(pins["output"]), _at(rows["output"])),
        *(_at(transitions), _at(functional), _at(ones)),
    )
    if ended == _UNSETTLED:
        raise SimulationError(f"netlist of {flat.top} settles on other values than without delays")
    if ended >= 0:
        raise SimulationError(f"netlist of {flat.top} differs from its Verilog in cycle {ended}")
    return counts


_UNSETTLED = -2


def _none() -> Ids:
    return np.zeros(0, np.int32)


def _at(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _library() -> ctypes.CDLL:
    """Return the compiled replay, from the cache if possible."""
    library = compiled(Path(__file__).with_name("replay.cpp"), "the replay of netlists")
    library.replay.restype = ctypes.c_int64
    return library
