"""Not a test but a job: send the beats of beats.json, write those that come to answers.json."""

import json
from pathlib import Path
from typing import Any

import cocotb

from carrysave.sim.cocotb.bench import Bench
from carrysave.sim.cocotb.streams import Sink, Source, deadline

__all__ = ["Relay", "relay"]


class Relay(Bench):
    """A design with its clock running, reset, and its streams ``i`` and ``o``."""

    def __init__(self, dut: Any, taken: list[str], given: list[str]) -> None:
        super().__init__(dut, taken, given)
        self.i = Source(dut, "i", taken)
        self.o = Sink(dut, "o", given)


@cocotb.test
async def relay(dut: Any) -> None:
    """Send all beats without a stall; write as many answers as were asked for."""
    job = json.loads(Path("beats.json").read_text())
    bench = await Relay(dut, job["taken"], job["given"]).start()
    bench.i.send(job["beats"])
    await deadline(bench.o.take(job["count"]), 100 * len(job["beats"]) + 1000, "answers")
    Path("answers.json").write_text(json.dumps(bench.o.beats))
    await bench.o.silent(50)
