"""What a simulation of a netlist evaluates: its gates with their delays, registers, clock gates."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.liberty.cells import Cell, Register
from carrysave.asic.liberty.functions import compile_function
from carrysave.asic.power.delays import Delays
from carrysave.asic.power.flat_netlist import UNKNOWN, ZERO, CellGroup, Flat, Ids, SimulationError

__all__ = ["Logic", "logic"]

GATE_INPUTS = 6


@dataclass(frozen=True)
class Logic:
    """What a simulation of the netlist evaluates; net numbers, delays in ps.

    Members
    -------
    gate_in, gate_out, gate_table : inputs (gates x 6), output and truth table, in an order in
        which a gate comes after all that drive it.
    gate_delays : the row of ``delays`` of each gate.
    delays : rows x inputs x new value of the input x new value of the output.
    data, q, qn, register_clock : flip-flops.
    q_delays, qn_delays : from the edge of the clock, flip-flops x new value.
    gate_clock, enable, gated : clock gates, each after those that drive its clock.
    """

    nets: int
    gate_in: Ids
    gate_out: Ids
    gate_table: NDArray[np.uint64]
    gate_delays: Ids
    delays: Ids
    data: Ids
    q: Ids
    qn: Ids
    register_clock: Ids
    q_delays: Ids
    qn_delays: Ids
    gate_clock: Ids
    enable: Ids
    gated: Ids


@dataclass(frozen=True)
class _Gates:
    """Gates of one kind: as in ``Logic``, a row of delays for each."""

    inputs: Ids
    out: Ids
    table: int
    delays: Ids


@dataclass(frozen=True)
class _Registers:
    """Flip-flops: rows data, q, qn, clock; rows of delays of q and qn."""

    nets: Ids
    delays: Ids


def logic(flat: Flat, delays: Delays) -> Logic:
    """Return what a simulation evaluates.

    Parameters
    ----------
    delays : as OpenSTA finds them, in ns; taken to the next ps, at least 1.

    Raises
    ------
    SimulationError
        If the netlist has a cell that is no gate of up to 6 inputs, rising-edge flip-flop without
        set and reset, or clock gate; or a loop of gates; or logic on its clock; or a cell without
        a delay.
    """
    gates, registers, clocks, fresh = _cells(flat, delays)
    gate_in, gate_out, gate_table, steps = _order(gates, fresh)
    _check_delays(flat, delays)
    rows, gate_delays = np.unique(steps.reshape(len(steps), -1), axis=0, return_inverse=True)
    data, q, qn, register_clock = np.concatenate([register.nets for register in registers], axis=1)
    q_delays, qn_delays = np.concatenate([register.delays for register in registers], axis=1)
    gate_clock, enable, gated = _chain(
        np.concatenate([np.zeros((3, 0), np.int32), *clocks], axis=1)
    )
    if np.isin(np.concatenate([register_clock, gate_clock]), gate_out).any():
        raise SimulationError("no simulation of logic on the clock")
    return Logic(
        nets=fresh,
        gate_in=gate_in,
        gate_out=gate_out,
        gate_table=gate_table,
        gate_delays=gate_delays.reshape(-1).astype(np.int32),
        delays=rows.reshape(-1, GATE_INPUTS, 2, 2),
        data=data,
        q=q,
        qn=qn,
        register_clock=register_clock,
        q_delays=q_delays,
        qn_delays=qn_delays,
        gate_clock=gate_clock,
        enable=enable,
        gated=gated,
    )


def _cells(flat: Flat, delays: Delays) -> tuple[list[_Gates], list[_Registers], list[Ids], int]:
    """Return gates, flip-flops, clock gates, and the number of nets with those inside of cells."""
    fresh = flat.nets  # nets inside of flip-flops follow
    gates: list[_Gates] = []
    registers = [_Registers(np.zeros((4, 0), np.int32), np.zeros((2, 0, 2), np.int32))]
    clocks: list[Ids] = []
    for name, module in flat.modules.items():
        copies = len(flat.instances[name])
        for group in module.groups:
            cell = group.cell
            nets = {pin: flat.nets_of[name][:, ids].reshape(-1) for pin, ids in group.pins.items()}
            if cell.gate:
                if cell.gate["style"] != "latch_posedge" or "test" in cell.gate:
                    raise SimulationError(f"no simulation of clock gate {cell.name}")
                clocks.append(np.stack([nets[cell.gate[r]] for r in ("clock", "enable", "out")]))
                continue
            steps = {
                pin.name: np.tile(
                    _steps(group, delays[name, cell.name, pin.name]), (copies, 1, 1, 1)
                )
                for pin in cell.outputs
            }
            if cell.register:
                register, inside, fresh = _registers(cell, cell.register, nets, steps, fresh)
                registers.append(register)
                gates += inside
            else:
                gates += _gates(cell, nets, steps)
    return gates, registers, clocks, fresh


def _steps(group: CellGroup, delays: NDArray[np.float64]) -> Ids:
    """Return the delays to an output of a group of cells in ps, for 6 inputs.

    A unate input has no delay for the edge that it cannot cause, but may have that edge in the
    same ps as another input that causes it. There it has the longest delay of the cell.
    """
    longest = np.fmax.reduce(delays, axis=(1, 2), initial=0.0)
    known = np.where(np.isnan(delays), longest[:, None, None], delays)
    pins = delays.shape[1]
    steps = np.ones((len(delays), max(GATE_INPUTS, pins), 2, 2), np.int32)
    steps[:, :pins] = np.maximum(np.rint(known * 1e3), 1)
    return steps


def _check_delays(flat: Flat, delays: Delays) -> None:
    """Refuse a cell with an input that may switch and an edge of an output without any arc."""
    for name, module in flat.modules.items():
        for group in module.groups:
            if group.cell.gate or not group.cell.inputs:
                continue
            moving = np.max([group.pins[pin.name] for pin in group.cell.inputs], axis=0) > UNKNOWN
            for pin in group.cell.outputs:
                pin_delays = delays[name, group.cell.name, pin.name][moving]
                if np.isnan(pin_delays).all(axis=(1, 2)).any():
                    raise SimulationError(f"no delay of cell {group.cell.name}")


def _gates(cell: Cell, nets: dict[str, Ids], delays: dict[str, Ids]) -> list[_Gates]:
    """Return the gates of cells: one for each output."""
    made = []
    for pin in cell.outputs:
        table = cell.table(pin)
        if table is None:
            raise SimulationError(f"no simulation of cell {cell.name}")
        out = nets[pin.name]
        inputs = _pad([nets[each.name] for each in cell.inputs], len(out))
        made.append(_Gates(inputs, out, _number(table), delays[pin.name]))
    return made


def _registers(
    cell: Cell, register: Register, nets: dict[str, Ids], delays: dict[str, Ids], fresh: int
) -> tuple[_Registers, list[_Gates], int]:
    """Return flip-flops, gates for their next state if it needs them, and the next free net."""
    wanted = [register.state, register.inverse]
    if register.clocked_on not in nets:
        raise SimulationError(f"no simulation of flip-flop {cell.name}: it is not on a rising edge")
    clock = [pin.name for pin in cell.inputs].index(register.clocked_on)
    count = len(nets[register.clocked_on])
    steps = np.ones((2, count, 2), np.int32)
    for function in wanted:
        nets[function] = fresh + np.arange(count, dtype=np.int32)
        fresh += count
    for pin in cell.outputs:
        if pin.function not in wanted:
            raise SimulationError(f"no simulation of flip-flop {cell.name}")
        nets[pin.function] = nets[pin.name]
        steps[wanted.index(pin.function)] = delays[pin.name][:, clock, 1]
    data, gates = _next_state(cell, register.next_state, nets, fresh)
    rows = np.stack([data, *(nets[name] for name in wanted), nets[register.clocked_on]])
    return _Registers(rows, steps), gates, fresh + count


def _next_state(
    cell: Cell, function: str, nets: dict[str, Ids], fresh: int
) -> tuple[Ids, list[_Gates]]:
    """Return the nets that flip-flops take, and the gates that drive them if they need any."""
    if function in nets:
        return nets[function], []
    names = [name for name in nets if re.search(rf"\b{re.escape(name)}\b", function)]
    evaluate = compile_function(function, frozenset(names))
    if evaluate is None or len(names) > GATE_INPUTS:
        raise SimulationError(f"no simulation of flip-flop {cell.name}")
    points = range(1 << len(names))
    table = tuple(evaluate({n: p >> i & 1 for i, n in enumerate(names)}) for p in points)
    count = len(nets[names[0]])
    data = fresh + np.arange(count, dtype=np.int32)
    inputs = _pad([nets[name] for name in names], count)
    inside = np.ones((count, GATE_INPUTS, 2, 2), np.int32)  # set-up time covers the true delays
    return data, [_Gates(inputs, data, _number(table), inside)]


def _pad(inputs: list[Ids], count: int) -> Ids:
    columns = inputs + [np.full(count, ZERO, np.int32)] * (GATE_INPUTS - len(inputs))
    return np.stack(columns, axis=1)


def _number(table: tuple[int, ...]) -> int:
    return sum(bit << position for position, bit in enumerate(table))


def _order(gates: list[_Gates], nets: int) -> tuple[Ids, Ids, NDArray[np.uint64], Ids]:
    """Return inputs, outputs, tables and delays of gates, every gate after its drivers."""
    inputs = np.concatenate([np.zeros((0, GATE_INPUTS), np.int32), *(g.inputs for g in gates)])
    outputs = np.concatenate([np.zeros(0, np.int32), *(g.out for g in gates)])
    tables = np.concatenate([
        np.zeros(0, np.uint64),
        *(np.full(len(g.out), g.table, np.uint64) for g in gates),
    ])
    none = np.zeros((0, GATE_INPUTS, 2, 2), np.int32)
    delays = np.concatenate([none, *(g.delays for g in gates)])
    level = np.zeros(nets, np.int32)
    for _ in range(10_000):
        deeper = level[inputs].max(axis=1, initial=0) + 1
        if (level[outputs] == deeper).all():
            order = np.argsort(deeper, kind="stable")
            return inputs[order], outputs[order], tables[order], delays[order]
        level[outputs] = deeper
    raise SimulationError("no simulation of a loop of gates")


def _chain(clocks: Ids) -> Ids:
    """Order clock gates (rows clock, enable, out), each after what drives its clock."""
    driver = {out: index for index, out in enumerate(clocks[2].tolist())}

    def depth(net: int) -> int:
        return depth(int(clocks[0, driver[net]])) + 1 if net in driver else 0

    return clocks[:, np.argsort([depth(net) for net in clocks[0].tolist()], kind="stable")]
