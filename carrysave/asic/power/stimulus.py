"""Operands on which the activity of a design is measured."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave.data import digits
from carrysave.sim.operands import normal, uniform
from golden.engine import EngineSpec
from golden.formats.element import ElementFormat
from golden.npe.lane import LaneSpec
from golden.npe.npe import NpeSpec
from golden.pe.mac import MacSpec
from golden.tpe.rows import SparseEngineSpec
from hw.catalog import Design

__all__ = ["KINDS", "UNMEASURED", "WARM_UP", "Stimulus", "Sum", "measurable"]

UNMEASURED = ("none", "assumed")
"""Activities that need no simulation: no power, and the same on every net."""

KINDS = {
    "normal": "normal operands, standard deviation 20/128 of full scale",
    "uniform": "uniform operands",
    "digits": "operands of the digits network's layers",
}
LENGTH = 256  # products of a sum
CYCLES = 2048
WARM_UP = 2
"""Sums before the measured ones; one more comes after them."""
_SEED = 1

Sum = tuple[NDArray[np.int64], NDArray[np.int64]]  # a, m x K, and b, K x n


def measurable(design: Design) -> bool:
    """Say whether there are operands for a design: whether it multiplies codes it is sent."""
    return isinstance(design.spec, (MacSpec, EngineSpec, LaneSpec, NpeSpec))


@dataclass(frozen=True)
class Stimulus:
    """A kind of operands for a design.

    Members
    -------
    kind : of ``KINDS``.
    pair : indices of the formats of A and B, where the design has several.
    beats : minimum number of measured beats.
    """

    design: Design
    kind: str
    pair: tuple[int, int] | None
    beats: int = CYCLES

    @classmethod
    def parse(cls, design: Design, text: str) -> "Stimulus":
        """Read a kind and, behind a colon, one format or those of A and B: ``normal:int8,int4``.

        Lanes of several formats multiply the first of theirs with itself if none is given. A kind
        may have an @ and the beats that count: ``uniform@256``.

        Raises
        ------
        ValueError
            If there is no such kind or format, or the design cannot take them.
        """
        word, colon, names = text.partition(":")
        kind, at, number = word.partition("@")
        beats = int(number) if number.isdecimal() and at else CYCLES
        if kind not in KINDS:
            legal = ", ".join((*UNMEASURED, *KINDS))
            raise ValueError(f"activity must be one of {legal}, not {text!r}")
        if at and not (number.isdecimal() and 1 <= beats <= CYCLES):
            raise ValueError(f"beats must be 1..{CYCLES} behind the @ of activity, not {number!r}")
        if not measurable(design):
            legal = " or ".join(UNMEASURED)
            raise ValueError(f"activity must be {legal} for {design.name}, not {text!r}")
        lane = _lane(design)
        if lane is None:
            if colon:
                raise ValueError(
                    f"activity must be without a format for {design.name}, not {text!r}"
                )
            return cls(design, kind, None, beats)
        chosen = names.split(",") if colon else [lane.names[0]]
        if len(chosen) > 2:
            raise ValueError(f"activity must be of one format or two, not {text!r}")
        a, b = (lane.index(name) for name in (chosen[0], chosen[-1]))
        return cls(design, kind, (a, b), beats)

    def describe(self) -> str:
        """Return what it is in words."""
        lane = _lane(self.design)
        if lane is None or self.pair is None:
            return KINDS[self.kind]
        return f"{KINDS[self.kind]}, {' x '.join(lane.names[index] for index in self.pair)}"

    def sums(self) -> list[Sum]:
        """Draw tiles m x K and K x n: for the beats that count, some before and one after."""
        spec, lane = self.design.spec, _lane(self.design)
        m, n = getattr(spec, "m", 1), getattr(spec, "n", 1)
        if lane is None or self.pair is None:
            formats: tuple[ElementFormat, ElementFormat] = spec.a_format, spec.b_format
            k, longest = spec.k, getattr(spec, "k_max", LENGTH)
        else:
            formats = lane.elements[self.pair[0]], lane.elements[self.pair[1]]
            k = lane.codes(*self.pair)
            longest = k * lane.k_max_words(*self.pair)
        rng = np.random.default_rng(_SEED)
        layers = _layers(*formats) if self.kind == "digits" else []
        sums: list[Sum] = []
        beats = 0
        while beats < self.beats or len(sums) < WARM_UP + 2:
            if layers:
                x, weights = layers[len(sums) % len(layers)]
                a = x[rng.integers(len(x), size=m)]
                b = weights[:, (np.arange(n) + rng.integers(weights.shape[1])) % weights.shape[1]]
            else:
                length = min(LENGTH, longest)
                length -= length % k if length > k else 0
                draw = normal if self.kind == "normal" else uniform
                a, b = draw(rng, formats[0], (m, length)), draw(rng, formats[1], (length, n))
            if isinstance(spec, EngineSpec):
                a = np.maximum(a, spec.a_low)  # some never take the least code
            a, b = a[:, :longest], b[:longest]
            if isinstance(spec, SparseEngineSpec) and spec.sparse is not None:
                b = spec.sparse.prune(b)  # else all masks were full, and no choice would change
            sums.append((a, b))
            beats = sum(-(-a.shape[1] // k) for a, _ in sums[WARM_UP:-1])
        return sums

    def pack(self, sums: list[Sum]) -> bytes:
        """Return tiles, and indices of formats, as an npz file."""
        packed = io.BytesIO()
        arrays: dict[str, Any] = {
            "lengths": np.array([a.shape[1] for a, _ in sums]),
            "a": np.concatenate([a.reshape(-1) for a, _ in sums]),
            "b": np.concatenate([b.reshape(-1) for _, b in sums]),
        }
        if self.pair is not None:
            arrays["pair"] = np.array(self.pair)
        np.savez(packed, **arrays)
        return packed.getvalue()


def _lane(design: Design) -> LaneSpec | None:
    """Return the lane of a design of several formats."""
    spec = design.spec
    if isinstance(spec, NpeSpec):
        return spec.element
    return spec if isinstance(spec, LaneSpec) else None


def _layers(a_format: ElementFormat, b_format: ElementFormat) -> list[Sum]:
    for name, fmt in (("a", a_format), ("b", b_format)):
        if (fmt.low, fmt.high) != digits.CODES:
            raise ValueError(f"{name} must be int8 for digits, not {fmt.low}..{fmt.high}")
    network, images, _ = digits.load()
    layers = []

    def multiply(x: Any, weights: Any) -> Any:
        layers.append((x.astype(np.int64), weights.astype(np.int64)))
        return digits.matmul(x, weights)

    network.run(images, multiply)
    return layers
