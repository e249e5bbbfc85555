"""``carrysave run``."""

import errno
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from carrysave.api import network as api
from carrysave.api.design import Design
from carrysave.api.options import RunOptions
from carrysave.api.targets import cells_for_energy
from carrysave.boards.board import board_of, design_of
from carrysave.cli.coprocessor_flags import DEFAULT_BLOCK, Block, MemoryName, check_left_out
from carrysave.cli.defaults import Hidden, defaults
from carrysave.cli.options import TABLES, View, check_page, errors, print_outcome
from carrysave.cli.reading import BY_THE_MODEL, Reading
from carrysave.compiler.program.names import is_program
from carrysave.compiler.run.outputs import folder_name
from carrysave.errors import UsageError
from carrysave.keywords import differing
from carrysave.progress import Steps

__all__ = ["run_model"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunFlags(RunOptions):
    """Flags of a run; defaults are those of the options."""

    labels: Annotated[Path | None, Parameter(help="Labels of the inputs, .npy.")]
    board: Annotated[
        str | None,
        Parameter(help="Use the co-processor of `build` for this board, through its serial pins."),
    ]
    port: Annotated[
        str | None,
        Parameter(help="Serial port of the board, such as /dev/ttyUSB0: run there, not simulated."),
    ]
    baud: Annotated[
        int | None, Parameter(help="Baud rate of the port. [default: that of the board's build]")
    ]
    simulate: Annotated[
        str, Parameter(help="Products to run on the block: all, sample (some rows), none.")
    ]
    requantise: Annotated[
        str, Parameter(help="Where to requantise: hardware, or host, as onnxruntime does.")
    ]
    host_fallback: Annotated[
        bool,
        Parameter(negative="", help="Run nodes that are not supported by onnxruntime."),
    ]
    compare: Annotated[
        bool,
        Parameter(
            negative="--no-compare",
            help="Compare with onnxruntime, if it is there: it takes the whole model into memory.",
        ),
    ]
    batch: Annotated[int | None, Parameter(help="Batch size. [default: the model's, or 8]")]
    energy: Annotated[
        str | None,
        Parameter(
            help="Measure the engine's energy by these cells: osu018, or a Liberty file."
            " [default: none]"
        ),
    ]
    prune: Annotated[
        str,
        Parameter(
            help="Leave N of each M constant weights along K, those of greatest magnitude: 1:4,"
            " 2:4 or 4:8; and compare with the dense model."
        ),
    ]
    memory: MemoryName
    attention: Annotated[
        str,
        Parameter(
            help="Attention of codes: one-pass (by blocks of keys: a vector unit with exps and"
            " divide, and shares), rows (a softmax of whole rows there), host (all but scores in"
            " floats), auto (with shares the first or second, of fewer cycles; else the third)."
        ),
    ]
    batch_axis: Annotated[str | None, Hidden]
    constants: Annotated[Mapping[str, Any] | None, Hidden]
    states: Annotated[Mapping[str, str] | None, Hidden]


Timeline = Annotated[
    Path | None,
    Parameter(
        help="File for when each part of the block is busy, for a folder: .html, a page, or"
        " .json, a trace that Perfetto opens."
    ),
]
_FLAGS = defaults(RunFlags)


def run_model(
    model: Annotated[
        Path, Parameter(help="A quantised ONNX model, or a folder of `carrysave compile`.")
    ],
    /,
    *,
    input_: Annotated[
        Path | None,
        Parameter(
            name="--input", help="Inputs, .npy, or .npz by name; the first axis is the sample."
        ),
    ] = None,
    options: RunFlags = _FLAGS,
    reading: Reading = BY_THE_MODEL,
    block: Block = DEFAULT_BLOCK,
    timeline: Timeline = None,
    view: View = TABLES,
) -> int:
    """Run a quantised network on the co-processor; compare it with onnxruntime if that is there.

    Quantised products (QLinearMatMul, QLinearConv, MatMulInteger, ConvInteger, QGemm, MatMulNBits,
    MatMulBnb4, DynamicQuantizeLSTM; MatMul, Gemm, Conv, ConvTranspose in QDQ form) go to the
    co-processor, everything else to the host. The golden model computes the results; the part set
    by `--simulate` also runs on the simulated block, through its driver, and must match. Parameters
    are those of `generate coprocessor` or, with `--board`, of `generate coprocessor_uart`; there
    `-p divisor=4` (4 cycles per bit) simulates faster. With `--port`, that part runs on a real
    board that was loaded by `build --load`.

    A folder of `carrysave compile` runs without its model: on its own co-processor by golden and,
    as `--simulate` says, whole batches on the block, all of whose memory must be the same; with
    `--port` that is the board for which `build --model` wrote it. Cycles that were counted there
    are in a table beside those of the cost model and, with `--timeline`, in a picture.

    **Examples:**

    - `carrysave run model.onnx --input images.npy --labels classes.npy --prune 2:4`
    - `carrysave run model.onnx --input images.npy -p m=16 -p n=16 --simulate none`
    - `carrysave run model.onnx --input images.npy --memory block_ram --simulate all`
    - `carrysave run vad.onnx --input frames.npy --state stateN=state --constant sr=rate.npy`
    - `carrysave run model.onnx --input images.npy --board ulx3s_85f -p divisor=4`
    - `carrysave run model.onnx --input images.npy --board ulx3s_85f --port /dev/ttyUSB0`
    - `carrysave run build/compile/model --input images.npy --simulate all --timeline run.html`
    - `carrysave run build/boards/ulx3s_85f/network --input images.npy --port /dev/ttyUSB0`
    """
    check_page(view.html)
    data = _given(model, input_)
    options = _as_read(options, reading)
    if is_program(model):
        given = {"-p": block.parameter, "html": view.html, **differing(options)}
        for name in ("labels", "simulate", "port", "baud"):
            given.pop(name, None)
        check_left_out(given, "the program is compiled")
        return _program(model, data, options, timeline, block.folder, raw=view.json_)
    if timeline is not None:
        raise UsageError("--timeline is for the folder of a program: see `carrysave compile`")
    if options.port is not None and block.parameter:
        raise UsageError("-p is not for --port: the design is the one that was built")
    result = _run(model, data, options, block)
    view.present(result, block.folder / "run" / folder_name(model))
    return 0 if result.ok else 1


def _given(model: Path, data: Path | None) -> Path:
    """Refuse a model that is not there, and then none of its inputs."""
    if not model.exists():
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(model))
    if data is None:
        raise UsageError(
            "run needs --input: a file .npy, or .npz with an array for each input by its name; the"
            " first axis is the sample"
        )
    return data


def _as_read(options: RunFlags, reading: Reading) -> RunFlags:
    """Return options with how the model is read."""
    read = reading.options
    return replace(
        options,
        batch_axis=read.batch_axis,
        constants=read.constants or None,
        states=read.states or None,
    )


def _run(model: Path, data: Path, options: RunFlags, block: Block) -> api.NetworkRun:
    with Steps(errors) as steps:
        chosen: RunOptions = options
        return api.run(
            model,
            data,
            _design(options, block.settings()),
            replace(chosen, energy=partial(cells_for_energy, options.energy)),
            folder=block.folder,
            progress=steps,
        )


def _design(options: RunOptions, parameters: Mapping[str, str]) -> Design | None:
    """Return the design that parameters choose; None: a board has it."""
    if options.board is None:
        return Design.parse("coprocessor", parameters)
    if options.port is not None:
        return None
    return Design.of(design_of(board_of(options.board), parameters, baud=options.baud or 0))


def _program(
    program: Path, data: Path, options: RunOptions, timeline: Path | None, folder: Path, *,
    raw: bool,
) -> int:  # fmt: skip
    """Run a program of a folder."""
    from carrysave.compiler.run import stored

    request = stored.ProgramRequest(
        program=program,
        data=data,
        labels=options.labels,
        simulate=options.simulate,
        port=options.port,
        baud=options.baud,
        timeline=timeline,
    )
    with Steps(errors) as steps:
        facts = stored.execute(request, folder, shlex.join(["carrysave", *sys.argv[1:]]), steps)
    print_outcome(facts, stored.show, raw)
    return 0 if facts["different"] is None else 1
