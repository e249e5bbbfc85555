"""Python's search for garbage, put off where millions of objects are made that are all in use."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave garbage until the end: of a netlist, or of a library, all objects are in use.

    Python would look through all of them again and again, for a third of the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
