"""``carrysave contract``."""

import json
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.options import Choice, Config, Json, Name, Sets, console, errors
from carrysave.contract.atom_report import atoms_data, describe_atoms
from carrysave.contract.contract import contract_of, data, describe
from carrysave.contract.handshakes import Handshakes, handshakes_of
from carrysave.contract.miter import Verdict
from carrysave.contract.synthesis import Atoms, atoms_of
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
    template: Annotated[
        bool,
        Parameter(
            negative=(), help="Look for the least that it depends on: digits of operands, not all."
        ),
    ] = False,
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

    With `--template` the answer is the least set of atoms on which timing depends: small functions
    of the operands of a beat, such as the non-zero digits of a row of A, their maximum over rows,
    or products of those of both operands. Two runs whose atoms are alike are proven to be alike in
    time, whatever else differs in any inputs at once; and of each atom there are two runs that
    differ without it. What ends a sum (`last`) is taken as known. The exit code is 1 if nothing is
    proven, or if an atom reads a secret input.

    **Examples:**

    - `carrysave contract systolic_os --secret i_a_data --secret i_b_data`
    - `carrysave contract digit_column -p m=2 -p constant_time=true`
    - `carrysave contract opt3 --json`
    - `carrysave contract digit_column -p m=2 -p n=2 --template`
    """
    check_positive("--seconds", seconds, " s")
    chosen, _ = Choice(parameter=parameter, config=config).choose(design)
    with Steps(errors) as steps:
        steps.step(f"cut the handshakes out of {chosen.module}")
        core = handshakes_of(chosen)
        _check(secret or (), core, core.known if template else ())
        if template:
            return _template(atoms_of(chosen, core, seconds, steps.step), secret or (), json_)
        proven = contract_of(chosen, core, seconds, steps.step)
    leaking = [name for name in secret or () if name in proven.named(Verdict.DEPENDS, Verdict.OPEN)]
    if json_:
        print(json.dumps(data(proven), indent=2))
    else:
        console.print(describe(proven), highlight=False, markup=False, soft_wrap=True)
    return _leaks(leaking)


def _check(secret: Sequence[str], core: Handshakes, known: Sequence[str]) -> None:
    """Refuse what is no input, or taken as known."""
    for name in secret:
        if name in core.controls or name in known:
            raise UsageError(f"--secret must be an input that is no handshake, not {name}")
        if name not in core.fields:
            raise nearest(name, core.fields, "input")


def _template(contract: Atoms, secret: Sequence[str], json_: bool) -> int:
    """Print a contract of atoms; return the exit code."""
    if json_:
        print(json.dumps(atoms_data(contract), indent=2))
    else:
        console.print(describe_atoms(contract), highlight=False, markup=False, soft_wrap=True)
    read = {name for atom in contract.chosen for name in atom.fields}
    code = _leaks([name for name in secret if name in read or not contract.proven])
    return code if contract.proven else 1


def _leaks(leaking: Sequence[str]) -> int:
    """Name the secret inputs that may be seen in timing; return the exit code."""
    if leaking:
        errors.print(f"not proven secret: {', '.join(leaking)}", highlight=False, markup=False)
    return 1 if leaking else 0
