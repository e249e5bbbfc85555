"""Places cells with Coloquinte, in a process of its own.

``python -m carrysave.asic.placement.placer JOB.json`` does a job: its memory and its crashes stay
there.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave.errors import needs
from hw.emit import tools

__all__ = ["Job", "PlacementError", "place"]

UNIT = 1e-3
"""Micrometres in a unit of Coloquinte's: whole numbers."""


class PlacementError(RuntimeError):
    """Cells could not be placed."""


@dataclass(frozen=True)
class Job:
    """What to place, in um.

    Attributes
    ----------
    widths : of the cells.
    row_height, die : height of a row; width and height of the die, whole rows.
    nets : numbers of cells, those of the pads after those of the cells.
    pads : where the ports are, x and y.
    start : where the cells are already; None if nowhere.
    rough : places are only measured: half of the time, 5 % more wire.
    site : width of a site; cells begin on whole ones. 0: anywhere.
    """

    widths: Sequence[float]
    row_height: float
    die: tuple[float, float]
    nets: Sequence[Sequence[int]]
    pads: Sequence[tuple[float, float]]
    start: Sequence[tuple[float, float]] | None
    rough: bool
    site: float = 0.0


def place(job: Job) -> list[tuple[float, float]]:
    """Return the lower left corner of each cell, um; cells fill rows without overlap.

    From a start cells are only made legal, and moved a little. On sites cells and die must be whole
    ones wide: each cell then moves to the nearest, and stays beside others.

    Raises
    ------
    PlacementError
        If Coloquinte fails.
    ModuleNotFoundError
        If it is not installed.
    """
    needs("coloquinte")
    with tools.workplace() as work:
        (work / "job.json").write_text(json.dumps(vars(job)))
        done = tools.run([sys.executable, "-m", __name__, "job.json"], cwd=work)
        result = work / "places.json"
        if done.code or not result.exists():
            last = done.output.strip().splitlines()[-1:]
            raise PlacementError(f"Coloquinte stopped: {''.join(last) or 'no output'}")
        return [(x, y) for x, y in json.loads(result.read_text())]


def _parameters(rough: bool) -> Any:
    """Return those of Coloquinte's effort 3, but with fewer steps until cells are spread."""
    import coloquinte

    parameters = coloquinte.ColoquinteParameters(3)
    every = getattr(parameters, "global")
    every.penalty.initial_value, every.penalty.update_factor = 0.1, 1.3
    every.rough_legalization.square_reopt_size = 2
    if rough:
        every.penalty.initial_value, every.penalty.update_factor = 0.2, 1.35
        every.rough_legalization.bin_size = 4.0
        every.rough_legalization.square_reopt_size = 1
        parameters.detailed.nb_passes = 1
    return parameters


def _work(path: Path) -> None:
    import coloquinte
    from coloquinte_pybind import Rectangle

    job = Job(**json.loads(path.read_text()))
    cells, pads = len(job.widths), len(job.pads)

    def units(lengths: Sequence[float]) -> list[int]:
        return [round(length / UNIT) for length in lengths]

    height = round(job.row_height / UNIT)
    circuit = coloquinte.Circuit(cells + pads)
    circuit.cell_width = units(job.widths) + [0] * pads
    circuit.cell_height = [height] * cells + [0] * pads
    circuit.cell_is_fixed = [False] * cells + [True] * pads
    circuit.cell_is_obstruction = [True] * cells + [False] * pads
    start = job.start or [(0.0, 0.0)] * cells
    circuit.cell_x = units([x for x, _ in [*start, *job.pads]])
    circuit.cell_y = units([y for _, y in [*start, *job.pads]])
    centre = [(round(width / UNIT / 2), height // 2) for width in job.widths] + [(0, 0)] * pads
    for net in job.nets:
        circuit.add_net(list(net), [centre[c][0] for c in net], [centre[c][1] for c in net])
    die = units(job.die)
    circuit.setup_rows(Rectangle(0, die[0], 0, die[1]), height, True, False)
    circuit.check()
    parameters = _parameters(job.rough)
    if job.start is None:
        circuit.place_global(parameters)
    circuit.legalize(parameters)
    circuit.place_detailed(parameters)
    # Not round(): halves must all go up, or cells beside each other would overlap.
    site = round(job.site / UNIT)
    places = [
        ((2 * x + site) // (2 * site) * job.site if site else x * UNIT, y * UNIT)
        for x, y in zip(circuit.cell_x[:cells], circuit.cell_y[:cells], strict=True)
    ]
    Path("places.json").write_text(json.dumps(places))


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
