"""Generators of matrix-multiply hardware: Verilog, numpy twins, regressions and figures."""

__all__ = ["__version__"]

__version__ = "0.1.0"
