"""``carrysave estimate``."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import ExistingFile
from rich.console import Console
from rich.table import Table

from carrysave import cache, jobs
from carrysave.asic.synthesis import TARGETS
from carrysave.cli.options import (
    Config,
    Folder,
    Json,
    Name,
    Sets,
    StoreFile,
    choose,
    output_folder,
    print_outcome,
)
from carrysave.errors import UsageError, check_choice, needs
from carrysave.exploration.estimate import LEVEL, Estimator, of_store, shipped
from carrysave.report.designs import print_line

__all__ = ["estimate"]

_SHAPE = "no design of this shape (m, n, k) was measured: intervals are wider, as of such shapes"


def estimate(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    config: Config = None,
    target: Annotated[str, Parameter(help="Cell library or FPGA.")] = "osu018",
    model: Annotated[
        ExistingFile | None, Parameter(help="A model of --fit. [default: that of carrysave]")
    ] = None,
    fit: Annotated[
        bool, Parameter(show_default=False, help="Fit a model to the results of a store.")
    ] = False,
    store: StoreFile = None,
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Estimate area, period and power of a design before anything is built.

    A model of designs that were measured gives each figure, and an interval that has the truth for
    nine designs of ten. Designs unlike those that were measured are refused. `--fit` makes a model
    of what your own runs of `synth`, `explore` and others measured, `OUTPUT/estimate/TARGET.json`.

    **Examples:**

    - `carrysave estimate adder_tree -p n=4 -p k=8 -p k_max=1024`
    - `carrysave estimate --fit --target ecp5`
    - `carrysave estimate systolic_os -p m=4 --target ecp5 --model build/estimate/ecp5.json`
    """
    needs("sklearn")
    check_choice("--target", target, TARGETS)
    if fit:
        if design is not None or parameter or model is not None or config is not None:
            raise UsageError("--fit takes no design, and no --model")
        folder = output_folder(output)
        made = of_store(store or jobs.default_path(), target)
        written = cache.write(folder / "estimate" / f"{target}.json", made.text())
        print_outcome(_fitted(made, written), _show_fitted, json_)
        return 0
    if store is not None:
        raise UsageError("--store is for --fit")
    chosen, _ = choose(design, parameter, output, config)
    path = model if model is not None else shipped(target)
    if path is None:
        raise UsageError(
            f"--target must be one of {', '.join(name for name in TARGETS if shipped(name))}, of"
            f" which carrysave has a model, not {target}; --fit makes one of what you measured"
        )
    known = Estimator.read(Path(path))
    if known.target != target:
        raise UsageError(f"--model must be of --target {target}, not of {known.target}")
    found = {
        "design": chosen.name, "module": chosen.module, "parameters": dict(chosen.parameters),
        "target": known.target, "level": LEVEL, "figures": known.estimate(chosen),
        "activity": known.activity, "measured": len(known.measured), "model": str(path),
        "versions": dict(known.versions), "files": [],
        "notes": [] if known.has_shape(chosen) else [_SHAPE],
    }  # fmt: skip
    print_outcome(found, _show, json_)
    return 0


def _fitted(made: Estimator, path: Path) -> dict[str, Any]:
    return {
        "target": made.target, "activity": made.activity, "measured": len(made.measured),
        "errors": {name: fit.error for name, fit in made.fits.items()},
        "errors_of_shapes": {
            name: fit.error_of_shapes
            for name, fit in made.fits.items() if fit.error_of_shapes is not None
        },
        "files": [str(path)],
    }  # fmt: skip


def _show_fitted(console: Console, found: dict[str, Any]) -> None:
    print_line(console, f"{found['measured']} designs on {found['target']}")
    for name, error in found["errors"].items():
        print_line(console, f"{name}: median error {error:.1%} on designs that were left out")
    for name, error in found["errors_of_shapes"].items():
        print_line(console, f"{name}: median error {error:.1%} on shapes that were left out")


def _show(console: Console, found: dict[str, Any]) -> None:
    title = f"{found['module']} on {found['target']}, estimated"
    table = Table("figure", title=title, title_justify="left")
    for head in ("estimate", f"{found['level']:.0%} between", "and"):
        table.add_column(head, justify="right")
    for name, one in found["figures"].items():
        table.add_row(name, *(f"{one[part]:,.5g}" if one[part] < 1e5 else f"{one[part]:,.0f}"
                              for part in ("estimate", "low", "high")))  # fmt: skip
    console.print(table)
    print_line(console, f"from {found['measured']} designs that were measured")
    for note in found["notes"]:
        print_line(console, note)
    if "power_mw" in found["figures"]:
        print_line(console, f"power at: {found['activity']}")
