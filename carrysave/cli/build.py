"""``carrysave build``."""

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from carrysave.boards.board import Board, board_of, design_of
from carrysave.boards.build import build as build_board
from carrysave.boards.clock_search import SEEDS
from carrysave.boards.flash import image_of
from carrysave.boards.load import load, loader_of
from carrysave.cli.board_models import NO_NETWORK, Compiler, Network, check_text
from carrysave.cli.coprocessor_flags import DEFAULT_BLOCK, Block
from carrysave.cli.options import Json, errors, print_outcome
from carrysave.cli.reading import BY_THE_MODEL, Reading
from carrysave.cli.text_models import BY_DEFAULT, TextFlags
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError
from carrysave.fpga.implementation import MOST_SEEDS
from carrysave.progress import Steps
from carrysave.report.designs import print_line
from carrysave.report.synthesis import print_board
from carrysave.system.board_network import write_network
from carrysave.system.board_page import a_second

__all__ = ["build"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Rates:
    """The clock of a design and of its line, and how it is sought."""

    clock: Annotated[
        float | None,
        Parameter(help="Clock of the design, MHz. [default: what it reaches]"),
    ] = None
    baud: Annotated[
        int | None, Parameter(help="Baud rate of the serial line. [default: the board's highest]")
    ] = None
    seeds: Annotated[
        int, Parameter(help="Runs of place and route, each from another seed and a new clock.")
    ] = SEEDS


DEFAULT_RATES = Rates()


def build(
    *,
    board: Annotated[str, Parameter(help="A board, see `carrysave boards`.")],
    block: Block = DEFAULT_BLOCK,
    rates: Rates = DEFAULT_RATES,
    network: Network = NO_NETWORK,
    reading: Reading = BY_THE_MODEL,
    text: TextFlags = BY_DEFAULT,
    load_: Annotated[
        bool, Parameter(name="--load", help="Load the bitstream into the board, by openFPGALoader.")
    ] = False,
    json_: Json = False,
) -> int:
    """Build the bitstream of a co-processor for a board, with open-source tools.

    The host talks to it over the board's serial bridge, with `carrysave.driver.uart` or the C
    driver; both are written into `drivers`, beside the bitstream. The default parameters fit the
    board; `-p` takes those of `generate coprocessor_uart`. A PLL makes the clock that the design
    reaches, or that of `--clock`; fails if the design does not meet that. Without `--clock` there
    are `--seeds` runs, each from another seed and at a clock asked anew from what was reached, and
    the best is kept. For boards with an FPGA of Xilinx's it writes a project for Vivado.

    With `--model`, the network's program must fit into the co-processor's memory: it is refused
    before synthesis if it does not. Its program and weights are written beside the bitstream with
    programs in Python and C that send them to the board once, then inputs, and read outputs; and
    a page of its cycles, inputs a second, GOPS, the FPGA's parts, and what bounds it. What is
    between jobs is computed by the host. `--flash`: they are an image for the board's flash, too.
    Of a language model, `.gguf`, `.npz` or a checkpoint, the page has tokens a second, and `chat`
    with `--port` answers by the board; the co-processor gets the vector unit that it needs.

    **Examples:**

    - `carrysave build --board ulx3s_85f --load`
    - `carrysave build --board ulx3s_85f -p m=4 -p n=4 --clock 50 --baud 1000000`
    - `carrysave build --board ulx3s_85f -p memory=external --model model.onnx --flash`
    - `carrysave build --board orangecrab_85f -p memory=external --model model.gguf --cache 128`
    """
    chosen = board_of(board)
    if rates.baud is not None and rates.baud < 1:
        raise UsageError(f"--baud must be 1 or more, not {rates.baud}")
    if rates.clock is not None and not 1 <= rates.clock <= 1000:
        raise UsageError(f"--clock must be 1..1000 MHz, not {rates.clock:g}")
    if not 1 <= rates.seeds <= MOST_SEEDS:
        raise UsageError(f"--seeds must be 1..{MOST_SEEDS}, not {rates.seeds}")
    if load_:
        loader_of(chosen)
    if network.model is None and (network != NO_NETWORK or reading != BY_THE_MODEL):
        raise UsageError(
            "--input, --batch, --flash, --batch-axis, --constant and --state need --model"
        )
    check_text(network, text, reading)
    folder = block.folder / "boards" / board
    with Steps(errors) as steps:
        compiler = Compiler(network, reading.options, text)
        report = _built(chosen, block.settings(), compiler, rates, folder, steps)
        if load_ and report["ok"]:
            steps.step(f"{board}: loading")
            load(chosen, folder)
    print_outcome(report, _show, json_)
    return 1 if report["ok"] is False else 0


def _built(
    board: Board,
    parameters: dict[str, str],
    compiler: Compiler,
    rates: Rates,
    folder: Path,
    steps: Steps,
) -> dict[str, Any]:
    """Build a board's co-processor, with drivers, and with the program of a network."""
    from carrysave.ip.drivers import write_for_line

    model, baud = compiler.network.model, rates.baud or 0
    program = None
    if model is not None:
        steps.step(f"compile {model.name}")
        parameters = compiler.parameters(board) | parameters
        first = design_of(board, parameters, baud=baud)
        program = compiler.program(model, board, first)
        if compiler.network.flash:
            image_of(board, first, program.memory.tobytes())
    design, report = build_board(
        board,
        parameters,
        folder,
        steps.step,
        clock_mhz=rates.clock,
        baud=baud,
        seeds=rates.seeds,
    )
    if not board.processor:
        write_for_line(design.spec, folder / "drivers")
        report["files"].append(str(folder / "drivers"))
    if model is not None and program is not None:
        target = Target(design, timing=program.target.timing)
        built = replace(program, target=target)
        write_network(built, model.name, folder, _command(), report)
    return report


def _show(console: Console, report: dict[str, Any]) -> None:
    print_board(console, report)
    if taken := report.get("network"):
        unit = f"{taken['unit']}s a second"
        both, alone = taken["inputs_per_second"], taken["block_inputs_per_second"]
        print_line(
            console,
            f"{taken['model']}: {a_second(both)} {unit}, bound by the"
            f" {taken['bound']}; {taken['bytes']:,} bytes of memory of {taken['memory_bytes']:,}",
        )
        print_line(
            console,
            f"without the line {a_second(alone)} {unit}, bound by"
            f" the {taken['block_bound']}: {taken['gops_jobs']:.3g} GOPS of"
            f" {taken['gops_peak']:.3g}",
        )
        if flash := taken["flash"]:
            print_line(console, f"{flash['bytes']:,} bytes for its flash: {flash['command']}")


def _command() -> str:
    return shlex.join(["carrysave", *sys.argv[1:]])
