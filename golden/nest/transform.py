"""OPT1 to OPT4: functions from nest to nest.

Each moves steps or loops without changing results, and refuses nests to which it does not
apply. What makes them legal: compression is associative and commutative, in space (half-reduce) as
in time (accumulate); a shift distributes over it within one bit weight; a zero digit adds nothing;
digits depend on m and k, not on n.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from golden.nest.nest import Nest
from golden.nest.notation import Loop, Node, Step

__all__ = ["constant_time", "encode_once", "opt1", "opt2", "opt3", "opt4c", "opt4e", "recoded"]

LANES = 4
"""Elements that share one tree and one accumulator in OPT4E."""


def encode_once(nest: Nest) -> Nest:
    """Encode each code once, at the edge: outside of n, or of m if B is encoded (EN-T).

    The elements get digits in place of the codes.
    """
    levels = _levels(nest)
    if nest.radix == 2:
        raise ValueError("encode_once needs an encode to move; bits are not encoded")
    _beat_outside(levels)
    beat = _find(levels, lambda loop: loop.index == "k")
    inside = _find(levels[beat:], lambda loop: loop.index == nest.sharing) + beat
    encoding = next(level for level in levels if Step.ENCODE in level.before)
    if all(level is not encoding for level in levels[inside:]):
        raise ValueError(f"encode_once needs encode in a loop over {nest.sharing} to move out")
    encoding.before.remove(Step.ENCODE)
    levels[inside - 1].before.append(Step.ENCODE)
    return _nest(levels, nest)


def opt1(nest: Nest) -> Nest:
    """Accumulate in carry-save form: `add` once per element of C, after k.

    It is in separate loops, in which the rows of a tile leave one after the other.
    """
    levels = _levels(nest)
    first = _find(levels, lambda loop: loop.index == "k")
    if not any(Step.ADD in level.after for level in levels[first:]):
        raise ValueError("opt1 needs an add inside the k loop to move out; there is none")
    for level in levels:
        level.after = [node for node in level.after if node is not Step.ADD]
    tile = _find(levels, lambda loop: loop.parallel or loop.index == "k")
    drain: Node = Step.ADD
    for index, parallel in (("n", True), ("m", False)):
        loops = [one.loop for one in levels[tile:] if one.loop and one.loop.index == index]
        if loops:
            drain = Loop(index, math.prod(one.size or 1 for one in loops), (drain,), parallel)
    levels[tile - 1].after.append(drain)
    return _nest(levels, nest)


def opt2(nest: Nest) -> Nest:
    """Sum the digits of one bit weight first, and shift their sum.

    If sums stay in carry-save form until they leave (OPT1), each weight has its own sum for all of
    k, and these are shifted and added at the output; else in every beat, which then must have
    several k in parallel.
    """
    levels = _levels(nest)
    weights = _find(levels, lambda loop: loop.index == "bw")
    digits = levels[weights]
    pairs = [level for level in levels[weights - 1 : weights] if _is(level, "k", parallel=True)]
    start = weights - len(pairs)
    beat = levels[start - 1]
    first = _find(levels, lambda loop: loop.index == "k")
    unresolved = all(Step.ADD not in level.after for level in levels[first:])
    legal = _is(digits, "bw", parallel=True) and digits.after == [Step.MAP, Step.SHIFT]
    if not legal or not (pairs or unresolved) or (beat.loop and beat.loop.chain):
        raise ValueError(
            "opt2 needs parallel loops over k and, inside, over bw; or only this one after opt1"
        )
    if any(Step.ADD in level.after for level in pairs):
        raise ValueError("opt2 needs products in carry-save form, not an add for each (opt1)")
    beat.before += [node for level in pairs for node in level.before]
    resolved: list[Node] = [Step.HALF_REDUCE, Step.SHIFT]
    if unresolved and digits.loop:
        resolved, beat.after = beat.after, []
        _leave(levels, digits.loop.around(Step.SHIFT), Step.HALF_REDUCE, Step.ADD)
    levels[start:] = [_Level(level.loop) for level in (digits, *pairs)]
    levels[-1].after = [Step.MAP]
    levels[start].after += resolved
    return _nest(levels, nest)


def opt3(nest: Nest) -> Nest:
    """Process nonzero digits one after the other, those of one bit weight together.

    The codes of a beat are no longer parallel; all elements wait for the slowest at its end.
    Weights that come one after the other share one sum, even if each had one of its own (OPT2).
    """
    levels = _levels(nest)
    weights = _find(levels, lambda loop: loop.index == "bw")
    if not _is(levels[weights], "bw", parallel=True):
        raise ValueError("opt3 needs a parallel loop over bw to put in time")
    if Step.ACCUMULATE in levels[weights].after:
        levels[weights - 1].after = [node for node in levels[weights].after if node != Step.MAP]
        _leave(levels, Step.ADD)
    planes_first = weights + 1 < len(levels)
    first = weights - _is(levels[weights - 1], "k", parallel=True)
    if any(Step.ADD in level.after for level in levels[first:]):
        raise ValueError("opt3 needs products in carry-save form, not an add for each (opt1)")
    element = levels[first:]
    encode = [Step.ENCODE for level in levels[first - 1 :] if Step.ENCODE in level.before]
    del levels[first:]
    _beat_outside(levels)
    reduce, levels[-1].after = levels[-1].after, []
    if any(_is(level, "m", parallel=True) for level in levels):
        _sync(levels)
    levels[-1].before = [*encode, Step.SELECT]
    for level in sorted(element, key=lambda level: not _is(level, "bw", parallel=True)):
        assert level.loop is not None
        levels.append(_Level(replace(level.loop, parallel=False, nonzero=True)))
    if planes_first:
        levels[-2].after = [Step.SHIFT, *reduce]
        levels[-1].after = [Step.MAP, Step.HALF_REDUCE, Step.ACCUMULATE]
    else:
        levels[-1].after = [Step.MAP, Step.SHIFT, *reduce]
    return _nest(levels, nest)


def opt4c(nest: Nest) -> Nest:
    """Encode and select once for all elements of a column: outside of n, where digits are equal."""
    levels = _levels(nest)
    host = next((at for at, level in enumerate(levels) if Step.SELECT in level.before), None)
    if host is None:
        raise ValueError("opt4c needs select to share (opt3)")
    columns = _find(levels, lambda loop: loop.index == nest.sharing and loop.parallel)
    if columns > host:
        raise ValueError(f"opt4c needs select in a parallel loop over {nest.sharing} to move out")
    shared, levels[host].before = levels[host].before, []
    levels.insert(host, levels.pop(columns))
    levels[host - 1].before += shared
    return _nest(levels, nest)


def opt4e(nest: Nest) -> Nest:
    """Sum the digits of up to four lanes of k in one tree and one accumulator.

    Code j of a beat is in lane j modulo 4. Lanes run through their digits on their own, and wait
    for the slowest at the end of a beat.
    """
    levels = _levels(nest)
    codes = levels[-1]
    columns = _find(levels, lambda loop: loop.index == nest.sharing and loop.parallel)
    if not any(Step.SELECT in level.before for level in levels[:columns]):
        raise ValueError(f"opt4e needs select outside of the loop over {nest.sharing} (opt4c)")
    if codes.loop is None or not codes.loop.nonzero:
        raise ValueError("opt4e needs the digits of a beat one after the other")
    if codes.after[:2] != [Step.MAP, Step.SHIFT]:
        raise ValueError("opt4e needs a shift for each digit: lanes are at different bit weights")
    count = codes.loop.covers("k")
    lanes = min(LANES, count)
    size, rest = -(-count // lanes), codes.after[2:]
    if codes.loop.index == "k":
        del levels[-1]
    if size > 1:
        levels.append(_Level(replace(codes.loop, size=size, short=size * lanes - count)))
    levels[-1].after = rest
    levels.append(_Level(Loop("k", lanes, parallel=True), after=[Step.MAP, Step.SHIFT]))
    if not any(Step.SYNC in level.after for level in levels):
        _sync(levels)
    return _nest(levels, nest)


def recoded(nest: Nest) -> Nest:
    """Leave out the encoding: the codes come as digits."""
    levels = _levels(nest)
    if not any(Step.ENCODE in level.before for level in levels):
        raise ValueError("recoded needs an encode to leave out; there is none")
    for level in levels:
        level.before = [node for node in level.before if node is not Step.ENCODE]
    return _nest(levels, nest, recoded=True)


def constant_time(nest: Nest) -> Nest:
    """Process all digits, zeros too, so that cycles do not depend on operands."""
    levels = _levels(nest)
    if not any(level.loop and level.loop.nonzero for level in levels):
        raise ValueError("constant_time needs a loop over digits that are not zero (opt3)")
    for level in levels:
        level.loop = level.loop and replace(level.loop, nonzero=False)
        level.before = [node for node in level.before if node is not Step.SELECT]
        level.after = [node for node in level.after if node is not Step.SYNC]
    return _nest(levels, nest)


@dataclass
class _Level:
    """A loop on the way to map, and what is in it before and after the next one."""

    loop: Loop | None
    before: list[Node] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)


def _levels(nest: Nest) -> list[_Level]:
    """Split a nest into levels, from the outermost (not a loop) to that of map."""
    levels = [_Level(None, after=list(nest.body))]
    while True:
        body = levels[-1].after
        loops = [at for at, node in enumerate(body) if isinstance(node, Loop)]
        if not loops or Step.MAP in body:
            return levels
        node = body[loops[0]]
        assert isinstance(node, Loop)
        levels[-1].before, levels[-1].after = body[: loops[0]], body[loops[0] + 1 :]
        levels.append(_Level(node.around(), after=list(node.body)))


def _nest(levels: list[_Level], like: Nest, **changes: Any) -> Nest:
    """Assemble a nest, and check it."""
    body: list[Node] = []
    for level in reversed(levels):
        body = [*level.before, *body, *level.after]
        if level.loop is not None:
            body = [level.loop.around(*body)]
    return replace(like, body=tuple(body), **changes)


def _leave(levels: list[_Level], *steps: Node) -> None:
    """Let sums leave by these steps: in place of add, and all that is with it in its loops."""

    def instead(body: tuple[Node, ...]) -> tuple[Node, ...]:
        if Step.ADD in body:
            return steps
        return tuple(n.around(*instead(n.body)) if isinstance(n, Loop) else n for n in body)

    for level in levels:
        level.after = [*instead(tuple(level.after))]


def _beat_outside(levels: list[_Level]) -> None:
    """Make the loop over beats of k the one around all elements, since all take operands at once.

    What was in it is then in the innermost of the loops that were around it.
    """
    at = _find(levels, lambda loop: loop.index == "k")
    spatial = _find(levels, lambda loop: loop.parallel)
    if spatial < at:
        beat = levels.pop(at)
        levels.insert(spatial, beat)
        levels[at].before += beat.before
        levels[at].after = beat.after + levels[at].after
        beat.before, beat.after = [], []


def _sync(levels: list[_Level]) -> None:
    """Synchronise all at the end of a beat: of the innermost loop with equal iterations."""
    beats = [level for level in levels if not (level.loop and level.loop.parallel)]
    [level for level in beats if not (level.loop and level.loop.nonzero)][-1].after.append(
        Step.SYNC
    )


def _find(levels: list[_Level], wanted: Callable[[Loop], bool]) -> int:
    """Find the outermost matching loop; after the last if there is none."""
    positions = (at for at, level in enumerate(levels) if level.loop and wanted(level.loop))
    return next(positions, len(levels))


def _is(level: _Level, index: str, *, parallel: bool = False, nonzero: bool = False) -> bool:
    """Return whether a level is a loop of this kind, and no chain."""
    wanted = Loop(index, 1, parallel=parallel, nonzero=nonzero)
    return level.loop is not None and replace(level.loop, size=1) == wanted
