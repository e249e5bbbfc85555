"""``carrysave compile``."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from carrysave import cache
from carrysave.cli.coprocessor_flags import DEFAULT_BLOCK, Block, MemoryName, target_of
from carrysave.cli.network_flags import NetworkFlags
from carrysave.cli.options import Json, errors, print_outcome
from carrysave.cli.reading import BY_THE_MODEL, Reading
from carrysave.cli.text_models import BY_DEFAULT, TextFlags, check_no_text, is_text, text_program
from carrysave.compiler.front.options import ReadOptions, sized
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.names import within_file
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes import dump
from carrysave.compiler.passes.floats import read
from carrysave.compiler.passes.pipeline import PASSES, passed
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.program import view
from carrysave.compiler.program.head_ways import AUTO, HeadWays
from carrysave.compiler.program.reasons import check_target
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError, needs
from carrysave.progress import Steps

if TYPE_CHECKING:
    from carrysave.compiler.program.program import Program

__all__ = ["compile_model"]

_NETWORK = NetworkFlags()


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
    text: TextFlags = BY_DEFAULT,
    block: Block = DEFAULT_BLOCK,
    memory: MemoryName = None,
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
    - `carrysave compile model.onnx -p "engine=systolic_os(m=8,n=8)" --memory block_ram`
    - `carrysave compile model.onnx -p "engine=systolic_os(m=4,n=16)" --dataflow auto`
    - `carrysave compile model.onnx --dump build/passes --stop-after tables`
    - `carrysave compile model.gguf -p "engine=systolic_os(m=4,n=16)" --cache 256`
    - `carrysave compile all-MiniLM-L6-v2 --calibration sentences.txt --tokens 64`
    """
    folder = block.folder / "compile" / model.stem
    if not is_text(model):
        check_no_text(text, model)
        target = target_of(block.settings(), memory)
        made = _network_program(model, network, reading.options, target, folder)
    elif replace(network, attention=AUTO) != _NETWORK or reading != BY_THE_MODEL:
        raise UsageError(
            "--input, --batch, --dataflow, --dump, --schedule, --schedule-seconds, --stop-after,"
            f" --timeline, --batch-axis, --constant and --state must be left out of {model.name}"
        )
    else:
        made = _text(model, text, block.settings(), memory, folder, network.attention)
    if made is not None:
        print_outcome(made, view.show, json_)
    return 0


def _text(
    model: Path,
    options: TextFlags,
    parameters: Mapping[str, str],
    memory: str | None,
    folder: Path,
    attention: str,
) -> dict[str, Any]:
    """Compile a language model, or a text encoder."""
    with Steps(errors) as steps:
        steps.step(f"compile {model.name}")
        made = text_program(model, options, parameters, memory, attention)
        if remark := made.remark:
            steps.remark(remark)
    described, files = _write(made.program, folder, model.name, made.more)
    files += [cache.write(folder / name, text) for name, text in made.files.items()]
    return described | {"files": [str(file) for file in files]}


def _write(
    program: "Program", folder: Path, model: str, more: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Path]]:
    """Write a program into a folder; return what it is, and the files."""
    # Slow to load: what is refused needs none of it.
    from carrysave.compiler.program.facts import facts
    from carrysave.compiler.program.write import write

    described = facts(program, _command(), model)
    return described, write(program, folder, {**described, **more})


def _network_program(
    model: Path,
    options: NetworkFlags,
    reading: ReadOptions,
    target: Target,
    folder: Path,
) -> dict[str, Any] | None:
    """Compile a quantised network; None: it is printed after a pass, and no more."""
    needs("onnxruntime")
    options.check()
    check_target(target)
    target = replace(target, dataflow=options.dataflow)
    graph, samples = reading.read(model)
    inputs = reading.batch(graph, samples, options.input_, options.batch)
    graph = sized(graph, inputs)
    with Steps(errors) as steps, within_file(model):
        steps.step(f"compile {model.name}")
        ways = HeadWays(target, options.attention)
        lowered = _passed(graph, ways, options.dump, options.stop_after)
        if options.stop_after is not None:
            sys.stdout.write(dump.text(lowered))
            return None
        from carrysave.compiler.program.network import compile_network  # as in _write

        program = compile_network(lowered, target, inputs, samples=samples, schedule=options.chosen)
    described, files = _write(program, folder, model.name, {})
    described |= {"attention": heads} if (heads := ways.facts()) else {}
    if options.timeline is not None:
        from carrysave.compiler.run.spans import by_model
        from carrysave.compiler.run.timeline import write_timeline

        title = f"{model.name} on {target.design.module}"
        files.append(
            write_timeline(
                options.timeline, title, _command(), by_model(program), described["losses"]
            )
        )
    return described | {"files": [str(file) for file in files]}


def _command() -> str:
    return shlex.join(["carrysave", *sys.argv[1:]])


def _passed(graph: Graph, ways: HeadWays, to: Path | None, stop_after: str | None) -> Lowered:
    """Run the passes; write what each made."""
    setting = Setting(target=ways.target, choices=read(graph), program=True, attention=ways)
    until = PASSES[-1].name if stop_after is None else stop_after
    lowered = Lowered(graph, graph.proto)
    _dump(to, 0, "model", lowered)
    for number, (one, lowered) in enumerate(passed(graph, setting, until), 1):
        _dump(to, number, one.name, lowered)
    return lowered


def _dump(folder: Path | None, number: int, name: str, lowered: Lowered) -> None:
    if folder is not None:
        cache.write(folder / f"{number}-{name}.txt", dump.text(lowered))
        cache.write(folder / f"{number}-{name}.svg", dump.picture(lowered, f"after {name}"))
