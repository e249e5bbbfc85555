"""Bench of what rings of products take whose groups of K are scaled; all bytes are golden's."""

import json
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb import system
from carrysave.sim.cocotb.host import descriptors
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.soc.coprocessor import CoprocessorSpec, coprocessor
from verif.soc.benches.group_rings import SIZE, placed

SPEC: CoprocessorSpec = bench_spec()


@cocotb.test
async def test_cycles(dut: Any) -> None:
    """Their cycles are written to ``groups.json``."""
    parameters, took = bench_parameters(), []
    host, memory = await system.start(dut, size=SIZE, latency=parameters["latency_cycles"])
    for sizes in parameters["rings"]:
        jobs = placed(SPEC, sizes)
        image = np.frombuffer(descriptors(jobs, SPEC.sum_bytes), np.uint8)
        at = SIZE - len(image)
        memory.data[at:] = image
        expected = memory.data.copy()
        assert not any(coprocessor(SPEC, expected, job) for job in jobs)
        took.append(await host.time_ring(at, len(jobs)))
        assert np.array_equal(memory.data, expected)
        Path("groups.json").write_text(json.dumps(took))
