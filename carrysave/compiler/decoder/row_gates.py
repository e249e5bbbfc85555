"""Gates and recurrent states in 16 bits, as sigmoids, SiLU and blends of rows have them."""

from dataclasses import replace

import numpy as np

from carrysave.compiler.decoder.units import GOLDEN, VECTOR, gates
from carrysave.driver import Requantisation
from golden.npe import elements
from golden.npe.requantiser import Requantisation as Scaling
from golden.npe.vector import VectorUnitSpec
from golden.soc.spec import CoprocessorSpec

__all__ = ["GATE_BITS", "ROWS", "ROW_UNITS", "STATE_BITS", "blending", "has_gates", "scaling"]

GATE_BITS = 14
"""Of a sigmoid after the binary point, which is less than one."""
STATE_BITS = 11
"""Of a state after the binary point, and of what is fresh, of 15 bits: both from -8 to 8."""
ROWS = VectorUnitSpec(**{**vars(VECTOR), "operations": f"{VECTOR.operations},sigmoid"})
"""The vector unit of a block whose jobs make gates."""
_HIGH = (1 << VECTOR.out_width - 1) - 1
_STATES = -(1 << 15), (1 << 15) - 1


def has_gates(spec: CoprocessorSpec) -> bool:
    """Return whether a co-processor has the jobs for it."""
    return spec.blend and "sigmoid" in spec.vector_jobs


def scaling(operation: str) -> Requantisation:
    """Return how codes of a gate are made: of a sigmoid, or of a SiLU that is fresh."""
    if operation == "sigmoid":
        return Requantisation(multiplier=1 << 15, shift=15 - GATE_BITS, low=0, high=_HIGH)
    # A multiplier of many bits makes exact sigmoids.
    shift = 15 + VECTOR.scale_width - STATE_BITS
    return Requantisation(multiplier=1 << 15, shift=shift, low=-_HIGH - 1, high=_HIGH)


def blending() -> Requantisation:
    """Return how a state moves, by factors of :data:`GATE_BITS`."""
    return Requantisation(multiplier=0, shift=GATE_BITS, low=_STATES[0], high=_STATES[1])


def _gate(operation: str, x: np.ndarray, places: int) -> np.ndarray:
    """Compute a gate of values, of so many bits after the binary point; exact doubles."""
    how = scaling(operation)
    to = Scaling(
        multiplier=np.array([how.multiplier]),
        shift=np.array([how.shift]),
        zero_point=np.zeros(1, np.int64),
        low=how.low,
        high=how.high,
    )
    codes = elements.gate(ROWS, operation, gates(x), ROWS.scaling, to)
    return np.ldexp(codes.astype(np.float64), -places)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Compute the sigmoid of values, of 16 bits with 8 after the point, saturated; of 14 bits."""
    return _gate("sigmoid", x, GATE_BITS)


def fresh(x: np.ndarray) -> np.ndarray:
    """Compute the SiLU of values, of 16 bits with 8 after the point, saturated; of 15 bits."""
    return _gate("silu", x, STATE_BITS)


def moved(state: np.ndarray, keep: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Move a state of 16 bits by what is not kept of it, see :func:`golden.npe.elements.blend`."""
    a, b, factors = (
        np.ldexp(one, places).astype(np.int64)
        for one, places in ((state, STATE_BITS), (new, STATE_BITS), (keep, GATE_BITS))
    )
    made = elements.blend(a, b, factors, GATE_BITS, _STATES)
    return np.ldexp(made.astype(np.float64), -STATE_BITS)


ROW_UNITS = replace(GOLDEN, sigmoid=sigmoid, fresh=fresh, moved=moved)
"""Golden's units, but for gates and states of 16 bits."""
