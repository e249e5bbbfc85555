"""Not a test but a job: run a network on a system, at the pins of its serial line.

Takes plan.pickle: a plan, and the codes and parameters of each input. Parameters of the bench:
`divisor`, cycles of a bit; `every`, whether codes of all layers are read, not of the last alone;
`apart`, whether starts run each by itself in the last input. Writes what came
back to outcomes.pickle, and the cycles that passed: to the first answer, to the last byte of the
network, and to the end of each run; how far it is goes to progress.
"""

import pickle
from pathlib import Path
from typing import Any

import cocotb
from cocotb.simtime import get_sim_time
from cocotb.task import bridge

from carrysave.driver.system import Outcome, System
from carrysave.sim.cocotb.serial_line import SerialLine
from carrysave.sim.cocotb.streams import PERIOD_NS, reset, start_clock
from carrysave.sim.parameters import bench_parameters

BOOT = 1e4
"""Bits of the line after which the system has booted."""
PATIENCE = 1e9
"""Bits of the line that a run may take."""
SILENCE = 300.0
"""Bits after which the line is silent, or an answer lost: several bytes, and what the firmware does
between them."""


@cocotb.test
async def network(dut: Any) -> None:
    """Boot, load, run."""
    plan, inputs = pickle.loads(Path("plan.pickle").read_bytes())
    chosen = bench_parameters()
    line = SerialLine(dut, chosen["divisor"])
    await start_clock(dut)
    await reset(dut)

    def now() -> int:
        return int(get_sim_time("ns")) // PERIOD_NS

    def host() -> None:
        line.timeout = BOOT
        system = System(line, plan, PATIENCE)
        cycles = [now()]
        line.timeout = SILENCE
        system.load()
        cycles.append(now())
        outcomes: list[Outcome] = []
        for number, (codes, parameters) in enumerate(inputs, 1):
            apart = chosen["apart"] and number == len(inputs)
            outcomes.append(system.run(codes, parameters, every=chosen["every"], apart=apart))
            cycles.append(now())
            Path("progress").write_text(str(len(outcomes)))
        Path("outcomes.pickle").write_bytes(pickle.dumps((outcomes, cycles)))

    await bridge(host)()
