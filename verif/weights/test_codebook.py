"""``pack --codebook``: codes of a table as a co-processor reads them, and back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from carrysave.driver.expander import CODEBOOKS
from golden.lut.expander import NF4
from golden.soc.coprocessor import Job, coprocessor, matrices
from golden.soc.memory import Matrix
from golden.soc.mode import wrap
from hw.catalog import Design
from verif.support.command import Run


def weights(depth: int = 126, columns: int = 16) -> np.ndarray:
    found: np.ndarray = np.random.default_rng(1).normal(size=(columns, depth)).astype(np.float32)
    return found


def packed(run: Run, *options: str) -> dict[str, Any]:
    """Pack, and read the image back; return the manifest, and what was read, K x N."""
    save_file({"up": weights()}, "m.safetensors")
    done = run("pack", "m.safetensors", *options, "--json")
    assert done.code == 0, done.err
    manifest: dict[str, Any] = json.loads(done.out)
    again = run("pack", "--unpack", "build/up.json")
    assert again.code == 0, again.err
    return {**manifest, "weight": np.load("build/up_unpacked.npz")["weight"].T}


@pytest.mark.parametrize(
    ("book", "bits", "error"),
    [
        *[("nf4", 4, 0.1), ("kmeans:16", 4, 0.1), ("mirrored:16", 4, 0.1)],
        *[("kmeans:8", 64 / 21, 0.2), ("kmeans:4", 2, 0.4)],
    ],
)
def test_image_is_what_a_job_takes(run: Run, book: str, bits: float, error: float) -> None:
    """The golden co-processor multiplies by the bytes of the image, and no others."""
    made = packed(run, "--codebook", book, "--group", "column")
    name = made["codebook"]
    assert made["sections"]["codes"]["bytes"] == pytest.approx(126 * 16 * bits / 8, rel=0.05)
    image = np.fromfile(f"build/{made['image']}", np.uint8)
    at = {key: section["offset"] for key, section in made["sections"].items()}
    engine = {"engine": "cube(m=2,n=2,k=21)", "codebook": name, "a_bytes": 1024, "b_bytes": 1024}
    spec = Design("coprocessor", engine).spec
    memory = np.zeros(1 << 15, np.uint8)
    memory[: len(image)] = image
    m, n, k, a, c = 3, 16, 126, 1 << 14, 1 << 13
    rows = Matrix(address=0, rows=1, columns=n, distance=0, bits=CODEBOOKS[name].bits).row_bytes
    job = Job(
        a=a, b=at["codes"], c=c, m=m, n=n, k=k, lda=k, ldb=rows, ldc=4 * n, b_scales=at["table"]
    )
    left = np.random.default_rng(2).integers(-128, 128, (m, k))
    found = matrices(spec, job)
    found["a"].store(memory, left)
    assert not coprocessor(spec, memory, job)
    sums = wrap(found["c"].load(memory), 32, True)
    scales = image[at["scales"] :][: 4 * n].view("<f4")
    assert np.allclose(
        sums * scales, left @ made["weight"].astype(np.float64), rtol=1e-5, atol=1e-2
    )
    wrong = made["weight"] - weights().T
    rms = float(np.sqrt((wrong**2).mean() / (weights() ** 2).mean()))
    assert made["relative_error"] == pytest.approx(rms, rel=1e-4)
    assert rms < error


def test_codes_are_the_nearest_of_the_table(run: Run) -> None:
    made = packed(run, "--codebook", "nf4", "--group", "64")
    assert made["table"] == list(NF4)
    assert made["groups"] == 2
    values = weights().T
    scales = [np.abs(values[at : at + 64]).max(axis=0) / 127 for at in (0, 64)]
    spread = np.repeat(scales, 64, axis=0)[:126].astype(np.float32)
    distance = np.abs(values / spread - np.array(NF4)[:, None, None])
    nearest = np.array(NF4)[distance.argmin(axis=0)]
    assert np.allclose(made["weight"], nearest * spread, rtol=1e-6)


def test_clusters_are_the_same_again(run: Run) -> None:
    """And better than equal steps: the error is less than that of a table of these."""
    first, again = (packed(run, "--codebook", "kmeans:8", "--group", "column") for _ in range(2))
    assert first["sha256"] == again["sha256"]
    assert first["table"] == sorted(first["table"])
    values = weights().T
    spread = np.abs(values).max(axis=0) / 127
    steps = np.rint(values / spread / 36).clip(-4, 3) * 36 * spread
    equal = np.sqrt(((steps - values) ** 2).mean() / (values**2).mean())
    assert first["relative_error"] < equal


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--codebook", "kmeans:5"), "--codebook must be one of nf4, kmeans:4, kmeans:8"),
        (("--codebook", "nf4", "--bits", "4"), "--bits is not for codebook"),
        (("--codebook", "nf4", "--group", "0"), "--group must be 1.."),
    ],
)
def test_refused(run: Run, options: tuple[str, ...], says: str) -> None:
    save_file({"up": weights()}, "m.safetensors")
    done = run("pack", "m.safetensors", *options)
    assert done.code == 2
    assert says in done.err


def test_other_bytes_are_refused(run: Run) -> None:
    packed(run, "--codebook", "nf4")
    image = Path("build/up.bin")
    image.write_bytes(image.read_bytes()[:-1] + b"\x55")
    done = run("pack", "--unpack", "build/up.json")
    assert done.code == 2
    assert "sha256" in done.err
