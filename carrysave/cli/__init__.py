"""The command line: list, show, generate, verify, synth, pack, reproduce, run, build, demo."""

import gc
import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import cyclopts
from cyclopts import App, Parameter
from cyclopts.types import ExistingFile
from rich.console import Console

import carrysave
from carrysave import cache
from carrysave import papers as tables
from carrysave.asic import synthesis as synth
from carrysave.asic.liberty import cells
from carrysave.asic.power.stimulus import UNMEASURED, Stimulus
from carrysave.cli import demo as main_job
from carrysave.cli.options import check_positive, choose, library_of, output_folder, settings
from carrysave.errors import UsageError
from carrysave.fpga import boards as kits
from carrysave.fpga import implementation
from carrysave.ip import has_pack
from carrysave.progress import Steps
from carrysave.report import loop_nest as nests
from carrysave.report import synthesis
from carrysave.sim import runner
from carrysave.weights import image as layers
from hw.catalog import Design, nearest
from hw.emit.files import generate as generate_files

__all__ = ["main"]

app = App(
    name="carrysave",
    version=carrysave.__version__,
    help="Matrix-multiply hardware: Verilog, proof that it is right, area, timing and power.",
    help_epilogue=(
        "Examples:\n\n"
        "- `carrysave generate systolic_os -p m=16 -p n=16`\n"
        "- `carrysave verify systolic_os -p m=16 -p n=16`\n"
        "- `carrysave synth systolic_os -p m=16 -p n=16`\n"
    ),
    help_format="markdown",
    group_parameters="Options",
    default_parameter=Parameter(negative=()),
)
console = Console()
errors = Console(stderr=True)

Name = Annotated[str | None, Parameter(help="A design of `carrysave list`.")]
Sets = Annotated[
    list[str] | None,
    Parameter(name=["--parameter", "-p"], help="A parameter, `KEY=VALUE`; may be given again."),
]
Folder = Annotated[
    Path | None, Parameter(name=["--output", "-o"], help="Folder for all files. [default: build]")
]
Config = Annotated[
    Path | None,
    Parameter(help="TOML file with `design`, `output` and a table `[parameters]`."),
]
Json = Annotated[
    bool,
    Parameter(name="--json", show_default=False, help="Print JSON, and nothing else, to stdout."),
]


@app.command(name="list", help_epilogue="")
def list_designs(*, json_: Json = False) -> int:
    """List the designs: what they are, their parameters, what they are verified by.

    **Example:**

    - `carrysave list --json`
    """
    rows = synthesis.catalogue()
    if json_:
        print(json.dumps(rows, indent=2))
    else:
        synthesis.print_catalogue(console, rows)
    return 0


@app.command(name="show", help_epilogue="")
def show_nest(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    config: Config = None,
    json_: Json = False,
) -> int:
    """Print the loop nest of a bit-weight design: loops over m, n, k and bw, and their steps.

    **Examples:**

    - `carrysave show systolic_os -p pe=opt1`
    - `carrysave show digit_column -p m=4 -p k=16 -p pe=opt4e --json`
    """
    chosen, _ = choose(design, parameter, None, config)
    print(json.dumps(nests.data(chosen), indent=2) if json_ else nests.describe(chosen))
    return 0


@app.command(help_epilogue="")
def generate(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    output: Folder = None,
    config: Config = None,
    period: Annotated[float, Parameter(help="Clock period in the constraints, ns.")] = 10.0,
    json_: Json = False,
) -> int:
    """Write a design: Verilog-2005, manifest, constraints, file list, FuseSoC core.

    The co-processor is a folder, in which are also its register map, IP-XACT, a LiteX module
    and a README.

    **Examples:**

    - `carrysave generate systolic_os -p m=16 -p n=16`
    - `carrysave generate coprocessor -p engine=systolic_os -p m=16 -p n=16`
    - `carrysave generate opt1 -p a_width=4 -p b_width=4 -o rtl`
    """
    check_positive("--period", period, " ns")
    chosen, folder = choose(design, parameter, output, config)
    with Steps(errors) as steps:
        steps.step(f"generate {chosen.module}")
        if has_pack(chosen):
            # Slow to load, and used here only.
            from carrysave.ip import package

            files = package.generate(chosen, folder, period_ns=period, progress=steps.step)
        else:
            files = generate_files(chosen, folder, period_ns=period)
    manifest = json.loads(next(path for path in files if path.suffix == ".json").read_text())
    if json_:
        print(json.dumps({"files": [str(path) for path in files], **manifest}, indent=2))
    else:
        synthesis.print_files(console, files, manifest)
    return 0


@app.command(help_epilogue="")
def verify(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    output: Folder = None,
    config: Config = None,
    seed: Annotated[int | None, Parameter(help="Seed of the stimulus; drawn if absent.")] = None,
    waves: Annotated[bool, Parameter(show_default=False, help="Record waves (VCD).")] = False,
    netlist: Annotated[
        str | None,
        Parameter(help="Run on the netlist for this target: osu018 or a Liberty file."),
    ] = None,
    json_: Json = False,
) -> int:
    """Run a design's cocotb regression against its numpy twin, on Verilator.

    Each run has a folder of its own below `OUTPUT/runs`, with JUnit XML, log and waves.

    **Examples:**

    - `carrysave verify opt1 --seed 7`
    - `carrysave verify systolic_os -p m=4 -p n=4 --netlist osu018`
    """
    if seed is not None and not 0 <= seed < 1 << 31:
        raise UsageError(f"--seed must be 0..2147483647, not {seed}")
    chosen, folder = choose(design, parameter, output, config)
    library = library_of(netlist) if netlist is not None else None
    with Steps(errors) as steps:
        sources = None
        if library is not None:
            steps.step(f"synthesise {chosen.module} for {library.name}")
            models = cache.write(folder / "cells" / f"{library.name}.v", cells.cell_models(library))
            mapped = synth.synthesise_design(chosen, library, activity="assumed")
            sources = [Path(mapped["netlist"]), models]
        steps.step(f"verify {chosen.module}")
        result = runner.verify(
            chosen, seed=seed, waves=waves, netlist=sources, directory=folder / "runs"
        )
    if json_:
        print(json.dumps(synthesis.verification(chosen, result, netlist), indent=2))
    else:
        synthesis.print_verification(console, chosen, result, netlist)
    return 0 if result.ok else 1


@app.command(name="synth", help_epilogue="")
def synthesise(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    output: Folder = None,
    config: Config = None,
    target: Annotated[
        str | None, Parameter(help=f"One of {', '.join(synth.TARGETS)}. [default: osu018]")
    ] = None,
    liberty: Annotated[
        ExistingFile | None, Parameter(help="Cell library, .lib or .lib.gz.")
    ] = None,
    period: Annotated[float | None, Parameter(help="Clock period to reach, ns.")] = None,
    sweep: Annotated[
        bool,
        Parameter(show_default=False, help="Search recipes and periods for the best result."),
    ] = False,
    objective: Annotated[
        str, Parameter(help=f"What is best: {', '.join(synth.OBJECTIVES)}.")
    ] = "density",
    activity: Annotated[
        str | None,
        Parameter(
            help=f"Operands for power: {', '.join(synth.ACTIVITIES)}; for lanes with formats,"
            " as in normal:int8,e4m3. [default: normal]"
        ),
    ] = None,
    hierarchy: Annotated[
        str,
        Parameter(
            help="Which repeated modules are mapped once, instead of in place: those that are worth"
            " it (auto), large ones only (coarse: slower, and smaller), none (flat)."
        ),
    ] = "auto",
    verilog: Annotated[
        list[ExistingFile] | None,
        Parameter(consume_multiple=True, help="Synthesise these files instead."),
    ] = None,
    top: Annotated[str | None, Parameter(help="Top module of --verilog.")] = None,
    clock: Annotated[str | None, Parameter(help="Clock port of --verilog. [default: clk]")] = None,
    operations: Annotated[
        float | None, Parameter(help="Operations per cycle of --verilog, for GOPS.")
    ] = None,
    json_: Json = False,
) -> int:
    """Synthesise a design, or anybody's Verilog, and report area, timing and power.

    Cell libraries: Yosys, ABC and OpenSTA, no placement. FPGAs: Yosys, and nextpnr for ecp5 and
    ice40.
    Results are cached by content.

    **Examples:**

    - `carrysave synth opt1 --sweep`
    - `carrysave synth systolic_os --liberty my.lib.gz --period 2.5`
    - `carrysave synth systolic_os -p pe=mac -p encoding=operator -p adder=operator --target ecp5`
    - `carrysave synth --verilog a.v b.v --top a --clock clk_i --operations 2`
    """
    check_positive("--period", period, " ns")
    check_positive("--operations", operations)
    if period is not None and sweep:
        raise UsageError("--period and --sweep exclude each other")
    if target is not None and liberty is not None:
        raise UsageError("--target and --liberty exclude each other")
    if target not in (None, *synth.TARGETS):
        raise UsageError(f"--target must be one of {', '.join(synth.TARGETS)}, not {target!r}")
    if target in implementation.TARGETS and (period is not None or sweep or hierarchy != "auto"):
        raise UsageError(
            f"--period, --sweep and --hierarchy are for cell libraries, not for {target}"
        )
    if hierarchy not in synth.HIERARCHIES:
        raise UsageError(
            f"--hierarchy must be one of {', '.join(synth.HIERARCHIES)}, not {hierarchy!r}"
        )
    if objective not in synth.OBJECTIVES:
        raise UsageError(
            f"--objective must be one of {', '.join(synth.OBJECTIVES)}, not {objective!r}"
        )
    if activity is not None and (verilog or target in implementation.TARGETS):
        raise UsageError("--activity is for designs of the catalogue on a cell library")
    if verilog:
        if design is not None or parameter or config is not None or top is None:
            raise UsageError("--verilog needs --top, and no design, parameters or --config")
        what, folder = top, output_folder(output)
    else:
        if not (top is None and clock is None and operations is None):
            raise UsageError("--top, --clock and --operations need --verilog")
        chosen, folder = choose(design, parameter, output, config)
        what = chosen.module
        if activity not in (None, *UNMEASURED):
            Stimulus.parse(chosen, activity)
    where = cells.Library.load(liberty) if liberty is not None else target or "osu018"
    with Steps(errors) as steps:
        steps.step(f"synthesise {what}")
        options: dict[str, Any] = {
            "period_ns": period,
            "sweep": sweep,
            "objective": objective,
            "hierarchy": hierarchy,
            "progress": steps.step,
        }
        if verilog:
            result = synth.synthesise(
                verilog,
                top=what,
                target=where,
                clock=clock or "clk",
                operations_per_cycle=operations,
                **options,
            )
        else:
            result = synth.synthesise_design(chosen, where, activity=activity, **options)
    result["command"] = shlex.join(["carrysave", *sys.argv[1:]])
    result["files"] = synthesis.write_synthesis(folder / "synth", result)
    if json_:
        print(json.dumps(result, indent=2))
    else:
        synthesis.print_synthesis(console, [result])
    return 0


@app.command(help_epilogue="")
def pack(
    file: Annotated[Path, Parameter(help="Weights: .npy, .npz, .safetensors; a manifest, .json.")],
    /,
    *,
    tensor: Annotated[
        str | None, Parameter(help="Name of the matrix, or of the layer. [default: the only one]")
    ] = None,
    source: Annotated[
        str | None,
        Parameter(
            name="--from",
            help=f"What the file holds: {', '.join(layers.SOURCES)}. [default: auto]",
        ),
    ] = None,
    rows: Annotated[
        str | None, Parameter(help="Rows of a matrix: out, as in PyTorch, or in. [default: out]")
    ] = None,
    scheme: Annotated[
        str | None,
        Parameter(
            help="How codes are chosen, or were: symmetric, asymmetric, odd, ternary or, of"
            " floats, bcq. [default: symmetric]"
        ),
    ] = None,
    bits: Annotated[
        int | None, Parameter(help="Bits of a code. [default: of floats 4; ternary 2]")
    ] = None,
    group: Annotated[
        str | None,
        Parameter(help="Of floats, inputs per scale; or column, or tensor. [default: 128]"),
    ] = None,
    scales: Annotated[
        str | None,
        Parameter(help="Format of scales: fp16, bf16, fp32, e8m0, int8. [default: fp16]"),
    ] = None,
    layout: Annotated[
        str | None,
        Parameter(help=f"Order of codes: {', '.join(layers.LAYOUTS)}. [default: planes_inner]"),
    ] = None,
    fold: Annotated[
        int | None,
        Parameter(help="Inputs of a key, 2..5; 0 packs codes. [default: 4; trits 0, keys 5]"),
    ] = None,
    beat: Annotated[
        int | None, Parameter(help="Inputs of a beat. [default: what keys fit into 16]")
    ] = None,
    columns: Annotated[int | None, Parameter(help="Outputs of a block. [default: 64]")] = None,
    unpack: Annotated[
        bool, Parameter(show_default=False, help="Read a manifest and its image back.")
    ] = False,
    to: Annotated[
        str | None, Parameter(help="With --unpack: npz or safetensors. [default: npz]")
    ] = None,
    name: Annotated[
        str | None, Parameter(help="Name of the files. [default: the tensor's]")
    ] = None,
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Pack a layer's low-bit weights into the memory image of the LUT cores, or read it back.

    Floats are quantised. GPTQ (2, 3, 4, 8 bits; gptq_v2 stores zero points as they are) and AWQ
    layers (qweight, qzeros, scales, g_idx), or codes with scales and zeros, are taken as they are.
    A JSON manifest beside the image describes its sections. Of the image, `--unpack` makes the
    same codes, scales and zero points again.

    **Examples:**

    - `carrysave pack model.safetensors --tensor layers.0.up.weight --bits 2 --group 64`
    - `carrysave pack weights.npy --scheme ternary --group tensor --layout trits5`
    - `carrysave pack gptq.safetensors --tensor layers.0.up --from gptq -o build`
    - `carrysave pack --unpack build/weights.json`
    """
    folder = output_folder(output)
    request = layers.Request(
        tensor=tensor,
        source=source,
        rows=rows,
        bits=bits,
        group=group,
        scheme=scheme,
        scales=scales,
        layout=layout,
        fold=fold,
        beat=beat,
        columns=columns,
    )
    if unpack:
        request.refuse("--unpack")
        if to not in (None, "npz", "safetensors"):
            raise UsageError(f"--to must be one of npz, safetensors, not {to!r}")
        path, names = layers.unpack(file, folder, name, f".{to or 'npz'}")
        if json_:
            print(json.dumps({"files": [str(path)], "tensors": names}, indent=2))
        else:
            console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)
        return 0
    if to is not None:
        raise UsageError("--to needs --unpack")
    files, manifest = layers.pack(file, request, folder, name)
    if json_:
        print(json.dumps({"files": [str(path) for path in files], **manifest}, indent=2))
    else:
        synthesis.print_packing(console, files, manifest)
    return 0


@app.command(help_epilogue="")
def reproduce(
    table: Annotated[str, Parameter(help=f"One of {', '.join(tables.TABLES)}.")],
    /,
    *,
    quick: Annotated[
        bool, Parameter(show_default=False, help="Small designs, in minutes instead of hours.")
    ] = False,
    liberty: Annotated[
        ExistingFile | None, Parameter(help="Cell library, .lib or .lib.gz. [default: osu018]")
    ] = None,
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Repeat a table of a paper: every design and its twin under one flow, beside its ratios.

    Writes JSON, Markdown and a picture below `OUTPUT/reproduce`. What was synthesised once is
    taken from the cache: a run that was stopped goes on where it was.

    **Examples:**

    - `carrysave reproduce hpca25 --quick`
    - `carrysave reproduce ent --liberty my.lib.gz`
    """
    if table not in tables.TABLES:
        raise nearest(table, tables.TABLES, "table")
    folder = output_folder(output)
    where = cells.Library.load(liberty) if liberty is not None else "osu018"
    with Steps(errors) as steps:
        command = shlex.join(["carrysave", *sys.argv[1:]])
        found = tables.run(table, where, quick=quick, steps=steps, command=command)
    files = [str(path) for path in tables.write(folder / "reproduce", found)]
    _tell({**found, "files": files}, tables.print_table, json_)
    return 0


@app.command(name="run", help_epilogue="")
def run_model(
    model: Annotated[Path, Parameter(help="A quantised ONNX model.")],
    /,
    *,
    input_: Annotated[
        Path,
        Parameter(
            name="--input", help="Inputs, .npy, or .npz by name; the first axis counts them."
        ),
    ],
    labels: Annotated[Path | None, Parameter(help="Right classes of the inputs, .npy.")] = None,
    parameter: Sets = None,
    board: Annotated[
        str | None,
        Parameter(help="On the co-processor of `build`: through the pins of its serial line."),
    ] = None,
    simulate_: Annotated[
        str,
        Parameter(name="--simulate", help="Of the products: all, sample (some rows), none."),
    ] = "sample",
    requantise: Annotated[
        str, Parameter(help="Where sums become codes: hardware, or host, as onnxruntime does.")
    ] = "hardware",
    batch: Annotated[
        int | None, Parameter(help="Inputs at once. [default: the model's, or 8]")
    ] = None,
    energy: Annotated[
        str, Parameter(help="Cells for the engine's energy: osu018, a Liberty file, or none.")
    ] = "osu018",
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Run a quantised network on the co-processor, and compare it with onnxruntime.

    Products of codes (QLinearMatMul, QLinearConv, MatMulInteger, ConvInteger, QGemm; MatMul, Gemm
    and Conv between quantisers) go to the co-processor, all else to the host. What it computes is
    the golden model; as much as `--simulate` says also runs on the simulated block, by its driver,
    and must be the same. Parameters are those of `generate coprocessor`, or, with `--board`, of
    `generate coprocessor_uart`; there `-p divisor=4` makes bits of 4 cycles, which is faster.

    **Examples:**

    - `carrysave run model.onnx --input images.npy --labels classes.npy`
    - `carrysave run model.onnx --input images.npy -p m=16 -p n=16 --simulate none`
    - `carrysave run model.onnx --input images.npy --board ulx3s_85f -p divisor=4`
    """
    # Slow to load, and used here only.
    from carrysave.networks import command
    from carrysave.networks import view as networks

    folder = output_folder(output)
    if board is None:
        chosen = Design.parse("coprocessor", settings(parameter))
    else:
        chosen = kits.design_of(board, kits.BAUD, settings(parameter))
    request = command.PrecisionRequest(
        model=model,
        data=input_,
        labels=labels,
        design=chosen,
        simulate=simulate_,
        requantise=requantise,
        batch=batch,
        library=None if energy == "none" else library_of(energy, "--energy"),
    )
    with Steps(errors) as steps:
        told = shlex.join(["carrysave", *sys.argv[1:]])
        found = command.execute(request, folder, steps, told)
    _tell(found, networks.show, json_)
    return 1 if found["wrong"] else 0


@app.command(help_epilogue="")
def precision(
    model: Annotated[Path, Parameter(help="An ONNX model of floats.")],
    /,
    *,
    calibration: Annotated[
        Path, Parameter(help="Inputs, .npy, or .npz by name; the first axis counts them.")
    ],
    budget: Annotated[
        list[str],
        Parameter(help="bytes, cycles or energy=NUMBER, or =NUMBER% of layers' costliest."),
    ],
    input_: Annotated[
        Path | None,
        Parameter(name="--input", help="Inputs that judge choices. [default: the calibration's]"),
    ] = None,
    labels: Annotated[Path | None, Parameter(help="Right classes of these, .npy.")] = None,
    formats: Annotated[
        str, Parameter(help="Formats to choose from, with commas. [default: all of the engine's]")
    ] = "",
    pairs: Annotated[
        str, Parameter(help="Of A and B: same formats, or all pairs of them.")
    ] = "same",
    parameter: Sets = None,
    batch: Annotated[
        int | None, Parameter(help="Inputs at once. [default: the model's, or 8]")
    ] = None,
    energy: Annotated[
        str, Parameter(help="Cells for the engine's energy: osu018, a Liberty file, or none.")
    ] = "none",
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Choose a number format for each layer of a network, under a budget.

    Each layer is rounded to each format that the engine has, one at a time, and the outputs are
    compared with those in floats; an integer program then takes the formats with the least noise in
    all. The model is written with its choices, for `carrysave run`. Parameters are those of
    `generate coprocessor`, whose engine is `npe` here.

    **Examples:**

    - `carrysave precision model.onnx --calibration images.npy --budget bytes=60%`
    - `carrysave precision model.onnx --calibration x.npy --budget cycles=20000 -p m=4 -p n=4`
    """
    # Slow to load, and used here only.
    from carrysave.networks.precision import command, view

    folder = output_folder(output)
    request = command.PrecisionRequest(
        model=model,
        calibration=calibration,
        data=input_,
        labels=labels,
        design=Design.parse("coprocessor", {"engine": "npe", **settings(parameter)}),
        formats=[name for name in formats.split(",") if name],
        pairs=pairs,
        budgets=budget,
        batch=batch,
        library=None if energy == "none" else library_of(energy, "--energy"),
    )
    with Steps(errors) as steps:
        told = shlex.join(["carrysave", *sys.argv[1:]])
        found = command.execute(request, folder, steps, told)
    _tell(found, view.show, json_)
    return 0


@app.command(help_epilogue="")
def build(
    *,
    board: Annotated[str, Parameter(help=f"One of {', '.join(kits.BOARDS)}.")],
    parameter: Sets = None,
    baud: Annotated[int, Parameter(help="Rate of the serial line.")] = kits.BAUD,
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Make the bitstream of a co-processor for a board, by open tools alone.

    The host talks to it over the board's serial bridge, by `carrysave.driver.uart`. Without
    parameters it is what fits well; `-p` takes those of `generate coprocessor_uart`. Fails if the
    board's clock is too fast for it.

    **Examples:**

    - `carrysave build --board ulx3s_85f`
    - `carrysave build --board ulx3s_85f -p m=4 -p n=4 --baud 1000000`
    """
    if baud < 1:
        raise UsageError(f"--baud must be 1 or more, not {baud}")
    folder = output_folder(output)
    chosen = kits.design_of(board, baud, settings(parameter))
    with Steps(errors) as steps:
        found = kits.build(board, chosen, folder / "boards" / board, steps.step)
    if json_:
        print(json.dumps(found, indent=2))
    else:
        synthesis.print_board(console, found)
    return 0 if found["ok"] else 1


@app.command(help_epilogue="")
def demo(*, output: Folder = None, json_: Json = False) -> int:
    """Run the main job: Verilog, regression, handwritten digits on the hardware, figures.

    **Example:**

    - `carrysave demo -o build`
    """
    folder = output_folder(output)
    with Steps(errors) as steps:
        outcome = main_job.run(steps, folder, Console(quiet=True) if json_ else console)
    if json_:
        print(json.dumps(outcome, indent=2))
    return 0 if outcome["ok"] else 1


def main() -> None:
    """Run the command line; exit code 0 ok, 1 failed, 2 usage."""
    # Designs and netlists are millions of objects; to look for cycles among them as often as Python
    # does by itself takes a sixth of the time of `reproduce`.
    gc.set_threshold(200_000)
    try:
        code = app(
            sys.argv[1:], exit_on_error=False, print_error=False, result_action="return_value"
        )
    except (UsageError, cyclopts.CycloptsError, ValueError, TypeError) as error:
        _leave(2, error)
    except FileNotFoundError as error:
        # With a file name: one that the user gave. Without: a tool that is not installed.
        _leave(2 if error.filename else 1, error)
    except BrokenPipeError:
        # Who reads the output, `head` for one, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (RuntimeError, OSError) as error:
        _leave(1, error)
    except KeyboardInterrupt:
        _leave(1, "interrupted")
    sys.exit(code)


def _tell(
    found: dict[str, Any], show: Callable[[Console, dict[str, Any]], None], raw: bool
) -> None:
    """Print what was found, as JSON or as it is shown, and the files that it was written to."""
    if raw:
        print(json.dumps(found, indent=2))
        return
    show(console, found)
    for file in found["files"]:
        console.print(f"wrote {file}", highlight=False, markup=False, soft_wrap=True)


def _leave(code: int, what: object) -> NoReturn:
    """Say why in one line, and end."""
    print("carrysave:", " ".join(str(what).split()), file=sys.stderr)
    sys.exit(code)
