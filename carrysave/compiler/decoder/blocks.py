"""Decoders in golden's arithmetic, token by token: all but what mixes tokens."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from carrysave.compiler.decoder.experts import routed
from carrysave.compiler.decoder.units import GOLDEN, Units, times
from carrysave.compiler.front.decoder import MOST_TOKENS, Layer, Model
from carrysave.errors import UsageError
from golden.lut.grouped import FastWeights

__all__ = ["Blocks", "check_room", "like"]


class Blocks(ABC):
    """Tokens to logits, by blocks of a mixer of tokens and a gated feed-forward.

    Products are of weights in groups (of 32, or whole columns), and of activations rounded to the
    model's bits with an exponent for each group: sums of groups are exact integers, scaled and
    added in fp32 as by :func:`golden.lut.scale.scale_groups`. Norms are those of
    :mod:`golden.npe.vector`, SiLU of :mod:`golden.npe.elements`. Gains of norms, residual sums,
    other activations than SiLU, and caps are floats.

    Parameters
    ----------
    model : weights.
    cache : tokens that are taken at most, 1..131072, and at most the model's context.
    units : how steps are computed, golden's or others to compare with.
    """

    OUTPUT: ClassVar[str]
    """The mixer's last matrix."""

    def __init__(self, model: Model, *, cache: int, units: Units = GOLDEN):
        most = min(MOST_TOKENS, model.shape.context)
        if not 1 <= cache <= most:
            raise UsageError(f"cache must be 1..{most} tokens, not {cache}")
        self.model = model
        self.cache = cache
        self.units = units
        self.length = 0

    def step(self, tokens: np.ndarray, *, last: bool = False) -> np.ndarray:
        """Append tokens; return the logits after each, or the last one, float32, tokens x words."""
        count = len(tokens)
        check_room(count, self.length, self.cache)
        shape, units = self.model.shape, self.units
        x = self.model.embedding[tokens]
        for number, layer in enumerate(self.model.layers):
            mixed = self._mixed(number, layer, self._normed(x, layer.attention_gain))
            mixed = self._normed(mixed, layer.output_gain)
            (y,) = self._products(layer, mixed, self.OUTPUT)
            x = x + times(self._normed(y, layer.mixed_gain), shape.residual_scale)
            y = self._fed(layer, self._normed(x, layer.feed_gain))
            x = x + times(self._normed(y, layer.fed_gain), shape.residual_scale)
        self.length += count
        x = x[-1:] if last else x
        (logits,) = self._of(self._normed(x, self.model.gain), [self.model.head])
        logits = times(logits, shape.logit_scale)
        return units.capped(logits, shape.logit_cap) if shape.logit_cap else logits

    def state(self) -> dict[str, np.ndarray]:
        """Return what the tokens so far left, for :meth:`restore`."""
        return {name: room.copy() for name, room in self.left(self.length).items()}

    def restore(self, length: int, state: Mapping[str, np.ndarray]) -> None:
        """Go on behind so many tokens, of which a decoder of the same model has the state.

        Raises
        ------
        ValueError
            The state has other arrays, or numbers that are not finite.
        """
        rooms = self.left(length)
        if set(state) != set(rooms):
            raise ValueError(f"must be {', '.join(rooms)}, not {', '.join(state)}")
        for name, room in rooms.items():
            if state[name].shape != room.shape:
                raise ValueError(f"{name} must be {room.shape}, not {state[name].shape}")
            if not np.isfinite(state[name]).all():
                raise ValueError(f"{name} must be finite")
        for name, room in rooms.items():
            room[...] = state[name]
        self.length = length

    @abstractmethod
    def left(self, length: int) -> dict[str, np.ndarray]:
        """Return the arrays that so many tokens change, in place, by name."""

    def _normed(self, x: np.ndarray, gain: np.ndarray | None) -> np.ndarray:
        """Norm rows, if there is a norm."""
        if gain is None:
            return x
        return self.units.normed(x, gain, self.model.shape.epsilon)

    @abstractmethod
    def _mixed(self, number: int, layer: Layer, h: np.ndarray) -> np.ndarray:
        """Mix rows of a block with those before; without the last matrix."""

    def _fed(self, layer: Layer, h: np.ndarray) -> np.ndarray:
        """Return what the feed-forward adds to rows; of experts, the shares of those used."""
        if layer.experts is None:
            return self._gated(layer.matrices, layer, h)
        y = np.zeros_like(h, np.float32)
        for chosen, shares in zip(
            *(one.T for one in routed(layer.experts, h, self.units)), strict=True
        ):
            for expert in np.unique(chosen):
                rows = np.flatnonzero(chosen == expert)
                made = self._gated(layer.experts.each[expert], layer, h[rows])
                y[rows] += times(made, shares[rows, None])
        return y

    def _gated(
        self, matrices: Mapping[str, FastWeights], layer: Layer, h: np.ndarray
    ) -> np.ndarray:
        """Multiply rows by gated matrices and the last one."""
        if layer.skip is not None:
            h = self.units.thresholded(h, layer.skip.inputs)
        gates, values = self._multiplied(matrices, layer, h, "ffn_gate", "ffn_up")
        if (activation := self.model.shape.activation) == "silu":
            hidden = self.units.gated(gates, values)
        else:
            hidden = self.units.activated(activation, gates, values)
        hidden = self._normed(hidden, layer.down_gain)
        if layer.skip is not None:
            hidden = self.units.thresholded(hidden, layer.skip.hidden)
        return self._multiplied(matrices, layer, hidden, "ffn_down")[0]

    def _products(self, layer: Layer, h: np.ndarray, *names: str) -> list[np.ndarray]:
        """Multiply by a layer's matrices, and add their biases."""
        return self._multiplied(layer.matrices, layer, h, *names)

    def _multiplied(
        self, matrices: Mapping[str, FastWeights], layer: Layer, h: np.ndarray, *names: str
    ) -> list[np.ndarray]:
        """Multiply by matrices, and add a layer's biases."""
        made = self._of(h, [matrices[name] for name in names])
        return [
            y + layer.biases[name] if name in layer.biases else y
            for name, y in zip(names, made, strict=True)
        ]

    def _of(self, h: np.ndarray, matrices: Sequence[FastWeights]) -> list[np.ndarray]:
        """Multiply rows by matrices; those alike in groups and order share their activations."""
        rows = {like(one): one for one in matrices}
        aligned = {
            key: self.units.aligned(one.ordered(h), self.model.bits, one.group)
            for key, one in rows.items()
        }
        return [one.product(*aligned[like(one)]) for one in matrices]


def like(matrix: FastWeights) -> tuple[int, bytes]:
    """Return what matrices have in common that take the same activations."""
    return matrix.group, b"" if matrix.rows is None else matrix.rows.tobytes()


def check_room(count: int, length: int, cache: int) -> None:
    """Refuse more tokens than are left of those that are taken at most."""
    if not 1 <= count <= cache - length:
        left = cache - length
        raise UsageError(f"prompt must be 1..{left} tokens, what is left of {cache}, not {count}")
