"""The formats of an engine, for the co-processor's driver."""

from typing import Any

from carrysave.driver import Mode, Number
from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.npe.npe import NpeSpec
from golden.soc.spec import CoprocessorSpec

__all__ = ["element_formats", "modes"]


def element_formats(spec: CoprocessorSpec) -> dict[str, ElementFormat]:
    """Return the formats a job can choose, by name; empty for an integer array."""
    if not isinstance(spec.engine, NpeSpec):
        return {}
    lane = spec.engine.element
    return dict(zip(lane.names, lane.elements, strict=True))


def modes(spec: CoprocessorSpec) -> dict[tuple[str, str], Mode]:
    """Return the mode of every pair of formats, by their names; empty for an integer array.

    Parameters
    ----------
    spec : of the co-processor.
    """
    if not isinstance(spec.engine, NpeSpec):
        return {}
    formats, lane = element_formats(spec), spec.engine.element
    names = list(formats)
    scaled: dict[str, Any] = {}
    if block := spec.inside.block:
        scaled = {"block": block, "scales": None, "zeros": spec.engine.zeros}
        if spec.inside.a_sides:
            scaled["scales"] = Number.of(8, spec.engine.block_scale.scale_width, False)
    modes_of = {}
    for (a, b), how in spec.inside.modes.items():
        numbers = [
            _number(formats[names[side]], bits // how.codes)
            for side, bits in ((a, how.a_bits), (b, how.b_bits))
        ]
        modes_of[names[a], names[b]] = Mode(
            a=numbers[0],
            b=numbers[1],
            k_max=how.k_max,
            a_format=a,
            b_format=b,
            codes=how.codes,
            exponent=0 if spec.inside.a_sides else lane.lsb(a, b),
            **scaled,
        )
    return modes_of


def _number(fmt: ElementFormat, bits: int) -> Number:
    """Describe the memory layout of codes with some number of bits."""
    return Number.of(bits, fmt.width, isinstance(fmt, IntFormat))
