"""What systems made of inputs: simulated, or on a board."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.compiler.program.parts import losses, parts_of
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.ring_cost import start_cycles
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.spans import by_counters, by_model
from carrysave.compiler.run.stepwise import first_difference
from carrysave.compiler.run.timeline import write_timeline
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Outcome
from carrysave.errors import ArgumentError, needs
from carrysave.progress import Steps
from carrysave.system import attached, generate
from carrysave.system.networks import SystemNetwork, has_floats, network_of
from carrysave.system.request import SystemRequest
from carrysave.system.simulate import Expected, expect, simulate
from hw.catalog import Design

__all__ = ["run_on_board", "simulation_facts"]


def simulation_facts(
    request: SystemRequest,
    target: Target,
    network: SystemNetwork,
    written: generate.Written,
    folder: Path,
    steps: Steps,
    command: str,
) -> dict[str, Any]:
    """Simulate a system; compare all that it made with the golden model."""
    program, inputs = network.program, network.inputs
    steps.step(f"compute {program.batch * len(inputs)} inputs")
    # The last one once more, with its starts apart, so that they are counted.
    expected, memory = expect(program, [*inputs, inputs[-1]])
    steps.step(f"simulate the system on {program.batch * len(inputs)} inputs")
    simulated = simulate(
        written,
        program.plan,
        [one.inputs for one in expected],
        folder / "runs",
        steps.advance,
        memory=None if request.serial else program.memory,
        apart=True,
    )
    if request.timeline is not None:
        assert simulated.memory is not None
        spans = [*by_model(program), *by_counters(program, simulated.memory)]
        starts = [step for step in program.steps if isinstance(step, Start)]
        says = losses([parts_of(one, target) for one in starts])
        title = f"{request.model.name if request.model else ''} on {request.board.title}"
        write_timeline(request.timeline, title, command, spans, says, apart=True)
    return {
        **outcome_facts(network, simulated.outcomes, expected, request.clock_mhz),
        "boot_cycles": simulated.boot_cycles,
        "load_cycles": simulated.load_cycles,
        "bytes": 0 if simulated.memory is None else simulated.memory.size,
        "difference": None
        if simulated.memory is None
        else first_difference(program, simulated.memory, memory),
        "seconds": simulated.seconds,
    }


def outcome_facts(
    network: SystemNetwork,
    outcomes: list[Outcome],
    expected: list[Expected],
    clock_mhz: float,
) -> dict[str, Any]:
    """Compare what a system made with the golden model; and say how fast it was.

    The last outcome is of the last input once more, with its starts apart.
    """
    program, labels = network.program, network.labels
    whole, batch = outcomes[:-1], program.batch
    cycles, jobs, moves = (
        float(np.mean([getattr(one, name) for one in whole])) / batch
        for name in ("cycles", "jobs", "moves")
    )
    of_classes = batch == 1 and network.answer is None
    classes = [outcome.best for outcome in whole] if of_classes else []
    numbers = {
        name: any(
            one.results[name] != other.results[name]
            for one, other in zip(outcomes, expected, strict=True)
        )
        for name in program.results
    }
    layers = [_layer(program, number, outcomes, expected) for number in range(len(program.layers))]
    right = None if labels is None else int(np.sum(np.array(classes) == labels[: len(classes)]))
    return {
        "inputs": batch * len(whole),
        "batch": batch,
        "layers": layers,
        "wrong": [
            *(layer["layer"] for layer in layers if layer["differ"]),
            *(name for name, differs in numbers.items() if differs),
        ],
        "answer": network.answer,
        "classes": classes,
        "right": right,
        "cycles": cycles,
        "cycles_of": {"jobs": jobs, "moves": moves, "set_up": cycles - jobs - moves},
        "frames_per_second": 1e6 * clock_mhz / cycles,
    }


def run_on_board(
    request: SystemRequest, port: str, folder: Path, steps: Steps, command: str
) -> dict[str, Any]:
    """Run a network on a board whose system was built before."""
    board, report = request.board, folder / "soc" / request.board.name / "soc.json"
    needs("serial")
    if not report.exists():
        raise ArgumentError(
            "{port} needs the report of `carrysave soc --board {_board}`, which says what is on the"
            " board: {_report}",
            _board=board.name,
            _report=report,
        )
    try:
        facts: dict[str, Any] = json.loads(report.read_text())
        design = Design("coprocessor", facts["parameters"])
        clock_mhz, baud = float(facts["clock_mhz"]), int(facts["baud"])
        floats = bool(facts["floats"])
        _ = facts["cpu"], facts["bus"]  # which the results tell
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{report}: not a report of `carrysave soc`: {error}") from None
    target = Target(design, timing=request.chosen.sdram.timing)
    network = network_of(request, target, steps)
    assert network is not None
    program, inputs = network.program, network.inputs
    if has_floats(program) and not floats:
        raise ArgumentError(
            "the system on {_board} has no floats, which the network takes: build it again with"
            " {model}, and the same network",
            _board=board.name,
        )
    steps.step(f"compute {program.batch * len(inputs)} inputs")
    expected, _ = expect(program, [*inputs, inputs[-1]])
    steps.step(f"load the network into {board.name}, {port}")
    outcomes, seconds = attached.run(
        port, baud, program.plan, [one.inputs for one in expected], steps.advance
    )
    outcome = outcome_facts(network, outcomes, expected, clock_mhz)
    result = report.with_name("run.json")
    facts |= {
        "command": command,
        "model": None if request.model is None else request.model.name,
        "network_bytes": sum(map(len, program.image.parts.values())),
        "simulation": None,
        "bitstream": None,
        "attached": {**outcome, "port": port, "seconds": seconds},
        "files": [str(result)],
    }
    cache.write(result, json.dumps(facts, indent=2) + "\n")
    return facts


def _layer(
    program: Program, number: int, outcomes: list[Outcome], expected: list[Expected]
) -> dict[str, Any]:
    """Compare a layer of all inputs with the golden model, and its cycles with the cost model."""
    layer = program.layers[number]
    pairs = [
        (one.codes[number], other.codes[number])
        for one, other in zip(outcomes, expected, strict=True)
        if one.codes[number] is not None
    ]
    counted = outcomes[-1].counters[number]
    cycles = float(counted["cycles"])
    starts = [one for one in program.steps if isinstance(one, Start)]
    model = sum(
        start_cycles(one, program.target) for one in starts if one.counters in layer.counters
    )
    return {
        "layer": layer.node,
        "operator": layer.operator,
        "shapes": [list(shape) for shape in layer.shapes],
        "macs": int(counted["macs"]),
        "cycles": cycles,
        "cycles_by_model": model,
        "deviation": cycles / model - 1,
        "codes": sum(theirs.size for _, theirs in pairs),
        "differ": sum(int(np.sum(ours != theirs)) for ours, theirs in pairs),
    }
