"""A network on a board without a processor: its program, who runs it there, and what it takes."""

import json
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.boards.board import BOARDS, Board
from carrysave.boards.flash import image_of, programs
from carrysave.boards.sdram import SDRAMS, timing_of
from carrysave.compiler.front.options import ReadOptions
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.head_ways import HeadWays
from carrysave.compiler.program.model import program_of
from carrysave.compiler.program.names import MEMORY, is_program
from carrysave.compiler.program.parts import bound_of, parts_of
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.write import write
from carrysave.compiler.run.attached import room, traffic
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError
from carrysave.report import page as pages
from carrysave.system.board_files import FOLDER, SOURCE, header, python
from carrysave.system.board_page import page
from hw.catalog import Design
from hw.emit.user_files import shown

__all__ = ["board_program", "check_room", "rates", "write_network"]

_BOUNDS = {"vector": "vector unit", "start": "starts of jobs"}
"""What jobs wait for, in words, where its name is none."""


def board_program(
    model: Path,
    data: Path | None,
    batch: int,
    reading: ReadOptions,
    board: Board,
    design: Design,
) -> Program:
    """Read a program, or compile a model, for a board; all that can be refused is, here.

    Parameters
    ----------
    model : an ONNX model, or a folder of `carrysave compile`.
    data : inputs whose sizes the program has; None: those of the model.
    batch : inputs of a run, where the model leaves it open.
    reading : what else is said of the model.
    design : the board's co-processor.

    Raises
    ------
    UsageError
        The memory has no room for it: says the bytes that are needed, and those that are there. Or
        the board has a processor.
    """
    target = target_of(board, design)
    if is_program(model):
        if data is not None or batch != 1 or reading != ReadOptions():
            raise ArgumentError(
                "{x}, {batch}, {batch_axis}, {constants} and {states} must be left out: the"
                " program is compiled"
            )
        program = read(model, target)
    else:
        program = program_of(model, HeadWays(target), reading, data, batch)
    check_room(program, model.name, board)
    if program.parameters:
        raise ArgumentError(
            "{model} must be a program without parameters, as what runs it on a board writes inputs"
            " alone, not one of {_names}",
            _names=", ".join(one.name for one in program.parameters),
        )
    return program


def target_of(board: Board, design: Design) -> Target:
    """Return a board's co-processor, by which programs run; refuse a board with a processor."""
    if board.processor:
        raise ArgumentError(
            "{model} must be left out: {_board} has a processor, which runs the files of"
            " `carrysave compile`",
            _board=board.name,
        )
    return Target(design, timing=timing_of(board.name, design.spec)).checked()


def check_room(program: Program, model: str, board: Board, besides: str = "") -> None:
    """Refuse a program that the memory of a board's co-processor has no room for.

    Parameters
    ----------
    besides : what else is said of it.
    """
    design = program.target.design
    needed, there = room(program), int(design.spec.memory_bytes)
    if needed > there:
        raise ArgumentError(
            "{model} {_name} needs {_needed:,} bytes of memory, and the co-processor of {_board}"
            " has {_there:,}: {_more}{_besides}",
            _name=shown(model),
            _needed=needed,
            _board=board.name,
            _there=there,
            _more=_more_memory(board, design.spec.external),
            _besides=besides,
        )


def _more_memory(board: Board, external: bool) -> str:
    """Say what gives a co-processor more memory, where it has too little."""
    if board.name not in SDRAMS:
        return "-p memory_bytes=N may give it more"
    whole = SDRAMS[board.name].bytes
    if external:
        return f"the board's SDRAM has {whole:,}"
    return f"-p memory_bytes=N may give it more, and -p memory=external {whole:,}"


def rates(program: Program, clock_mhz: float, baud: int) -> dict[str, Any]:
    """Return what a batch of inputs takes on a board.

    Returns
    -------
    ``unit bytes memory_bytes batch jobs cycles macs host_segments sent_bytes received_bytes
    job_seconds line_seconds inputs_per_second block_inputs_per_second gops_peak gops_jobs
    gops_sustained bound block_bound``: of inputs or of tokens, as `unit` says, jobs by the cost
    model, and bytes on the line, one after the other. `bound` is what takes longest, the serial
    line or, in the co-processor, `block_bound`; GOPS are of the array, while jobs run, and with the
    line. What the host computes is not in it.
    """
    counted, line = facts(program, "", ""), traffic(program)
    jobs, wait = counted["cycles"] / (1e6 * clock_mhz), line.seconds(baud)
    batch, target = program.batch, program.target
    starts = [step for step in program.steps if isinstance(step, Start)]
    bound = bound_of([parts_of(step, target) for step in starts]) or "serial line"
    bound = _BOUNDS.get(bound, bound)
    macs = sum(one["macs"] for one in counted["nodes"])
    return {
        "unit": "token" if program.parameters else "input",
        "bytes": room(program),
        "memory_bytes": int(target.design.spec.memory_bytes),
        "batch": batch,
        "jobs": counted["jobs"],
        "cycles": counted["cycles"],
        "macs": macs,
        "host_segments": counted["host_segments"],
        "sent_bytes": line.sent,
        "received_bytes": line.came,
        "job_seconds": jobs,
        "line_seconds": wait,
        "inputs_per_second": batch / (jobs + wait),
        "block_inputs_per_second": batch / jobs,
        "gops_peak": 2e-3 * target.peak(None) * clock_mhz,
        "gops_jobs": 2e-9 * macs / jobs,
        "gops_sustained": 2e-9 * macs / (jobs + wait),
        "bound": "serial line" if wait > jobs else bound,
        "block_bound": bound,
    }


def write_network(
    program: Program, model: str, folder: Path, command: str, built: dict[str, Any]
) -> None:
    """Write a program for a design that was built, what runs it there, and a page; say so.

    Parameters
    ----------
    program : of the design that was built.
    model : name of its file.
    folder : of the build, which has its report.
    built : of :func:`carrysave.boards.build.build`; gets ``network``, ``model flash files`` and
        those of :func:`rates`, and its files, as its report does. ``flash`` has ``image address
        bytes command`` of the image for the board's flash; None: the design does not read it.
    """
    nodes = facts(program, command, model)
    words = {key: program.more[key] for key in ("decoder",) if key in program.more}
    files = write(program, folder / FOLDER, {**nodes, **words, "baud": built["baud"]})
    if not program.parameters:
        files.append(cache.write(folder / "run.py", python(built)))
    if not program.parameters and not program.host and len(program.sections) == 1:
        files += [
            cache.write(folder / MEMORY, program.memory.tobytes()),
            cache.write(folder / "board_program.h", header(program, built)),
            cache.write(folder / SOURCE.name, SOURCE.read_bytes()),
        ]
    flash = _flash(program, folder, BOARDS[built["board"]])
    files += [Path(flash["image"])] if flash else []
    taken = rates(program, float(built["clock_mhz"]), int(built["baud"]))
    network = {"model": model, **taken, "flash": flash}
    files.append(pages.write(folder / "network.html", page(network, nodes, built)))
    built["network"] = {**network, "files": [str(file) for file in files]}
    built["files"] += built["network"]["files"]
    report = folder / f"{built['board']}.json"
    cache.write(report, json.dumps(built, indent=2) + "\n")


def _flash(program: Program, folder: Path, board: Board) -> dict[str, Any] | None:
    """Write the image for a board's flash, if the design reads that; return what is said of it."""
    design = program.target.design
    if not design.spec.flash:
        return None
    image = image_of(board, design, program.memory.tobytes())
    path = cache.write(folder / "flash.bin", image)
    return {
        "image": str(path),
        "address": design.spec.flash,
        "bytes": len(image),
        "command": programs(board, design, path),
    }
