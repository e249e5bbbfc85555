"""Matrix products on simulated hardware: on an engine, or on a co-processor through its driver."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.driver import batch
from carrysave.driver.batch import Rows, Work
from carrysave.driver.device_info import Counters
from carrysave.sim import tiling
from carrysave.sim.device import with_device
from carrysave.sim.parameters import describe
from carrysave.sim.runner import new_folder, run, sources_of
from carrysave.sim.verilator import build
from golden.soc.memory_timing import MemoryTiming
from hw.catalog import Design

__all__ = ["multiply", "run_works"]


def multiply(
    design: Design,
    pairs: Sequence[tuple[np.ndarray, np.ndarray]],
    directory: Path,
    progress: Callable[[int, int], None] | None = None,
    deadline: float = 3600.0,
) -> list[np.ndarray]:
    """Multiply matrices on the simulated engine.

    Each product is cut into tiles, padded with zeros at its edges, and K into chunks of at most
    the engine's k_max, whose products are summed here.

    Parameters
    ----------
    design : an engine.
    pairs : integer matrices A (M x K) and B (K x N), codes of the engine's formats.
    directory : folder in which this run gets its own new folder.
    progress : called with the tiles multiplied so far and their total.
    deadline : seconds after which the simulation is ended.

    Returns
    -------
    int64 products, M x N, in the order of `pairs`.

    Raises
    ------
    RuntimeError : if the simulation fails; names the log.
    """
    folder = new_folder(directory, design.module)
    spec = design.spec
    jobs = [tiling.cut(spec, a, b) for a, b in pairs]
    total = sum(len(job.lengths) for job in jobs)
    if total == 0:
        return [tiling.join(spec, job, np.zeros((0, spec.n), np.int64)) for job in jobs]
    tiling.save(folder / "operands.npz", jobs)
    counter = folder / "progress"

    def poll() -> None:
        if progress is not None and counter.exists():
            progress(int(counter.read_text() or 0), total)

    simulator = build(sources_of(design, folder, from_cache=True), design.module)
    parameters = describe(design)
    bench = "carrysave.sim.cocotb.job_multiply"
    result = run(
        simulator, bench, parameters=parameters, directory=folder, deadline=deadline, poll=poll
    )
    if not result.ok:
        raise RuntimeError(f"simulation failed: {', '.join(result.failed)}; see {result.log}")
    if progress is not None:
        progress(total, total)
    rows = np.load(folder / "products.npy")
    ends = np.cumsum([len(job.lengths) * spec.m for job in jobs])
    return [
        tiling.join(spec, job, part)
        for job, part in zip(jobs, np.split(rows, ends[:-1]), strict=True)
    ]


def run_works(
    design: Design,
    works: Sequence[Work | Rows],
    directory: Path,
    *,
    one_start: bool = False,
    memory: MemoryTiming | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    deadline: float = 3600.0,
) -> tuple[list[np.ndarray], list[dict[str, Any]]]:
    """Run products and vector jobs on the simulated co-processor, through its driver.

    Parameters
    ----------
    design : a co-processor.
    works : intermediate matrices stay in the simulated memory.
    directory : folder in which this run gets its own new folder.
    one_start : all in one start, else one start each.
    memory : how long it takes; None: as the design says.
    progress : called with the works done so far and their total.
    deadline : seconds after which the simulation is ended.

    Returns
    -------
    C of each, and the hardware's counters of each start.

    Raises
    ------
    RuntimeError : if the simulation fails; names the log.
    """
    results: list[np.ndarray]
    counters: list[Counters]
    results, counters = with_device(
        design,
        partial(batch.run, works=list(works), one_start=one_start),
        directory,
        size=_size(design.spec, works, one_start),
        memory=memory,
        progress=lambda done: progress(done, len(works)),
        deadline=deadline,
    )

    return results, [asdict(one) | {"utilisation": one.utilisation} for one in counters]


def _size(spec: Any, works: Sequence[Work | Rows], one_start: bool) -> int:
    """Count bytes that hold all that is on the device at any time."""
    most = total = rows = columns = 0
    for work in works:
        if work.a is not None:
            rows, columns = work.a.shape
            total = total if one_start or work.goes_on else 0
        matrices: tuple[tuple[int, int, int], ...]
        if isinstance(work, Rows):
            matrices = ((3 * rows, columns + 1, 16),)
        else:
            k, n = work.b.shape
            columns = n
            matrices = (rows, k, spec.a_bits), (k, n, spec.b_bits), (rows + 2, n, 64)
        # A beat more for each row, and room that an allocator leaves between matrices.
        total += sum(count * (length * bits // 8 + spec.bytes) for count, length, bits in matrices)
        total += 1024
        most = max(most, total)
    return max(most, 1 << 16)
