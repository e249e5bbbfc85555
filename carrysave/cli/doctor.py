"""``carrysave doctor``."""

from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.options import Json, print_outcome
from carrysave.installation.doctor import examine, show

__all__ = ["doctor"]


def doctor(
    commands: Annotated[
        list[str] | None, Parameter(help="Commands that shall work. [default: all]")
    ] = None,
    /,
    *,
    json_: Json = False,
) -> int:
    """Say which tools and packages are there, and what each command still needs.

    The exit code is 0 if each command can be used as it is used most; options may need more. What
    is there is not tried: that is what `carrysave selftest` does.

    **Examples:**

    - `carrysave doctor`
    - `carrysave doctor generate verify synth --json`
    """
    parts = examine(commands or ())
    print_outcome(parts, show, json_)
    return 0 if parts["ok"] else 1
