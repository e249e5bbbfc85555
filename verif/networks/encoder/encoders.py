"""Small text encoders with random weights, for tests."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from safetensors.numpy import save

from carrysave.compiler.front.encoder_weights import Encoder
from verif.networks.graphs import Builder

__all__ = ["SIZES", "graph", "tensors", "write"]

SIZES = {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "vocab_size": 50,
    "max_position_embeddings": 20,
    "type_vocab_size": 2,
}


def tensors(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Make the tensors of a file."""
    width, wide = SIZES["hidden_size"], SIZES["intermediate_size"]
    found: dict[str, np.ndarray] = {}

    def dense(name: str, depth: int, columns: int) -> None:
        found[f"{name}.weight"] = rng.normal(0, depth**-0.5, (columns, depth))
        found[f"{name}.bias"] = rng.normal(0, 0.1, columns)

    def norm(name: str) -> None:
        found[f"{name}.LayerNorm.weight"] = rng.uniform(0.5, 1.5, width)
        found[f"{name}.LayerNorm.bias"] = rng.normal(0, 0.1, width)

    for name, size in (
        ("word", "vocab_size"),
        ("position", "max_position_embeddings"),
        ("token_type", "type_vocab_size"),
    ):
        found[f"embeddings.{name}_embeddings.weight"] = rng.normal(0, 1, (SIZES[size], width))
    norm("embeddings")
    for number in range(SIZES["num_hidden_layers"]):
        own = f"encoder.layer.{number}"
        for name in ("query", "key", "value"):
            dense(f"{own}.attention.self.{name}", width, width)
        dense(f"{own}.attention.output.dense", width, width)
        norm(f"{own}.attention.output")
        dense(f"{own}.intermediate.dense", width, wide)
        dense(f"{own}.output.dense", wide, width)
        norm(f"{own}.output")
    return {name: values.astype(np.float32) for name, values in found.items()}


def write(folder: Path, found: dict[str, np.ndarray], **changes: Any) -> Path:
    """Write a model's files; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {"model_type": "bert", "hidden_act": "gelu", **SIZES, **changes}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(save(found))
    return folder


def graph(encoder: Encoder) -> onnx.ModelProto:
    """Write the encoder by ONNX's operators, for one sentence: rows of embeddings to its vector."""
    net = Builder(np.random.default_rng(1), opset=20)
    names = iter(f"t{number}" for number in range(10_000))

    def node(kind: str, *inputs: str, **attributes: Any) -> str:
        return net.node(kind, inputs, next(names), **attributes)

    def norm(own: Any, x: str) -> str:
        gamma, beta = net.constant(own.gamma), net.constant(own.beta)
        return node("LayerNormalization", x, gamma, beta, axis=-1, epsilon=1e-12)

    def dense(own: Any, x: str) -> str:
        return node("Gemm", x, net.constant(own.weights), net.constant(own.bias))

    heads = encoder.heads

    def split(x: str, perm: list[int]) -> str:
        shape = net.constant([0, heads, encoder.width // heads], np.int64)
        return node("Transpose", node("Reshape", x, shape), perm=perm)

    x = norm(encoder.norm, "x")
    for block in encoder.blocks:
        whole, width = dense(block.qkv, x), encoder.width
        q, k, v = (
            node(
                "Slice",
                whole,
                net.constant([at], np.int64),
                net.constant([at + width], np.int64),
                net.constant([1], np.int64),
            )
            for at in (0, width, 2 * width)
        )
        scores = node("MatMul", split(q, [1, 0, 2]), split(k, [1, 2, 0]))
        root = net.constant((width // heads) ** 0.5)
        shares = node("Softmax", node("Div", scores, root), axis=-1)
        context = node("MatMul", shares, split(v, [1, 0, 2]))
        rows = node(
            "Reshape",
            node("Transpose", context, perm=[1, 0, 2]),
            net.constant([-1, width], np.int64),
        )
        x = norm(block.attention, node("Add", x, dense(block.out, rows)))
        x = norm(block.feed, node("Add", x, dense(block.down, node("Gelu", dense(block.up, x)))))
    mean = node("ReduceMean", x, net.constant([0], np.int64), keepdims=1)
    net.node("LpNormalization", [mean], "y", axis=-1, p=2)
    return net.model(("tokens", encoder.width), np.float32, np.float32, (1, encoder.width))
