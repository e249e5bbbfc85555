"""Seeds that move: another one every day."""

import os
import time

__all__ = ["of_the_day"]


def of_the_day() -> int:
    """Return ``$CARRYSAVE_SEED``, or the date as a number, such as 20261125, in UTC."""
    given = os.environ.get("CARRYSAVE_SEED")
    return int(time.strftime("%Y%m%d", time.gmtime()) if given is None else given)
