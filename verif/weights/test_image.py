"""The command `carrysave pack`: from files of weights to images, and back, bit by bit."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors
from safetensors.numpy import load_file, save_file

from verif.support.command import Run
from verif.support.names import NAMES
from verif.support.schemas import check


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Pack weights, on a wide terminal."""
    monkeypatch.setenv("COLUMNS", "200")
    return partial(run, "pack")


def manifest_of(run: Run, *arguments: str) -> dict[str, Any]:
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    *_, path = json.loads(out)["files"]
    return check("weights", Path(path))


def floats(shape: tuple[int, int] = (12, 70)) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def bf16_file(path: Path, values: np.ndarray) -> None:
    """Write a tensor of bf16, of which safetensors' numpy side knows nothing."""
    array = values.astype(ml_dtypes.bfloat16)
    spec = safetensors.TensorSpec(
        dtype="bfloat16", shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes
    )
    path.write_bytes(safetensors.serialize({"up.weight": spec}, None))


def test_pack_writes_an_image_and_a_manifest(run: Run, tmp_path: Path) -> None:
    np.save("layer.npy", floats())
    code, out, err = run("layer.npy", "--bits", "2", "--group", "32")
    assert (code, err) == (0, "")
    assert "build/layer.bin" in out
    assert "70 x 12 weights, uniform, 2 bits, 3 groups of 32" in out
    manifest = check("weights", tmp_path / "build/layer.json")
    assert manifest["bytes"] == (tmp_path / "build/layer.bin").stat().st_size
    assert sorted(path.name for path in (tmp_path / "build").iterdir()) == [
        "layer.bin",
        "layer.json",
    ]
    first = (tmp_path / "build/layer.bin").read_bytes()
    run("layer.npy", "--bits", "2", "--group", "32", "-o", "again")
    assert (tmp_path / "again/layer.bin").read_bytes() == first


@pytest.mark.parametrize("scheme", ["symmetric", "asymmetric", "odd", "ternary", "bcq"])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_pack_of_floats_comes_back(run: Run, scheme: str, suffix: str) -> None:
    values = floats()
    np.savez("layers.npz", up=values, down=values.T, bias=values[0])
    options = ("--tensor", "up", "--scheme", scheme, "--group", "32", "--bits", "2")
    manifest_of(run, "layers.npz", *options)
    code, _, err = run("--unpack", "build/up.json", "--to", suffix[1:], "-o", "back")
    assert code == 0, err
    path = Path(f"back/up_unpacked{suffix}")
    found = dict(np.load(path)) if suffix == ".npz" else load_file(path)
    scale = found["scales"].astype(np.float64)
    codes = found["codes"].astype(np.float64)
    assert codes.shape == (70, 12)
    spread = np.arange(70) // 32
    if scheme == "bcq":
        bits = np.stack([codes.astype(int) >> w & 1 for w in range(2)], axis=-1)
        weights = ((2 * bits - 1) * scale[spread]).sum(axis=-1) + found["offsets"][spread]
    else:
        zero = found["zeros"][spread] if "zeros" in found else 1 if scheme == "ternary" else 0
        steps = 2 * codes - 3 if scheme == "odd" else codes - zero
        weights = scale[spread] * steps
    assert np.array_equal(found["weight"], weights.T.astype(np.float32))
    assert np.abs(found["weight"] - values).max() < 3
    run("layers.npz", "--tensor", "down", "--rows", "in", *options[2:], "--name", "same")
    assert Path("build/same.bin").read_bytes() == Path("build/up.bin").read_bytes()


def test_pack_takes_bf16_of_safetensors(run: Run) -> None:
    values = floats((8, 64)).astype(ml_dtypes.bfloat16)
    bf16_file(Path("model.safetensors"), values)
    manifest_of(run, "model.safetensors", "--scales", "bf16", "--group", "64")
    code, _, err = run("--unpack", "build/up.weight.json")
    assert (code, err.strip()) == (
        2,
        "carrysave: --to must be safetensors, as scales is of bf16, not npz",
    )
    code, _, err = run("--unpack", "build/up.weight.json", "--to", "safetensors")
    assert code == 0, err
    raw = dict(safetensors.deserialize(Path("build/up.weight_unpacked.safetensors").read_bytes()))
    assert raw["scales"]["dtype"] == "BF16"
    scales = np.frombuffer(raw["scales"]["data"], dtype=ml_dtypes.bfloat16).astype(np.float64)
    wanted = np.abs(values.astype(np.float64)).max(axis=1) / 7
    assert np.array_equal(scales, wanted.astype(ml_dtypes.bfloat16).astype(np.float64))


def words(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(0, 1 << 32, shape, dtype=np.uint32).view(np.int32)


@pytest.mark.parametrize("layout", ["beats", "planes_inner", "planes_outer"])
@pytest.mark.parametrize("kind", ["gptq", "gptq_v2", "awq"])
def test_pack_of_checkpoints_comes_back_bit_by_bit(run: Run, kind: str, layout: str) -> None:
    """Any words are codes: the image holds all of them."""
    rng = np.random.default_rng(3)
    scales = rng.random((4, 64)).astype(np.float16)
    if kind == "awq":
        layer = {"qweight": words(rng, (128, 8)), "qzeros": words(rng, (4, 8)), "scales": scales}
    else:
        layer = {
            "qweight": words(rng, (16, 64)),
            "qzeros": words(rng, (4, 8)),
            "scales": scales,
            "g_idx": rng.permutation(np.arange(128) // 32).astype(np.int32),
        }
    tensors = {f"model.{name}": array for name, array in layer.items()}
    save_file({**tensors, "other.weight": floats()}, "model.safetensors")
    manifest = manifest_of(run, "model.safetensors", "--from", kind, "--layout", layout)
    assert manifest["source"]["format"] == kind
    code, _, err = run("--unpack", "build/model.json", "--to", "safetensors", "--name", "back")
    assert code == 0, err
    back = load_file("build/back.safetensors")
    assert set(back) == set(tensors)
    for name, array in tensors.items():
        assert back[name].dtype == array.dtype
        assert np.array_equal(back[name], array), name


def test_pack_tells_awq_from_gptq(run: Run) -> None:
    rng = np.random.default_rng(4)
    scales = rng.random((1, 64)).astype(np.float16)
    for name, shape in (("awq", (64, 8)), ("gptq", (8, 64))):
        np.savez(f"{name}.npz", qweight=words(rng, shape), qzeros=words(rng, (1, 8)), scales=scales)
        manifest = manifest_of(run, f"{name}.npz")
        assert manifest["source"]["format"] == name
        assert manifest["image"] == f"{name}.bin"


@pytest.mark.parametrize("rows", ["in", "out"])
@pytest.mark.parametrize(
    ("scheme", "low", "high", "bits"),
    [
        ("symmetric", -4, 3, "3"),
        ("asymmetric", 0, 7, "3"),
        ("odd", 0, 7, "3"),
        ("ternary", -1, 1, "2"),
    ],
)
def test_pack_of_codes_comes_back(
    run: Run, scheme: str, low: int, high: int, bits: str, rows: str
) -> None:
    rng = np.random.default_rng(5)
    shape = (64, 6) if rows == "in" else (6, 64)
    parts: dict[str, Any] = {
        "codes": rng.integers(low, high + 1, shape).astype(np.int8),
        "scales": rng.random((2, 6)).astype(np.float16).astype(np.float64),
    }
    if scheme == "asymmetric":
        parts["zeros"] = rng.integers(0, 8, (2, 6)).astype(np.int16)
    np.savez("codes.npz", **parts)
    manifest_of(
        run, "codes.npz", "--scheme", scheme, "--bits", bits, "--rows", rows, "--scales", "fp16"
    )
    code, _, err = run("--unpack", "build/codes.json")
    assert code == 0, err
    back = dict(np.load("build/codes_unpacked.npz"))
    for name, array in parts.items():
        assert back[name].dtype == array.dtype
        assert np.array_equal(back[name], array), name
    matrix = parts["codes"] if rows == "in" else parts["codes"].T
    zeros = parts["zeros"][np.arange(64) // 32] if "zeros" in parts else 0
    steps = 2 * matrix.astype(int) - 7 if scheme == "odd" else matrix.astype(int) - zeros
    values = parts["scales"][np.arange(64) // 32] * steps
    weight = back["weight"] if rows == "in" else back["weight"].T
    assert np.array_equal(weight, values.astype(np.float32))


@pytest.mark.parametrize("layout", ["trits5", "keys"])
def test_pack_of_trits_takes_fewer_bits(run: Run, layout: str) -> None:
    np.save("w.npy", floats((64, 480)))
    plain = manifest_of(run, "w.npy", "--scheme", "ternary", "--group", "tensor")
    small = manifest_of(
        run,
        "w.npy",
        "--scheme",
        "ternary",
        "--group",
        "tensor",
        "--layout",
        layout,
        "--name",
        "small",
    )
    size, least = (m["sections"]["codes"]["bytes"] for m in (plain, small))
    assert size == 64 * 480 * 2 // 8
    assert least == 64 * 480 // 5
    tensors = []
    for name in ("w", "small"):
        assert run("--unpack", f"build/{name}.json")[0] == 0
        tensors.append(np.load(f"build/{name}_unpacked.npz")["weight"])
    assert np.array_equal(*tensors)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("w.txt",), "file must be one of *.npy, *.npz, *.safetensors, not 'w.txt'"),
        (("gone.npy",), "No such file"),
        (("bad.npy",), "bad.npy: "),
        (("bad.safetensors",), "bad.safetensors: "),
        (("two.npz",), "--tensor must be given, one of the matrices of floats: a, b"),
        (("two.npz", "--tensor", "c"), "must be one of the matrices of floats: a, b; not 'c'"),
        (("w.npy", "--bits", "9"), "bits must be 1..8 bits, not 9"),
        (("w.npy", "--bits", "1"), "bits must be 2..8 where scheme is symmetric, not 1"),
        (("w.npy", "--group", "0"), "--group must be 1.. rows, column or tensor, not '0'"),
        (("w.npy", "--scales", "fp8"), "scale_format must be one of fp16, bf16, fp32, e8m0, int8"),
        (("w.npy", "--layout", "rows"), "layout must be one of beats, planes_inner, planes_outer"),
        (("w.npy", "--layout", "trits5"), "bits must be 2 where layout is trits5, not 4"),
        (("w.npy", "--fold", "3", "--beat", "16"), "k must be a multiple of fold, 3, not 16"),
        (("w.npy", "--from", "gguf"), "--from must be one of auto, float, codes, gptq,"),
        (("w.npy", "--from", "gptq"), "file must have layers with qweight, not none"),
        (("w.npy", "--rows", "up"), "--rows must be one of in, out, not 'up'"),
        (("w.npy", "--name", "a/b"), "--name must be a file's name without folder, not 'a/b'"),
        (("w.npy", "--to", "npz"), "--to needs --unpack"),
        (("nan.npy",), "weights must be finite, not infinities or NaNs"),
        (("q.npz", "--bits", "4"), "--bits is not for awq"),
        (("c.npz",), "--bits must be given for codes, 1..8 bits"),
        (("c.npz", "--bits", "2", "--group", "32"), "--group is not for codes"),
        (("c.npz", "--bits", "2", "--scheme", "asymmetric"), "file must have zeros, groups x N"),
        (("c.npz", "--bits", "2", "--scales", "e8m0"), "scales must be of e8m0, without rounding"),
        (("c.npz", "--bits", "1"), "codes must be -1..0 where --scheme is symmetric, not 1"),
        (("--unpack", "w.npy"), "w.npy: line 1: must be UTF-8"),
        (("--unpack", "other.json"), "other.json: must be a manifest of carrysave pack"),
        (("--unpack", "other.json", "--bits", "2"), "--bits is not for --unpack"),
        (("--unpack", "other.json", "--to", "pt"), "--to must be one of npz, safetensors, not"),
    ],
)
def test_pack_refuses_in_one_line(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    np.save("w.npy", floats())
    np.save("nan.npy", np.full((2, 2), np.nan))
    np.savez("two.npz", a=floats(), b=floats())
    np.savez(
        "q.npz",
        qweight=np.zeros((8, 1), np.int32),
        qzeros=np.zeros((1, 1), np.int32),
        scales=np.zeros((1, 8), np.float16),
    )
    np.savez("c.npz", codes=np.full((4, 8), 1), scales=np.full((1, 4), 0.3, np.float32))
    for name in ("bad.npy", "bad.safetensors", "w.txt"):
        Path(name).write_bytes(b"nothing")
    Path("other.json").write_text("{}")
    before = sorted(tmp_path.iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("carrysave: ")
    assert says in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_unpack_refuses_an_image_that_was_changed(run: Run) -> None:
    np.save("w.npy", floats())
    manifest_of(run, "w.npy")
    data = bytearray(Path("build/w.bin").read_bytes())
    data[5] ^= 64
    Path("build/w.bin").write_bytes(data)
    code, _, err = run("--unpack", "build/w.json")
    assert code == 2
    assert "image must be the one of the manifest; its SHA-256 is another" in err
    Path("build/w.bin").unlink()
    code, _, err = run("--unpack", "build/w.json")
    assert code == 2
    assert "w.bin" in err
    assert not list(Path().glob("build/*unpacked*"))


def test_edited_manifests_are_refused(run: Run) -> None:
    np.save("w.npy", floats())
    manifest = manifest_of(run, "w.npy", "--bits", "2")
    edits: dict[str, Any] = {
        "k": 69,
        "n": 11,
        "layout": {**manifest["layout"], "bits": 3},
        "image": "v.bin",
        "sections": {**manifest["sections"], "scales": None},
        "source": {**manifest["source"], "rows": "in"},
    }
    for name, value in edits.items():
        Path("build/x.json").write_text(json.dumps({**manifest, name: value}))
        Path("build/v.bin").write_bytes(Path("build/w.bin").read_bytes())
        code, out, err = run("--unpack", "build/x.json")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "fields must be those that were packed; their SHA-256 is another" in err
    Path("build/x.json").write_text(json.dumps({**manifest, "version": 1}))
    assert "which has no digest of its fields: pack again" in run("--unpack", "build/x.json").err
    Path("build/x.json").write_text(json.dumps({**manifest, "image": "../w.bin"}))
    assert "which is not beside it" in run("--unpack", "build/x.json").err
    assert not list(Path().rglob("*unpacked*"))


def test_names_of_tensors_are_no_paths(run: Run, tmp_path: Path) -> None:
    """They come back as they are, and terminals see them escaped."""
    save_file({name: floats((2, 3)) for name in NAMES}, "model.safetensors")
    code, _, err = run("model.safetensors")
    assert code == 2
    assert err.removesuffix("\n").isprintable()
    for number, name in enumerate(NAMES):
        folder = tmp_path / f"build{number}"
        code, out, err = run("model.safetensors", f"--tensor={name}", "-o", folder)
        assert (code, err) == (0, "")
        assert out.replace("\n", "").isprintable()
        made = sorted(folder.iterdir())
        assert [path.suffix for path in made] == [".bin", ".json"]
        for path in made:
            assert re.fullmatch(r"\w[\w.-]*", path.name, re.ASCII), path.name
        assert json.loads(made[1].read_text())["source"]["layer"] == name
    assert run("--unpack", made[1])[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "model.safetensors",
        "build",
        *(f"build{number}" for number in range(len(NAMES))),
    }


def test_names_of_layers_that_no_archive_has(run: Run) -> None:
    rng = np.random.default_rng(4)
    layer = {
        "qweight": words(rng, (8, 64)),
        "qzeros": words(rng, (1, 8)),
        "scales": rng.random((1, 64)).astype(np.float16),
    }
    save_file({f"../../x.{name}": array for name, array in layer.items()}, "m.safetensors")
    assert run("m.safetensors", "--name", "m")[0] == 0
    found = run("--unpack", "build/m.json")
    assert found.code == 2
    assert "--to must be safetensors, as '../../x.qweight' is no name in an .npz" in found.err
    assert run("--unpack", "build/m.json", "--to", "safetensors")[0] == 0
    for name in ("../m", "..", "a/b"):
        assert "--name must be a file's name" in run("--unpack", "build/m.json", "--name", name).err


def test_scales_of_eight_bits_come_back(run: Run) -> None:
    array = np.ones((1, 4), ml_dtypes.float8_e4m3fn)
    codes = np.ones((4, 8), np.int8)
    specs = {
        name: safetensors.TensorSpec(
            dtype=kind, shape=part.shape, data_ptr=part.ctypes.data, data_len=part.nbytes
        )
        for name, kind, part in (("codes", "int8", codes), ("scales", "float8_e4m3fn", array))
    }
    Path("m.safetensors").write_bytes(safetensors.serialize(specs, None))
    assert run("m.safetensors", "--bits", "4", "--scales", "fp16")[0] == 0
    (manifest,) = Path("build").glob("*.json")
    assert run("--unpack", manifest, "--to", "safetensors", "--name", "back")[0] == 0
    raw = dict(safetensors.deserialize(Path("build/back.safetensors").read_bytes()))
    assert raw["scales"]["dtype"] == "F8_E4M3"
    assert bytes(raw["scales"]["data"]) == array.tobytes()
