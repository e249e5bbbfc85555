"""``carrysave verify``."""

import json
import re
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave import cache
from carrysave.cli.libraries import library_of
from carrysave.cli.options import (
    Config,
    Folder,
    Html,
    Json,
    Name,
    Sets,
    check_page,
    choose,
    console,
    errors,
    write_page,
)
from carrysave.errors import UsageError
from carrysave.progress import Steps
from carrysave.report import designs, verification_page
from carrysave.sim import runner

__all__ = ["verify"]


def verify(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    output: Folder = None,
    config: Config = None,
    seed: Annotated[int | None, Parameter(help="Seed of the stimulus; random by default.")] = None,
    waves: Annotated[bool, Parameter(show_default=False, help="Record waves (VCD).")] = False,
    netlist: Annotated[
        str | None,
        Parameter(help="Run on the netlist synthesised for: osu018 or a Liberty file."),
    ] = None,
    html: Html = None,
    json_: Json = False,
) -> int:
    """Run a design's cocotb regression against its numpy twin, on Verilator.

    Each run has its own folder in `OUTPUT/runs`, with JUnit XML, log and waves. With --html, the
    first test that fails runs once more alone, for its waves, unless --waves has them.

    **Examples:**

    - `carrysave verify opt1 --seed 7`
    - `carrysave verify systolic_os -p m=4 -p n=4 --netlist osu018`
    """
    if seed is not None and not 0 <= seed < 1 << 31:
        raise UsageError(f"--seed must be 0..2147483647, not {seed}")
    chosen, folder = choose(design, parameter, output, config)
    library = library_of(netlist) if netlist is not None else None
    check_page(html, charts=False)
    with Steps(errors) as steps:
        sources = None
        if library is not None:
            # Imported here because it is slow to load.
            from carrysave.asic import synthesis
            from carrysave.asic.liberty import cells

            steps.step(f"synthesise {chosen.module} for {library.name}")
            file = re.sub(r"\W", "_", library.name) + ".v"
            models = cache.write(folder / "cells" / file, cells.cell_models(library))
            mapped = synthesis.synthesise_design(chosen, library, activity="assumed")
            sources = [Path(mapped["netlist"]), models]
        steps.step(f"verify {chosen.module}")
        result = runner.verify(
            chosen, seed=seed, waves=waves, netlist=sources, directory=folder / "runs"
        )
        found = designs.verification(chosen, result, netlist)
        seen = result
        name = verification_page.first_failure(result.xml)
        if html is not None and name is not None and result.waves is None:
            steps.step(f"record waves of {name}")
            seen = runner.verify(
                chosen, seed=result.seed, waves=True, netlist=sources, directory=folder / "runs",
                tests=rf"\.{re.escape(name)}$",
            )  # fmt: skip
    if html is not None:
        told = shlex.join(["carrysave", *sys.argv[1:]])
        make = partial(verification_page.make, command=told, seen=(seen.xml, seen.waves))
        found["html"] = write_page(html, make, {**found, "files": []})[-1]
    if json_:
        print(json.dumps(found, indent=2))
    else:
        designs.print_verification(console, chosen, result, netlist)
        if html is not None:
            designs.print_line(console, f"wrote {html}")
    return 0 if result.ok else 1
