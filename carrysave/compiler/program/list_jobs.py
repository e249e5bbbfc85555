"""Jobs by lists of places: products of the rows of B that an index has listed."""

from dataclasses import replace

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.jobs import checked, product, same
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from golden.soc.lists import PLACE_BYTES, list_columns

__all__ = ["listed_product"]


def listed_product(target: Target, a: Buffer, b: Buffer, c: Buffer, places: Buffer | None) -> Job:
    """Return C = A x B at the places of K that an index of :func:`.jobs.rows` lists; None: at all.

    Raises
    ------
    ValueError
        Buffers of other sizes, or what the co-processor cannot do.
    """
    job = product(target, a, b, c)
    if places is None:
        return job
    shape = 1, list_columns(a.columns), 8 * PLACE_BYTES
    same(places, "must have a list's", (places.rows, places.columns, places.bits), shape)
    return checked(target, c.name, "a product", replace(job, places=places.address))
