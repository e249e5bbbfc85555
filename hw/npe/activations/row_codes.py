"""Codes of a row: its products, rounded."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.npe.rounding.requantise_column import code

__all__ = ["limits", "probabilities", "rounded", "scaled"]


def probabilities(
    m: Module, spec: VectorUnitSpec, starts: list[Value], products: list[Value], group: int
) -> list[Value]:
    """Round products, each with the rounding error of the one before, or of the groups before."""
    codes: list[Value] = []
    carried: Value = C(0, 1)
    for lane, product in enumerate(products):
        if lane % group == 0:
            carried = starts[lane // group]
        grown = Signal(spec.exponential_width + 2, name=f"grown{lane}")
        m.d.comb += grown.eq(product + carried)
        carried, whole = grown[: spec.carry_width], grown[spec.carry_width :]
        most = whole[spec.magnitude_width].replicate(spec.magnitude_width)
        codes.append(Cat(whole[: spec.magnitude_width] | most, C(0, int(spec.signed))))
    return codes


def scaled(unit: VectorUnitSpec, lane: tuple[Value, Value, Value]) -> Value:
    """Saturate a shifted product as the requantiser does: the bit below, the floor, its sign.

    Parameters
    ----------
    unit : widths.
    lane : floor, the bit below it, and whether it overflows and is negative.
    """
    floor, half, over = lane
    width = unit.norm_spec.out_width
    sign, high = over[1], floor[width:]
    beyond = over[0] | Mux(sign, ~high.all(), high.any())
    saturated = Mux(beyond, (~sign).replicate(width), floor[:width])
    return Cat(half, saturated, sign)


def rounded(
    m: Module, unit: VectorUnitSpec, product: Value, adder: str, scaling: tuple[Value, Value, Value]
) -> Value:
    """Round what :func:`scaled` returns as the requantiser does.

    Parameters
    ----------
    m, unit : where the gates go; widths.
    product : saturated.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    scaling : zero point, least and greatest code.
    """
    return code(m, unit.norm_spec, product, *scaling, adder)


def limits(unit: VectorUnitSpec) -> tuple[Value, Value, Value]:
    """Return zero point, least and greatest code of a norm."""
    spec = unit.norm_spec
    low, top = (
        C(limit % (1 << spec.out_width), spec.out_width)
        for limit in (spec.out_format.low, spec.out_format.high)
    )
    return C(0, spec.out_width), low, top
