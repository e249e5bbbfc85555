"""A system with its firmware in simulation: at its serial pins come a network, and inputs."""

import pickle
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from carrysave.compiler.program.program import Program
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.network import run as run_program
from carrysave.driver.system import Outcome, Plan, Tensor
from carrysave.sim.runner import new_folder, run
from carrysave.sim.verilator import build
from carrysave.system.generate import Written
from carrysave.system.litex_soc import TOP
from carrysave.system.memory_image import Banks

__all__ = ["Expected", "Simulated", "SystemInputs", "expect", "simulate"]

SystemInputs = tuple[dict[str, np.ndarray], dict[str, int]]
"""What a run of a program takes: inputs and parameters, by name."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What the golden model makes of an input.

    Members
    -------
    inputs : codes that go to the system, by name; and the run's parameters.
    codes : of each layer.
    results : bytes of each output that is numbers.
    """

    inputs: SystemInputs
    codes: list[np.ndarray]
    results: dict[str, bytes]


@dataclass(frozen=True, eq=False)
class Simulated:
    """What a simulated system did.

    Members
    -------
    outcomes : of each input.
    memory : of the network, as the last input leaves it; None: it came over the line.
    boot_cycles, load_cycles : to the first answer, and to the last byte of the network; the second
        is 0 where it was in memory from the start.
    seconds : of the simulation.
    """

    outcomes: list[Outcome]
    memory: np.ndarray | None
    boot_cycles: int
    load_cycles: int
    seconds: float


def expect(program: Program, inputs: Sequence[SystemInputs]) -> tuple[list[Expected], np.ndarray]:
    """Compute inputs by the golden model, on the program's own bytes, which keep its states.

    Returns
    -------
    What it makes of each, and the memory afterwards.
    """
    memory, made = program.memory.copy(), []
    results = program.plan.results
    for codes, parameters in inputs:
        run_program(program, codes, memory, by_golden(program, memory), parameters)
        taken = {name: _codes(program.tensors[name], memory) for name in program.inputs}
        layers = [_codes(layer.y, memory) for layer in program.layers]
        numbers = {name: memory[at : at + size].tobytes() for name, (at, size) in results.items()}
        made.append(Expected((taken, parameters), layers, numbers))
    return made, memory


def _codes(tensor: Tensor, memory: np.ndarray) -> np.ndarray:
    """Return codes that are in memory; none of those that stay on chip."""
    first, size = tensor.span
    if first + size > memory.size:
        return np.zeros(0, np.int64)
    return tensor.codes_of(memory[first : first + size].tobytes())


def simulate(
    written: Written,
    plan: Plan,
    inputs: list[SystemInputs],
    folder: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    memory: np.ndarray | None = None,
    apart: bool = False,
    deadline: float = 36000.0,
) -> Simulated:
    """Run a network on a simulated system.

    The network is in SDRAM from the start, or comes over the serial line as on a board; inputs
    and the last layer's codes always go over that line.

    Parameters
    ----------
    written : a system for simulation, whose line has its divisor's cycles a bit.
    plan : of the network.
    inputs : codes and parameters of each.
    folder : in which this run gets its own new folder.
    progress : called with inputs done, and their total.
    memory : of the network, which is in SDRAM from the start; None: the network is loaded over the
        line, and codes of all layers are read over it.
    apart : starts run each by itself in the last input, and are counted.
    deadline : seconds after which the simulation is ended.

    Raises
    ------
    RuntimeError
        The simulation fails; names the log.
    """
    run_folder = new_folder(folder, TOP)
    banks = _fill(written, run_folder, memory)
    given = plan if memory is None else replace(plan, parts={})
    (run_folder / "plan.pickle").write_bytes(pickle.dumps((given, inputs)))
    counter, asked = run_folder / "progress", {"every": memory is None, "apart": apart}

    def poll() -> None:
        if counter.exists():
            progress(int(counter.read_text() or 0), len(inputs))

    result = run(
        build([*written.sources, *written.models], TOP),
        "carrysave.sim.cocotb.soc_host",
        parameters={"divisor": written.divisor, "constants": {"sim_trace": 0}, **asked},
        directory=run_folder,
        deadline=deadline,
        poll=poll,
    )
    if not result.ok:
        raise RuntimeError(f"simulation failed: {', '.join(result.failed)}; see {result.log}")
    memory = None if memory is None else banks.read(memory.size, run_folder)
    for path in run_folder.glob("*.after"):
        path.unlink()
    return _simulated(run_folder, plan, memory, result.seconds)


def _simulated(folder: Path, plan: Plan, memory: np.ndarray | None, seconds: float) -> Simulated:
    """Read what the bench counted; codes of the last input are in memory, if that was read."""
    outcomes, cycles = pickle.loads((folder / "outcomes.pickle").read_bytes())
    if memory is not None:
        codes = [_codes(tensor, memory) for tensor, _ in plan.layers]
        outcomes[-1] = replace(outcomes[-1], codes=codes)
    return Simulated(outcomes, memory, cycles[0], cycles[1] - cycles[0], seconds)


def _fill(written: Written, folder: Path, memory: np.ndarray | None) -> Banks:
    """Put what memories have at the start where the simulator reads it; return the SDRAM's."""
    for path in written.data:
        shutil.copy(path, folder / path.name)
    assert written.banks is not None
    written.banks.write(np.zeros(1, np.uint8) if memory is None else memory, folder)
    return written.banks
