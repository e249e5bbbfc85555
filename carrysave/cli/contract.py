"""``carrysave contract``."""

import json
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.options import Choice, Config, Json, Name, Sets, console, errors
from carrysave.contract.contract import contract_of, data, describe
from carrysave.contract.handshakes import handshakes_of
from carrysave.contract.miter import Verdict
from carrysave.errors import UsageError, check_positive
from carrysave.progress import Steps
from hw.unknown import nearest

__all__ = ["contract"]


def contract(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    config: Config = None,
    secret: Annotated[
        list[str] | None,
        Parameter(help="Fail unless timing is proven not to depend on this input; repeatable."),
    ] = None,
    seconds: Annotated[
        float,
        Parameter(help="For each search of a counterexample, and for each proof."),
    ] = 20,
    json_: Json = False,
) -> int:
    """Print what a design's timing depends on: which inputs move a valid, ready or last.

    Two copies of the design run with the same inputs but one. Its answer is `never`, since no gate
    or register leads from it to a handshake, or by a proof over all cycles; or `yes`, with two runs
    that differ (`--json` has them in full); or `unknown`, if neither is found in time. Where runs
    are too long for a solver, as a co-processor's, the design's own bench is simulated, and again
    with other values of the input. Senders keep what they offer until it is taken; power and caches
    of memories outside are not looked at.

    **Examples:**

    - `carrysave contract systolic_os --secret i_a_data --secret i_b_data`
    - `carrysave contract digit_column -p m=2 -p constant_time=true`
    - `carrysave contract opt3 --json`
    """
    check_positive("--seconds", seconds, " s")
    chosen, _ = Choice(parameter=parameter, config=config).choose(design)
    with Steps(errors) as steps:
        steps.step(f"cut the handshakes out of {chosen.module}")
        core = handshakes_of(chosen)
        for name in secret or ():
            if name in core.controls:
                raise UsageError(f"--secret must be an input that is no handshake, not {name}")
            if name not in core.fields:
                raise nearest(name, core.fields, "input")
        proven = contract_of(chosen, core, seconds, steps.step)
    leaking = [name for name in secret or () if name in proven.named(Verdict.DEPENDS, Verdict.OPEN)]
    if json_:
        print(json.dumps(data(proven), indent=2))
    else:
        console.print(describe(proven), highlight=False, markup=False, soft_wrap=True)
    if leaking:
        errors.print(f"not proven secret: {', '.join(leaking)}", highlight=False, markup=False)
    return 1 if leaking else 0
