"""Codes of a row: its products, rounded."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.npe.rounding.requantise_column import code

__all__ = ["limits", "probabilities", "rounded"]


def probabilities(
    m: Module, spec: VectorUnitSpec, carried: Value, products: list[Value]
) -> tuple[list[Value], Value]:
    """Round products, each with what is left of the one before."""
    codes: list[Value] = []
    for lane, product in enumerate(products):
        grown = Signal(spec.exponential_width + 2, name=f"grown{lane}")
        m.d.comb += grown.eq(product[: spec.exponential_width + 1] + carried)
        carried, whole = grown[: spec.carry_width], grown[spec.carry_width :]
        most = whole[spec.magnitude_width].replicate(spec.magnitude_width)
        codes.append(Cat(whole[: spec.magnitude_width] | most, C(0, int(spec.signed))))
    return codes, carried


def rounded(
    m: Module, unit: VectorUnitSpec, lane: tuple[Value, Value, Value], adder: str,
    scaling: tuple[Value, Value, Value] | None = None,
) -> Value:  # fmt: skip
    """Round a shifted product as the requantiser does.

    Parameters
    ----------
    m, unit : where the gates go; widths.
    lane : floor, the bit below it, and whether it overflows and is negative.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    scaling : zero point, least and greatest code; None: those of a norm.
    """
    floor, half, over = lane
    spec = unit.norm_spec
    sign, high = over[1], floor[spec.out_width :]
    beyond = over[0] | Mux(sign, ~high.all(), high.any())
    kept = Mux(beyond, (~sign).replicate(spec.out_width), floor[: spec.out_width])
    if scaling is None:
        scaling = limits(unit)
    zero, low, top = scaling
    return code(m, spec, Cat(half, kept, sign), zero, low, top, adder)


def limits(unit: VectorUnitSpec) -> tuple[Value, Value, Value]:
    """Return zero point, least and greatest code of a norm."""
    spec = unit.norm_spec
    low, top = (C(limit % (1 << spec.out_width), spec.out_width)
                for limit in (spec.out_format.low, spec.out_format.high))  # fmt: skip
    return C(0, spec.out_width), low, top
