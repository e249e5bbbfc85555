"""``carrysave regress``."""

import re
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from carrysave.api.targets import library_of
from carrysave.cli.options import (
    ALL_CORES,
    TABLES,
    Folder,
    Running,
    View,
    check_page,
    errors,
    output_folder,
    print_outcome,
    write_page,
)
from carrysave.errors import UsageError
from carrysave.progress import Steps

if TYPE_CHECKING:
    from carrysave.regress.plan import Request

__all__ = ["regress"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RegressFlags:
    """Flags of a regression."""

    designs: Annotated[
        str, Parameter(help="Names of `carrysave list`, commas between them, or `all`.")
    ] = "all"
    configurations: Annotated[
        int, Parameter(help="Configurations of each design: pairwise first, then random.")
    ] = 10
    seeds: Annotated[int, Parameter(help="Seeds of the stimulus for each configuration.")] = 1
    seed: Annotated[
        int, Parameter(help="The first of these, and what configurations are drawn from.")
    ] = 1
    simulators: Annotated[str, Parameter(help="verilator, icarus, or both with a comma.")] = (
        "verilator"
    )
    netlist: Annotated[
        list[str] | None,
        Parameter(help="Run on netlists for osu018 or a Liberty file, too; repeatable."),
    ] = None
    shard: Annotated[str, Parameter(help="Do part K of N of the runs, `K/N`.")] = "1/1"
    mutants: Annotated[
        int, Parameter(help="Mutants of each configuration, which benches must kill.")
    ] = 0
    proof_seconds: Annotated[
        int, Parameter(help="Time for each way to decide whether a mutant that lives is a fault.")
    ] = 20

    def request(self) -> "Request":
        """Return what is asked for."""
        from carrysave.regress.plan import Request  # slow to load

        parts = re.fullmatch(r"(\d{1,6})/(\d{1,6})", self.shard, re.ASCII)
        if parts is None:
            raise UsageError(f"--shard must be K/N, such as 3/8, not {self.shard!r}")
        return Request(
            designs=_names("--designs", self.designs),
            configurations=self.configurations,
            seeds=self.seeds,
            seed=self.seed,
            simulators=_names("--simulators", self.simulators),
            shard=(int(parts[1]), int(parts[2])),
            netlists={name: library_of(name) for name in self.netlist or ()},
            mutants=self.mutants,
            proof_seconds=self.proof_seconds,
        )


_FLAGS = RegressFlags()


def regress(
    *,
    flags: RegressFlags = _FLAGS,
    output: Folder = None,
    running: Running = ALL_CORES,
    view: View = TABLES,
) -> int:
    """Run the benches of many designs, each in many configurations, with many seeds.

    Configurations are drawn from the legal ones: the same --seed gives the same list, of which
    each --shard does its part. What fails is made small: the least parameters and the shortest
    stimulus that still fail, with waves and the command that repeats it. Writes JUnit XML and JSON
    to `OUTPUT/regress`. Runs that are known are not run again. The exit code is 1 if anything
    failed. Of a mutant that no bench kills it is decided whether it is a fault: `equivalent`;
    `unreachable` by legal inputs; `alive`, which is a failure of the bench; or `undecided`. The
    stages of designs whose evidence `carrysave signoff` has kept in the same OUTPUT are shown, too.

    **Examples:**

    - `carrysave regress --designs all --configurations 200 --seeds 5 --shard 3/8`
    - `carrysave regress --designs mac,opt1 --configurations 5 --mutants 10 --html regress.html`
    """
    # What follows is slow to load.
    from carrysave.regress.execution import execute
    from carrysave.regress.view import make, print_regression
    from carrysave.signoff.evidence import known

    request = flags.request()
    check_page(view.html, charts=False)
    folder = output_folder(output) / "regress"
    stages = known(folder.with_name("signoff"))
    with Steps(errors) as steps, running.session():
        for library in request.netlists.values():
            for note in library.notes:
                steps.remark(note)
        facts = execute(request, folder, steps, shlex.join(["carrysave", *sys.argv[1:]]))
    facts["stages"] = [one for one in stages if one["design"] in request.designs]
    facts["files"] = write_page(view.html, make, facts)
    print_outcome(facts, print_regression, view.json_)
    return 0 if facts["ok"] else 1


def _names(option: str, text: str) -> tuple[str, ...]:
    """Take a list of names apart."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise UsageError(f"{option} must be names with commas between them, not {text!r}")
    return tuple(dict.fromkeys(names))
