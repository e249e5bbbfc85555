"""Engines on which language models are simulated."""

from collections.abc import Mapping

from carrysave.compiler.decoder.compile import block_of
from carrysave.errors import check_choice
from hw.catalog import Design

__all__ = ["CORES", "core_block"]

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


def core_block(core: str, parameters: Mapping[str, str], bits: int = 4) -> Design:
    """Return a co-processor with a core and the vector unit, and other parameters as given.

    Parameters
    ----------
    core : of :data:`CORES`.
    parameters : of the co-processor, the engine too.
    bits : of a weight, unless the core has a width of its own.
    """
    check_choice("core", core, tuple(CORES))
    trits = core == "ternary_core" and "engine" not in parameters
    engine = {"engine": CORES[core].replace("{bits}", str(bits))}
    return block_of({**engine, **({"trits": "true"} if trits else {}), **parameters})
