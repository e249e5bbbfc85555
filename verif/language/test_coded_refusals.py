"""Checkpoints of codes that contradict themselves, or are of no layout that is read: by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.front.checkpoint import load_checkpoint
from carrysave.weights.tensor_files import Tensor
from hw.emit.user_files import FileError
from verif.language.coded_layouts import LAYOUTS, Tensors, coded, scheme
from verif.language.tiny_models import config_of, weights_of, write_checkpoint
from verif.support.fuzz import broken, budgets, fuzz


def refusal(folder: Path, entry: Any, stored: Tensors) -> str:
    config = config_of("llama", quantization_config=entry)
    with pytest.raises(FileError) as raised:
        load_checkpoint(write_checkpoint(folder / "m", config, stored), 8)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("layout", "changes", "says"),
    [
        ("gptq", {"bits": 5}, "bits must be 2, 3, 4 or 8, not 5"),
        ("gptq", {"bits": 8}, "tensor 'model.layers.0.self_attn.q_proj.weight': must be 64 x 64"),
        ("gptq", {"group_size": 64}, "4 bits in groups of 64, as quantization_config says"),
        ("gptq", {"group_size": 0}, "group_size must be 1.."),
        ("gptq", {"checkpoint_format": "marlin"}, "checkpoint_format must be one of gptq, gptq"),
        ("gptq", {"dynamic": {"up": {"bits": 8}}}, "dynamic must be None or {}"),
        ("gptq", {"new": 1}, "fact 'new': is not known here"),
        ("gptq of zero points", {"sym": True}, "zero points must be 8 where codes are symmetric"),
        ("gptq in order of activations", {"desc_act": False}, "g_idx must ascend where desc_act"),
        ("gptq of 8 bits", {"desc_act": True}, "g_idx must be there where desc_act is true"),
        ("awq", {"version": "gemv"}, "version must be gemm, not 'gemv'"),
        ("awq", {"bits": 8}, "bits must be 4, not 8"),
        ("awq", {"zero_point": False}, "zero points must be 8 where codes are symmetric"),
        ("awq", {"group_size": 16}, "in groups of 16, as quantization_config says, not 4 in"),
        (
            "awq",
            {"modules_to_not_convert": ["model.layers.1.mlp.up_proj"]},
            "layers.1.mlp.up_proj.weight': must have no codes, as quantization_config leaves",
        ),
        ("awq", {"quant_method": "bitnet"}, "quant_method must be bitnet of model_type bitnet"),
        ("awq", {"quant_method": "hqq"}, "quant_method must be one of bitnet, gptq, awq, compr"),
        ("packed int4", {"format": "marlin-24"}, "format must be one of pack-quantized, int-qua"),
        ("packed int4", {"kv_cache_scheme": {"num_bits": 8}}, "kv_cache_scheme must be None"),
        ("packed int4", {"sparsity_config": {"format": "sparse-24-bitmask"}}, "sparsity_config"),
        ("packed int4", {"config_groups": {}}, "config_groups must be an object of groups"),
        ("packed int4", {"ignore": ["model.layers.0.self_attn.q_proj"]}, "must have no codes"),
        ("packed int4", {"ignore": "lm_head"}, "ignore must be a list of names"),
    ],
)
def test_configurations_that_are_refused(
    layout: str, changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    code, entry = LAYOUTS[layout]
    stored, _ = coded(weights_of(config_of("llama")), code)
    found = refusal(tmp_path, {**entry, **changes}, stored)
    assert says in found, found


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"num_bits": 3}, "num_bits must be 4 or 8, not 3"),
        ({"type": "float"}, "type must be int where the format is pack-quantized"),
        ({"strategy": "tensor_group"}, "strategy must be one of tensor, channel, group, block"),
        ({"strategy": "block"}, "strategy must be tensor, channel or group of integers"),
        ({"group_size": 64}, "weight_scale must be 64 x 1, not (64, 2)"),
        ({"dynamic": True}, "dynamic must be False, not True"),
        ({"actorder": "group"}, "weight_g_idx must be there where actorder is group"),
        ({"actorder": "best"}, "actorder must be null, group"),
        ({"symmetric": False}, "weight_zero_point must be there where weights are not symmetric"),
        ({"more": 1}, "fact 'more': is not known here"),
    ],
)
def test_schemes_that_are_refused(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    code, _ = LAYOUTS["packed int4"]
    stored, _ = coded(weights_of(config_of("llama")), code)
    entry = scheme("pack-quantized", 4, 32)
    entry["config_groups"]["group_0"]["weights"] |= changes
    found = refusal(tmp_path, entry, stored)
    assert says in found, found


@pytest.mark.parametrize("layout", ["gptq in order of activations", "awq", "packed int4 in order"])
def test_tensors_that_are_missing_or_wrong(layout: str, tmp_path: Path) -> None:
    """Each of a layer's: gone, of another shape, of another type; all are said in one line."""
    code, entry = LAYOUTS[layout]
    stored, _ = coded(weights_of(config_of("llama")), code)
    layer = "model.layers.1.mlp.down_proj"
    parts = [name for name in stored if name.startswith(layer)]
    assert len(parts) > 2
    for name in parts:
        others = {one: tensor for one, tensor in stored.items() if one != name}
        array, form = stored[name].array, stored[name].format
        changed = [
            Tensor(array=array[..., :-1], format=form),
            Tensor(array=array.reshape(-1)[:0], format=form),
            Tensor(array=array.astype(np.float64)),
        ]
        for more in ({}, *({name: one} for one in changed)):
            assert layer in refusal(tmp_path, entry, {**others, **more}), (name, more)
    for name in (one for one in parts if one.endswith("g_idx")):
        array = np.where(np.arange(96) == 5, 99, stored[name].array)
        found = refusal(tmp_path, entry, {**stored, name: Tensor(array=array)})
        assert "g_idx must put 32 of 96 rows into each of 3 groups" in found


def test_layers_that_contradict_themselves(tmp_path: Path) -> None:
    code, entry = LAYOUTS["packed int4"]
    stored, _ = coded(weights_of(config_of("llama")), code)
    layer = "model.layers.0.mlp.up_proj"
    zeros = Tensor(array=np.ones((96, 2), np.int8))
    for part, tensor, says in (
        ("weight", Tensor(array=np.zeros((96, 64), np.int8)), "either weight or weight_packed"),
        ("weight_zero_point", zeros, "must be zeros where weights are symmetric"),
        ("weight_g_idx", Tensor(array=np.zeros(64, np.int32)), "must be -1 where actorder is not"),
    ):
        assert says in refusal(tmp_path, entry, {**stored, f"{layer}.{part}": tensor})
    # What says that there is no order.
    stored[f"{layer}.weight_g_idx"] = Tensor(array=np.full(64, -1, np.int32))
    config = config_of("llama", quantization_config=entry)
    load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)


def test_codes_need_their_configuration(tmp_path: Path) -> None:
    code, _ = LAYOUTS["gptq"]
    stored, _ = coded(weights_of(config_of("llama")), code)
    assert "q_proj.weight': must be 64 x 64, not there" in refusal(tmp_path, None, stored)


def test_embeddings_are_no_codes(tmp_path: Path) -> None:
    code, entry = LAYOUTS["packed int4"]
    stored, _ = coded(weights_of(config_of("llama")), code, "embed")
    assert "embed_tokens.weight': must be of floats, not codes" in refusal(tmp_path, entry, stored)


@budgets
def test_broken_configurations(seconds: float, tmp_path: Path) -> None:
    """Of tensors that are right: read, or refused in one line."""
    names = (
        "gptq in order of activations",
        "awq",
        "packed int4 of zero points",
        "int8 of channels",
    )
    coded_ = {name: coded(weights_of(config_of("llama")), LAYOUTS[name][0])[0] for name in names}
    folders = {}
    for name, stored in coded_.items():
        config = config_of("llama", quantization_config=LAYOUTS[name][1])
        folders[name] = write_checkpoint(tmp_path / name, config, stored)
    good = [(folder / "config.json").read_bytes() for folder in folders.values()]

    def read(data: bytes) -> None:
        for folder in folders.values():
            (folder / "config.json").write_bytes(data)
            try:
                load_checkpoint(folder, 8)
            except FileError as error:
                last = error
        raise last

    fuzz(read, broken(good, most=3), seconds)
