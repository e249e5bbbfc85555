"""Runs a program on the simulated co-processor, through its driver."""

import pickle
from pathlib import Path

import numpy as np

from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.run.network import Runner
from carrysave.sim.parameters import describe
from carrysave.sim.runner import new_folder, run, sources_of
from carrysave.sim.verilator import build

__all__ = ["by_block"]


def by_block(
    program: Program, memory: np.ndarray, directory: Path, *, deadline: float = 3600.0
) -> Runner:
    """Return what runs sections by the simulated block.

    Parameters
    ----------
    memory : of the program.
    directory : folder in which each section gets its own new folder.
    deadline : seconds after which a simulation is ended.

    Raises
    ------
    RuntimeError : of the runner, if a simulation fails; names the log.
    """
    design = program.target.design

    def simulate(section: Section) -> None:
        folder = new_folder(directory, design.module)
        (folder / "section.pickle").write_bytes(pickle.dumps((section, memory)))
        result = run(
            build(sources_of(design, folder, from_cache=True), design.module),
            "carrysave.compiler.run.on_block",
            parameters=describe(design),
            directory=folder,
            deadline=deadline,
        )
        if not result.ok:
            raise RuntimeError(f"simulation failed: {', '.join(result.failed)}; see {result.log}")
        memory[:] = np.load(folder / "memory.npy")

    return simulate
