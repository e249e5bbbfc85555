"""Gates of channels of a quantised network, as products with diagonal matrices."""

from dataclasses import dataclass
from math import prod

import numpy as np

from carrysave.compiler.lowered.engine_codes import check_depth, code_offset
from carrysave.compiler.lowered.operands import Compiled, Cut
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.products import least_cycles, product_cycles
from carrysave.driver.batch import Work

__all__ = ["GATE", "GateProduct"]

GATE = "Mul"
"""The operator."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GateProduct(QuantisedProduct):
    """y = codes of all elements of each channel of each sample, times one number of the channel.

    A work has some channels of a sample: B has a row of codes for each, which is as long as a
    channel, and A is the diagonal matrix of their numbers. A number less its zero point may have a
    bit more than the engine takes: then B has the codes inverted, too, whose numbers in A take from
    the others what these have too much. What zero points add to a channel is in more columns of A,
    times rows of constants: the hardware's biases are of columns.

    Parameters
    ----------
    more : those of :class:`QuantisedProduct`; `b` is the gate, of 1 x .. x 1 for each channel.
    """

    def _check(self, target: Target) -> None:
        super()._check(target)
        assert self.b_type is not None
        code_offset("A", self.a_type, target.mode.b)
        code_offset("B", self.b_type, target.mode.a)

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        assert b is not None
        shapes = " and ".join(" x ".join(map(str, one.shape)) for one in (a, b))
        fits = a.ndim == b.ndim > 2 and a.size > 0 and prod(b.shape[2:]) == 1
        fits = fits and all(
            1 in (one, two) or one == two for one, two in zip(a.shape[:2], b.shape[:2], strict=True)
        )
        if not fits:
            raise ValueError(f"A and B must have channels, and B one number in each, not {shapes}")
        outer = np.broadcast_shapes(a.shape[:2], b.shape[:2])
        shape = (*outer, *a.shape[2:])
        offset = code_offset("A", self.a_type, target.mode.b)
        codes = np.broadcast_to(a, shape).reshape(*outer, -1).astype(np.int64) - offset
        gates = np.broadcast_to(b.reshape(b.shape[:2]), outer).astype(np.int64) - self.b_zero
        done = in_hardware and target.requantises(1)
        step = _channels(target, outer[1], codes.shape[2], done)
        works = [
            _work(target, left[at : at + step], gate[at : at + step], self.a_zero - offset)
            for left, gate in zip(codes, gates, strict=True)
            for at in range(0, outer[1], step)
        ]
        y_offset = code_offset("C", self.y_type, target.info.codes) if done else 0
        if done:
            works = self._scaled(works, [work.b for work in works], y_offset)

        def finish(results: list[np.ndarray]) -> np.ndarray:
            channels = np.concatenate(results)
            plain = Cut(lefts=[], shape=(len(channels),))
            return self._finished(plain, [channels], done, y_offset).reshape(shape)

        cut = Cut(lefts=[work.a for work in works if work.a is not None], shape=shape)
        return Compiled(works=works, cut=cut, finish=finish, macs=prod(shape))


def _channels(target: Target, channels: int, length: int, done: bool) -> int:
    """Choose the channels of a work: many have few starts, few have few zeros in A.

    Parameters
    ----------
    target : the co-processor.
    channels, length : of a sample, and the codes of each.
    done : codes leave, not sums.
    """
    most = max(1, (target.mode.k_max - _CONSTANTS) // 2)
    step = min(target.info.stores.tile_m, channels, most)
    best: tuple[int, int] | None = None
    while True:
        shape, count = (step, step + _CONSTANTS, length), -(-channels // step)
        if best is None or count * least_cycles(target, shape, scales=int(done)) < best[0]:
            cycles = count * product_cycles(target, shape, scales=int(done))
            best = min(best or (cycles, step), (cycles, step))
        if step == min(channels, most):
            return best[1]
        step = min(2 * step, channels, most)


def _work(target: Target, codes: np.ndarray, gate: np.ndarray, zero: int) -> Work:
    """Make the work of some channels.

    Parameters
    ----------
    target : the co-processor.
    codes : channels x elements, as B has them.
    gate : number of each channel.
    zero : the code of 0.
    """
    low, high = target.mode.a.low, target.mode.a.high
    more = np.maximum(gate - high, 0) + np.minimum(gate - low, 0)
    left, right = [np.diag(gate - more)], [codes]
    if more.any():
        # x (g - h) + (-1 - x) (-h) = x g + h.
        left.append(np.diag(-more))
        right.append(~codes)
    rest = -zero * gate - more
    for constant in (target.mode.b.high, 1):
        part, rest = np.divmod(rest, constant)
        while part.any():
            left.append(np.clip(part, low, high)[:, None])
            right.append(np.full((1, codes.shape[1]), constant))
            part = part - left[-1][:, 0]
    b = np.concatenate(right)
    check_depth(target, len(b))
    return Work(a=np.concatenate(left, axis=1), b=b, mode=target.mode)


_CONSTANTS = 4
"""Rows of constants that codes of 8 bits need at most."""
