"""Tensors of a folder of ``.safetensors``, by their names in GGUF."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.front.checkpoint_codes import layers_of
from carrysave.compiler.front.checkpoint_coding import Coding
from carrysave.compiler.front.sources import Source
from carrysave.errors import UsageError, needs
from carrysave.weights import tensor_files
from carrysave.weights.gguf_tensor import BLOCK
from carrysave.weights.grouped import error_of, grouped_weights, nearest_trits, rounded_weights
from carrysave.weights.tensor_files import Tensor
from golden.lut.grouped import FastWeights
from golden.lut.weights import GroupedWeights
from hw.emit.user_files import FileError, read_text, shown

__all__ = ["CheckpointSource"]

_INDEX = "model.safetensors.index.json"
_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_qkv": "self_attn.qkv_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_sub_norm": "self_attn.attn_sub_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "ffn_sub_norm": "mlp.ffn_sub_norm",
    "ffn_gate_inp": "mlp.gate",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
_PARTS = {
    "ffn_gate_exps": ("gate_proj", "w1"),
    "ffn_up_exps": ("up_proj", "w3"),
    "ffn_down_exps": ("down_proj", "w2"),
}
_TRITS = np.arange(0, 8, 2)


class CheckpointSource(Source):
    """Tensors of a folder; experts are tensors each.

    Parameters
    ----------
    folder, bits : where they are; to which floats are rounded.
    kind : the ``model_type``.
    coding : how matrices are stored. Trits are: "offline", four in a byte, with a scale; "online",
        floats that are to be rounded to trits.
    """

    def __init__(self, folder: Path, bits: int | str, kind: str, coding: Coding) -> None:
        path, tensors = _read(folder)
        super().__init__(path, tensors, bits)
        self.trits = coding.trits
        self.layers = {f"{name}.weight": one for name, one in layers_of(coding, tensors).items()}
        self.names = dict(_NAMES)
        if kind in ("gemma2", "gemma3_text"):
            self.names["ffn_norm"] = "pre_feedforward_layernorm"
        if kind == "phi3":
            self.names["ffn_up"] = "mlp.gate_up_proj"
        self.mixtral = kind == "mixtral"
        if self.mixtral:
            self.names["ffn_gate_inp"] = "block_sparse_moe.gate"
        self.harmless = {name for name in tensors if name.endswith("rotary_emb.inv_freq")}
        # Tools of GPTQ write a bias to each layer, of zeros where the model has none.
        biases = {one.removesuffix("weight") + "bias" for one in self.layers} & set(tensors)
        self.harmless |= {name for name in biases if not tensors[name].array.any()}

    def has(self, name: str) -> bool:
        """Return whether there is a tensor, or a layer of codes in its place."""
        return super().has(name) or self.file_name(name) in self.layers

    def file_name(self, name: str) -> str:
        """Return the file's name of a tensor."""
        start, _, rest = name.partition(".")
        if start != "blk":
            return f"{self.names.get(start, start)}.{rest}"
        number, part, end = rest.split(".")
        # An expert's name is that of the file already.
        return f"model.layers.{number}.{self.names.get(part, part).replace('/', '.')}.{end}"

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor that there is."""
        if self.file_name(name) in self.layers:
            return self.layers[self.file_name(name)].shape()
        array = self._tensor(name).array
        if self._is_packed(name):
            return (4 * array.shape[0], *array.shape[1:])
        return array.shape

    def matrix(
        self, name: str, shape: tuple[int, ...], rows: tuple[int, int], part: int | None = None
    ) -> FastWeights:
        """Return weights; an expert's are a tensor by themselves."""
        if part is None:
            return super().matrix(name, shape, rows)
        start, number, tensor, end = name.split(".")
        house = "block_sparse_moe" if self.mixtral else "mlp"
        one = f"{house}.experts.{part}.{_PARTS[tensor][self.mixtral]}"
        return super().matrix(f"{start}.{number}.{one.replace('.', '/')}.{end}", shape[1:], rows)

    def _tensor(self, name: str) -> Tensor:
        tensor: Tensor = self._tensors[self.file_name(name)]
        return tensor

    def _is_packed(self, name: str) -> bool:
        packed = self.trits == "offline" and name.startswith("blk.")
        return packed and self._tensor(name).array.dtype == np.uint8

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        super()._check(name, shape)
        if layer := self.layers.get(self.file_name(name)):
            self._taken |= {f"{layer.name}.{part}" for part in layer.members}

    def _values(self, name: str) -> np.ndarray:
        if self.file_name(name) in self.layers:
            raise FileError(self.path, "must be of floats, not codes", self._where(name))
        tensor = self._tensor(name)
        if not tensor.is_float:
            text = f"must be of floats, not {tensor.array.dtype}"
            raise FileError(self.path, text, self._where(name))
        return tensor.values()

    def _weights(
        self, name: str, rows: tuple[int, int], part: int | None
    ) -> tuple[str, Iterator[GroupedWeights], float]:
        kind, weights, error = self._whole(name, rows)
        return kind, iter([weights]), error

    def _whole(self, name: str, rows: tuple[int, int]) -> tuple[str, GroupedWeights, float]:
        if layer := self.layers.get(self.file_name(name)):
            kind, weights, error = layer.weights(self.bits)
            return kind, weights.columns(slice(*rows)), error
        if self._is_packed(name):
            return "trits", *self._unpacked(name)
        values = self.floats(name, *self.shape(name))[rows[0] : rows[1]]
        if self.trits == "online" and name.startswith("blk."):
            values = nearest_trits(values)
        made = rounded_weights(values, bits=self.bits, group=BLOCK)
        tensor = self._tensor(name)
        return tensor.format or str(tensor.array.dtype), made, error_of(made, values)

    def _unpacked(self, name: str) -> tuple[GroupedWeights, float]:
        """Return trits, of which the first quarter of outputs has the lowest bits."""
        packed = self._tensor(name).array
        codes = (packed[None] >> _TRITS[:, None, None] & 3).reshape(-1, packed.shape[1])
        if codes.max(initial=0) > 2:
            raise UsageError("codes of trits must be 0..2, not 3")
        trits = codes.astype(np.int64) - 1
        scale = self.floats(f"{name}_scale", 1).astype(np.float64)
        made = grouped_weights(trits, np.full((len(trits), 1), scale[0]), bits=2, ternary=True)
        return made, error_of(made, trits * scale)


def _read(folder: Path) -> tuple[Path, dict[str, Tensor]]:
    """Read all tensors, of one file or of those of an index."""
    needs("safetensors")
    index = folder / _INDEX
    if not index.exists():
        path = folder / "model.safetensors"
        return path, tensor_files.read(path)
    try:
        places: Any = json.loads(read_text(index))["weight_map"]
        files = sorted(set(places.values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(index, f"must have a weight_map: {error!r}") from None
    tensors: dict[str, Tensor] = {}
    for file in files:
        if (
            not isinstance(file, str)
            or Path(file).name != file
            or not file.endswith(".safetensors")
        ):
            raise FileError(index, f"files must be .safetensors beside it, not {shown(repr(file))}")
        for name, tensor in tensor_files.read(folder / file).items():
            if places.get(name) != file:
                raise FileError(index, f"must say {file}", f"tensor '{shown(name)}'")
            tensors[name] = tensor
    missing = sorted(set(places) - set(tensors))
    if missing:
        raise FileError(index, "is in none of its files", f"tensor '{shown(missing[0])}'")
    return index, tensors
