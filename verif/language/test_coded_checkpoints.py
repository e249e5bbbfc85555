"""Checkpoints of codes: logits are those of the weights that the codes stand for.

Layers are written by :mod:`verif.language.coded_layers`, number by number; the reference in doubles
multiplies by scale * (code - zero point), and knows no codes.
"""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.front.checkpoint import load_checkpoint
from carrysave.compiler.target.target import Target
from carrysave.weights.tensor_files import Tensor
from hw.emit.user_files import FileError
from scripts.language.float_units import FLOATS
from verif.compiler import runners
from verif.language.coded_layouts import LAYOUTS, Coded, coded, compressed, scheme
from verif.language.reference_decoder import logits
from verif.language.tiny_models import TOKENS, config_of, weights_of, write_checkpoint
from verif.soc.driver.conftest import library as library

TEXT = np.random.default_rng(1).integers(0, len(TOKENS), 24)


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_logits_are_those_of_what_codes_stand_for(layout: str, tmp_path: Path) -> None:
    code, entry = LAYOUTS[layout]
    config = config_of("llama", quantization_config=entry)
    stored, values = coded(weights_of(config, quantised="F32"), code)
    model, rounded = load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)
    wanted = logits(config, values, TEXT)
    (off,) = (most for kind, (_, most) in rounded.items() if kind not in ("fp32", "F32"))
    halves = entry["quant_method"] != "compressed-tensors" or "16" in stored[
        "model.layers.0.mlp.up_proj.weight_scale"
    ].format.replace("bf16", "")
    assert off == 0 if halves else 0 <= off < 4e-4
    # The matrix to the words is of floats, rounded to 8 bits, in both.
    head = model.head
    rows = np.repeat(head.scales, head.group, axis=0) * head.integers.reshape(64, -1)
    wanted = logits(config, {**values, "lm_head.weight": rows.T.astype(np.float64)}, TEXT)
    assert error(Decoder(model, cache=32, units=FLOATS).step(TEXT), wanted) < 2e-5 + 2 * off
    assert error(Decoder(model, cache=32).step(TEXT), wanted) < 0.03


@pytest.mark.parametrize("strategy", ["tensor", "channel", "group", "block"])
def test_floats_of_eight_bits(strategy: str, tmp_path: Path) -> None:
    """E4M3 times scales, rounded to 8 bits in groups of 32."""
    sizes = {"tensor": (10**6, 10**6), "channel": (1, 10**6), "group": (1, 32), "block": (48, 40)}

    def code(values: np.ndarray) -> Coded:
        high, wide = sizes[strategy]
        outputs, inputs = values.shape
        blocks = -(-outputs // high), -(-inputs // wide)
        scales = np.empty(blocks, np.float32)
        whole = np.empty(values.shape)
        codes = np.empty(values.shape, ml_dtypes.float8_e4m3fn)
        for i in range(blocks[0]):
            for j in range(blocks[1]):
                place = np.s_[i * high : (i + 1) * high, j * wide : (j + 1) * wide]
                scales[i, j] = np.abs(values[place]).max() / 448
                codes[place] = (values[place] / scales[i, j]).astype(codes.dtype)
                whole[place] = codes[place].astype(np.float64) * scales[i, j]
        given = scales.reshape(-1) if strategy == "tensor" else scales
        tensors = {
            "weight": Tensor(array=codes.view(np.uint8), format="e4m3"),
            "weight_scale": Tensor(array=given.view(np.uint32), format="fp32"),
            "input_scale": Tensor(array=np.ones(1, np.float32).view(np.uint32), format="fp32"),
        }
        return tensors, whole

    size = {"tensor": 0, "channel": -1}.get(strategy, 32)
    entry = scheme("float-quantized", 8, size)
    if strategy == "block":
        weights = entry["config_groups"]["group_0"]["weights"]
        weights |= {"strategy": "block", "block_structure": [48, 40], "group_size": None}
    config = config_of("llama", quantization_config=entry)
    stored, values = coded(weights_of(config), code)
    model, rounded = load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)
    wanted = logits(config, values, TEXT)
    assert 0.002 < rounded["F8_E4M3 with scales"][1] < 0.01
    assert error(Decoder(model, cache=32, units=FLOATS).step(TEXT), wanted) < 0.012
    assert error(Decoder(model, cache=32).step(TEXT), wanted) < 0.03


@pytest.mark.parametrize("kind", ["phi3", "qwen2", "mixtral", "gemma2"])
@pytest.mark.parametrize("layout", ["gptq of zero points", "packed int4 in order"])
def test_families(kind: str, layout: str, tmp_path: Path) -> None:
    """Matrices of several, biases, experts, and norms behind; codes are as near as for a llama.

    Where scores of experts are nearly equal, rounded activations may go to another one: of the seed
    here they do not.
    """
    code, entry = LAYOUTS[layout]
    config = config_of(kind, quantization_config=entry, tie_word_embeddings=True)
    parts = (".w1", ".w2", ".w3") if kind == "mixtral" else ("_proj",)
    stored = dict(weights_of(config, seed=4))
    values = dict(stored)
    for part in parts:
        stored, some = coded(stored, code, part)
        values |= {name: one for name, one in some.items() if part in name and "." in name[-7:]}
    model, _ = load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)
    wanted = logits(config, values, TEXT)
    assert error(Decoder(model, cache=32, units=FLOATS).step(TEXT), wanted) < 3e-5
    assert error(Decoder(model, cache=32).step(TEXT), wanted) < 0.03


@pytest.mark.parametrize(
    ("form", "bits", "size"), [("int-quantized", 8, -1), ("pack-quantized", 4, 160)]
)
def test_wide_groups_are_several(form: str, bits: int, size: int, tmp_path: Path) -> None:
    """Of 32 rows, with the scales of the whole: sums stay exact, activations near."""
    code, entry = compressed(form, bits, size, kind="fp16")
    config = config_of("llama", quantization_config=entry, intermediate_size=640)
    stored, values = coded(weights_of(config), code)
    model, _ = load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)
    down = model.layers[0].matrices["ffn_down"]
    assert (down.group, len(down.scales)) == (32, 20)
    wanted = logits(config, values, TEXT)
    assert error(Decoder(model, cache=32, units=FLOATS).step(TEXT), wanted) < 2e-5
    assert error(Decoder(model, cache=32).step(TEXT), wanted) < 0.03


@pytest.mark.parametrize("runner", ["golden", "driver", "c"])
@pytest.mark.parametrize("layout", list(LAYOUTS)[4:5])
def test_programs_take_rows_in_another_order(
    layout: str, runner: str, library: Any, tmp_path: Path
) -> None:
    """The processor puts activations in order: logits are those of `chat`, bit by bit."""
    code, entry = LAYOUTS[layout]
    config = config_of("llama", quantization_config=entry)
    stored, _ = coded(weights_of(config), code)
    model, _ = load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)
    target = Target(block_of({"engine": "systolic_os(m=2,n=8,b_width=4)"}))
    program = compile_decoder(model, target, cache=8)
    on = {
        "golden": runners.on_golden,
        "driver": runners.on_driver,
        "c": runners.on_c(library),
    }[runner]
    tokens = TEXT[:3]
    made = ProgramDecoder(program, *on(program), 8).step(tokens)
    assert np.array_equal(made, Decoder(model, cache=8).step(tokens))


def test_biases_of_zeros_are_none(tmp_path: Path) -> None:
    """Tools of GPTQ write them; others are refused."""
    code, entry = LAYOUTS["gptq"]
    config = config_of("llama", quantization_config=entry)
    stored, _ = coded(weights_of(config), code)
    name = "model.layers.0.mlp.up_proj.bias"
    stored[name] = np.zeros(96, np.float32)
    load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)
    stored[name][5] = 1
    with pytest.raises(FileError, match=r"up_proj\.bias': is not known here"):
        load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)


def test_layers_of_two_schemes(tmp_path: Path) -> None:
    """Of 4 bits in groups, and of 8 in channels: each layer has the one that its tensors fit."""
    four, of_four = LAYOUTS["packed int4"]
    eight, of_eight = LAYOUTS["int8 of channels"]
    groups = {
        name: {**entry["config_groups"]["group_0"], "format": entry["format"]}
        for name, entry in (("a", of_four), ("b", of_eight))
    }
    entry = {**of_four, "format": "mixed-precision", "config_groups": groups}
    config = config_of("llama", quantization_config=entry)
    weights = weights_of(config)
    stored, values = coded(weights, four, "self_attn")
    stored, more = coded(stored, eight, "mlp")
    values |= {name: one for name, one in more.items() if "mlp" in name}
    model, rounded = load_checkpoint(write_checkpoint(tmp_path / "m", config, stored), 8)
    assert {kind: count for kind, (count, _) in rounded.items()} == {
        "int4 of compressed-tensors": 8,
        "int8 of compressed-tensors": 6,
        "fp32": 1,
    }
    wanted = logits(config, values, TEXT)
    assert error(Decoder(model, cache=32, units=FLOATS).step(TEXT), wanted) < 2e-5
