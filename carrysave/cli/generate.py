"""``carrysave generate``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api.design import Design
from carrysave.cli.options import (
    BY_DEFAULT,
    Choice,
    Json,
    Name,
    errors,
    output_folder,
    present,
)
from carrysave.errors import UsageError
from carrysave.progress import Steps

__all__ = ["generate"]


def generate(
    design: Name = None,
    /,
    *,
    choice: Choice = BY_DEFAULT,
    period: Annotated[float, Parameter(help="Clock period in the constraints, ns.")] = 10.0,
    outside: Annotated[
        float | None,
        Parameter(
            help="I/O budget in the constraints: share of the period that paths take outside,"
            " before an input and behind an output. [default: 0; of co-processors 0.3]"
        ),
    ] = None,
    from_: Annotated[
        ExistingFile | None,
        Parameter(name="--from", help="Take a design of `carrysave explore`, from its JSON."),
    ] = None,
    point: Annotated[
        int | None, Parameter(help="Index on the Pareto front, with --from. [default: 0]")
    ] = None,
    docs: Annotated[
        bool,
        Parameter(
            show_default=False, help="Write the co-processor's register map as HTML too, 9 MB."
        ),
    ] = False,
    json_: Json = False,
) -> int:
    """Write a design: Verilog-2005, manifest, constraints, file list, FuseSoC core.

    A co-processor becomes a folder with register map, drivers, IP-XACT, a LiteX module
    and a README too.

    **Examples:**

    - `carrysave generate systolic_os -p m=16 -p n=16`
    - `carrysave generate coprocessor -p engine=systolic_os -p m=16 -p n=16`
    - `carrysave generate opt1 -p a_width=4 -p b_width=4 -o rtl`
    - `carrysave generate systolic_os -p m=12 -p n=13 -p target=artix7 --period 5 --outside 0.3`
    - `carrysave generate --from build/explore/explore.json --point 2`
    """
    if from_ is not None:
        if design is not None or choice.given:
            raise UsageError("--from says which design; leave name, -p and --config out")
        from carrysave.exploration.front import point_of  # slow to load, and not always needed

        chosen = Design.of(point_of(Path(from_), point or 0))
        folder = output_folder(choice.output)
    elif point is not None:
        raise UsageError("--point needs --from")
    else:
        chosen, folder = choice.choose(design)
    with Steps(errors) as steps:
        files = chosen.generate(
            folder, period_ns=period, outside=outside, docs=docs, progress=steps
        )
    present(files, None, json_)
    return 0
