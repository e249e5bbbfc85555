"""``carrysave signoff``."""

import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingFile

from carrysave.api.targets import library_of
from carrysave.cli.options import (
    ALL_CORES,
    BY_DEFAULT,
    TABLES,
    Choice,
    Name,
    Running,
    View,
    check_page,
    errors,
    print_outcome,
    write_page,
)
from carrysave.progress import Steps

if TYPE_CHECKING:
    from carrysave.signoff.execution import Request
    from hw.catalog import Design

__all__ = ["signoff"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SignoffFlags:
    """Flags of a sign-off."""

    stage: Annotated[
        str | None, Parameter(help="Fail unless this is reached: D1, D2, D3, V1, V2 or V3.")
    ] = None
    mutants: Annotated[int, Parameter(help="Mutants, 0 for none; V2 takes 100.")] = 100
    seeds: Annotated[int, Parameter(help="Seeds of the bench's stimulus.")] = 3
    seed: Annotated[
        int | None,
        Parameter(help="The first of these, and that of the mutants. [default: the design's hash]"),
    ] = None
    netlist: Annotated[
        str, Parameter(help="Gates of the netlist: generic, osu018 or a Liberty file.")
    ] = "generic"
    arguments: Annotated[
        ExistingFile | None,
        Parameter(help="TOML file of arguments for holes of coverage. [default: ours]"),
    ] = None
    proof_seconds: Annotated[
        int, Parameter(help="Time for each way to decide of a mutant, and of timing.")
    ] = 20

    def request(self, design: "Design") -> "Request":
        """Return what is asked for of a design."""
        from carrysave.signoff.execution import Request  # slow to load
        from carrysave.signoff.holes import ARGUMENTS

        return Request(
            design=design,
            library=library_of(self.netlist),
            seeds=self.seeds,
            seed=self.seed,
            mutants=self.mutants,
            proof_seconds=self.proof_seconds,
            arguments=self.arguments or ARGUMENTS,
            stage=self.stage,
        )


_FLAGS = SignoffFlags()


def signoff(
    design: Name = None,
    /,
    *,
    choice: Choice = BY_DEFAULT,
    flags: SignoffFlags = _FLAGS,
    running: Running = ALL_CORES,
    view: View = TABLES,
) -> int:
    """Say where a design's proof stands: stages D1..D3 and V1..V3, by rule from evidence.

    Runs lint, the bench of several seeds with coverage of lines, branches and toggles, the bench in
    Icarus with x, the bench on gates, mutants, and proofs; lists crossings between clocks, and what
    covers each requirement of the docstring and of the ports. What was run before, of the same
    source, is not run again. Keeps the evidence in `OUTPUT/signoff`, whose stages `carrysave
    regress` shows.

    The exit code is 0 if all parts were gathered, and 1 if --stage is not reached.

    **Examples:**

    - `carrysave signoff opt1`
    - `carrysave signoff mac -p a_width=4 -p b_width=4 --stage V2 --html signoff.html`
    """
    chosen, folder = choice.choose(design)
    check_page(view.html, charts=False)
    # What follows is slow to load.
    from carrysave.signoff.execution import sign_off
    from carrysave.signoff.view import make, print_sign_off

    request = flags.request(chosen)
    with Steps(errors) as steps, running.session():
        command = shlex.join(["carrysave", *sys.argv[1:]])
        facts = sign_off(request, folder / "signoff", steps, command)
    facts["files"] = write_page(view.html, make, facts)
    print_outcome(facts, print_sign_off, view.json_)
    return 0 if facts["ok"] else 1
