"""``carrysave explore``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api import exploration as api
from carrysave.asic.check_options import check_place
from carrysave.cli.defaults import defaults
from carrysave.cli.flags import Liberty, Part, Period, Seeds, Target, check_libraries
from carrysave.cli.libraries import target_of
from carrysave.cli.options import (
    ALL_CORES,
    TABLES,
    Folder,
    Running,
    View,
    check_page,
    errors,
    output_folder,
)
from carrysave.exploration.options import ExploreOptions
from carrysave.progress import Steps

__all__ = ["explore"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExploreFlags(ExploreOptions):
    """Flags of a search; defaults are those of the options."""

    objective: Annotated[
        Sequence[str] | None,
        Parameter(
            help="Figure to be best in; may be repeated. [default: gops_per_mm2, pj_per_mac;"
            " generic: operations_per_fo4_kge, kge; on FPGAs gops, luts; mapped only: luts, dsps]"
        ),
    ]
    trials: Annotated[int, Parameter(help="Designs to measure at most.")]
    method: Annotated[
        str, Parameter(help="How to search: model, tpe, nsga2 (Optuna), random, grid.")
    ]
    estimate: Annotated[
        bool,
        Parameter(
            negative="--no-estimate",
            show_default=False,
            help="With a model: measure no design that looks hopeless by its estimate.",
        ),
    ]
    verify: Annotated[str, Parameter(help="Which designs must pass their bench: front, all, none.")]
    seed: Annotated[int, Parameter(help="Seed of the search.")]
    period_ns: Period
    sweep: Annotated[
        bool, Parameter(show_default=False, help="Search recipes and periods for each design.")
    ]
    place: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="At last place the front on the cell library, and measure it with its wires.",
        ),
    ]
    part: Part
    seeds: Seeds


_FLAGS = defaults(ExploreFlags)


def explore(
    *,
    space: Annotated[
        ExistingFile | None, Parameter(help="Designs, parameters and constraints, TOML.")
    ] = None,
    macs: Annotated[
        int | None,
        Parameter(help="Instead of a space: int8 arrays of N MACs per cycle. [default: 16]"),
    ] = None,
    target: Target = None,
    liberty: Liberty = None,
    options: ExploreFlags = _FLAGS,
    output: Folder = None,
    running: Running = ALL_CORES,
    view: View = TABLES,
) -> int:
    """Search designs and parameters for the best in several figures at once.

    Proposes designs of a space, has each synthesised, and runs the benches of those that no other
    beats in all figures: a design that fails is no result. What was measured once, in whatever
    search, is stored. With `--place` these are placed at last. Writes JSON and a picture to
    `OUTPUT/explore`; `carrysave generate --from OUTPUT/explore/explore.json` writes the first of
    the front.

    **Examples:**

    - `carrysave explore --macs 16 --objective gops_per_mm2 --objective pj_per_mac --trials 40`
    - `carrysave explore --macs 64 --liberty sky130_fd_sc_hd__tt_025C_1v80.lib --place`
    - `carrysave explore --space space.toml --target ecp5 --objective gops --objective luts`
    """
    check_libraries(target, liberty)
    check_place(options.place, target or "")
    folder = output_folder(output)
    check_page(view.html)
    where = target_of(target, liberty)
    with Steps(errors) as steps, running.session():
        result = api.explore(space, macs=macs, target=where, options=options, progress=steps)
    view.present(result, folder / "explore")
    return 0 if result.ok else 1
