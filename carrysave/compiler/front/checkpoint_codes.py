"""Layers of codes in checkpoints: of GPTQ, AWQ and compressed-tensors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from carrysave.compiler.front.checkpoint_coding import Coding
from carrysave.errors import UsageError
from carrysave.weights import compressed_tensors
from carrysave.weights.compressed_tensors import Scheme
from carrysave.weights.gguf_tensor import BLOCK
from carrysave.weights.grouped import error_of, fitted, rounded_weights
from carrysave.weights.layer import from_checkpoint
from carrysave.weights.request import PackRequest
from carrysave.weights.tensor_files import Tensor
from golden.lut.weights import GroupedWeights

__all__ = ["Layer", "layers_of"]

_WORDS = ("qweight", "qzeros", "scales", "g_idx")
_CALIBRATED = ("input_scale", "input_zero_point", "input_global_scale")
"""How activations were to be rounded: the block rounds them by its own rule."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """A layer of codes.

    Members
    -------
    coding : of the checkpoint.
    name : in the file, as in ``model.layers.0.mlp.up_proj``.
    members : its tensors, by the last part of their names.
    """

    coding: Coding
    name: str
    members: Mapping[str, Tensor] = field(repr=False)

    def shape(self) -> tuple[int, ...]:
        """Return outputs x inputs; of a wrong layer a shape that no matrix has."""
        if self.coding.method == "compressed-tensors":
            return compressed_tensors.shape_of(self.members)
        words, scales = (self.members.get(one) for one in ("qweight", "scales"))
        if words is None or scales is None or words.array.ndim != 2 or scales.array.ndim != 2:
            return ()
        depth, columns = words.array.shape
        if self.coding.method == "awq":
            return scales.array.shape[1], depth
        return columns, 32 * depth // self.coding.bits

    def weights(self, bits: int | str) -> tuple[str, GroupedWeights, float]:
        """Return what kind it is, weights, and how far they are off, relative, as rms.

        Parameters
        ----------
        bits : to which floats are rounded; or a table.

        Raises
        ------
        UsageError, ValueError
            Tensors that are not as the configuration says.
        """
        coding, weight = self.coding, self.members.get("weight")
        if self.name in coding.ignored:
            raise UsageError("must have no codes, as quantization_config leaves the layer out")
        if coding.method != "compressed-tensors":
            return coding.method.upper(), *fitted(self._words())
        if weight is not None and weight.is_float:
            values = self._first(compressed_tensors.from_floats, floats=True)
            if not np.isfinite(values).all():
                raise UsageError("must be finite")
            made = rounded_weights(values, bits=bits, group=BLOCK)
            return "F8_E4M3 with scales", made, error_of(made, values)
        whole = self._first(compressed_tensors.from_integers, floats=False)
        return f"int{whole.bits} of compressed-tensors", *fitted(whole)

    def _words(self) -> GroupedWeights:
        """Read GPTQ or AWQ."""
        coding = self.coding
        form = "gptq_v2" if coding.second else coding.method
        weights, _ = from_checkpoint(self.members, form, PackRequest())
        depth = weights.codes.shape[0]
        group = min(coding.group or depth, depth)
        if (weights.bits, weights.group) != (coding.bits, group):
            raise UsageError(
                f"must be {coding.bits} bits in groups of {group}, as quantization_config says, "
                f"not {weights.bits} in groups of {weights.group}"
            )
        middle = 1 << weights.bits - 1
        assert weights.zeros is not None
        if coding.symmetric and (weights.zeros != middle).any():
            raise UsageError(f"zero points must be {middle} where codes are symmetric")
        if coding.method == "gptq":
            if coding.reordered and "g_idx" not in self.members:
                raise UsageError("g_idx must be there where desc_act is true")
            if not coding.reordered and weights.rows is not None:
                raise UsageError("g_idx must ascend where desc_act is false")
        return weights

    def _first(self, read: Callable[[Mapping[str, Tensor], Scheme], Any], *, floats: bool) -> Any:
        """Read by the first scheme of integers or floats that the tensors have."""
        errors = []
        for scheme in self.coding.schemes:
            if scheme.floats == floats:
                try:
                    return read(self.members, scheme)
                except (UsageError, ValueError) as error:
                    errors.append(error)
        if errors:
            raise errors[0]
        kind = "floats" if floats else "integers"
        raise UsageError(f"must not be {kind}: no group of quantization_config has them")


def layers_of(coding: Coding, tensors: Mapping[str, Tensor]) -> dict[str, "Layer"]:
    """Return the layers of codes among a file's tensors, by their names."""
    if coding.method not in ("gptq", "awq", "compressed-tensors"):
        return {}
    packed = coding.method == "compressed-tensors"
    marks = ("weight_packed", "weight_scale") if packed else ("qweight",)
    parts = (*compressed_tensors.MEMBERS, "weight", *_CALIBRATED) if packed else _WORDS
    layers = {}
    for name in tensors:
        layer, _, part = name.rpartition(".")
        if part in marks and layer not in layers:
            members = {
                one: tensors[f"{layer}.{one}"] for one in parts if f"{layer}.{one}" in tensors
            }
            layers[layer] = Layer(coding=coding, name=layer, members=members)
    return layers
