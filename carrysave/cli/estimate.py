"""``carrysave estimate``."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import ExistingFile
from rich.console import Console

from carrysave import cache, jobs
from carrysave.api import estimate as api
from carrysave.asic.synthesis import TARGETS
from carrysave.cli.options import (
    BY_DEFAULT,
    Choice,
    Json,
    Name,
    StoreFile,
    output_folder,
    present,
    print_outcome,
)
from carrysave.errors import UsageError, check_choice, needs
from carrysave.exploration.estimate import Estimator, of_store
from carrysave.report.designs import print_line

__all__ = ["estimate"]


def estimate(
    design: Name = None,
    /,
    *,
    choice: Choice = BY_DEFAULT,
    target: Annotated[str, Parameter(help="Cell library or FPGA.")] = "osu018",
    model: Annotated[
        ExistingFile | None, Parameter(help="A model of --fit. [default: that of carrysave]")
    ] = None,
    fit: Annotated[
        bool, Parameter(show_default=False, help="Fit a model to the results of a store.")
    ] = False,
    store: StoreFile = None,
    json_: Json = False,
) -> int:
    """Estimate area, period and power of a design before anything is built.

    A model of designs that were measured gives each figure, and an interval that has the truth for
    nine designs of ten. Designs unlike those that were measured are refused. `--fit` makes a model
    of what your own runs of `synth`, `explore` and others measured, `OUTPUT/estimate/TARGET.json`.
    A folder of `carrysave compile` in place of a design gives the program's cycles, node by node.

    **Examples:**

    - `carrysave estimate adder_tree -p n=4 -p k=8 -p k_max=1024 -p pipeline=2`
    - `carrysave estimate --fit --target ecp5`
    - `carrysave estimate build/compile/model`
    - `carrysave estimate systolic_os -p m=4 --target ecp5 --model build/estimate/ecp5.json`
    """
    if design is not None and Path(design).is_dir():
        if choice.given or model is not None or fit or store is not None:
            raise UsageError(f"other options must be left out: {design} is a program")
        return _program(Path(design), raw=json_)
    needs("sklearn")
    check_choice("--target", target, TARGETS)
    if fit:
        if design is not None or model is not None or choice.given:
            raise UsageError("--fit takes no design, and no --model")
        folder = output_folder(choice.output)
        made = of_store(store or jobs.default_path(), target)
        written = cache.write(folder / "estimate" / f"{target}.json", made.text())
        print_outcome(_fitted(made, written), _show_fitted, json_)
        return 0
    if store is not None:
        raise UsageError("--store is for --fit")
    chosen, _ = choice.choose(design)
    present(api.estimate(chosen, target, model=model), None, json_)
    return 0


def _program(folder: Path, *, raw: bool) -> int:
    """Print what a program takes, node by node, and its files."""
    # Of models, and their packages, this alone knows.
    from carrysave.compiler.program import view
    from carrysave.compiler.program.facts import facts
    from carrysave.compiler.program.read import read

    described = facts(read(folder), shlex.join(["carrysave", *sys.argv[1:]]), folder.name)
    described["files"] = sorted(str(path) for path in folder.iterdir())
    print_outcome(described, view.show, raw)
    return 0


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


def _show_fitted(console: Console, found: dict[str, Any]) -> None:
    print_line(console, f"{found['measured']} designs on {found['target']}")
    for name, error in found["errors"].items():
        print_line(console, f"{name}: median error {error:.1%} on designs that were left out")
    for name, error in found["errors_of_shapes"].items():
        print_line(console, f"{name}: median error {error:.1%} on shapes that were left out")
