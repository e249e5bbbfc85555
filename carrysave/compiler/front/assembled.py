"""A decoder from its description and its tensors, whatever kind of file they are of."""

from typing import Any

import numpy as np

from carrysave.compiler.front.decoder import FEED, FORMS, Experts, Layer, Model
from carrysave.compiler.front.embedding import Embedding
from carrysave.compiler.front.families import NORMS, Description, Mixture
from carrysave.compiler.front.sources import Source
from golden.lut.grouped import FastWeights
from hw.emit.user_files import FileError

__all__ = ["assembled"]

_FUSED = {"attn_q": "attn_qkv", "attn_k": "attn_qkv", "attn_v": "attn_qkv"}
_ROUTER_BITS = 15


def assembled(description: Description, source: Source, harmless: set[str]) -> Model:
    """Take a model's weights out of its file.

    Parameters
    ----------
    description : what its facts say.
    source : tensors.
    harmless : the file's names of tensors that change nothing.

    Raises
    ------
    FileError
        Tensors are missing, of other shapes than facts say, or not known here.
    """
    shape = description.shape
    # The largest matrix first: what is made of it meanwhile is gone before there are others.
    embedding, head = _words(description, source)
    layers = [_Reader(description, source, number).layer() for number in range(shape.layers)]
    gain = source.floats("output_norm.weight", shape.width) + np.float32(description.gain_more)
    source.check_rest(harmless)
    return Model(
        shape=shape,
        embedding=embedding,
        layers=layers,
        gain=gain,
        head=head,
        embedding_scale=embedding.scale,
    )


def _words(description: Description, source: Source) -> tuple[Embedding, FastWeights]:
    """Return the embedding, and the matrix to the words, whose columns may be its rows."""
    table, output = "token_embd.weight", "output.weight"
    words, width = size = description.shape.words, description.shape.width
    scale, apart = float(np.float32(description.embedding_scale)), source.has(output)
    if apart and description.tied:
        if not np.array_equal(source.floats(output, *size), source.floats(table, *size)):
            text = "must be the embedding, as the model's facts say"
            raise FileError(source.path, text, f"tensor '{source.file_name(output)}'")
    elif apart or description.tied is False:
        embedding = source.embedding(table, words, width, scale)
        return embedding, source.matrix(output, size, (0, words))
    head = source.matrix(table, size, (0, words))
    if not source.is_exact(table):
        return source.embedding(table, words, width, scale), head
    return Embedding(shape=size, rows=head.floats, scale=scale, head=head), head


class _Reader:
    """Reads a layer."""

    def __init__(self, description: Description, source: Source, number: int) -> None:
        self.description, self.source, self.number = description, source, number
        shape = description.shape
        inner, shared = shape.heads * shape.head, shape.shared * shape.head
        self.sizes = {
            "attn_q": (inner, shape.width),
            "attn_k": (shared, shape.width),
            "attn_v": (shared, shape.width),
            "attn_output": (shape.width, inner),
            "ffn_gate": (shape.hidden, shape.width),
            "ffn_up": (shape.hidden, shape.width),
            "ffn_down": (shape.width, shape.hidden),
        }
        self.fused: dict[str, str] = {}
        q, qkv, up, gate = (
            self._name(f"{one}.weight") for one in ("attn_q", "attn_qkv", "ffn_up", "ffn_gate")
        )
        fused, twice = description.family.fused, (2 * shape.hidden, shape.width)
        if source.has(qkv) or (fused and not source.has(q)):
            self.fused |= _FUSED
        two = fused or (source.has(up) and source.shape(up) == twice)
        if two and not source.has(gate):
            self.fused |= {"ffn_gate": "ffn_up"}

    def layer(self) -> Layer:
        """Return the layer."""
        names = FORMS["attention"] + (() if self.description.mixture else FEED)
        gains: dict[str, Any] = {"attention_gain": None, "feed_gain": None}
        gains |= {NORMS[name]: self._gain(name) for name in self.description.family.norms}
        return Layer(
            matrices={name: self._matrix(name) for name in names},
            biases={name: bias for name in names if (bias := self._bias(name)) is not None},
            rope=self.description.ropes[self.number],
            window=self.description.windows[self.number],
            experts=self._experts(self.description.mixture),
            **gains,
        )

    def _name(self, name: str) -> str:
        return f"blk.{self.number}.{name}"

    def _order(self, name: str) -> np.ndarray | None:
        """Return which outputs pairs that lie side by side are, of queries and keys."""
        halves, head = self.description.halves, self.description.shape.head
        if not halves or name not in ("attn_q", "attn_k"):
            return None
        pairs = np.arange(halves).reshape(2, -1).T.reshape(-1)
        one = np.concatenate([pairs, np.arange(halves, head)])
        starts = np.arange(0, self.sizes[name][0], head)
        return np.asarray((starts[:, None] + one).reshape(-1))

    def _rows(self, name: str) -> tuple[str, int, tuple[int, int]]:
        """Return the tensor that has a matrix, its outputs, and which of them are the matrix's."""
        tensor = self.fused.get(name, name)
        parts = [one for one in self.sizes if self.fused.get(one, one) == tensor]
        ends = np.cumsum([self.sizes[one][0] for one in parts])
        end = int(ends[parts.index(name)])
        return tensor, int(ends[-1]), (end - self.sizes[name][0], end)

    def _matrix(self, name: str) -> FastWeights:
        """Read a matrix; queries and keys in the order of pairs."""
        tensor, outputs, rows = self._rows(name)
        whole = self._name(f"{tensor}.weight")
        weights = self.source.matrix(whole, (outputs, self.sizes[name][1]), rows)
        order = self._order(name)
        return weights if order is None else weights.columns(order)

    def _bias(self, name: str) -> np.ndarray | None:
        """Read what is added to a matrix's products, if there is anything, or must be."""
        tensor, outputs, (first, last) = self._rows(name)
        bias, wanted = self._name(f"{tensor}.bias"), self.description.biases
        if name not in wanted if wanted is not None else not self.source.has(bias):
            return None
        values, order = self.source.floats(bias, outputs)[first:last], self._order(name)
        return values if order is None else values[order]

    def _gain(self, name: str) -> np.ndarray:
        """Read the gains of a norm."""
        shape, family = self.description.shape, self.description.family
        if name in ("attn_q_norm", "attn_k_norm"):
            matrix = name.removesuffix("_norm")
            size = self.sizes[matrix][0] if family.whole else shape.head
            gain, order = (
                self.source.floats(self._name(f"{name}.weight"), size),
                self._order(matrix),
            )
            if order is not None:
                gain = gain[order[:size]]
        else:
            sizes = {"attn_sub_norm": self.sizes["attn_output"][1], "ffn_sub_norm": shape.hidden}
            gain = self.source.floats(self._name(f"{name}.weight"), sizes.get(name, shape.width))
        return gain + np.float32(self.description.gain_more)

    def _experts(self, mixture: Mixture | None) -> Experts | None:
        """Read experts and their router."""
        if mixture is None:
            return None
        width, count = self.description.shape.width, mixture.count
        values = self.source.floats(self._name("ffn_gate_inp.weight"), count, width)
        values = values.astype(np.float64)
        scales = np.abs(values).max(axis=1) / ((1 << _ROUTER_BITS) - 1)
        router = np.rint(values / np.where(scales > 0, scales, 1)[:, None]).astype(np.int64)
        sizes = {
            "ffn_gate": (mixture.hidden, width),
            "ffn_up": (mixture.hidden, width),
            "ffn_down": (width, mixture.hidden),
        }

        def expert(number: int, name: str) -> FastWeights:
            tensor, (outputs, inputs) = self._name(f"{name}_exps.weight"), sizes[name]
            return self.source.matrix(tensor, (count, outputs, inputs), (0, outputs), number)

        return Experts(
            router=router,
            scales=scales,
            used=mixture.used,
            renormalised=mixture.renormalised,
            each=tuple({name: expert(one, name) for name in FEED} for one in range(count)),
        )
