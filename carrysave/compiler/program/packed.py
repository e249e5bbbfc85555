"""B of a program's products without its zeros, where that is shorter."""

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from carrysave.compiler.program.buffers import Buffer, Packing, packed
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.operands import Given, Node, Operand, operand
from carrysave.compiler.timing.blocks import planned
from carrysave.compiler.timing.packed import packed_job
from carrysave.driver.job import Job
from golden.soc.blocking import Blocks

__all__ = ["stored", "unplaced", "weights"]


def unplaced(image: Image, node: Node, given: Given) -> Operand:
    """Return an operand of known codes, which is nowhere yet, to plan a product with."""
    codes = np.asarray(given[0][1])
    buffer = Buffer(
        name=f"{node[0]}.b",
        address=0,
        rows=len(codes),
        columns=codes.shape[1],
        bits=8,
        stride=image.stride(8, codes.shape[1]),
    )
    return Operand(buffer=buffer, addresses=[0] * len(given))


def stored(image: Image, node: Node, job: Job, given: Given) -> tuple[Job, Operand]:
    """Place the B of works: packed, if that is shorter for all of them; else as it is.

    Parameters
    ----------
    job : of the first work, with its blocks.
    given : codes of each, of one size.

    Returns
    -------
    The job, and where each B is.
    """
    known = [np.asarray(codes, np.int64) for _, codes in given]
    names = [codes.tobytes() for codes in known]
    different = list(dict.fromkeys(names))
    rows = [
        np.ascontiguousarray(packed(node[0], known[names.index(one)], 8)).view(np.uint8)
        for one in different
    ]
    made = packed_job(job, rows, image.target)
    if made is None:
        placed = operand(image, node, given, "b", False)
        return replace(job, b=placed.buffer.address), placed
    first, images = made
    places = [image.known(f"{node[0]}.b", np.frombuffer(one, np.int8)[None], 8) for one in images]
    addresses = [places[different.index(one)].address for one in names]
    return replace(first, b=addresses[0]), Operand(buffer=places[0], addresses=addresses)


def weights(
    image: Image, name: str, job: Job, matrices: Sequence[np.ndarray], *, packs: bool = True
) -> Buffer:
    """Place the B of products that are alike, one behind the other: packed, if that is shorter.

    Parameters
    ----------
    job : of such a product, without blocks.
    matrices : bytes of each B, rows as in memory, all of one size.
    packs : false: they are as they are, whatever that takes.
    """
    deep, wide = matrices[0].shape
    stride, packing, target = image.stride(8, wide), None, image.target
    packs = packs and "sparse" in target.info.features
    made = packed_job(planned(job, target), matrices, target) if packs else None
    if made is None:
        rows = np.concatenate(matrices)
        data = np.pad(rows, [(0, 0), (0, stride - wide)]).tobytes()
    else:
        first, images = made
        beat = image.target.info.stores.data_width // 8
        part = beat // gcd(deep, beat)  # images begin with a beat
        stride = -(-first.ldb // (deep * part)) * part
        data = b"".join(one.ljust(deep * stride, bytes(1)) for one in images)
        blocks = Blocks(first.block_m, first.block_n, first.block_k, first.by_columns)
        packing = Packing(bytes=first.ldb, blocks=blocks)
    return Buffer(
        name=name, address=image.put(data), rows=deep * len(matrices), columns=job.n,
        bits=image.target.mode.b_stored.bits, stride=stride, packing=packing,
    )  # fmt: skip
