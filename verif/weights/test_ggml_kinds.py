"""All kinds of ggml's blocks: floats as its own library has them, and codes with scales of fp16."""

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize, quantize

from carrysave.errors import UsageError
from carrysave.weights import image
from carrysave.weights.gguf import read_gguf
from carrysave.weights.gguf_tensor import KINDS, GgufTensor, bytes_of
from carrysave.weights.grouped import error_of, rounded_weights
from golden.lut.grouped import FastWeights
from golden.lut.image import Image, unpack_image
from hw.emit.user_files import FileError

COLUMNS, ROWS = 4, 512
SCALES = {
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q4_K": (0, 2),
    "Q5_K": (0, 2),
    "Q6_K": (208,),
    "IQ4_NL": (0,),
    "IQ4_XS": (0,),
    "TQ1_0": (52,),
    "TQ2_0": (64,),
    "IQ2_XXS": (0,),
    "IQ2_XS": (0,),
    "IQ2_S": (0,),
    "IQ3_XXS": (0,),
    "IQ3_S": (0,),
    "IQ1_S": (0,),
    "Q4_0": (0,),
    "Q4_1": (0, 2),
    "Q5_0": (0,),
    "Q5_1": (0, 2),
    "Q8_0": (0,),
}
"""Where a block has numbers of fp16."""
CODES = np.array([0, 2, 4, 6])[:, None, None]
"""Bits of a byte with four trits."""
CODED = [kind for kind in KINDS.values() if kind.startswith(("Q", "TQ", "IQ4", "MX", "NV", "I2_S"))]
WITHOUT = ("I2_S", "Q8_K")
"""Kinds that the library has no floats of."""


def blocks(
    kind: str, seed: int = 1, shape: tuple[int, int] = (COLUMNS, ROWS), most: float = 0.01
) -> np.ndarray:
    """Return bytes of a matrix, with all codes and steps at random, and scales of use."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 256, bytes_of(kind, shape), dtype=np.uint8)
    if kind == "I2_S":
        data[:-32] = (rng.integers(0, 3, (4, COLUMNS * ROWS // 4)) << CODES[..., 0]).sum(axis=0)
        data[-32:-28] = np.frombuffer(np.float32(0.0371).tobytes(), np.uint8)
        return data
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]][1]
    parts = data.reshape(-1, size)

    def halves() -> np.ndarray:
        return rng.uniform(most / 8, most, (len(parts), 1)).astype(np.float16).view(np.uint8)

    for place in SCALES.get(kind, ()):
        parts[:, place : place + 2] = halves()
    if kind == "TQ2_0":
        parts[:, :64] = (rng.integers(0, 3, (4, len(parts), 64)) << CODES).sum(axis=0)
    if kind == "Q8_K":
        parts[:, :4] = rng.uniform(1e-4, 1e-2, (len(parts), 1)).astype("<f4").view(np.uint8)
    if kind == "MXFP4":
        parts[:, 0] = rng.integers(115, 130, len(parts))
    if kind == "NVFP4":
        parts[:, :4] = rng.integers(1, 0x7F, (len(parts), 4))
    if kind in ("F16", "BF16", "F32"):
        values = rng.normal(size=(COLUMNS, ROWS)).astype(np.float32)
        data = quantize(values, gguf.GGMLQuantizationType[kind]).view(np.uint8).reshape(-1)
    return data


def tensor(kind: str, data: np.ndarray) -> GgufTensor:
    view = memoryview(data.tobytes())
    return GgufTensor(name="w", shape=(COLUMNS, ROWS), kind=kind, data=view)


@pytest.mark.parametrize("kind", sorted(set(KINDS.values()) - set(WITHOUT)))
def test_floats_are_the_librarys(kind: str) -> None:
    data = blocks(kind)
    found = tensor(kind, data).floats()
    number = gguf.GGMLQuantizationType[kind]
    wanted = dequantize(data.reshape(COLUMNS, -1), number).astype(np.float32)
    assert np.array_equal(found.view(np.uint32), wanted.reshape(COLUMNS, ROWS).view(np.uint32))
    if kind != "IQ1_M":  # its scale lies in pieces, and may be no number
        assert np.isfinite(found).all()
    assert np.unique(found).size > 2


@pytest.mark.parametrize("kind", CODED)
def test_codes_times_scales_are_the_floats(kind: str) -> None:
    """Codes are exact; so a number is off by what its scale and its offset are in fp16."""
    one = tensor(kind, blocks(kind))
    weights, values = one.weights(), one.floats()
    whole = FastWeights(weights)
    assert whole.integers.shape[0] * whole.group == ROWS
    assert one.grouped
    spread = values.reshape(COLUMNS, -1, whole.group)
    most = np.abs(spread).max(axis=-1, keepdims=True)
    if whole.offsets is not None:
        most = most + 2 * np.abs(whole.offsets.T[..., None])
    # Half a unit of fp16's last place, of numbers and of subnormal steps.
    limit = most * 2.0**-10 + 256 * 2.0**-24
    found = weights.values().T.reshape(spread.shape)
    assert (np.abs(found - spread) <= limit).all()
    assert error_of(weights, values) < (3e-7 if one.exact else 6e-4)
    if kind in ("IQ4_NL", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4"):
        assert np.array_equal(found, spread)  # their scales fit


def test_kinds_without_floats_of_the_library() -> None:
    """By the arithmetic of ggml: a scale and codes of 8 bits; trits and one scale of them all."""
    data = blocks("Q8_K")
    parts = data.reshape(-1, 292)
    scales = np.ascontiguousarray(parts[:, :4]).view("<f4")
    wanted = scales * parts[:, 4:260].view(np.int8).astype(np.float32)
    assert np.array_equal(tensor("Q8_K", data).floats(), wanted.reshape(COLUMNS, ROWS))
    trits = np.random.default_rng(3).integers(-1, 2, (COLUMNS, ROWS))
    packed = bytearray()
    for block in trits.reshape(-1, 128) + 1:
        for place in range(32):
            a, b, c, d = (int(block[place + 32 * part]) for part in range(4))
            packed.append(a << 6 | b << 4 | c << 2 | d)
    scale = np.float32(0.0371)
    data = np.frombuffer(bytes(packed) + scale.tobytes() + bytes(28), np.uint8)
    one = tensor("I2_S", data)
    assert np.array_equal(one.floats(), trits.astype(np.float32) * scale)
    weights = one.weights()
    assert (weights.levels, weights.group) == ("ternary", ROWS)
    assert np.array_equal(weights.codes.T - 1, trits)


@pytest.mark.parametrize(("bits", "most"), [(8, 0.006), (4, 0.12)])
def test_floats_are_rounded(bits: int, most: float) -> None:
    values = np.random.default_rng(2).normal(0, 0.02, (COLUMNS, ROWS)).astype(np.float32)
    values[0, :32] = 0
    weights = rounded_weights(values, bits=bits, group=32)
    error = error_of(weights, values)
    assert most / 3 < error < most
    assert np.array_equal(weights.values().T[0, :32], np.zeros(32))
    with pytest.raises(UsageError, match="whole groups of 32, to be rounded, not 40"):
        rounded_weights(values[:, :40], bits=bits, group=32)
    with pytest.raises(UsageError, match="scales must be finite in fp16"):
        rounded_weights(values * 1e10, bits=bits, group=32)


def test_scales_beyond_fp16_and_codes_of_no_trit_are_refused() -> None:
    data = blocks("Q8_K")
    data.reshape(-1, 292)[0, :4] = np.frombuffer(np.float32(1e6).tobytes(), np.uint8)
    with pytest.raises(UsageError, match="scales must be finite in fp16, to 65504, not 1e"):
        tensor("Q8_K", data).weights()
    for kind in ("I2_S", "TQ2_0"):
        data = blocks(kind)
        data[0] = 0xFF
        with pytest.raises(UsageError, match=rf"codes of {kind} must be 0\.\.2, not 3"):
            tensor(kind, data).weights()


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_1", "TQ2_0", "Q4_K"])
def test_scales_that_are_no_numbers_make_no_weights_and_no_warning(kind: str) -> None:
    """An infinite scale of a code of zero is no number: the reader refuses it, by its name."""
    data = blocks(kind)
    if kind == "Q8_0":
        data[2:34] = 0
    at = SCALES.get(kind, (0,))[0]
    data[at : at + 2] = 0x00, 0x7C
    values = tensor(kind, data).floats()
    assert not np.isfinite(values.ravel()[:32]).all()
    assert np.isfinite(values.ravel()[256:]).all()


def test_a_file_of_the_library_is_read(tmp_path: Path) -> None:
    """By its own writer: blocks of 256 are where the file says."""
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    kinds = ("Q4_K", "Q6_K", "MXFP4")
    for kind in kinds:
        number, data = gguf.GGMLQuantizationType[kind], blocks(kind).reshape(COLUMNS, -1)
        writer.add_tensor(f"{kind}.weight", data, raw_dtype=number)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = read_gguf(tmp_path / "m.gguf")
    for kind in kinds:
        wanted = tensor(kind, blocks(kind)).floats()
        assert np.array_equal(file.tensors[f"{kind}.weight"].floats(), wanted)
    (tmp_path / "m.gguf").write_bytes((tmp_path / "m.gguf").read_bytes()[:-40])
    with pytest.raises(FileError, match="within the file"):
        read_gguf(tmp_path / "m.gguf")


def test_packed_codes_say_how_far_they_are_off(tmp_path: Path) -> None:
    """Those of which fp16 has no scale; and they come back."""
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    kinds = ("Q4_K", "Q6_K", "TQ2_0", "Q8_0")
    for kind in kinds:
        number, data = gguf.GGMLQuantizationType[kind], blocks(kind).reshape(COLUMNS, -1)
        writer.add_tensor(f"{kind}.weight", data, raw_dtype=number)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    _, index = image.pack(tmp_path / "m.gguf", image.PackRequest(), tmp_path / "out", "index")
    errors = {name: one.get("error") for name, one in index["tensors"].items()}
    assert 0 < errors["Q4_K.weight"] < 6e-4
    assert 0 < errors["Q6_K.weight"] < 6e-4
    assert errors["TQ2_0.weight"] == 0
    assert errors["Q8_0.weight"] is None
    manifest = json.loads((tmp_path / "out" / "Q6_K.weight.json").read_text())
    data = (tmp_path / "out" / manifest["image"]).read_bytes()
    back = unpack_image(Image(data=data, manifest=manifest))
    assert np.array_equal(back.values(), tensor("Q6_K", blocks("Q6_K")).weights().values())
