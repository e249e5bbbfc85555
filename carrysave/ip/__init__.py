"""The pack of a co-processor: everything an integrator needs beside the Verilog."""

from hw.catalog import Design

__all__ = ["has_pack"]


def has_pack(design: Design) -> bool:
    """Return whether a design is written as a pack: a co-processor with buses or streams.

    One whose array has a clock of its own is not: what is around it in a pack has one clock.
    """
    if design.engine is None:
        return False
    from golden.soc.coprocessor_uart import CoprocessorUartSpec
    from golden.soc.spec import CoprocessorSpec

    spec = design.spec
    if not isinstance(spec, CoprocessorSpec) or isinstance(spec, CoprocessorUartSpec):
        return False
    return spec.array_clock == 1
