"""Experts in a decoder's program: a router chooses them, and addresses of their weights move.

A router's steps write the number of an expert where the value of a parameter is; the section ends,
and in the next one jobs and steps read the weights of that expert alone. Nobody but the program has
a part in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.decoder.experts import ROUTER_BITS
from carrysave.compiler.decoder.matrix import F32, F64, I16, I32, Matrix
from carrysave.compiler.front.decoder import FEED, Experts
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.build import Builder, Weights
from carrysave.compiler.program.floats import Floats, Format, Operation
from carrysave.driver.system import Parameter
from golden.lut.grouped import FastWeights

__all__ = ["Chosen", "choose", "why_not"]

_FAR = 2.0**200
"""Subtracted from the score of an expert that is chosen: no other is as small."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Experts of a token.

    Members
    -------
    parameters : number of each, by which addresses move.
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
    """Add steps that choose experts by a row; the section is to end behind them.

    Parameters
    ----------
    packs : of :meth:`.Builder.weights`.
    """
    count, size = len(experts.each), h.columns
    with to.naming(name + "ffn_gate_inp", "TopK"):
        codes, powers = to.array(I16, size), to.array(Format.POWER, 1)
        to.floats(Operation.ALIGN, codes, h, powers, width=ROUTER_BITS)
        left = to.array(F64, count)
        to.multiply(codes, to.constant(experts.router.T, I16), left)
        to.floats(Operation.MULTIPLY, left, left, powers)
        to.floats(Operation.MULTIPLY, left, left, to.constant(experts.scales, F64))
        best, every, total = to.array(F64, 1), to.array(F32, count), to.array(F64, 1)
        to.floats(Operation.GREATEST, best, left)
        to.floats(Operation.SUBTRACT, every, left, best)
        to.floats(Operation.EXP, every, every)
        parameters, shares = [], []
        for rank in range(experts.used):
            one = Parameter(name=f"{name}expert.{rank}", low=0, high=count - 1)
            parameters.append(one)
            shares.append(_take(to, one.name, every, left))
        if experts.renormalised:
            some = to.array(F64, experts.used)
            for rank, share in enumerate(shares):
                to.floats(Operation.COPY, some.across(rank, 1), share)
            to.floats(Operation.SUM, total, some)
        else:
            to.floats(Operation.SUM, total, every)
        for share in shares:
            to.floats(Operation.QUOTIENT, share, share, total)
    names = [one.name for one in parameters]
    placed = {
        one: _placed(to, [each[one] for each in experts.each], names, packs=packs) for one in FEED
    }
    matrices = [{one: placed[one][rank] for one in FEED} for rank in range(experts.used)]
    return Chosen(parameters, shares, matrices)


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


def _placed(
    to: Builder, each: Sequence[FastWeights], names: Sequence[str], *, packs: bool
) -> list[Matrix]:
    """Place a matrix of all experts, one behind the other; return that of each parameter."""
    count, groups = len(each), each[0].shape[0]
    codes = to.weights(np.concatenate([one.integers for one in each]).astype(np.int64), packs=packs)
    scales = to.constant(np.concatenate([one.scales for one in each]), Format.F16)
    offsets = None
    if each[0].offsets is not None:
        every = [one.offsets for one in each if one.offsets is not None]
        offsets = to.constant(np.concatenate(every), Format.F16)

    def moved(whole: Buffer, rows: int, name: str) -> Buffer:
        return whole.at(0, rows).moving(name, rows * whole.stride)

    def of(name: str) -> Matrix:
        parts = tuple(moved(one, one.rows // count, name) for one in codes.parts)
        return Matrix(
            each[0],
            Weights(parts, codes.places, codes.offset),
            moved(scales, groups, name),
            None if offsets is None else moved(offsets, groups, name),
        )

    return [of(name) for name in names]
