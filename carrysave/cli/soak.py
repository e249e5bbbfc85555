"""``carrysave soak``."""

import shlex
import sys
from typing import Annotated

from cyclopts import Parameter

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

__all__ = ["soak"]

_SEEDS = 2
"""Runs of each configuration, whose simulator takes as long to build as thousands of orders."""


def soak(
    *,
    minutes: Annotated[float, Parameter(help="How long.")] = 10.0,
    seed: Annotated[int, Parameter(help="Of configurations and orders.")] = 1,
    orders: Annotated[int, Parameter(help="Orders of each run.")] = 1000,
    output: Folder = None,
    running: Running = ALL_CORES,
    view: View = TABLES,
) -> int:
    """Run the co-processor beside hosts and memories that do all that they may, for some time.

    Of each drawn configuration there are runs of orders of all kinds: products from registers and
    rings, jobs that are refused, errors of memory on any beat, descriptors with bits that have
    flipped, resets in the midst of a job, memory that stands still, registers that are written
    while a job runs. Errors, addresses and all bytes of memory must be golden's, nothing is read or
    written but what jobs name, and each order ends. The first run that fails is made small, and
    ends it. The same `--seed` gives the same runs; those that are known are not run again. Writes
    JUnit XML and JSON to `OUTPUT/soak`. The exit code is 1 if anything failed.

    **Examples:**

    - `carrysave soak --minutes 60`
    - `carrysave soak --minutes 5 --seed 7 --orders 5000 --json`
    """
    # What follows is slow to load.
    from carrysave.regress.execution import execute
    from carrysave.regress.plan import Request
    from carrysave.regress.view import make, print_regression

    if not minutes > 0:
        raise UsageError(f"--minutes must be more than 0, not {minutes:g}")
    if orders < 1:
        raise UsageError(f"--orders must be 1 or more, not {orders}")
    request = Request(
        designs=("coprocessor",),
        configurations=1,
        seeds=_SEEDS,
        seed=seed,
        minutes=minutes,
        test="test_soak",
        transactions=orders,
    )
    check_page(view.html, charts=False)
    folder = output_folder(output) / "soak"
    with Steps(errors) as steps, running.session():
        facts = execute(request, folder, steps, shlex.join(["carrysave", *sys.argv[1:]]))
    facts["files"] = write_page(view.html, make, facts)
    print_outcome(facts, print_regression, view.json_)
    return 0 if facts["ok"] else 1
