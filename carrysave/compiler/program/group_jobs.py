"""Products of whose groups of K the sums are scaled, and added up as floats of 32 bits."""

from dataclasses import replace

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.jobs import checked, product, same
from carrysave.compiler.program.list_jobs import listed_product
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned
from carrysave.driver.group_scales import of_depth
from carrysave.driver.job import Job
from golden.soc.blocking import candidates

__all__ = ["At", "any_product", "grouped_product", "scales_groups"]

At = Buffer | tuple[Buffer, Buffer] | None
"""Places of K, of a list; or powers and scales of groups of K."""


def scales_groups(target: Target, group: int, size: tuple[int, int], scales: str) -> bool:
    """Return whether the co-processor scales the groups of a product of one row.

    Parameters
    ----------
    group : codes along K.
    size : K and N.
    scales : their format.
    """
    spec, (k, n) = target.spec, size
    deep, rest = divmod(group, spec.inside.k)
    if spec.group_scales != scales or rest or deep.bit_count() != 1 or k > target.mode.k_max:
        return False
    stores = target.mode.stores(target.info.stores)
    return len(of_depth(candidates(stores, 1, n, k), deep, stores)) > 0


def any_product(target: Target, a: Buffer, b: Buffer, c: Buffer, at: At) -> Job:
    """Return C = A x B: at the places of a list, or with groups of K that are scaled, or of all K.

    Parameters
    ----------
    at : of :func:`.list_jobs.listed_product`, or of :func:`grouped_product`.
    """
    if isinstance(at, tuple):
        return grouped_product(target, a, b, c, *at)
    return listed_product(target, a, b, c, at)


def grouped_product(
    target: Target, a: Buffer, b: Buffer, c: Buffer, powers: Buffer, scales: Buffer
) -> Job:
    """Return C = A x B in floats of 32 bits, whose groups of K are scaled, in its blocks.

    Parameters
    ----------
    powers, scales : groups x rows of A, bytes; groups x columns of B, of 16 bits.

    Raises
    ------
    ValueError
        Buffers of other sizes, or what the co-processor cannot do.
    """
    groups = powers.rows
    same(powers, "must have powers'", (powers.columns, powers.bits), (a.rows, 8))
    same(
        scales,
        "must have scales'",
        (scales.rows, scales.columns, scales.bits),
        (groups, b.columns, 16),
    )
    size, rest = divmod(a.columns, groups)
    deep, more = divmod(size, target.spec.inside.k)
    if rest or more:
        raise ValueError(
            f"{powers.name}: groups must be whole beats of K, not {groups} of {a.columns}"
        )
    job = replace(
        product(target, a, b, c),
        a_scales=powers.address,
        b_scales=scales.address,
        ldsa=powers.stride,
        ldsb=scales.stride,
        block_m=1,
        block_n=1,
        block_k=deep,
    )
    return planned(checked(target, c.name, "a product of groups", job), target)
