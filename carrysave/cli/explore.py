"""``carrysave explore``."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api import exploration as api
from carrysave.api.checks import check_place
from carrysave.cli.libraries import target_of
from carrysave.cli.options import (
    ALL_CORES,
    Folder,
    Html,
    Json,
    Running,
    check_page,
    errors,
    output_folder,
    present,
)
from carrysave.cli.synth import Liberty, Part, Period, Seeds, Target, check_libraries
from carrysave.progress import Steps

__all__ = ["explore"]


def explore(
    *,
    space: Annotated[
        ExistingFile | None, Parameter(help="Designs, parameters and constraints, TOML.")
    ] = None,
    macs: Annotated[
        int | None,
        Parameter(help="In place of a space: int8 arrays of so many MACs per cycle. [default: 16]"),
    ] = None,
    objective: Annotated[
        list[str] | None,
        Parameter(
            help="Figure to be best in; may be repeated. [default: gops_per_mm2, pj_per_mac;"
            " generic: operations_per_fo4_kge, kge; on FPGAs gops, luts; mapped only: luts, dsps]"
        ),
    ] = None,
    trials: Annotated[int, Parameter(help="Designs to measure at most.")] = 50,
    method: Annotated[
        str, Parameter(help="How to search: model, tpe, nsga2 (Optuna), random, grid.")
    ] = "model",
    no_estimate: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="With a model: measure designs, too, that look hopeless by its estimate.",
        ),
    ] = False,
    verify: Annotated[
        str, Parameter(help="Which designs must pass their bench: front, all, none.")
    ] = "front",
    seed: Annotated[int, Parameter(help="Seed of the search.")] = 1,
    target: Target = None,
    liberty: Liberty = None,
    period: Period = None,
    sweep: Annotated[
        bool, Parameter(show_default=False, help="Search recipes and periods for each design.")
    ] = False,
    place: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="At last place the front on the cell library, and measure it with its wires.",
        ),
    ] = False,
    part: Part = None,
    seeds: Seeds = None,
    output: Folder = None,
    running: Running = ALL_CORES,
    html: Html = None,
    json_: Json = False,
) -> int:
    """Search designs and parameters for the best in several figures at once.

    Proposes designs of a space, has each synthesised, and runs the benches of those that no other
    beats in all figures: a design that fails is no result. What was measured once, in whatever
    search, is kept. With `--place` these are placed at last. Writes JSON and a picture to
    `OUTPUT/explore`; `carrysave generate --from OUTPUT/explore/explore.json` writes the first of
    the front.

    **Examples:**

    - `carrysave explore --macs 16 --objective gops_per_mm2 --objective pj_per_mac --trials 40`
    - `carrysave explore --macs 64 --liberty sky130_fd_sc_hd__tt_025C_1v80.lib --place`
    - `carrysave explore --space space.toml --target ecp5 --objective gops --objective luts`
    """
    check_libraries(target, liberty)
    check_place(place, target)
    folder = output_folder(output)
    check_page(html)
    where = target_of(target, liberty)
    with Steps(errors) as steps, running.session():
        found = api.explore(
            space, macs=macs, objective=objective, target=where, trials=trials, method=method,
            estimate=not no_estimate, verify=verify, seed=seed, period_ns=period, sweep=sweep,
            place=place, part=part, seeds=seeds, progress=steps,
        )  # fmt: skip
    present(found, html, json_, folder / "explore")
    return 0 if found.ok else 1
