"""``carrysave soc``."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave.boards.load import load as load_bitstream
from carrysave.boards.load import loader_of
from carrysave.cli.coprocessor_flags import DEFAULT_BLOCK, Block
from carrysave.cli.options import Json, errors, print_outcome
from carrysave.cli.reading import BY_THE_MODEL, Reading
from carrysave.cli.text_models import check_decoder, is_text
from carrysave.errors import UsageError
from carrysave.progress import Steps
from carrysave.system import command, view
from carrysave.system.boards import system_board_of
from carrysave.system.request import SystemRequest, TextRun

__all__ = ["make_system"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NetworkFlags:
    """Flags of a network that the system runs."""

    model: Annotated[
        Path | None,
        Parameter(
            help="A quantised ONNX model for the system, a language model, or a folder of"
            " `carrysave compile`."
        ),
    ] = None
    input_: Annotated[
        Path | None, Parameter(name="--input", help="Inputs, .npy; the first axis is the sample.")
    ] = None
    labels: Annotated[Path | None, Parameter(help="Labels of the inputs, .npy.")] = None
    count: Annotated[int | None, Parameter(help="Number of inputs to run. [default: all]")] = None
    batch: Annotated[int, Parameter(help="Inputs that a run of the network takes.")] = 1
    simulate: Annotated[
        bool, Parameter(help="Simulate the system with its firmware; else build the bitstream.")
    ] = False
    serial: Annotated[
        bool,
        Parameter(help="Simulate the serial line's load of the network, too, as on a board."),
    ] = False
    timeline: Annotated[
        Path | None,
        Parameter(
            help="File for when each part of the co-processor is busy, simulated and by the cost"
            " model: .html, a page, or .json, a trace that Perfetto opens."
        ),
    ] = None
    port: Annotated[
        str | None,
        Parameter(help="Serial port of a board that has the system: run the network there."),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TextRunFlags:
    """Flags of a language model that the system runs."""

    prompt: Annotated[str | None, Parameter(help="What a language model answers.")] = None
    tokens: Annotated[int, Parameter(help="Tokens of the answer, at most.")] = 16
    cache_: Annotated[
        int,
        Parameter(name="--cache", help="Tokens that its program takes, at most its context."),
    ] = 1024
    kv: Annotated[
        int | None, Parameter(help="Bits of a key or value, 8, 4. [default: as `chat`]")
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SystemFlags:
    """Flags of the system."""

    clock: Annotated[float | None, Parameter(help="Clock, MHz. [default: the board's]")] = None
    baud: Annotated[
        int | None,
        Parameter(
            help="Baud rate of the serial line. [default: 3000000, or what the processor can do]"
        ),
    ] = None
    cpu: Annotated[str, Parameter(help="The processor: vexriscv, picorv32.")] = "vexriscv"
    bus: Annotated[str, Parameter(help="Standard of its bus: wishbone, axi.")] = "wishbone"


_NETWORK, _SYSTEM, _TEXT = NetworkFlags(), SystemFlags(), TextRunFlags()


def make_system(
    *,
    board: Annotated[str, Parameter(help="A board with SDRAM, such as ulx3s_85f.")],
    network: NetworkFlags = _NETWORK,
    text: TextRunFlags = _TEXT,
    load: Annotated[
        bool, Parameter(help="Load the bitstream into the board first, by openFPGALoader.")
    ] = False,
    system: SystemFlags = _SYSTEM,
    reading: Reading = BY_THE_MODEL,
    block: Block = DEFAULT_BLOCK,
    json_: Json = False,
) -> int:
    """Build a system for a board: a RISC-V processor, SDRAM, and the co-processor with firmware.

    LiteX puts the processor, LiteDRAM, a serial line and the co-processor together. The firmware
    has the project's C driver; a host writes a network into SDRAM over the line, then inputs, and
    gets classes and codes back (`carrysave.driver.system`). With `--model`, the network's program
    is written beside the system. `--simulate` runs the same system and firmware in Verilator with a
    model of SDRAM, in which the network is from the start: every byte must be the golden model's.
    Without it, yosys and nextpnr build the bitstream; fails if that does not meet the clock.
    `--port` runs the network on a board instead, with the system that was built in the same
    `--output`. Parameters are those of `generate coprocessor`.

    A language model, .gguf, .npz or a checkpoint, is a program of one token, which the firmware
    runs whole: the host sends a token, and reads what it makes of all words. `--simulate` and
    `--port` answer `--prompt` so; `chat` does by the folder `network` that is written beside.

    **Examples:**

    - `carrysave soc --board ulx3s_85f`
    - `carrysave soc --board ulx3s_85f --model model.onnx --input images.npy --simulate --count 2`
    - `carrysave soc --board ulx3s_85f --model model.onnx --input images.npy --port /dev/ttyUSB0`
    - `carrysave soc --board ulx3s_85f --model text.npz --cache 64 --prompt "The " --simulate`
    """
    if load:
        if network.simulate:
            raise UsageError("--load is for a board, not for --simulate")
        loader_of(system_board_of(board)[0])
    request = _request(board, network, _text_of(network, text), system, reading, block.settings())
    folder = block.folder
    with Steps(errors) as steps:
        if load and network.port is not None:
            steps.step(f"load the bitstream into {board}")
            load_bitstream(request.board, folder / "soc" / board)
        facts = command.execute(request, folder, steps, shlex.join(["carrysave", *sys.argv[1:]]))
        if load and network.port is None:
            steps.step(f"load the bitstream into {board}")
            load_bitstream(request.board, folder / "soc" / board)
    print_outcome(facts, view.show, json_)
    bitstream = facts["bitstream"]
    ran = facts["simulation"] or facts["attached"]
    if ran is not None and (ran["wrong"] or ran.get("difference")):
        return 1
    return 1 if bitstream is not None and not bitstream["ok"] else 0


def _request(
    board: str,
    network: NetworkFlags,
    text: TextRun | None,
    system: SystemFlags,
    reading: Reading,
    parameters: Mapping[str, str],
) -> SystemRequest:
    """Return what is asked for."""
    known, chosen = system_board_of(board)
    return SystemRequest(
        board=known,
        chosen=chosen,
        parameters=parameters,
        clock_mhz=chosen.clock_mhz if system.clock is None else system.clock,
        baud=system.baud,
        model=network.model,
        data=network.input_,
        labels=network.labels,
        count=network.count,
        batch=network.batch,
        simulated=network.simulate,
        serial=network.serial,
        port=network.port,
        cpu=system.cpu,
        bus=system.bus,
        reading=reading.options,
        timeline=network.timeline,
        text=text,
    )


def _text_of(network: NetworkFlags, text: TextRunFlags) -> TextRun | None:
    """Return what is asked of a language model; None: the model is a network, or there is none."""
    model = network.model
    if model is None or not (is_text(model) or text.prompt is not None):
        if text != _TEXT:
            of = "a system without --model" if model is None else model.name
            raise UsageError(f"--prompt, --tokens, --cache and --kv must be left out of {of}")
        return None
    if is_text(model):
        check_decoder(model)
    return TextRun(prompt=text.prompt, tokens=text.tokens, cache=text.cache_, kv=text.kv)
