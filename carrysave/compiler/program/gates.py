"""Gates in a program: each code times a number of its channel is looked up."""

import numpy as np

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.moves import codes_of_bytes, looked_up
from carrysave.driver.system import Tensor

__all__ = ["gate"]


def gate(image: Image, product: GateProduct, a: Tensor, b: Tensor) -> Tensor:
    """Look the product of a code and its channel's number up: all of them, by golden."""
    low, high = limits(a.kind) or (0, 0)
    least, most = limits(b.kind) or (0, 0)
    codes, gates = np.arange(low, high + 1), np.arange(least, most + 1)
    x = np.broadcast_to(codes.astype(a.kind), (1, gates.size, codes.size))
    target = image.target
    compiled = product.compile(target, x, gates.astype(b.kind)[None, :, None], True)
    values = golden.product(target.spec, compiled)[0].T.astype(np.int64)
    index = np.ix_(codes_of_bytes(a, low, codes.size), codes_of_bytes(b, least, gates.size))
    shape = np.broadcast_shapes(a.sources.shape, b.sources.shape)
    return looked_up(
        image, (product.name, product.operator), [a, b], shape, values[index], product.y_type
    )
