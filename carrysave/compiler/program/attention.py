"""Places attention of codes in a program: heads as jobs, results as floats."""

import numpy as np

from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.lowered.heads import AttentionLayer
from carrysave.compiler.program.arithmetic import Emitter
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.head_jobs import HeadRooms, add_head, context_of
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import rows as row_job
from carrysave.compiler.program.operands import Node, rows
from carrysave.driver.system import Tensor

__all__ = ["attention"]

_TURN = "transpose"


def attention(
    layer: AttentionLayer, image: Image, emitter: Emitter, given: tuple[Tensor, ...]
) -> Tensor:
    """Place a layer; return its floats.

    Keys are turned by jobs, where the co-processor has these, else by moves.

    Parameters
    ----------
    given : codes of queries, keys and values.

    Raises
    ------
    Unsupported
        They are no codes as the block takes them.
    """
    if any(one.scale is not None or one.sources.ndim < 3 for one in given) or (
        tuple(one.offset for one in given) != layer.offsets
    ):
        raise Unsupported("queries, keys and values must be codes in memory")
    heads, node = layer.heads, (layer.heads.name, layer.heads.operator)
    q, k, v = (
        layer.by_head(one.sources, count) for one, count in zip(given, layer.counted, strict=True)
    )
    sizes, group = heads.sizes(q, np.concatenate([k, v], axis=3)), q.shape[1] // heads.key_heads
    made = np.empty((*q.shape[:3], sizes.value_width), np.int64)
    for batch, key_head in np.ndindex(*k.shape[:2]):
        keys = _turned(image, node, k[batch, key_head])
        values = rows(image, node, v[batch, key_head])
        for head in range(key_head * group, (key_head + 1) * group):
            context = context_of(image, heads, sizes, lasting=False)
            at = HeadRooms(
                queries=rows(image, node, q[batch, head]),
                keys=keys,
                values=values,
                context=context,
            )
            add_head(image, heads, at, heads.mask_of(batch, head))
            made[batch, head] = context.places[:, : sizes.value_width]
    codes = Tensor(layer.joined(made), context.type, layer.shift, (float(layer.step), 0))
    return emitter.decoded(codes)


def _turned(image: Image, node: Node, sources: np.ndarray) -> Buffer:
    """Return keys by their numbers: turned by a job, or by moves."""
    unit = image.target.spec.vector
    if unit is None or _TURN not in image.target.spec.vector_jobs:
        return rows(image, node, sources.T)
    given, (count, width) = rows(image, node, sources), sources.shape
    stride = image.stride(8, count)
    turned = image.reserve(f"{node[0]}.turned", width, count, 8, stride=stride, lasting=False)
    image.start(*node, row_job(image.target, _TURN, given, turned))
    return turned
