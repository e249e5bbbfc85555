"""``carrysave compile``."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from carrysave import cache
from carrysave.cli.coprocessor_flags import DEFAULT_BLOCK, Block
from carrysave.cli.options import Json, errors, print_outcome
from carrysave.cli.reading import BY_THE_MODEL, Reading
from carrysave.compiler.decoder.folder import SUFFIXES, compile_file
from carrysave.compiler.encoder.folder import compile_folder, is_encoder
from carrysave.compiler.front.options import ReadOptions, sized
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.names import within_file
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes import dump
from carrysave.compiler.passes.floats import read
from carrysave.compiler.passes.pipeline import PASSES, passed, stop_at
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.program import view
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.reasons import check_target
from carrysave.compiler.program.write import write
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError, needs
from carrysave.progress import Steps
from hw.catalog import Design

__all__ = ["compile_model"]

_NAMES = [one.name for one in PASSES]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NetworkFlags:
    """Flags of a quantised network."""

    input_: Annotated[
        Path | None,
        Parameter(
            name="--input",
            help="Inputs, .npy or .npz, whose sizes the program has. [default: the model's]",
        ),
    ] = None
    batch: Annotated[int, Parameter(help="Samples of a run, if the model leaves it open.")] = 1
    dump: Annotated[
        Path | None,
        Parameter(help="Folder for the model after each pass, as text and as a picture."),
    ] = None
    stop_after: Annotated[
        str | None,
        Parameter(help=f"Print the model after this pass, and stop: {', '.join(_NAMES)}."),
    ] = None

    def check(self) -> None:
        """Check the choice."""
        if self.stop_after is not None:
            stop_at(self.stop_after)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TextFlags:
    """Flags of a language model, and of a text encoder."""

    cache_: Annotated[
        int, Parameter(name="--cache", help="Of a language model: tokens, at most its context.")
    ] = 1024
    kv: Annotated[
        int | None,
        Parameter(help="Of a language model: bits of a key or value, 8, 4. [default: as `chat`]"),
    ] = None
    calibration: Annotated[
        Path | None,
        Parameter(
            help="Of a text encoder: text, a sentence in each line, that steps are chosen for."
        ),
    ] = None
    tokens: Annotated[int, Parameter(help="Of a text encoder: tokens of a sentence, at most.")] = (
        128
    )


_NETWORK, _TEXT = NetworkFlags(), TextFlags()


def compile_model(
    model: Annotated[
        Path,
        Parameter(
            help="A quantised ONNX model; a language model, .gguf or .npz; or the folder of a text"
            " encoder."
        ),
    ],
    /,
    *,
    network: NetworkFlags = _NETWORK,
    reading: Reading = BY_THE_MODEL,
    text: TextFlags = _TEXT,
    block: Block = DEFAULT_BLOCK,
    json_: Json = False,
) -> int:
    """Compile a quantised network: jobs of the co-processor, and moves of codes between them.

    Writes a folder `OUTPUT/compile/NAME`: `memory.bin`, which is memory before a run, with weights
    and the program's words; `program.json`, where inputs and outputs are; `program.txt`, a step a
    line; `program.h` for C, beside the driver's `carrysave_program.h`, which runs it. Prints for
    each node where it runs, its cycles, and why it is not on the block. What neither the block nor
    a processor beside it does are host segments. Parameters are those of `generate coprocessor`.
    States stay in the program's memory, from sample to sample.

    A language model becomes a program of one token: the token and its position are parameters of
    it, logits its output, and caches stay in its memory. `carrysave chat` takes its folder.

    A text encoder becomes a program of one sentence, whose count of tokens is a parameter; its
    co-processor is that of `embed`, which takes the folder.

    **Examples:**

    - `carrysave compile model.onnx -p "engine=systolic_os(m=8,n=8)"`
    - `carrysave compile model.onnx --input images.npy --json`
    - `carrysave compile vad.onnx --state stateN=state --constant sr=rate.npy`
    - `carrysave compile model.onnx --dump build/passes --stop-after tables`
    - `carrysave compile model.gguf -p "engine=systolic_os(m=4,n=16)" --cache 256`
    - `carrysave compile all-MiniLM-L6-v2 --calibration sentences.txt --tokens 64`
    """
    folder = block.folder / "compile" / model.stem
    if model.suffix in SUFFIXES or is_encoder(model):
        if network != _NETWORK or reading != BY_THE_MODEL:
            raise UsageError(
                "--input, --batch, --dump, --stop-after, --batch-axis, --constant and --state must"
                f" be left out of {model.name}"
            )
        described = _text_program(model, text, block.settings(), folder)
    else:
        made = _network_program(model, network, reading.options, block.settings(), folder)
        if made is None:
            return 0
        described = made
    print_outcome(described, view.show, json_)
    return 0


def _text_program(
    model: Path, options: TextFlags, parameters: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    """Compile a language model, or a text encoder."""
    with Steps(errors) as steps:
        if model.suffix in SUFFIXES:
            steps.step(f"compile {model.name}")
            return compile_file(
                model, parameters, folder, _command(), cache=options.cache_, bits=options.kv
            )
        if options.calibration is None:
            raise UsageError(f"--calibration must be given for {model.name}")
        steps.step(f"compile {model.name}")
        return compile_folder(
            model, options.calibration, parameters, folder, _command(), tokens=options.tokens
        )


def _network_program(
    model: Path,
    options: NetworkFlags,
    reading: ReadOptions,
    parameters: Mapping[str, str],
    folder: Path,
) -> dict[str, Any] | None:
    """Compile a quantised network; None: it is printed after a pass, and no more."""
    needs("onnxruntime")
    options.check()
    target = Target(Design.parse("coprocessor", parameters))
    check_target(target)
    graph, samples = reading.read(model)
    inputs = reading.batch(graph, samples, options.input_, options.batch)
    graph = sized(graph, inputs)
    with Steps(errors) as steps, within_file(model):
        steps.step(f"compile {model.name}")
        lowered = _passed(graph, target, options.dump, options.stop_after)
        if options.stop_after is not None:
            sys.stdout.write(dump.text(lowered))
            return None
        program = compile_network(lowered, target, inputs, samples=samples)
    described = facts(program, _command(), model.name)
    return described | {"files": [str(file) for file in write(program, folder, described)]}


def _command() -> str:
    return shlex.join(["carrysave", *sys.argv[1:]])


def _passed(graph: Graph, target: Target, to: Path | None, stop_after: str | None) -> Lowered:
    """Run the passes; write what each made."""
    setting = Setting(target=target, choices=read(graph), recurrent=True)
    until = PASSES[-1].name if stop_after is None else stop_after
    lowered = Lowered(graph, graph.proto, [], {})
    _write(to, 0, "model", lowered)
    for number, (one, lowered) in enumerate(passed(graph, setting, until), 1):
        _write(to, number, one.name, lowered)
    return lowered


def _write(folder: Path | None, number: int, name: str, lowered: Lowered) -> None:
    if folder is not None:
        cache.write(folder / f"{number}-{name}.txt", dump.text(lowered))
        cache.write(folder / f"{number}-{name}.svg", dump.picture(lowered, f"after {name}"))
