"""Rings of products whose groups of K are scaled, placed in memory one after the other."""

from collections.abc import Sequence

from carrysave.driver.group_scales import group_blocks
from golden.soc.coprocessor import CoprocessorSpec, Job
from verif.soc.benches.room import Room

__all__ = ["SIZE", "placed"]

SIZE = 1 << 20
"""Bytes of memory."""


def placed(spec: CoprocessorSpec, sizes: Sequence[Sequence[int]]) -> list[Job]:
    """Place products of M, K, N, and codes of a group, whose rows begin with beats."""
    room, jobs = Room(spec.bytes), list[Job]()

    for m, k, n, group in sizes:
        groups = -(-k // group)
        (a, lda), (b, ldb) = room.take(m, k), room.take(k, -(-n * spec.b_bits // 8))
        (powers, ldsa), (scales, ldsb) = room.take(groups, m), room.take(groups, 2 * n)
        c, ldc = room.take(m, 4 * n)
        blocks = group_blocks(spec.stores(), None, (m, n, k), group, 32)
        jobs.append(
            Job(
                a=a,
                b=b,
                c=c,
                m=m,
                n=n,
                k=k,
                lda=lda,
                ldb=ldb,
                ldc=ldc,
                a_scales=powers,
                b_scales=scales,
                ldsa=ldsa,
                ldsb=ldsb,
                block_m=blocks.m,
                block_n=blocks.n,
                block_k=blocks.k,
                by_columns=blocks.by_columns,
            )
        )
    assert room.free < SIZE - 128 * len(jobs), "the ring does not fit into the memory"
    return jobs
