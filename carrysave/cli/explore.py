"""``carrysave explore``."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave import jobs
from carrysave.api.checks import check_place, check_search
from carrysave.api.design import Design
from carrysave.api.device import for_device
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
    print_outcome,
    write_page,
)
from carrysave.cli.synth import Liberty, Part, Period, Seeds, Target, check_libraries
from carrysave.errors import UsageError
from carrysave.exploration.command import Request, execute
from carrysave.exploration.space import Point, Space
from carrysave.exploration.view import page, show
from carrysave.fpga import implementation
from carrysave.progress import Steps
from hw import catalog

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
            " on FPGAs gops, luts]"
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
    check_search(
        target=target, period=period, sweep=sweep, objective="density",
        hierarchy=None, time_reset=False, part=part, seeds=seeds, operations=None,
    )  # fmt: skip
    check_place(place, target)
    if space is not None and macs is not None:
        raise UsageError("--macs is in place of a --space")
    if macs is not None and not 1 <= macs <= 4096:
        raise UsageError(f"--macs must be 1..4096, not {macs}")
    if seed < 0:
        raise UsageError(f"--seed must be 0 or more, not {seed}")
    on_fpga = target in implementation.TARGETS
    default = ["gops", "luts"] if on_fpga else ["gops_per_mm2", "pj_per_mac"]

    def prepare(point: Point) -> catalog.Design:
        if not on_fpga:
            return point.design
        return for_device(str(target), Design(point.design.name, point.values))

    options: dict[str, Any] = {"period_ns": period, "sweep": sweep}
    if on_fpga:
        options = {"part": part, "seeds": seeds or 3}
    if space is not None:
        where = Space.read(Path(space))
    else:
        where = Space.of_macs(macs or 16, blocks=on_fpga)
    request = Request(
        space=where,
        target=target_of(target, liberty),
        objectives=tuple(objective or default),
        trials=trials, method=method, verify=verify, seed=seed,
        batch=2 * (running.jobs or jobs.cores()), skip=not no_estimate,
        options=options, place=place,
        prepare=prepare,
    )  # fmt: skip
    folder = output_folder(output)
    check_page(html)
    with Steps(errors) as steps, running.session():
        found = execute(request, folder, steps, shlex.join(["carrysave", *sys.argv[1:]]))
    found["files"] = write_page(html, page, found)
    print_outcome(found, show, json_)
    return 1 if found["wrong"] or not found["front"] else 0
