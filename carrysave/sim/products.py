"""Matrix products on simulated hardware: on an engine, or on a co-processor through its driver."""

import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.driver.batch import Rows, Work
from carrysave.sim import tiling
from carrysave.sim.parameters import describe
from carrysave.sim.runner import new_folder, run, sources_of
from carrysave.sim.verilator import build
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
    progress: Callable[[int, int], None] | None = None,
    deadline: float = 3600.0,
) -> tuple[list[np.ndarray], list[dict[str, Any]]]:
    """Run products and vector jobs on the simulated co-processor, through its driver.

    Parameters
    ----------
    design : a co-processor.
    works : intermediate matrices stay in the simulated memory.
    directory : folder in which this run gets its own new folder.
    one_start : all in one start, else one start each.
    progress : called with the works done so far and their total.
    deadline : seconds after which the simulation is ended.

    Returns
    -------
    C of each, and the hardware's counters of each start.

    Raises
    ------
    RuntimeError : if the simulation fails; names the log.
    """
    folder = new_folder(directory, design.module)
    (folder / "works.pickle").write_bytes(pickle.dumps(list(works)))
    counter = folder / "progress"

    def poll() -> None:
        if progress is not None and counter.exists():
            progress(int(counter.read_text() or 0), len(works))

    result = run(
        build(sources_of(design, folder, from_cache=True), design.module),
        "carrysave.sim.cocotb.job_driver",
        parameters={**describe(design), "one_start": one_start},
        directory=folder,
        deadline=deadline,
        poll=poll,
    )
    if not result.ok:
        raise RuntimeError(f"simulation failed: {', '.join(result.failed)}; see {result.log}")
    with np.load(folder / "results.npz") as data:
        results = [data[str(number)] for number in range(len(works))]
    return results, json.loads((folder / "counters.json").read_text())
