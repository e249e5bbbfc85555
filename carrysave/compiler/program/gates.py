"""Gates of channels: jobs on maps where the block has these, else codes that are looked up."""

import numpy as np

from carrysave.compiler.graph.code_table import CodeTable, MapRule
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.passes.maps import map_values
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.map_jobs import map_job
from carrysave.compiler.program.moves import codes_of_bytes, looked_up
from carrysave.driver.system import Tensor
from golden.npe.requantiser import dyadic

__all__ = ["gate"]


def gate(image: Image, product: GateProduct, a: Tensor, b: Tensor) -> Tensor:
    """Multiply codes by their channel's number: all such products, by golden."""
    low, high = limits(a.kind) or (0, 0)
    least, most = limits(b.kind) or (0, 0)
    codes, gates = np.arange(low, high + 1), np.arange(least, most + 1)
    x = np.broadcast_to(codes.astype(a.kind), (1, gates.size, codes.size))
    target, node = image.target, (product.name, product.operator)
    compiled = product.compile(target, x, gates.astype(b.kind)[None, :, None], True)
    values = golden.product(target.spec, compiled)[0].T
    table = CodeTable(
        product.name, (low, least), values, 0, (a.kind, b.kind), None, _rule(product)
    )  # fmt: skip
    if target.spec.taps and table.rule is not None:
        same = np.array_equal(map_values(table, table.rule, target), values)
        made = map_job(image, node, table, [a, b]) if same else None
        if made is not None:
            return made
    index = np.ix_(codes_of_bytes(a, low, codes.size), codes_of_bytes(b, least, gates.size))
    shape = np.broadcast_shapes(a.sources.shape, b.sources.shape)
    entries = values.astype(np.int64)[index]
    return looked_up(image, node, [a, b], shape, entries, product.y_type)


def _rule(product: GateProduct) -> MapRule | None:
    """Return the job on maps that a gate is; None: it has several scales."""
    if product.scale is None or product.scale.size != 1:
        return None
    multiplier, shift = (int(one.item()) for one in dyadic(product.scale))
    return MapRule(
        operation="map_multiply", zeros=(product.a_zero, int(product.b_zero)), factors=(1, 1),
        multiplier=multiplier, shift=shift, zero_point=product.y_zero, low=product.low,
        high=product.high,
    )  # fmt: skip
