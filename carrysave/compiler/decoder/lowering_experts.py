"""Experts in a decoder's program: a router chooses them, and their weights alone are read.

Where the block has the jobs, one finds the greatest scores, products read the B of the places that
it wrote, and scales are gathered by these places: nobody but the block looks at them. Elsewhere a
router's steps write the number of an expert where the value of a parameter is; the section ends,
and in the next one addresses of jobs and steps have moved. Nobody but the program has a part in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.decoder.experts import ROUTER_BITS, SCORE_BITS
from carrysave.compiler.decoder.matrix import F32, F64, I8, I16, I32, Matrix
from carrysave.compiler.front.decoder import FEED, Experts
from carrysave.compiler.program.buffers import Buffer, Choice
from carrysave.compiler.program.build import Builder, Weights
from carrysave.compiler.program.floats import Floats, Format, Operation
from carrysave.driver.system import Parameter
from golden.lut.grouped import FastWeights
from golden.soc.lists import PLACE_BYTES, TOP_K, list_bytes, top_bytes

__all__ = ["Chosen", "choose", "why_not"]

_FAR = 2.0**200
"""Subtracted from the score of an expert that is chosen: no other is as small."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Experts of a token.

    Members
    -------
    parameters : number of each, by which addresses move; none where jobs choose.
    shares : of each, a double.
    matrices : of each, by the names of :data:`FEED`.
    """

    parameters: list[Parameter]
    shares: list[Buffer]
    matrices: list[dict[str, Matrix]]


def why_not(experts: Experts) -> str:
    """Return why experts cannot be in a program; empty: they can."""
    for name in FEED:
        first, *others = (one[name] for one in experts.each)
        kinds = [(one.shape, one.levels, one.offsets is None) for one in (first, *others)]
        if len(set(kinds)) > 1 or any(one.rows is not None for one in (first, *others)):
            return "experts must be alike, with weights in the order of their inputs"
    return ""


def choose(to: Builder, name: str, experts: Experts, h: Buffer, *, packs: bool) -> Chosen:
    """Add steps that choose experts by a row; with parameters, the section is to end behind them.

    Parameters
    ----------
    packs : of :meth:`.Builder.weights`; without, products have lists of places of K.
    """
    parameters: list[Parameter] = []
    matrices: dict[str, list[Matrix]] = {}
    with to.naming(name + "ffn_gate_inp", "TopK"):
        ranks, step = _ranked(to, experts, h)
        if packs and _are_jobs(to, experts):
            codes, places = _by_job(to, ranks, experts.used)
            matrices = {
                one: _gathered(to, [each[one] for each in experts.each], places) for one in FEED
            }
            some = _powers(to, codes, codes.across(0, 1), step)
        else:
            names = [f"{name}expert.{rank}" for rank in range(experts.used)]
            most = len(experts.each) - 1
            parameters = [Parameter(name=one, low=0, high=most) for one in names]
            some = _by_steps(to, ranks, step, names)
            matrices = {
                one: _moving(to, [each[one] for each in experts.each], names, packs=packs)
                for one in FEED
            }
        whole = some
        if not experts.renormalised:
            best = to.floats(Operation.GREATEST, to.array(F64, 1), ranks)
            whole = _powers(to, ranks, best, step)
        total = to.floats(Operation.SUM, to.array(F64, 1), whole)
        shares = to.floats(Operation.QUOTIENT, to.array(F64, experts.used), some, total)
    return Chosen(
        parameters,
        [shares.across(rank, 1) for rank in range(experts.used)],
        [{one: matrices[one][rank] for one in FEED} for rank in range(experts.used)],
    )


def _are_jobs(to: Builder, experts: Experts) -> bool:
    """Return whether the block finds the greatest scores, and gathers what is of their experts."""
    spec = to.image.target.spec
    ranked = experts.used <= spec.top_k and len(experts.each) <= spec.lists
    return ranked and "gather" in spec.vector_jobs


def _ranked(to: Builder, experts: Experts, h: Buffer) -> tuple[Buffer, Buffer]:
    """Return the scores of all experts, in codes, and their exponent."""
    count = len(experts.each)
    codes, powers = to.array(I16, h.columns), to.array(Format.POWER, 1)
    to.floats(Operation.ALIGN, codes, h, powers, width=ROUTER_BITS)
    scores = to.array(F64, count)
    to.multiply(codes, to.constant(experts.router.T, I16), scores)
    to.floats(Operation.MULTIPLY, scores, scores, powers)
    to.floats(Operation.MULTIPLY, scores, scores, to.constant(experts.scales, F64))
    ranks, step = to.array(I16, count), to.array(Format.POWER, 1)
    to.floats(Operation.ALIGN, ranks, scores, step, width=SCORE_BITS)
    return ranks, step


def _powers(to: Builder, codes: Buffer, best: Buffer, step: Buffer) -> Buffer:
    """Return the powers of e of codes less the best one, in floats of 32 bits."""
    made = to.array(F32, codes.columns)
    to.floats(Operation.SUBTRACT, made, codes, best)
    to.floats(Operation.MULTIPLY, made, made, step)
    return to.floats(Operation.EXP, made, made)


def _by_job(to: Builder, ranks: Buffer, used: int) -> tuple[Buffer, Buffer]:
    """Have a job find the greatest scores; return them, and their places, a column."""
    top = to.array(I8, top_bytes(used, SCORE_BITS // 8))
    to.rows(TOP_K, ranks, top)
    places = replace(top, columns=used, bits=8 * PLACE_BYTES, format=I32).turned
    at = top.address + list_bytes(used)
    return replace(top, address=at, columns=used, bits=SCORE_BITS, format=I16), places


def _by_steps(to: Builder, ranks: Buffer, step: Buffer, names: Sequence[str]) -> Buffer:
    """Have steps find the greatest scores, and write their places where values of parameters are.

    Returns
    -------
    Their powers of e.
    """
    best = to.floats(Operation.GREATEST, to.array(F64, 1), ranks)
    every, some = _powers(to, ranks, best, step), to.array(F32, len(names))
    left = to.floats(Operation.COPY, to.array(F64, ranks.columns), ranks)
    for rank, name in enumerate(names):
        to.floats(Operation.COPY, some.across(rank, 1), _take(to, name, every, left))
    return some


def _take(to: Builder, name: str, every: Buffer, left: Buffer) -> Buffer:
    """Choose the first of the greatest scores that are left, and return its power of e.

    A number divided by itself is 1, and 0 stays 0.
    """
    count = left.columns
    best, place, share = to.array(F64, 1), to.array(F64, 1), to.array(F64, 1)
    other, number = to.array(F64, count), to.constant(np.arange(count), F64)
    to.floats(Operation.GREATEST, best, left)
    to.floats(Operation.SUBTRACT, other, best, left)
    to.floats(Operation.DIVIDE, other, other, other)
    to.floats(Operation.MULTIPLY, other, other, to.constant(count, F64))
    to.floats(Operation.ADD, other, other, number)
    to.floats(Operation.LEAST, place, other)
    to.floats(Operation.COPY, replace(place, bits=32, format=I32), place)
    step = to.steps[-1]
    assert isinstance(step, Floats)
    to.steps[-1] = replace(step, sets=name)
    to.floats(Operation.SUBTRACT, other, number, place)
    to.floats(Operation.MULTIPLY, other, other, other)
    to.floats(Operation.DIVIDE, other, other, other)
    to.floats(Operation.SUBTRACT, other, to.constant(1, F64), other)
    of_share = to.array(F64, count)
    to.floats(Operation.MULTIPLY, of_share, every, other)
    to.floats(Operation.SUM, share, of_share)
    to.floats(Operation.MULTIPLY, other, other, to.constant(_FAR, F64))
    to.floats(Operation.SUBTRACT, left, left, other)
    return share


def _codes(to: Builder, each: Sequence[FastWeights], *, packs: bool) -> Weights:
    """Place the weights of all experts, one behind the other."""
    whole = np.concatenate([one.integers for one in each])
    return to.weights(whole.astype(np.int64), packs=packs)


def _numbers(each: Sequence[FastWeights]) -> list[np.ndarray | None]:
    """Return scales and offsets of all experts, experts x groups x columns; no offsets: None."""
    offsets = [one.offsets for one in each if one.offsets is not None]
    return [np.stack([one.scales for one in each]), np.stack(offsets) if offsets else None]


def _moving(
    to: Builder, each: Sequence[FastWeights], names: Sequence[str], *, packs: bool
) -> list[Matrix]:
    """Place a matrix of all experts, one behind the other; return that of each parameter."""
    count, codes = len(each), _codes(to, each, packs=packs)
    numbers = [
        None if one is None else to.constant(np.concatenate(one), Format.F16)
        for one in _numbers(each)
    ]

    def moved(whole: Buffer, name: str) -> Buffer:
        rows = whole.rows // count
        return whole.at(0, rows).moving(name, rows * whole.stride)

    def of(name: str) -> Matrix:
        parts = tuple(moved(one, name) for one in codes.parts)
        scales, offsets = (None if one is None else moved(one, name) for one in numbers)
        assert scales is not None
        return Matrix(each[0], Weights(parts, codes.places, codes.offset), scales, offsets)

    return [of(name) for name in names]


def _gathered(to: Builder, each: Sequence[FastWeights], places: Buffer) -> list[Matrix]:
    """Place a matrix of all experts, and have its scales gathered; return that of each place."""
    count, codes, shape = len(each), _codes(to, each, packs=False), each[0].scales.shape
    unit = to.image.target.spec.vector
    assert unit is not None
    numbers: list[Buffer | None] = []
    for one in _numbers(each):
        if one is None:
            numbers.append(None)
            continue
        table = to.constant(one.reshape(count, -1), Format.F16)
        made = to.array(Format.F16, table.columns, places.rows)
        for first in range(0, table.columns, unit.length):
            size = min(unit.length, table.columns - first)
            to.rows("gather", table.across(first, size), made.across(first, size), places)
        numbers.append(made)

    def chosen(whole: Buffer, rank: int) -> Buffer:
        rows, place = whole.rows // count, places.address + rank * places.stride
        choice = Choice(place=place, count=count, apart=rows * whole.stride)
        return replace(whole.at(0, rows), choice=choice)

    def of(rank: int) -> Matrix:
        parts = tuple(chosen(one, rank) for one in codes.parts)
        scales, offsets = (
            None if one is None else one.at(rank, 1).split(shape[-1]) for one in numbers
        )
        assert scales is not None
        return Matrix(each[0], Weights(parts, codes.places, codes.offset), scales, offsets)

    return [of(rank) for rank in range(places.rows)]
