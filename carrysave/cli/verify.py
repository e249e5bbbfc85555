"""``carrysave verify``."""

import json
import shlex
import sys
from functools import partial
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

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
from carrysave.errors import UsageError, check_choice
from carrysave.progress import Steps
from carrysave.report import designs, verification_page
from carrysave.sim import runner
from hw.device import models_of
from hw.emit.user_files import read_text

__all__ = ["verify"]

_LONGEST = 1 << 28  # bytes of Verilog


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
    verilog: Annotated[
        ExistingFile | None,
        Parameter(help="Run on this Verilog in place of ours: same module, same ports."),
    ] = None,
    simulator: Annotated[str, Parameter(help="verilator, or icarus: slow, knows x.")] = "verilator",
    test: Annotated[
        str | None, Parameter(help="Run this test alone, by its name in the results.")
    ] = None,
    transactions: Annotated[
        int | None,
        Parameter(help="With --test: let it send so many at most, as a reduced failure does."),
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
    check_choice("--simulator", simulator, runner.SIMULATORS)
    if transactions is not None and transactions < 1:
        raise UsageError(f"--transactions must be 1 or more, not {transactions}")
    if transactions is not None and test is None:
        raise UsageError("--transactions is for one --test: others count on all that they send")
    if verilog is not None and netlist is not None:
        raise UsageError("--verilog is in place of a --netlist")
    chosen, folder = choose(design, parameter, output, config)
    library = library_of(netlist) if netlist is not None else None
    of = f"netlist {netlist}" if netlist else f"Verilog {verilog}" if verilog else "verilog"
    check_page(html, charts=False)
    with Steps(errors) as steps:
        sources = None
        if verilog is not None:
            sources = [verilog, *models_of(read_text(verilog, _LONGEST))]
        if library is not None:
            from carrysave.asic.bench_job import netlist_sources  # slow to load

            steps.step(f"synthesise {chosen.module} for {library.name}")
            sources = netlist_sources(chosen, library, folder)
        steps.step(f"verify {chosen.module}")
        options = {} if transactions is None else {"transactions": transactions}
        again = partial(
            runner.verify, chosen, netlist=sources, simulator=simulator, options=options,
            directory=folder / "runs",
        )  # fmt: skip
        result = again(seed=seed, waves=waves, tests=test and runner.named(test))
        found = designs.verification(chosen, result, of)
        seen = result
        name = verification_page.first_failure(result.xml)
        if html is not None and name is not None and result.waves is None:
            steps.step(f"record waves of {name}")
            seen = again(seed=result.seed, waves=True, tests=runner.named(name))
    if html is not None:
        told = shlex.join(["carrysave", *sys.argv[1:]])
        make = partial(verification_page.make, command=told, seen=(seen.xml, seen.waves))
        found["html"] = write_page(html, make, {**found, "files": []})[-1]
    if json_:
        print(json.dumps(found, indent=2))
    else:
        designs.print_verification(console, chosen, result, of)
        if html is not None:
            designs.print_line(console, f"wrote {html}")
    return 0 if result.ok else 1
