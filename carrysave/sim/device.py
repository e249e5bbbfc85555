"""Whatever a driver does, on the simulated co-processor."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from carrysave.sim.parameters import CALL, PROGRESS, RESULT, describe
from carrysave.sim.runner import new_folder, run, sources_of
from carrysave.sim.verilator import build
from golden.soc.memory_timing import MemoryTiming
from hw.catalog import Design

__all__ = ["with_device"]


def with_device(
    design: Design,
    call: Callable[..., Any],
    directory: Path,
    *,
    size: int,
    memory: MemoryTiming | None = None,
    progress: Callable[[int], None] = lambda done: None,
    deadline: float = 3600.0,
) -> Any:
    """Return what a function returns that gets the driver of a simulated co-processor.

    Parameters
    ----------
    design : a co-processor, behind its buses or behind a serial line.
    call : gets the driver, and `progress`, which it may tell how far it is. It runs in another
        process.
    directory : folder in which this run gets its own new folder.
    size : bytes of memory that it needs.
    memory : how long that takes; None: as the design says. Behind a serial line it is the design's.
    progress : called with what `call` reports.
    deadline : seconds after which the simulation is ended.

    Raises
    ------
    RuntimeError : if the simulation fails; names the log.
    """
    folder = new_folder(directory, design.module)
    (folder / CALL).write_bytes(pickle.dumps((call, size, memory or design.spec.memory_timing)))
    counter = folder / PROGRESS

    def poll() -> None:
        if counter.exists():
            progress(int(counter.read_text() or 0))

    result = run(
        build(sources_of(design, folder, from_cache=True), design.module),
        "carrysave.sim.cocotb.job_driver",
        parameters=describe(design),
        directory=folder,
        deadline=deadline,
        poll=poll,
    )
    if not result.ok:
        raise RuntimeError(f"simulation failed: {', '.join(result.failed)}; see {result.log}")
    return pickle.loads((folder / RESULT).read_bytes())  # of our own process
