"""``carrysave list``."""

import json

from carrysave.cli.options import Json, console
from carrysave.report import designs

__all__ = ["list_designs"]


def list_designs(*, json_: Json = False) -> int:
    """List the designs: summary, parameters, verification.

    **Example:**

    - `carrysave list --json`
    """
    rows = designs.catalogue()
    if json_:
        print(json.dumps(rows, indent=2))
    else:
        designs.print_catalogue(console, rows)
    return 0
