"""``carrysave estimate``."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.types import ExistingFile
from rich.console import Console

from carrysave import cache
from carrysave.api import estimate as api
from carrysave.asic.libraries import TARGETS
from carrysave.cli import text_models
from carrysave.cli.coprocessor_flags import MemoryName, target_of
from carrysave.cli.options import (
    BY_DEFAULT,
    Choice,
    Json,
    Name,
    StoreFile,
    errors,
    output_folder,
    present,
    print_outcome,
    settings,
)
from carrysave.cli.reading import BY_THE_MODEL, OF_THE_MODEL, InputSizes, Reading
from carrysave.cli.text_models import TextFlags, is_text, text_program
from carrysave.compiler.program.head_ways import AUTO, WAYS, HeadWays
from carrysave.errors import UsageError, check_choice, needs
from carrysave.exploration.estimate import Estimator, of_store
from carrysave.progress import Steps
from carrysave.report.designs import print_line
from hw.catalog import CATALOG

if TYPE_CHECKING:
    from carrysave.compiler.program.program import Program

__all__ = ["estimate"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FitFlags:
    """Flags of a model of measured designs."""

    target: Annotated[str, Parameter(help="Cell library or FPGA.")] = "osu018"
    model: Annotated[
        ExistingFile | None, Parameter(help="A model of --fit. [default: that of carrysave]")
    ] = None
    fit: Annotated[
        bool, Parameter(show_default=False, help="Fit a model to the results of a store.")
    ] = False
    store: StoreFile = None


_MEASURED = FitFlags()
"""That of carrysave."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ProgramFlags:
    """Flags of what is around a program."""

    memory: MemoryName = None
    attention: Annotated[str, Parameter(help="Of a model: as `compile`.")] = AUTO


_ANY = ProgramFlags()
"""Nothing is known."""


@dataclass(frozen=True, kw_only=True)
class _ModelFlags:
    """Flags of a model."""

    reading: Reading = BY_THE_MODEL
    sizes: InputSizes = OF_THE_MODEL
    text: TextFlags = text_models.BY_DEFAULT
    block: ProgramFlags = _ANY


def estimate(
    design: Name = None,
    /,
    *,
    choice: Choice = BY_DEFAULT,
    measured: FitFlags = _MEASURED,
    reading: Reading = BY_THE_MODEL,
    sizes: InputSizes = OF_THE_MODEL,
    text: TextFlags = text_models.BY_DEFAULT,
    block: ProgramFlags = _ANY,
    json_: Json = False,
) -> int:
    """Estimate area, period and power of a design before anything is built.

    A model of designs that were measured gives each figure, and an interval that has the truth for
    nine designs of ten. Designs unlike those that were measured are refused. `--fit` makes a model
    of what your own runs of `synth`, `explore` and others measured, `OUTPUT/estimate/TARGET.json`.

    A quantised network, a language model, a text encoder, or a folder of `carrysave compile`, in
    place of a design gives the cycles of its program, node by node; parameters are then those of
    `generate coprocessor`, and samples, constants, states, cache and memory those of `compile`.

    **Examples:**

    - `carrysave estimate adder_tree -p n=4 -p k=8 -p k_max=1024 -p pipeline=2`
    - `carrysave estimate --fit --target ecp5`
    - `carrysave estimate model.onnx -p "engine=systolic_os(m=8,n=8)"`
    - `carrysave estimate model.onnx --memory latency=20,bytes=4`
    - `carrysave estimate model.gguf -p "engine=systolic_os(m=4,n=16)" --cache 256`
    - `carrysave estimate build/compile/model`
    - `carrysave estimate systolic_os -p m=4 --target ecp5 --model build/estimate/ecp5.json`
    """
    given = _ModelFlags(reading=reading, sizes=sizes, text=text, block=block)
    if design is not None and design not in CATALOG and Path(design).exists():
        if choice.config is not None or measured != _MEASURED:
            raise UsageError(
                "--config, --target, --model, --fit and --store must be left out:"
                f" {design} is no design"
            )
        return _model(Path(design), given, settings(choice.parameter), raw=json_)
    if given != _ModelFlags():
        raise UsageError(
            "--attention, --input, --batch, --batch-axis, --constant, --state, --cache, --kv,"
            " --calibration, --tokens and --memory are for a model's file"
        )
    needs("sklearn")
    check_choice("--target", measured.target, TARGETS)
    if measured.fit:
        if design is not None or measured.model is not None or choice.given:
            raise UsageError("--fit takes no design, and no --model")
        return _fit(measured, output_folder(choice.output), raw=json_)
    if measured.store is not None:
        raise UsageError("--store is for --fit")
    chosen, _ = choice.choose(design)
    present(api.estimate(chosen, measured.target, model=measured.model), None, json_)
    return 0


def _fit(measured: FitFlags, folder: Path, *, raw: bool) -> int:
    """Fit a model to the results of a store."""
    made = of_store(measured.store, measured.target)
    written = cache.write(folder / "estimate" / f"{measured.target}.json", made.text())
    print_outcome(_fitted(made, written), _show_fitted, raw)
    return 0


def _model(path: Path, given: _ModelFlags, parameters: Mapping[str, str], *, raw: bool) -> int:
    """Print what the program of a model takes, node by node."""
    if is_text(path):
        if (given.reading, given.sizes) != (BY_THE_MODEL, OF_THE_MODEL):
            raise UsageError(
                "--input, --batch, --batch-axis, --constant and --state must be left out of"
                f" {path.name}"
            )
    elif path.is_dir():
        if parameters or given != _ModelFlags():
            raise UsageError(f"other options must be left out: {path} is a program")
        return _program(path, raw=raw)
    else:
        text_models.check_no_text(given.text, path)
    with Steps(errors) as steps:
        steps.step(f"compile {path.name}")
        if is_text(path):
            asked = parameters, given.block.memory, given.block.attention
            program = text_program(path, given.text, *asked).program
        else:
            from carrysave.compiler.program.model import program_of

            check_choice("attention", given.block.attention, WAYS)
            target, sizes = target_of(parameters, given.block.memory), given.sizes
            ways = HeadWays(target, given.block.attention)
            program = program_of(path, ways, given.reading.options, sizes.input_, sizes.batch)
    _describe(program, path.name, [], raw=raw)
    return 0


def _program(folder: Path, *, raw: bool) -> int:
    """Print what a program takes, node by node, and its files."""
    from carrysave.compiler.program.read import read

    _describe(read(folder), folder.name, sorted(map(str, folder.iterdir())), raw=raw)
    return 0


def _describe(program: "Program", name: str, files: list[str], *, raw: bool) -> None:
    # Of programs, and their packages, this alone knows.
    from carrysave.compiler.program import view
    from carrysave.compiler.program.facts import facts

    described = facts(program, shlex.join(["carrysave", *sys.argv[1:]]), name)
    print_outcome(described | {"files": files}, view.show, raw)


def _fitted(made: Estimator, path: Path) -> dict[str, Any]:
    return {
        "target": made.target,
        "activity": made.activity,
        "measured": len(made.measured),
        "errors": {name: fit.error for name, fit in made.fits.items()},
        "errors_of_shapes": {
            name: fit.error_of_shapes
            for name, fit in made.fits.items()
            if fit.error_of_shapes is not None
        },
        "files": [str(path)],
    }


def _show_fitted(console: Console, fitted: dict[str, Any]) -> None:
    print_line(console, f"{fitted['measured']} designs on {fitted['target']}")
    for name, error in fitted["errors"].items():
        print_line(console, f"{name}: median error {error:.1%} on designs that were left out")
    for name, error in fitted["errors_of_shapes"].items():
        print_line(console, f"{name}: median error {error:.1%} on shapes that were left out")
