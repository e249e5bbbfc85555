"""``carrysave show``."""

import json

from carrysave.cli.options import Choice, Config, Json, Name, Sets
from carrysave.report import loop_nest

__all__ = ["show_nest"]


def show_nest(
    design: Name = None,
    /,
    *,
    parameter: Sets = None,
    config: Config = None,
    json_: Json = False,
) -> int:
    """Print the loop nest of a bit-weight design: loops over m, n, k and bw, and their steps.

    **Examples:**

    - `carrysave show systolic_os -p pe=opt1`
    - `carrysave show digit_column -p m=4 -p k=16 -p pe=opt4e --json`
    """
    chosen, _ = Choice(parameter=parameter, config=config).choose(design)
    print(json.dumps(loop_nest.data(chosen), indent=2) if json_ else loop_nest.describe(chosen))
    return 0
