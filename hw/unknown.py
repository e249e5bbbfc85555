"""What is said of a name that is unknown: what was meant, by spelling or by meaning."""

import difflib
from collections.abc import Mapping

__all__ = ["nearest"]

_MEANINGS = {
    "rows": ("m",),
    "height": ("m", "row_height"),
    "columns": ("n",),
    "cols": ("n",),
    "width": ("a_width", "b_width", "data_width"),
    "bits": ("a_width", "b_width", "out_width"),
    "depth": ("k", "k_max"),
    "length": ("k", "k_max"),
    "size": ("m", "n", "k"),
    "stages": ("pipeline",),
    "latency": ("pipeline",),
    "multiplier": ("pe", "encoding"),
    "format": ("formats", "a_format", "b_format"),
    "signed": ("a_signed", "b_signed"),
    "device": ("target",),
    "family": ("target",),
    "fpga": ("target",),
    "bus": ("data_width", "burst"),
    "speed": ("gops", "fmax_mhz", "period_ns"),
    "throughput": ("gops",),
    "performance": ("gops", "gops_per_mm2"),
    "frequency": ("fmax_mhz", "period_ns"),
    "clock": ("fmax_mhz", "period_ns"),
    "delay": ("period_ns", "latency"),
    "density": ("gops_per_mm2", "gops_per_dsp"),
    "efficiency": ("gops_per_w", "gops_per_mm2"),
    "area": ("area_um2", "luts"),
    "energy": ("pj_per_mac", "gops_per_w"),
    "power": ("power_mw",),
    "gates": ("kge",),
    "systolic": ("systolic_ws", "systolic_os"),
    "array": ("systolic_os", "matrix_2d", "cube"),
    "gemm": ("systolic_os", "coprocessor"),
    "matmul": ("systolic_os", "coprocessor"),
    "accelerator": ("coprocessor",),
    "softmax": ("shiftmax", "vector_unit"),
    "multiply": ("mac",),
    "bitnet": ("ternary_core",),
    "posit": ("sl8", "sl16"),
}
"""Words that users type, and what they mean by them, wherever it is known."""


def nearest(name: str, known: Mapping[str, object], what: str) -> ValueError:
    """Make the error for an unknown name, with known names that mean, or are spelt, alike."""
    meant = [one for one in _MEANINGS.get(name.lower(), ()) if one in known]
    close = meant or difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
    return ValueError(f"unknown {what} {name!r}; {hint}")
