"""Alternative units for low-bit weights, for given weights and activations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hw.catalog import Design

__all__ = ["ACTIVATIONS", "TOOL", "WEIGHTS", "Rival", "ablation", "products", "rivals"]

TOOL = "MAC, multipliers by the tool"
"""The usual baseline of low-bit units: parallel multipliers that synthesis makes from an
operator."""

ACTIVATIONS = {
    "int8": (8, False),
    "int16": (16, False),
    "fp8 aligned": (10, True),
    "fp16 aligned": (13, True),
}
"""Bits of an activation, and whether the most negative code never occurs: floats aligned to a
shared exponent are symmetric integers. 10 bits hold E4M3 codes exactly, down to 2^-5 of the top."""

WEIGHTS = {"1": 1, "1.58": 2, "2": 2, "4": 4, "8": 8}
"""Stored bits of a weight, by its information."""

_DEPTH = 4096
_LANES = {"together": True, "held": False, "adder": "ripple"}
"""The parameters with the smallest area for all bit-plane and shift-add lanes."""

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
"""By weights and kind: parameters with smaller area than 4 x 32 and beats of 32 products. In the
MAC with Booth recoding, eight of which share activations, columns are its rows."""

_WIDE: dict[tuple[str, str], dict[str, Any]] = {
    ("fp8 aligned", "2"): {"slack": 2},
    ("fp16 aligned", "2"): {"slack": 2},
    ("int16", "2"): {"slack": 0, "adder": "sklansky"},
    ("int16", "8"): {"slack": 6},
}
"""By activations and weights: parameters with which LUT cores with all planes at once meet the
clock, if the usual ones miss it."""


@dataclass(frozen=True)
class Rival:
    """A design that multiplies activations by low-bit weights.

    Members
    -------
    kind : a short description.
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
    **build: Any,
) -> list[Rival]:
    """List the designs for activations of :data:`ACTIVATIONS` and weights of :data:`WEIGHTS`.

    Weights of one bit are 0 and 1 or, on the odd grid, -1 and 1. Parallel multipliers have at least
    two bits. All accumulate 4096 products. Pipeline registers and carry bits are those with the
    smallest area found at this clock.

    Parameters
    ----------
    activation, weight : which.
    rows : activations that share a weight.
    columns : weights that share an activation.
    k : products per beat, or a few less if tables have three activations. For 32, some kinds
        have more or less, or more rows or columns, whichever is smallest.
    together : rows of MACs share weight registers; on FPGAs these cost nothing.
    build : parameters that all designs get, such as ``adder``.
    """
    best = _LONG if k == 32 else {}
    return [
        Rival(kind, Design(name, {**parameters, **best.get((weight, kind), {}), **build}))
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
    # The weight is the recoded operand, and so comes first.
    turned = both | {"m": columns, "n": rows, "a_width": multiplied, "b_width": a_width}
    yield "MAC, Booth", "adder_tree", turned | tree | {"encoding": "booth"}
    # Narrow sums leave time for carries to ripple.
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
    # Wider ones, of bit planes in sequence, do not: rippling carries would miss the clock.
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
            # Two planes need no pipeline register.
            fit = (whole if b_width > 2 else {}) | _WIDE.get((activation, weight), {})
            yield f"{kind}, all planes", "lut_core", table | {"parallel": True} | fit
        if group == 2:
            odd = {"weights": "odd", "negation": "constant", "table": "half", "b_signed": False}
            yield f"{kind}, odd", "lut_core", table | turns | odd


def ablation(columns: int) -> list[Rival]:
    """List the steps from a conventional LUT core to the LUT tensor core, of W2A8 and K = 4.

    The conventional core has a full table, multiplexers, and a subtracted sign plane. A tile is one
    table, M2 N64 K4: the authors' array, too, takes sums from outside, as wide as entries. No
    activation is -128, as of absmax quantisation. The last steps are not the paper's: entries
    selected by lines; four lookups per accumulator; or eight, in tables of two activations.
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
