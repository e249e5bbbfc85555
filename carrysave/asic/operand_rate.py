"""Operands that a design takes in a cycle: what a memory must bring, if none is used twice."""

import math

from amaranth import Shape
from amaranth.lib.data import StructLayout

from golden.engine import EngineSpec
from hw.catalog import Design

__all__ = ["operand_bytes"]


def operand_bytes(design: Design) -> float | None:
    """Return the bytes of A and B that a design takes in a cycle when it never waits.

    All that enters is counted as often as it enters, flags beside the codes are not, and sums that
    leave are not: of a long K there are few. Of digit-serial designs it is the mean, as of
    their operations.

    Returns
    -------
    bytes a cycle, or None: the design has no streams of A and B alone.
    """
    component = design.component()
    layouts = {
        name: member.signature.members["payload"].shape
        for name, member in component.signature.members.items()
        if member.is_signature
        and member.flow.name == "In"
        and "payload" in member.signature.members
    }
    names = _OPERANDS.get(tuple(sorted(layouts)), ())
    shapes = [
        layout.members.get(field)
        for stream, field in names
        if isinstance(layout := layouts[stream], StructLayout)
    ]
    if not shapes or None in shapes:
        return None
    spec = design.spec
    products = math.prod(getattr(spec, name, 1) for name in ("m", "n", "k"))
    passes = spec.passes if isinstance(spec, EngineSpec) else 1
    # Lanes may have several products of narrow formats in a word.
    beats = min(1.0, component.operations_per_cycle * passes / (2 * products))
    return beats * sum(Shape.cast(shape).width for shape in shapes) / 8


_OPERANDS = {
    ("i",): (("i", "a"), ("i", "b")),
    ("i_a", "i_b"): (("i_a", "data"), ("i_b", "data")),
}
"""Streams and their fields of codes, by all streams that enter."""
