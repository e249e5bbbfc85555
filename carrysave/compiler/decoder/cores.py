"""Engines that answer on the simulated block, by name; light to import."""

from collections.abc import Mapping

__all__ = ["CORES", "NF4"]

CORES: Mapping[str, str] = {
    "lut_core": "lut_core(m=1,n=16,b_width={bits},group=2,lookups=4,folded=False,parallel=True)",
    "blocks": "systolic_os(m=2,n=16,b_width={bits},target=ecp5)",
    "int8": "systolic_os(m=2,n=16)",
    "ternary_core": "ternary_core(m=1,n=16,k=20)",
    "shift_add_core": "shift_add_core(m=1,n=16,b_width={bits},k=16)",
}
"""Tables of activations; multiplier blocks with several narrow products each; an int8 array;
activations added, subtracted or skipped, by weights that are five to a byte in memory; and shifted
copies of them, added."""
NF4 = "nf4"
"""A table of weights, and what it is called in a co-processor."""
