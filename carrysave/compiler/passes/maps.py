"""Tables that are one operator on maps of codes: the block adds, multiplies and compares these.

A table that is within a code of what the block makes is that from here on: both round once, floats
halfway between two codes apart.
"""

from dataclasses import replace

import numpy as np

from carrysave.compiler.graph.code_table import CodeTable, MapRule, ScaledOperator
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import scales_of
from carrysave.driver import Requantisation
from golden.npe.elements import factored
from golden.npe.requantiser import dyadic
from golden.soc.maps import factor_width, map_requantiser
from golden.soc.maps import maps as golden_maps

__all__ = ["map_rule", "map_scale", "map_values", "maps"]

_RARE = 4096
"""Entries of a table of which one may be a code off: sums are not rounded to floats first."""
_BITS = 31
"""Of a multiplier."""


def maps(lowered: Lowered, setting: Setting) -> Lowered:
    """Return a lowered model whose tables are those of jobs on maps, where the block has these."""
    if not setting.target.spec.taps or not lowered.tables:
        return lowered
    return replace(lowered, tables=[_as_map(one, setting.target) for one in lowered.tables])


def _as_map(table: CodeTable, target: Target) -> CodeTable:
    """Return a table as one of the block, if it is."""
    if table.operator is None:
        return table
    rule = _rule(table, table.operator, target)
    if rule is None:
        return table
    made = map_values(table, rule, target)
    off = np.abs(made.astype(np.int64) - table.values)
    rare = off.max() <= 1 and np.count_nonzero(off) * _RARE <= off.size
    return replace(table, values=made, rule=rule) if rare else table


def _rule(table: CodeTable, operator: ScaledOperator, target: Target) -> MapRule | None:
    """Return the job that a table may be; None: its scale is none."""
    scale, zero = operator.result
    low, high = int(table.values.min()), int(table.values.max())
    (first, second) = (*operator.operands, operator.operands[0])[:2]
    zeros, steps = (first[1], second[1]), (first[0] / scale, second[0] / scale)
    if len(operator.operands) == 1:
        leaky = operator.operator == "LeakyRelu"
        name, below = ("map_max", operator.alpha * steps[0]) if leaky else ("map_add", 0.0)
        each = (-steps[0] if operator.operator == "Neg" else steps[0]), below
    elif operator.operator == "Mul":
        return map_rule("map_multiply", zeros, (1, 1), first[0] * steps[1], zero, (low, high))
    else:
        sign = -1 if operator.operator == "Sub" else 1
        name = "map_max" if operator.operator == "Max" else "map_add"
        each = steps[0], sign * steps[1]
    factors, unit = factored(each, factor_width(target.spec.requantiser))
    return map_rule(name, zeros, factors, unit, zero, (low, high))


def map_rule(
    operation: str,
    zeros: tuple[int, int],
    factors: tuple[int, int],
    scale: float,
    zero: int,
    ends: tuple[int, int],
) -> MapRule | None:
    """Give a job its multiplier and shift, if there are such."""
    try:
        multiplier, shift = (int(one.item()) for one in dyadic(scale, _BITS))
    except ValueError:
        return None
    return MapRule(
        operation=operation, zeros=zeros, factors=factors, multiplier=multiplier, shift=shift,
        zero_point=zero, low=ends[0], high=ends[1],
    )  # fmt: skip


def map_scale(rule: MapRule, offset: int) -> Requantisation:
    """Return how a job makes codes, of a type that has an offset in memory."""
    low, high = rule.low - offset, rule.high - offset
    return Requantisation(rule.multiplier, rule.shift, rule.zero_point - offset, low, high)


def map_values(table: CodeTable, rule: MapRule, target: Target) -> np.ndarray:
    """Compute a table by the block's arithmetic."""
    a, c = target.mode.a, target.info.codes
    kinds = [*table.kinds, table.kinds[0]][:2]
    offsets = [code_offset("A", kind, a) for kind in kinds]
    to_offset = code_offset("C", table.values.dtype, c)
    codes = []
    for kind, offset in zip(kinds, offsets, strict=True):
        low, high = limits(kind) or (0, 0)
        codes.append(np.arange(low, high + 1) - offset)
    if table.values.ndim == 1:
        first = second = codes[0][None]
    else:
        first, second = np.meshgrid(*codes, indexing="ij")
    zeros = rule.zeros[0] - offsets[0], rule.zeros[1] - offsets[1]
    unit = map_requantiser(target.spec.requantiser)
    to = scales_of(map_scale(rule, to_offset))
    made = golden_maps(rule.operation, (first, second), zeros, rule.factors, unit, to)
    values: np.ndarray = (made + to_offset).reshape(table.values.shape).astype(table.values.dtype)
    return values
