"""How a checkpoint's matrices are stored, as ``quantization_config`` of its config.json says."""

from dataclasses import dataclass

from carrysave.compiler.front.compressed_schemes import schemes_of
from carrysave.compiler.front.facts import Facts
from carrysave.weights.compressed_tensors import Scheme

__all__ = ["Coding", "coding_of"]

_METHODS = ("bitnet", "gptq", "awq", "compressed-tensors")
"""Of ``quantization_config``."""
_GPTQ_HARMLESS = frozenset([
    "damp_percent",
    "damp_auto_increment",
    "static_groups",
    "true_sequential",
    "act_group_aware",
    "mse",
    "dataset",
    "tokenizer",
    "batch_size",
    "max_input_length",
    "model_seqlen",
    "pad_token_id",
    "cache_block_outputs",
    "block_name_to_quantize",
    "module_name_preceding_first_block",
    "modules_in_block_to_quantize",
    "model_name_or_path",
    "model_file_base_name",
    "use_cuda_fp16",
    "use_exllama",
    "disable_exllama",
    "exllama_config",
    "backend",
    "meta",
    "lm_head",
])
"""How codes were found, and which kernels were to run them."""
_AWQ_HARMLESS = ("backend", "do_fuse", "fuse_max_seq_len", "exllama_config", "modules_to_fuse")


@dataclass(frozen=True, kw_only=True)
class Coding:
    """How a checkpoint's matrices are stored.

    Members
    -------
    method : of :data:`_METHODS`; "": floats.
    trits : of bitnet, how matrices are trits.
    bits, group : of GPTQ and AWQ; 0 inputs of a group: all of them.
    second : zero points of GPTQ are as they are; else less one.
    symmetric : zero points are half of the codes, all of them.
    reordered : inputs of a group are those of which ``g_idx`` says so.
    ignored : layers that have no codes.
    schemes : of compressed-tensors, that layers may have.
    """

    method: str = ""
    trits: str = ""
    bits: int = 4
    group: int = 0
    second: bool = False
    symmetric: bool = False
    reordered: bool = False
    ignored: tuple[str, ...] = ()
    schemes: tuple[Scheme, ...] = ()


def coding_of(kind: str, facts: Facts) -> Coding:
    """Return how matrices are stored; refuse other codes."""
    entry = facts.take("quantization_config")
    if entry is None:
        return Coding()
    inner = Facts(facts.path, entry if isinstance(entry, dict) else {"quant_method": entry})
    method = inner.choice("quant_method", _METHODS)
    readers = {
        "bitnet": _bitnet,
        "gptq": _gptq,
        "awq": _awq,
        "compressed-tensors": _compressed,
    }
    if method == "bitnet" and kind != "bitnet":
        raise inner.refused("quant_method", "bitnet of model_type bitnet alone", method)
    return readers[method](inner)


def _bitnet(inner: Facts) -> Coding:
    inner.only("linear_class", "autobitlinear")
    mode = inner.choice("quantization_mode", ("offline", "online"), "offline")
    inner.only("use_rms_norm", False)
    inner.check_rest(("modules_to_not_convert", "rms_norm_eps"))
    return Coding(method="bitnet", trits=mode)


def _gptq(inner: Facts) -> Coding:
    bits = inner.integer("bits")
    if bits not in (2, 3, 4, 8):
        raise inner.refused("bits", "2, 3, 4 or 8", bits)
    form = inner.choice("checkpoint_format", ("gptq", "gptq_v2"), "gptq")
    inner.only("format", form)
    inner.only("is_marlin_format", False)
    inner.only("pack_dtype", "int32")
    for name in ("dynamic", "adapter"):
        inner.only(name, None, {})
    made = Coding(
        method="gptq",
        bits=bits,
        group=_group(inner, "group_size"),
        second=form == "gptq_v2",
        symmetric=inner.flag("sym", True),
        reordered=inner.flag("desc_act", False),
    )
    inner.check_rest(_GPTQ_HARMLESS)
    return made


def _awq(inner: Facts) -> Coding:
    names = ("bits", "w_bit"), ("group_size", "q_group_size")
    bits, group = (one[1] if one[1] in inner else one[0] for one in names)
    inner.only(bits, 4)
    version = inner.take("version", "gemm")
    if not isinstance(version, str) or version.lower() != "gemm":
        raise inner.refused("version", "gemm", version)
    made = Coding(
        method="awq",
        group=_group(inner, group),
        symmetric=not inner.flag("zero_point", True),
        ignored=_texts(inner, "modules_to_not_convert"),
    )
    inner.check_rest(_AWQ_HARMLESS)
    return made


def _compressed(inner: Facts) -> Coding:
    schemes = schemes_of(inner)
    made = Coding(method="compressed-tensors", schemes=schemes, ignored=_texts(inner, "ignore"))
    inner.check_rest()
    return made


def _group(inner: Facts, name: str) -> int:
    """Return the inputs of a group; 0: all."""
    if inner.take(name) == -1:
        return 0
    return inner.integer(name)


def _texts(inner: Facts, name: str) -> tuple[str, ...]:
    """Return a list of names, of which patterns and classes say nothing that tensors do not."""
    value = inner.take(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise inner.refused(name, "a list of names", value)
    return tuple(value)
