"""Checkpoints of codes, in all layouts that are read."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from carrysave.weights.tensor_files import Tensor
from verif.language import coded_layers
from verif.language.coded_layers import codes_of

__all__ = ["LAYOUTS", "Coded", "Tensors", "coded", "compressed", "scheme"]

Tensors = dict[str, Any]
Coded = tuple[Mapping[str, Tensor], np.ndarray]
"""A layer's tensors, and its values."""


def coded(
    weights: Mapping[str, np.ndarray], code: Callable[[np.ndarray], Coded], part: str = "_proj"
) -> tuple[Tensors, dict[str, np.ndarray]]:
    """Return a checkpoint whose layers are codes, and the weights that it stands for."""
    stored: Tensors = {}
    values = dict(weights)
    for name, one in weights.items():
        if part not in name or not name.endswith(".weight"):
            stored[name] = one
            continue
        tensors, values[name] = code(one)
        layer = name.removesuffix("weight")
        stored |= {layer + member: tensor for member, tensor in tensors.items()}
    return stored, values


def order_of(values: np.ndarray) -> np.ndarray:
    """Return an order of inputs, another one for each matrix but the gated ones' two."""
    seed = 1 if len(values) > 64 else int(1e6 * np.abs(values).sum())
    return np.random.default_rng(seed).permutation(values.shape[1])


def gptq(bits: int, size: int, *, sym: bool, act: bool, second: bool = False, **more: Any) -> Any:
    """Return what codes a matrix, and the configuration of it."""

    def code(values: np.ndarray) -> Coded:
        order = order_of(values) if act else None
        group = size if size > 0 else values.shape[1]
        how = {"symmetric": sym, "least": not second, **more}
        made = codes_of(values, bits, group, order=order, **how)
        return coded_layers.gptq(made, second=second, g_idx=act or bits == 4), made.values()

    form = "gptq_v2" if second else "gptq"
    config = {"bits": bits, "group_size": size, "sym": sym, "desc_act": act}
    return code, {"quant_method": "gptq", "checkpoint_format": form, "damp_percent": 0.1, **config}


def awq(size: int, *, sym: bool = False) -> Any:
    def code(values: np.ndarray) -> Coded:
        made = codes_of(values, 4, size, symmetric=sym)
        return coded_layers.awq(made), made.values()

    config = {"quant_method": "awq", "bits": 4, "group_size": size, "zero_point": not sym}
    return code, {**config, "version": "gemm", "modules_to_not_convert": None}


def compressed(form: str, bits: int, size: int, **more: Any) -> Any:
    """Size: 0, of a tensor; -1, of channels."""
    sym, act, kind = more.get("sym", True), more.get("act", False), more.get("kind", "bf16")

    def code(values: np.ndarray) -> Coded:
        order = order_of(values) if act else None
        flat = values.reshape(1, -1) if size == 0 else values
        group = size if size > 0 else flat.shape[1]
        made = codes_of(flat, bits, group, symmetric=sym, order=order, kind=kind)
        if size == 0:
            made = coded_layers.Codes(
                made.codes.reshape(values.shape),
                np.zeros(values.shape[1], np.int64),
                np.repeat(made.scales, len(values), axis=0),
                np.repeat(made.zeros, len(values), axis=0),
                bits,
                kind,
            )
        tensors = coded_layers.compressed(made, packed=form == "pack-quantized", reordered=act)
        if size == 0:
            tensors["weight_scale"] = made.scale(made.scales[:1, 0])
            tensors["weight_zero_point"] = Tensor(array=np.zeros(1, np.int8))
        return tensors, made.values()

    return code, scheme(form, bits, size, sym=sym, act=act)


def scheme(form: str, bits: int, size: int, *, sym: bool = True, act: bool = False) -> Any:
    """Return the configuration."""
    weights: dict[str, Any] = {
        "num_bits": bits,
        "type": "float" if form == "float-quantized" else "int",
        "symmetric": sym,
        "strategy": {0: "tensor", -1: "channel"}.get(size, "group"),
        "group_size": size if size > 0 else None,
        "block_structure": None,
        "dynamic": False,
        "actorder": "group" if act else None,
        "observer": "minmax",
        "observer_kwargs": {},
    }
    of_bytes = form != "pack-quantized"
    activations = {"num_bits": 8, "dynamic": True, "strategy": "token"} if of_bytes else None
    group = {
        "targets": ["Linear"],
        "weights": weights,
        "input_activations": activations,
        "output_activations": None,
    }
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
        "kv_cache_scheme": None,
        "quantization_status": "compressed",
        "global_compression_ratio": 1.9,
    }


LAYOUTS: dict[str, Any] = {
    "gptq": gptq(4, 32, sym=True, act=False),
    "gptq of columns": gptq(4, -1, sym=True, act=False),
    "gptq of zero points": gptq(4, 32, sym=False, act=False),
    "gptq in order of activations": gptq(4, 32, sym=True, act=True),
    "gptq of zero points in order of activations": gptq(4, 32, sym=False, act=True),
    "gptq of 2 bits": gptq(2, 32, sym=False, act=False),
    "gptq of 3 bits": gptq(3, 32, sym=False, act=True),
    "gptq of 8 bits": gptq(8, 32, sym=False, act=False),
    "gptq_v2": gptq(4, 32, sym=False, act=False, second=True),
    "gptq_v2 of 8 bits": gptq(8, 32, sym=True, act=True, second=True),
    "awq": awq(32),
    "awq of columns of half": awq(16),
    "awq without zero points": awq(32, sym=True),
    "packed int4": compressed("pack-quantized", 4, 32),
    "packed int4 of zero points": compressed("pack-quantized", 4, 32, sym=False),
    "packed int4 in order": compressed("pack-quantized", 4, 32, act=True, kind="fp16"),
    "packed int4 of zero points in order": compressed("pack-quantized", 4, 32, sym=False, act=True),
    "packed int4 of channels": compressed("pack-quantized", 4, -1, sym=False, kind="fp32"),
    "packed int8": compressed("pack-quantized", 8, 32, kind="fp16"),
    "int8 of channels": compressed("int-quantized", 8, -1, kind="fp16"),
    "int8 of zero points": compressed("int-quantized", 8, -1, sym=False, kind="fp16"),
    "int8 of a tensor": compressed("int-quantized", 8, 0, kind="fp16"),
    "naive int8 of groups": compressed("naive-quantized", 8, 32, kind="fp16"),
}
