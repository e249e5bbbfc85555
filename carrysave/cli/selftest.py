"""``carrysave selftest``."""

from carrysave.cli.options import Json, errors, print_outcome
from carrysave.progress import Steps

__all__ = ["selftest"]


def selftest(*, json_: Json = False) -> int:
    """Prove an installation in a minute: a small design goes all the way.

    Generates it, runs its regression against the numpy twin, maps it to LUTs and to gates, runs the
    regression on the gates, and compares tables of all number formats with the published digests.
    What needs OpenSTA is skipped without it. Nothing is left behind but the cache.

    **Examples:**

    - `carrysave selftest`
    - `carrysave selftest --json`
    """
    from carrysave.installation.selftest import run, show  # slow to load

    with Steps(errors) as steps:
        outcome = run(steps)
    print_outcome(outcome, show, json_)
    return 0 if outcome["ok"] else 1
