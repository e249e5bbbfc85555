"""Gates of channels: jobs on maps where the block has these, else codes that are looked up."""

from dataclasses import replace

import numpy as np

from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.passes.maps import map_rule, map_values
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.moves import looked_up
from carrysave.driver.system import Tensor

__all__ = ["gate"]


def gate(
    image: Image, product: GateProduct, a: Tensor, b: Tensor, after: CodeTable | None = None
) -> Tensor:
    """Multiply codes by their channel's number: all such products, by golden.

    Parameters
    ----------
    after : in which the results are looked up; None: they are as they are.
    """
    low, high = limits(a.kind) or (0, 0)
    least, most = limits(b.kind) or (0, 0)
    codes, gates = np.arange(low, high + 1), np.arange(least, most + 1)
    x = np.broadcast_to(codes.astype(a.kind), (1, gates.size, codes.size))
    target, node = image.target, (product.name, product.operator)
    compiled = product.compile(target, x, gates.astype(b.kind)[None, :, None], True)
    values = golden.product(target.spec, compiled)[0].T
    rule = None
    if product.scale is not None and product.scale.size == 1:
        zeros, ends = (product.a_zero, int(product.b_zero)), (product.low, product.high)
        scale = product.scale.item()
        rule = map_rule("map_multiply", zeros, (1, 1), scale, product.y_zero, ends)
    kinds = a.kind, b.kind
    table = CodeTable(product.name, (low, least), values, 0, kinds, None, rule)
    if rule is not None and target.spec.taps:
        same = np.array_equal(map_values(table, rule, target), values)
        table = replace(table, rule=rule if same else None)
    return looked_up(image, node, table, [a, b], after)
