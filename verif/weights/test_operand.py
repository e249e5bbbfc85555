"""``pack --zeros``, ``--prune`` and ``--sparse``: B as a co-processor reads it, and back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from golden.formats.sparse import SparseFormat
from golden.lut.checkpoint import to_awq, to_gptq
from golden.lut.quantise import QuantiseSpec, quantise
from golden.soc.coprocessor import Job, coprocessor, matrices
from golden.soc.mode import wrap
from hw.catalog import Design
from verif.support.command import Run

DEEP, WIDE, M = 96, 16, 3
A, C = 1 << 14, 1 << 15
ZEROS = "npe(m=2,n=2,formats=int8,int4,zeros=true,block=32,accumulator_width=32)"
STORES = {"a_bytes": 1024, "b_bytes": 1024}


def weights(shift: float = 0.0) -> np.ndarray:
    drawn: np.ndarray = np.random.default_rng(1).normal(shift, 1, (WIDE, DEEP)).astype(np.float32)
    return drawn


def packed(run: Run, *options: str) -> tuple[dict[str, Any], np.ndarray]:
    """Pack what is in m.safetensors; return the manifest, and what was read back, K x N."""
    done = run("pack", "m.safetensors", *options, "--name", "it", "--json")
    assert done.code == 0, done.err
    manifest: dict[str, Any] = json.loads(done.out)
    again = run("pack", "--unpack", "build/it.json")
    assert again.code == 0, again.err
    made = np.load("build/it_unpacked.npz")["weight"]
    return manifest, made if manifest["source"].get("rows") == "in" else made.T


def sums_of(design: dict[str, Any], manifest: dict[str, Any], **more: Any) -> np.ndarray:
    """Multiply by the bytes of an image, on the golden co-processor; sums M x N."""
    image = np.fromfile("build/it.bin", np.uint8)
    at = {key: section["offset"] for key, section in manifest["sections"].items()}
    spec = Design("coprocessor", {**design, **STORES}).spec
    memory = np.zeros(1 << 16, np.uint8)
    memory[: len(image)] = image
    given = {"b": at["codes"], "ldb": manifest["sections"]["codes"]["bytes"], **more}
    job = Job(a=A, c=C, m=M, n=WIDE, k=DEEP, lda=DEEP, ldc=4 * WIDE, **given)
    placed = matrices(spec, job)
    placed["a"].store(memory, left())
    assert not coprocessor(spec, memory, job)
    return wrap(placed["c"].load(memory), 32, True)


def left() -> np.ndarray:
    return np.random.default_rng(2).integers(-128, 128, (M, DEEP))


@pytest.mark.parametrize("kind", ["float", "gptq", "awq"])
def test_zero_points_are_what_a_job_takes(run: Run, kind: str) -> None:
    """Group by group: sums of each are of codes less its zero points, times its scales."""
    spec = QuantiseSpec(bits=4, group=32, scheme="asymmetric", scale_format="fp16")
    made = quantise(spec, weights(0.7).T)
    layers = {"gptq": to_gptq, "awq": to_awq}
    if kind == "float":
        save_file({"up": weights(0.7)}, "m.safetensors")
        options: tuple[str, ...] = ("--group", "32")
    else:
        parts = layers[kind](made)
        parts["scales"] = parts["scales"].astype(np.uint16).view(np.float16)
        arrays = {f"up.{name}": np.ascontiguousarray(one) for name, one in parts.items()}
        save_file(arrays, "m.safetensors")
        options = ()
    manifest, again = packed(run, "--zeros", *options)
    assert (manifest["operand"], manifest["bits"], manifest["groups"]) == ("zeros", 4, 3)
    assert manifest["sections"]["codes"]["bytes"] == DEEP * WIDE // 2
    assert manifest["sections"]["zeros"]["bytes"] == 3 * WIDE
    assert np.array_equal(again, made.values().astype(np.float32))
    at, image = manifest["sections"], np.fromfile("build/it.bin", np.uint8)
    scales = image[at["scales"]["offset"] :][: 12 * WIDE].view("<f4").reshape(3, WIDE)
    assert (scales != scales[:1]).any()
    sums = sums_of(
        {"engine": ZEROS},
        manifest,
        ldb=WIDE // 2,
        b_scales=at["zeros"]["offset"],
        ldsb=WIDE,
        b_format=1,
    )
    assert np.array_equal(sums, left() @ made.integers)


def test_rows_in_another_order_are_put_back(run: Run) -> None:
    """Of act-order, whose groups are brought together: the order is in the image."""
    spec = QuantiseSpec(bits=4, group=32, scheme="asymmetric", scale_format="fp16")
    order = np.random.default_rng(3).permutation(DEEP)
    order = np.concatenate([np.sort(part) for part in order.reshape(3, 32)])
    made = quantise(spec, weights(0.7).T).replaced(rows=order)
    parts = to_gptq(made, g_idx=True)
    parts["scales"] = parts["scales"].astype(np.uint16).view(np.float16)
    save_file({name: np.ascontiguousarray(one) for name, one in parts.items()}, "m.safetensors")
    manifest, again = packed(run, "--zeros")
    at = manifest["sections"]["rows"]["offset"]
    assert np.array_equal(np.fromfile("build/it.bin", np.uint8)[at:].view("<u4"), order)
    assert np.array_equal(again[order], made.values().astype(np.float32))


def test_wide_groups_have_bytes(run: Run) -> None:
    save_file({"up": weights(2.0)}, "m.safetensors")
    manifest, again = packed(run, "--zeros", "--bits", "8", "--group", "column")
    assert (manifest["bits"], manifest["groups"], manifest["zero_weights"] < 0.01) == (8, 1, True)
    assert np.abs(again - weights(2.0).T).max() < 0.03
    assert manifest["relative_error"] < 0.005


@pytest.mark.parametrize(("name", "deep"), [("2:4", 12), ("1:4", 20)])
def test_masks_are_what_a_job_takes(run: Run, name: str, deep: int) -> None:
    save_file({"up": weights()}, "m.safetensors")
    manifest, again = packed(run, "--prune", name)
    count, group = map(int, name.split(":"))
    wanted = SparseFormat(count, group).prune(weights().T.astype(np.float64))
    assert not again[wanted == 0].any()
    assert again[np.abs(wanted) > scales_of(manifest)].all()
    assert manifest["pruned"] == name
    assert manifest["deep"] == deep
    assert manifest["sections"]["codes"]["bytes"] == 8 * -(-DEEP // deep) * WIDE
    engine = f"adder_tree(m=1,n=2,k={deep},sparsity={name})"
    sums = sums_of({"engine": engine}, manifest, ldb=8 * WIDE)
    assert np.allclose(sums * scales_of(manifest), left() @ again.astype(np.float64), rtol=1e-5)


def scales_of(manifest: dict[str, Any]) -> np.ndarray:
    at = manifest["sections"]["scales"]["offset"]
    return np.fromfile("build/it.bin", np.uint8)[at:][: 4 * WIDE].view("<f4")


@pytest.mark.parametrize("prune", ["", "2:4", "4:8"])
def test_blocks_are_what_a_job_takes(run: Run, prune: str) -> None:
    """Of two tiles across and two parts along K; raw where masks would be longer."""
    save_file({"up": weights()}, "m.safetensors")
    pruning = ("--prune", prune) if prune else ()
    manifest, again = packed(run, "--sparse", "--columns", "8", "--depth", "48", *pruning)
    assert manifest["block"] == [48, 8]
    assert manifest["zero_weights"] == pytest.approx(0.5 if prune else 0, abs=0.02)
    assert np.abs(again - np.where(again, weights().T, 0)).max() < 0.02
    blocks = {"block_m": 1, "block_n": 2, "block_k": 12}
    design = {"engine": "adder_tree(m=2,n=4,k=4)", "sparse": True}
    sums = sums_of(design, manifest, packed=True, **blocks)
    assert np.allclose(sums * scales_of(manifest), left() @ again.astype(np.float64), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--zeros", "--sparse"), "--zeros is not for --sparse and --prune"),
        (("--prune", "4:8"), "--prune must be one of 1:4, 2:4 without --sparse, not 4:8"),
        (("--prune", "3:4"), "--prune must be one of 1:4, 2:4, 4:8, not '3:4'"),
        (("--prune", "2:4", "--depth", "4"), "--depth is not for rows of B"),
        (("--sparse", "--depth", "0"), "--depth and --columns must be 1 or more"),
        (("--sparse", "--layout", "beats"), "--layout is not for operands of a co-processor"),
        (("--zeros", "--scheme", "ternary"), "weights must be codes less zero points, not ternary"),
        (("--depth", "4"), "--depth is not for images of LUT cores"),
        (("--codebook", "nf4", "--zeros"), "--zeros is not for codebook"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run: Run, options: tuple[str, ...], says: str
) -> None:
    save_file({"up": weights()}, "m.safetensors")
    found = run("pack", "m.safetensors", *options)
    assert found.code == 2
    assert says in found.err


def test_another_image_is_refused(run: Run) -> None:
    save_file({"up": weights()}, "m.safetensors")
    packed(run, "--sparse")
    file = Path("build/it.bin")
    file.write_bytes(file.read_bytes()[::-1])
    found = run("pack", "--unpack", "build/it.json")
    assert found.code == 2
    assert "sha256, which is another than the image's" in found.err
