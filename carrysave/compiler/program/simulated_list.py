"""A list of jobs on the simulated block, through its driver."""

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.program.jobs import Job
from carrysave.compiler.program.matrices import Memory
from carrysave.sim.parameters import describe
from carrysave.sim.runner import new_folder, run, sources_of
from carrysave.sim.verilator import build
from hw.catalog import Design

__all__ = ["run_list"]


def run_list(
    design: Design,
    jobs: Sequence[Job],
    memory: Memory,
    directory: Path,
    *,
    deadline: float = 3600.0,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Run jobs on one start of the simulated co-processor; the memory stays as it is.

    Parameters
    ----------
    design : a co-processor.
    jobs, memory : the list, and what it works on.
    directory : folder in which this run gets its own new folder.
    deadline : seconds after which the simulation is ended.

    Returns
    -------
    The matrices that jobs wrote, by name, without those on chip; and the hardware's counters.

    Raises
    ------
    RuntimeError : if the simulation fails; names the log.
    """
    folder = new_folder(directory, design.module)
    (folder / "list.pickle").write_bytes(pickle.dumps((list(jobs), memory)))
    result = run(
        build(sources_of(design, folder), design.module),
        "carrysave.compiler.program.job_list",
        parameters=describe(design),
        directory=folder,
        deadline=deadline,
    )
    if not result.ok:
        raise RuntimeError(f"simulation failed: {', '.join(result.failed)}; see {result.log}")
    with np.load(folder / "results.npz") as data:
        found = {name: data[name] for name in data.files}
    return found, json.loads((folder / "counters.json").read_text())
