"""Units for low-bit weights: which there are for given weights and activations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hw.catalog import Design

__all__ = ["ACTIVATIONS", "TOOL", "WEIGHTS", "Rival", "ablation", "products", "rivals"]

TOOL = "MAC, multipliers by the tool"
"""What the specifications of low-bit units compare with: parallel multipliers as synthesis makes
them of an operator."""

ACTIVATIONS = {
    "int8": (8, False),
    "int16": (16, False),
    "fp8 aligned": (10, True),
    "fp16 aligned": (13, True),
}
"""Bits of an activation, and whether the least never comes: aligned to a shared exponent, floats
are integers of either sign. 10 bits hold every E4M3 code from 2^-5 of the greatest on exactly."""

WEIGHTS = {"1": 1, "1.58": 2, "2": 2, "4": 4, "8": 8}
"""Bits of a weight as it is stored, by what it holds."""

_DEPTH = 4096
_LANES = {"together": True, "held": False, "adder": "ripple"}
"""What makes lanes of all kinds that take planes of bits, or whole weights, smallest."""

_LONG: dict[tuple[str, str], dict[str, int]] = {
    ("1", "MAC"): {"n": 64, "k": 40},
    ("2", "MAC"): {"n": 64, "k": 40},
    ("1", TOOL): {"k": 48},
    ("2", TOOL): {"k": 48},
    ("1", "MAC, Booth"): {"m": 8, "n": 6},
    ("2", "MAC, Booth"): {"m": 8, "n": 6},
    ("1", "bit-serial"): {"n": 64, "k": 40},
    ("1", "LUT K = 2"): {"n": 64, "lookups": 18, "slack": 1},
    ("2", "LUT K = 2, all planes"): {"m": 6, "lookups": 12},
    ("2", "LUT K = 3, all planes"): {"lookups": 8},
}
"""By weights and kind: what makes a design smaller than 4 x 32 and beats of 32 products do.
Those of the MAC with Booth recoding, eight of which share activations, stand in its rows."""

_WIDE: dict[tuple[str, str], dict[str, Any]] = {
    ("fp8 aligned", "2"): {"slack": 2},
    ("fp16 aligned", "2"): {"slack": 2},
    ("int16", "2"): {"slack": 0, "adder": "sklansky"},
    ("int16", "8"): {"slack": 6},
}
"""By activations and weights: what LUT cores with all planes at once meet the clock with, where
others' registers and carries miss it."""


@dataclass(frozen=True)
class Rival:
    """A design that multiplies activations by low-bit weights.

    Members
    -------
    kind : what it is, in few words.
    design : the engine, or the unit.
    """

    kind: str
    design: Design


def rivals(
    activation: str,
    weight: str,
    rows: int,
    columns: int,
    k: int = 16,
    *,
    together: bool = True,
    **hows: Any,
) -> list[Rival]:
    """List the designs for activations of :data:`ACTIVATIONS` and weights of :data:`WEIGHTS`.

    Weights of one bit are 0 and 1, or, on the odd grid, -1 and 1. Parallel multipliers have two
    bits at least. All have sums of 4096 products. Registers and carries are where each kind was
    found to be smallest at this clock.

    Parameters
    ----------
    activation, weight : which.
    rows : activations that share a weight.
    columns : weights that share an activation.
    k : products of a beat, or a few less where tables take three activations. Of 32, some kinds
        have more or less, or more rows or columns: what they are smallest with.
    together : rows of MACs share registers of weights; FPGAs have those for nothing.
    hows : parameters that all designs get, such as ``adder``.
    """
    best = _LONG if k == 32 else {}
    return [
        Rival(kind, Design(name, {**parameters, **best.get((weight, kind), {}), **hows}))
        for kind, name, parameters in _rivals(activation, weight, rows, columns, k, together)
    ]


def _rivals(
    activation: str, weight: str, rows: int, columns: int, k: int, together: bool
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    a_width, symmetric = ACTIVATIONS[activation]
    b_width = WEIGHTS[weight]
    both = {"k_max": _DEPTH, "k": k}
    tile = both | {"m": rows, "n": columns, "a_width": a_width}
    multiplied = max(b_width, 2)
    tree = {"pe": "mac", "pipeline": 1, "together": together}
    for kind, encoding in (("MAC", "none"), (TOOL, "operator")):
        yield kind, "adder_tree", tile | tree | {"b_width": multiplied, "encoding": encoding}
    # The weight is what is recoded, and so comes first.
    turned = both | {"m": columns, "n": rows, "a_width": multiplied, "b_width": a_width}
    yield "MAC, Booth", "adder_tree", turned | tree | {"encoding": "booth"}
    # Short sums leave time for carries to ripple.
    lanes = tile | _LANES | {"slack": 4 if k < 32 else 0}
    if weight == "1.58":
        yield "ternary", "ternary_core", lanes
        yield "ternary pairs", "ternary_core", lanes | {"mode": "pair", "keys": True}
        threes = {"mode": "table", "group": 3, "keys": True, "k": k // 3 * 3}
        yield "ternary LUT, mu = 3", "ternary_core", lanes | threes
        yield "LUT K = 2, two planes", "ternary_core", lanes | {"mode": "two_plane"}
        return
    lanes |= {"b_width": b_width, "b_signed": b_width > 1}
    whole = {"pipeline": 1, "slack": 8}
    # Longer ones, of planes one after another, do not: there carries that ripple miss the clock.
    long = a_width > 8 and b_width > 1
    turns = {"adder": "sklansky"} if long else {}
    yield "bit-serial", "bitserial_core", lanes | turns | ({"slack": 8} if long else {})
    if b_width > 1:
        yield "shift-add", "shift_add_core", lanes | whole
    del lanes["k"]
    for group in (2, 3, 4):
        kind = f"LUT K = {group}"
        table: dict[str, Any] = lanes | {"group": group, "lookups": k // group}
        table |= {"symmetric": symmetric}
        yield kind, "lut_core", table | turns
        if group < 4 and b_width > 1:
            # Two planes need no register within.
            fit = (whole if b_width > 2 else {}) | _WIDE.get((activation, weight), {})
            yield f"{kind}, all planes", "lut_core", table | {"parallel": True} | fit
        if group == 2:
            odd = {"weights": "odd", "negation": "constant", "table": "half", "b_signed": False}
            yield f"{kind}, odd", "lut_core", table | turns | odd


def ablation(columns: int) -> list[Rival]:
    """List the steps from a conventional LUT core to the LUT tensor core, of W2A8 and K = 4.

    The conventional core has a full table, multiplexers, and a plane of signs that is subtracted.
    A tile is of one table, M2 N64 K4: the authors' array, too, takes sums from outside and has as
    many bits for them as for entries. No activation is -128, as of absmax quantisation. The last
    steps are not the paper's: entries are selected by lines; four tables are looked up for a sum;
    or eight, of two activations.
    """
    tile: dict[str, Any] = {"m": 2, "n": columns, "group": 4, "lookups": 1, "k_max": 4}
    tile |= _LANES | {"slack": 12, "select": "tree", "symmetric": True}
    half = tile | {"table": "half", "weights": "odd", "b_signed": False}
    constant = half | {"negation": "constant"}
    outside = constant | {"generator": "external"}
    lines = outside | {"select": "lines"}
    pairs = lines | {"group": 2, "k_max": 16, "slack": 4, "table": "full", "negation": "carry"}
    steps = {
        "conventional": tile | {"folded": False, "sign": "subtracted"},
        "reinterpretation": half | {"folded": False},
        "negation folded": constant,
        "tables from outside": outside,
        "entries selected by lines": lines,
        "four lookups for a sum": lines | {"lookups": 4, "k_max": 16, "slack": 6},
        "eight lookups, K = 2": pairs | {"lookups": 8, "weights": "integer", "b_signed": True},
    }
    return [Rival(name, Design("lut_core", how)) for name, how in steps.items()]


def products() -> list[Rival]:
    """List units that multiply E4M3."""
    fp8 = {"format": "e4m3", "adder": "ripple"}
    exact = fp8 | {"mode": "exact"}
    return [
        Rival("L-Mul", Design("lmul", fp8)),
        Rival("exact, by a carry", Design("lmul", exact)),
        Rival("exact, multiplied", Design("lmul", exact | {"exact": "multiply"})),
    ]
