"""Not a test but a job: run the products and vector jobs of works.pickle by the driver.

Parameters of the bench: `one_start`, all at once. Writes what they make to results.npz, the
counters of each start to counters.json, and how far it is to progress.
"""

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge

from carrysave.driver.batch import Rows, Work, run
from carrysave.sim.cocotb.opened import opener
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.spec import CoprocessorSpec

SPEC: CoprocessorSpec | CoprocessorUartSpec = bench_spec()


def size(works: list[Work | Rows], one_start: bool) -> int:
    """Count bytes, a power of two, that hold all that is on the device at any time."""
    most = total = rows = columns = 0
    for work in works:
        if work.a is not None:
            rows, columns = work.a.shape
            total = total if one_start else 0
        matrices: tuple[tuple[int, int, int], ...]
        if isinstance(work, Rows):
            matrices = ((3 * rows, columns + 1, 16),)
        else:
            k, n = work.b.shape
            columns = n
            matrices = (rows, k, SPEC.a_bits), (k, n, SPEC.b_bits), (rows + 2, n, 64)
        # A beat more for each row, and room that an allocator leaves between matrices.
        total += sum(count * (length * bits // 8 + SPEC.bytes) for count, length, bits in matrices)
        total += 1024
        most = max(most, total)
    return 1 << max(most, 1 << 16).bit_length()


@cocotb.test
async def works(dut: Any) -> None:
    """Place everything in memory, and start."""
    given: list[Work | Rows] = pickle.loads(Path("works.pickle").read_bytes())
    one_start = bench_parameters()["one_start"]
    opened = await opener(dut, size(given, one_start))

    def say(done: int) -> None:
        Path("progress").write_text(str(done))

    def run_all() -> None:
        results, counters = run(opened(), given, one_start=one_start, progress=say)
        archive: dict[str, Any] = {str(number): c for number, c in enumerate(results)}
        np.savez("results.npz", **archive)
        found = [dataclasses.asdict(one) | {"utilisation": one.utilisation} for one in counters]
        Path("counters.json").write_text(json.dumps(found))

    await bridge(run_all)()
