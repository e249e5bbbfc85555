"""How designs are verified, as `carrysave list` shows it: texts that several share."""

__all__ = ["ACTIVATION", "ELEMENT", "ENGINE", "FLOAT", "SPARSE"]

ELEMENT = (
    "cocotb against numpy: all operand pairs up to 8 x 8 bits, stalls, resets, extremes",
    "formal proof of one accumulation step",
    "mutants",
    "netlist simulation",
)

ENGINE = (
    "cocotb against numpy: all shapes, stalls, resets, extremes, exact cycle count",
    "netlist simulation",
)

SPARSE = (
    *ENGINE,
    "formal proof of what masks choose, and of a sparse step against the dense product",
)

FLOAT = (
    "cocotb against numpy: all pairs up to 8 x 8 bits, specials, subnormals, cancellation, stalls,"
    " resets",
    "formal proof of addition and rounding in small formats",
    "netlist simulation",
)

ACTIVATION = (
    "cocotb against numpy: all values, rows of all lengths, stalls, resets, exact cycle count",
    "formal proof of exponential and division",
    "mutants",
    "netlist simulation",
)
