"""``carrysave generate``."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.cli.options import (
    Config,
    Folder,
    Json,
    Name,
    Sets,
    choose,
    console,
    errors,
    output_folder,
)
from carrysave.errors import UsageError, check_positive
from carrysave.ip import has_pack
from carrysave.progress import Steps
from carrysave.report import designs
from hw.emit.files import generate as write_files

__all__ = ["generate"]


def generate(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    output: Folder = None,
    config: Config = None,
    period: Annotated[float, Parameter(help="Clock period in the constraints, ns.")] = 10.0,
    from_: Annotated[
        ExistingFile | None,
        Parameter(name="--from", help="Take a design of `carrysave explore`, from its JSON."),
    ] = None,
    point: Annotated[
        int | None, Parameter(help="Which of the front, with --from. [default: 0, the first]")
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
    - `carrysave generate --from build/explore/explore.json --point 2`
    """
    check_positive("--period", period, " ns")
    if from_ is not None:
        if design is not None or parameter or config is not None:
            raise UsageError("--from says which design; leave name, -p and --config out")
        from carrysave.explore.front import point_of  # slow to load, and not always needed

        chosen, folder = point_of(Path(from_), point or 0), output_folder(output)
    elif point is not None:
        raise UsageError("--point needs --from")
    else:
        chosen, folder = choose(design, parameter, output, config)
    if docs and not has_pack(chosen):
        raise UsageError(f"--docs is for a co-processor, not for {chosen.name}")
    with Steps(errors) as steps:
        steps.step(f"generate {chosen.module}")
        if has_pack(chosen):
            # Imported here because it is slow to load.
            from carrysave.ip import package

            files = package.generate(
                chosen, folder, period_ns=period, docs=docs, progress=steps.note
            )
        else:
            files = write_files(chosen, folder, period_ns=period)
    manifest = json.loads(next(path for path in files if path.suffix == ".json").read_text())
    if json_:
        print(json.dumps({"files": [str(path) for path in files], **manifest}, indent=2))
    else:
        designs.print_files(console, files, manifest)
    return 0
