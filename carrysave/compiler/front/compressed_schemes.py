"""Schemes of compressed-tensors, as ``quantization_config`` of a config.json has them."""

from typing import Any

from carrysave.compiler.front.facts import Facts
from carrysave.weights.compressed_tensors import PACKED_BITS, Scheme

__all__ = ["schemes_of"]

_FORMATS = ("pack-quantized", "int-quantized", "float-quantized", "naive-quantized")
"""That are read; ``mixed-precision`` has one of each group."""
_STRATEGIES = ("tensor", "channel", "group", "block")
_HARMLESS = (
    "global_compression_ratio",
    "quantization_status",
    "version",
)
_OBSERVED = ("observer", "observer_kwargs", "scale_dtype", "zp_dtype")
"""How scales were found, and their type, which tensors say."""


def schemes_of(inner: Facts) -> tuple[Scheme, ...]:
    """Return the schemes of all groups, once each.

    Activations may be rounded in any way: the block has one of its own. Keys and values, outputs
    and transforms may not.
    """
    whole = inner.choice("format", (*_FORMATS, "mixed-precision"))
    inner.only("kv_cache_scheme", None)
    for name in ("sparsity_config", "transform_config"):
        value = inner.take(name, {})
        if value != {} and not (isinstance(value, dict) and value.get("format") == "dense"):
            raise inner.refused(name, "empty or dense", value)
    groups = inner.take("config_groups")
    if not isinstance(groups, dict) or not groups:
        raise inner.refused("config_groups", "an object of groups", groups)
    schemes = [_of_group(inner, name, group, whole) for name, group in groups.items()]
    for name in _HARMLESS:
        inner.take(name)
    return tuple(dict.fromkeys(schemes))


def _of_group(outer: Facts, name: str, group: Any, whole: str) -> Scheme:
    """Return the scheme of a group."""
    if not isinstance(group, dict):
        raise outer.refused(f"config_groups {name}", "an object", group)
    inner = Facts(outer.path, group)
    form = inner.choice("format", _FORMATS, None if whole == "mixed-precision" else whole)
    weights = inner.take("weights")
    if not isinstance(weights, dict):
        raise inner.refused("weights", "an object", weights)
    inner.only("output_activations", None)
    inner.check_rest(("input_activations", "targets"))
    return _of_weights(Facts(outer.path, weights), form)


def _of_weights(inner: Facts, form: str) -> Scheme:
    """Return a scheme of weights."""
    floats = inner.choice("type", ("int", "float"), "int") == "float"
    bits = inner.integer("num_bits", 8)
    packed = form == "pack-quantized"
    if (bits not in PACKED_BITS) if packed else bits != 8:
        raise inner.refused("num_bits", "4 or 8" if packed else "8, as codes are bytes", bits)
    legal = {"int-quantized": ("int",), "pack-quantized": ("int",), "float-quantized": ("float",)}
    given = "float" if floats else "int"
    if given not in legal.get(form, ("int", "float")):
        raise inner.refused("type", f"{legal[form][0]} where the format is {form}", given)
    size = inner.take("group_size", -1)
    guess = "tensor" if "group_size" not in inner else "channel" if size == -1 else "group"
    strategy = inner.choice("strategy", _STRATEGIES, guess)
    if strategy == "block" and not floats:
        raise inner.refused("strategy", "tensor, channel or group of integers", strategy)
    group = inner.integer("group_size") if strategy == "group" else 0
    symmetric = inner.flag("symmetric", True)
    if floats and not symmetric:
        raise inner.refused("symmetric", "true of floats", symmetric)
    inner.only("dynamic", False)
    order = inner.take("actorder")
    if order not in (None, False, True, "group", "dynamic", "weight", "static"):
        raise inner.refused("actorder", "null, group, dynamic, weight or static", order)
    reordered = order in (True, "group", "dynamic")
    if reordered and (strategy != "group" or floats):
        raise inner.refused("actorder", "null but of groups of integers", order)
    block = (0, 0)
    if strategy == "block":
        block = _block(inner)
    else:
        inner.only("block_structure", None)
    inner.check_rest(_OBSERVED)
    return Scheme(
        bits=bits,
        floats=floats,
        strategy=strategy,
        group=group,
        block=block,
        symmetric=symmetric,
        reordered=reordered,
    )


def _block(inner: Facts) -> tuple[int, int]:
    """Return the outputs and inputs of a block."""
    value = inner.take("block_structure")
    right = isinstance(value, list) and len(value) == 2
    if not right or not all(type(one) is int and 1 <= one <= 1 << 24 for one in value):
        raise inner.refused("block_structure", "outputs and inputs of a block", value)
    return value[0], value[1]
