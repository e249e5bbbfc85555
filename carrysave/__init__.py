"""Generators of matrix-multiply hardware: Verilog, numpy twins, regressions and figures."""

from pathlib import Path

__all__ = ["__version__"]

__version__ = "0.1.0"

if not Path(__file__).with_name("hw").is_dir():
    from carrysave import checkout

    checkout.install()
