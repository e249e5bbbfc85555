"""The rules that make a nest a legal way to compute C."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from golden.nest.notation import Loop, Node, Step

__all__ = ["Rules"]


@dataclass
class _Value:
    """State of the value that passes from step to step."""

    covers: list[tuple[bool, int]]
    number: bool = False
    shifted: bool = False
    accumulated: bool = False
    """In an accumulator, for its m and n, or gone to C."""
    side: list[Loop] = field(default_factory=list)
    """Parallel k and bw loops that have been left: values side by side."""
    mixed: bool = False
    """It is a sum over parallel iterations each of which is at a bit weight of its own."""

    @property
    def weights(self) -> bool:
        """There is more than one bit weight."""
        return not self.shifted and any(loop.index == "bw" for loop in self.side)


class Rules:
    """One pass through a nest, in the order of its steps.

    Parameters
    ----------
    digits : indices that they depend on.
    encoded : digits are there from the start.
    """

    def __init__(self, digits: tuple[str, ...], *, encoded: bool):
        self.digits = digits
        self.path: list[Loop] = []
        self.value: _Value | None = None
        self.encoded = encoded
        self.selected = False
        self.uneven = False
        self.waiting: Loop | None = None

    def check(self, body: tuple[Node, ...]) -> None:
        """Check a whole nest."""
        self._body(body)
        if self.value is None:
            raise ValueError("map must be in the nest: without it nothing is multiplied")
        if not (self.value.number and self.value.accumulated) or self.value.side:
            raise ValueError("add must be the last step of the sum: C is numbers, not carry-save")
        self._in_step("the end")

    def _body(self, body: tuple[Node, ...]) -> None:
        for node in body:
            if isinstance(node, Loop):
                self._loop(node)
            elif isinstance(node, Step):
                getattr(self, f"_{node.name.lower()}")()
            else:
                raise TypeError(f"body must be of loops and steps, not {node!r}")

    def _loop(self, loop: Loop) -> None:
        if loop.nonzero and not self.selected:
            raise ValueError(f"select must come before '{loop.title}'")
        if loop.nonzero and any(outer.chain for outer in self.path):
            raise ValueError(f"'{loop.title}' must not be in a chain, which goes on every cycle")
        if loop.size is None and any(outer.index == loop.index for outer in self.path):
            raise ValueError(f"'{loop.title}' must be the outermost loop over {loop.index}")
        if loop.short and loop.short >= loop.stride:
            raise ValueError(f"short must be 0..{loop.stride - 1} iterations, not {loop.short}")
        before = self.value
        if before is not None:
            self._again(loop, before)
        self.path.append(loop)
        self._body(loop.body)
        self.path.pop()
        if loop.nonzero:
            self.uneven = True
            self.waiting = self.waiting or next(_lanes(loop, self.digits), None)
        elif loop.parallel and loop.index in self.digits and self.uneven and before is None:
            self.waiting = loop
        elif not loop.parallel:
            self._in_step(f"the next iteration of '{loop.title}'")
        if self.value is None:
            raise ValueError(f"'{loop.title}' must be a loop around map, or after it")
        if loop.index in ("k", "bw"):
            self._leave(loop, self.value)

    def _again(self, loop: Loop, value: _Value) -> None:
        """Enter a loop over sums: those of C, or those side by side of the same loop before."""
        if value.accumulated and value.side and value.side[-1] == loop.around(*value.side[-1].body):
            value.side.pop()
        elif not (value.accumulated and loop.index in ("m", "n")):
            raise ValueError(f"'{loop.title}' must come before map, or of sums that are kept")

    def _leave(self, loop: Loop, value: _Value) -> None:
        """Leave a loop whose values are to be summed."""
        if loop.parallel and not loop.chain:
            value.side.append(loop)
        elif not value.accumulated:
            raise ValueError(f"accumulate must be inside '{loop.title}': its values are summed")
        elif loop.index == "bw" and not value.shifted:
            raise ValueError(f"shift must be inside '{loop.title}': it sums several bit weights")

    def _in_step(self, when: str) -> None:
        if self.waiting:
            raise ValueError(
                f"sync must come before {when}: the iterations of '{self.waiting.title}' take as"
                " many cycles as each has digits"
            )

    def _of_codes(self, step: Step) -> None:
        if self.value is not None:
            raise ValueError(f"{step} must come before map")
        if any(loop.index == "bw" for loop in self.path):
            raise ValueError(f"{step} must be outside the bw loop: it is of all digits of a code")

    def _encode(self) -> None:
        self._of_codes(Step.ENCODE)
        if self.encoded:
            raise ValueError("encode must be in the nest once, and only of codes in radix 4")
        self.encoded = True

    def _select(self) -> None:
        self._of_codes(Step.SELECT)
        if not self.encoded:
            raise ValueError("encode must come before select")
        self.selected = True

    def _map(self) -> None:
        if not self.encoded:
            raise ValueError("encode must come before map")
        if self.value is not None:
            raise ValueError("map must be in the nest once")
        for index in ("k", "bw"):
            if all(loop.index != index for loop in self.path):
                raise ValueError(f"map must be inside a loop over {index}")
        if not any(loop.index == "k" and loop.size is None for loop in self.path):
            raise ValueError("map must be inside a loop over all of k")
        self.value = _Value(covers=self._covers())

    def _covers(self) -> list[tuple[bool, int]]:
        """Return for m and for n if the loops here take them all, and the size of a tile."""
        covered = []
        for index in ("m", "n"):
            sizes = [loop.size for loop in self.path if loop.index == index]
            covered.append((None in sizes, math.prod(size or 1 for size in sizes)))
        return covered

    def _current(self, step: Step) -> _Value:
        """Return the value that a step takes."""
        if self.value is None:
            raise ValueError(f"map must come before {step}")
        if self.value.covers != self._covers():
            raise ValueError(f"{step} must be inside loops over the same m and n as map")
        return self.value

    def _shift(self) -> None:
        value = self._current(Step.SHIFT)
        if value.shifted:
            raise ValueError("shift must be in the nest once")
        if value.weights or value.mixed:
            raise ValueError("shift must come where a value has one bit weight")
        value.shifted, value.accumulated = True, False

    def _half_reduce(self) -> None:
        value = self._current(Step.HALF_REDUCE)
        if value.weights:
            raise ValueError("shift must come before half-reduce sums several bit weights")
        value.mixed |= bool(value.side) and any(
            loop.nonzero and loop.index == "bw" for loop in self.path
        )
        value.side, value.number, value.accumulated = [], False, False

    def _accumulate(self) -> None:
        value = self._current(Step.ACCUMULATE)
        if value.side:
            raise ValueError(
                f"half-reduce must come between '{value.side[0].title}' and accumulate"
            )
        value.number, value.accumulated = False, True

    def _add(self) -> None:
        value = self._current(Step.ADD)
        if value.side:
            raise ValueError(f"half-reduce must come between '{value.side[0].title}' and add")
        value.number = True
        value.accumulated |= all(loop.index in ("m", "n") for loop in self.path)

    def _sync(self) -> None:
        if self.waiting is None:
            raise ValueError("sync must come after parallel loops whose times differ")
        self.waiting = None


def _lanes(loop: Loop, digits: tuple[str, ...]) -> Iterator[Loop]:
    """Find the parallel loops inside whose iterations have separate digits."""
    for node in loop.body:
        if isinstance(node, Loop):
            if node.parallel and node.index in digits:
                yield node
            yield from _lanes(node, digits)
