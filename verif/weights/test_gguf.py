"""Models in GGUF: read as its reference library does, packed unchanged, refused in one line."""

import json
import struct
from functools import partial
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize, quantize

from carrysave.weights import image
from carrysave.weights.gguf import read_gguf
from golden.lut.image import Image, unpack_image
from golden.lut.scale import activation_sums, group_sums, scale_groups
from hw.emit.user_files import FileError
from verif.support.command import Run
from verif.support.fuzz import broken, budgets, fuzz
from verif.support.schemas import check

KINDS = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "F16", "BF16")


def write(path: Path, tensors: dict[str, tuple[str, np.ndarray]], **facts: Any) -> Path:
    """Write a model by the reference library."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("general.name", "of a test")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b", "ab"])
    writer.add_array("sizes", [1, 2, 3])
    for name, value in facts.items():
        writer.add_uint32(name, value)
    for name, (kind, values) in tensors.items():
        number = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(name, quantize(values, number), raw_dtype=number)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def values(shape: tuple[int, ...] = (6, 96), seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def model(path: Path) -> Path:
    """Write one tensor of each kind, and a vector of floats."""
    tensors = {f"blk.{kind}.weight": (kind, values(seed=len(kind))) for kind in KINDS}
    return write(path, {**tensors, "norm.weight": ("F32", values((96,)))}, **{"llama.size": 7})


def test_gguf_is_what_its_reference_reads(tmp_path: Path) -> None:
    path = model(tmp_path / "m.gguf")
    found, expected = read_gguf(path), gguf.GGUFReader(path)
    assert found.facts["general.name"] == "of a test"
    assert found.facts["llama.size"] == 7
    assert found.facts["tokenizer.ggml.tokens"] == ["a", "b", "ab"]
    assert list(found.facts["sizes"]) == [1, 2, 3]
    assert len(found.tensors) == len(KINDS) + 1
    for one in expected.tensors:
        wanted = dequantize(one.data, one.tensor_type)
        assert np.array_equal(found.tensors[one.name].floats(), wanted), one.name


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("Q")])
def test_gguf_weights_are_those_of_the_file_and_their_products(tmp_path: Path, kind: str) -> None:
    found = read_gguf(write(tmp_path / "m.gguf", {"w": (kind, values())})).tensors["w"]
    weights = found.weights()
    assert weights.codes.shape == (96, 6)
    # Scale times code is rounded in floats, so is the sum with the offset.
    assert np.allclose(weights.values().T, found.floats(), rtol=2**-22, atol=2**-22)
    a = np.random.default_rng(2).integers(-127, 128, (3, 96))
    sums, ones = group_sums(a, weights.integers, 32), activation_sums(a, 32)
    products = scale_groups(weights, sums, ones)
    assert np.allclose(products, a @ weights.values(), rtol=1e-4, atol=1e-3)
    if weights.offsets is not None:
        assert not np.allclose(scale_groups(weights, sums), products, atol=1)


@pytest.fixture
def pack(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Pack weights, on a wide terminal."""
    monkeypatch.setenv("COLUMNS", "200")
    return partial(run, "pack")


def test_pack_of_a_model_writes_all_matrices_and_they_come_back(pack: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "m.gguf")
    code, out, err = pack("m.gguf", "-o", "out")
    assert (code, err) == (0, "")
    assert "2 matrices of 4 bits:         1,152 weights" in out
    index = json.loads((tmp_path / "out/m.json").read_text())
    assert index["facts"]["llama.size"] == 7
    read = read_gguf(path)
    assert list(index["tensors"]) == [key for key, one in read.tensors.items() if one.grouped]
    for name, facts in index["tensors"].items():
        manifest = check("weights", tmp_path / "out" / facts["manifest"])
        data = (tmp_path / "out" / facts["image"]).read_bytes()
        back, whole = unpack_image(Image(data=data, manifest=manifest)), read.tensors[name]
        assert np.array_equal(back.values(), whole.weights().values())
    with np.load(tmp_path / "out/m.npz") as floats:
        assert np.array_equal(floats["norm.weight"], read.tensors["norm.weight"].floats())


def test_pack_of_one_tensor_of_a_model_comes_back(pack: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "m.gguf")
    code, out, err = pack("m.gguf", "--tensor", "blk.Q4_1.weight", "--fold", "0", "--name", "w")
    assert (code, err) == (0, "")
    assert "96 x 6 weights, affine, 4 bits, 3 groups of 32, scales fp16" in out
    assert pack("--unpack", "build/w.json")[0] == 0
    weights = read_gguf(path).tensors["blk.Q4_1.weight"].weights()
    with np.load("build/w_unpacked.npz") as found:
        assert np.array_equal(found["blk.Q4_1.weight.codes"], weights.codes)
        values = weights.values().T.astype(np.float32)
        assert np.array_equal(found["blk.Q4_1.weight.weight"], values)


def test_pack_refuses_options_and_names_of_a_model(pack: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "m.gguf")
    for arguments, says in (
        (("--bits", "4"), "--bits is not for gguf"),
        (("--tensor", "norm.weight"), "--tensor must be one of the matrices of codes: blk.Q4_0"),
        (("--name", "blk.Q4_0.weight"), "--name must be given, another than a tensor's"),
        (("--layout", "trits5"), "bits must be 2 where layout is trits5, not 4"),
    ):
        code, out, err = pack(path.name, *arguments)
        assert (code, out) == (2, "")
        assert says in err
        assert err.count("\n") == 1
    infinite = bytearray(path.read_bytes())
    scale = quantize(values(seed=4), gguf.GGMLQuantizationType.Q4_1).tobytes()[:20]
    at = infinite.index(scale)
    infinite[at : at + 2] = np.float16(np.inf).tobytes()
    path.write_bytes(infinite)
    code, _, err = pack(path.name)
    assert code == 2
    assert "tensor 'blk.Q4_1.weight': scales must be finite" in err
    assert not (tmp_path / "build").exists()


def test_damaged_gguf_is_refused_in_one_line(tmp_path: Path) -> None:
    path = model(tmp_path / "m.gguf")
    whole = path.read_bytes()
    first = whole.index(b"blk.Q4_0.weight") + 15  # axes, 96, 6, kind, place
    fact = whole.index(b"llama.size") + 10
    damaged = {
        "begins with 'GGUF'": b"GGUX" + whole[4:],
        "version must be 2 or 3": whole[:4] + struct.pack("<I", 9) + whole[8:],
        "ends too early": whole[:200],
        "within the file, not from": whole[:-100],
        "items from": whole[:8] + struct.pack("<Q", 1 << 60) + whole[16:],
        "axes must be 1..4, not 9": whole[:first] + struct.pack("<I", 9) + whole[first + 4 :],
        "whole blocks of 32, not 97": whole[: first + 4]
        + struct.pack("<Q", 97)
        + whole[first + 12 :],
        "must be 1,855,425,871,872": whole[: first + 4]
        + struct.pack("<Q", 1 << 39)
        + whole[first + 12 :],
        "must not be empty": whole[: first + 4] + bytes(8) + whole[first + 12 :],
        "not of number 99": whole[: first + 20] + struct.pack("<I", 99) + whole[first + 24 :],
        "kind must be 0..12": whole[:fact] + struct.pack("<I", 77) + whole[fact + 4 :],
        "once, not twice": whole.replace(b"blk.Q4_1.weight", b"blk.Q4_0.weight"),
        "text must be UTF-8": whole.replace(b"of a test", b"of \xff test"),
    }
    for says, data in damaged.items():
        path.write_bytes(data)
        with pytest.raises(FileError, match=says) as caught:
            read_gguf(path)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)


@budgets
def test_broken_models(tmp_path: Path, seconds: float) -> None:
    tensors = {"a": ("Q4_1", values((2, 32))), "b": ("Q8_0", values((2, 32)))}
    path = write(tmp_path / "m.gguf", {**tensors, "n": ("F32", values((32,)))})
    good = path.read_bytes()
    sizes = [struct.pack("<Q", size) for size in (0, 1, 31, 1 << 31, 1 << 62, (1 << 64) - 1)]
    kinds = [struct.pack("<I", kind) for kind in range(13)]

    def read(data: bytes) -> None:
        path.write_bytes(data)
        image.pack(path, image.PackRequest(), tmp_path / "out", "index")

    fuzz(read, broken([good], [*sizes, *kinds, b"general.alignment"]), seconds)
