"""Decoders without attention: ternary products by weights, and a gated recurrent state."""

import numpy as np

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.attention_channels import ChannelDecoder
from carrysave.compiler.decoder.blocks import Blocks
from carrysave.compiler.decoder.one_pass import OnePassDecoder, why_not_one_pass
from carrysave.compiler.decoder.units import GOLDEN, Units
from carrysave.compiler.front.decoder import KEYS, Layer, Model
from carrysave.compiler.lowered.heads import HOST, ONE_PASS
from carrysave.errors import UsageError

__all__ = ["Recurrent", "decoder_of"]


class Recurrent(Blocks):
    """A decoder whose mixer is the MatMul-free gated recurrent unit (Zhu et al., 2024).

    By three matrices a row becomes what is kept of the state, a sigmoid; what is fresh, a SiLU; and
    a gate, a sigmoid. The state moves to ``keep * state + (1 - keep) * fresh`` by
    :func:`carrysave.compiler.decoder.units.moved`, in integers; the gate times the state, in
    floats, goes on. There is no cache, only a state for each value of a row.

    Parameters
    ----------
    model, cache, units : as of :class:`Blocks`.
    """

    OUTPUT = "mix_output"

    def __init__(self, model: Model, *, cache: int, units: Units = GOLDEN):
        super().__init__(model, cache=cache, units=units)
        self._states = np.zeros((model.shape.layers, model.shape.width))

    def left(self, length: int) -> dict[str, np.ndarray]:
        """Return the states."""
        return {"states": self._states}

    def _mixed(self, number: int, layer: Layer, h: np.ndarray) -> np.ndarray:
        units = self.units
        forget, candidate, gate = self._products(
            layer, h, "mix_forget", "mix_candidate", "mix_gate"
        )
        keep, fresh = units.sigmoid(forget), units.fresh(candidate)
        states = np.empty(h.shape)
        state = self._states[number]
        for row in range(len(h)):
            states[row] = state = units.moved(state, keep[row], fresh[row])
        self._states[number] = state
        return units.sigmoid(gate) * states


def decoder_of(
    model: Model,
    *,
    cache: int,
    bits: int | None,
    keys: str = KEYS[0],
    attention: str = HOST,
    units: Units = GOLDEN,
) -> Blocks:
    """Return the decoder of a model's form.

    Parameters
    ----------
    model, cache, units : as of :class:`Blocks`.
    bits : of a key or value in the cache, 8 or 4; None: the model's own.
    keys : of :data:`KEYS`: what has a step of keys of 4 bits.
    attention : `host`, or `one-pass`; see :class:`.one_pass.OnePassDecoder`.

    Raises
    ------
    UsageError
        The model does not attend in one pass, and should.
    """
    if attention == ONE_PASS:
        if reason := why_not_one_pass(model, bits or model.cache_bits):
            raise UsageError(reason)
        return OnePassDecoder(model, cache=cache, units=units)
    if model.form == "recurrent":
        return Recurrent(model, cache=cache, units=units)
    bits = bits or model.cache_bits
    if keys != KEYS[0] and bits == 4:
        return ChannelDecoder(model, cache=cache, units=units)
    return Decoder(model, cache=cache, bits=bits, units=units)
