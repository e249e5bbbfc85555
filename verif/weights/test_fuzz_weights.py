"""Broken files of tensors, and broken manifests and images: packed, or refused in one line."""

import hashlib
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from safetensors.numpy import save

from carrysave.errors import UsageError
from carrysave.weights import image
from carrysave.weights.image import PackRequest
from golden.lut.image import sealed
from verif.support.fuzz import broken, budgets, edited, fuzz

RNG = np.random.default_rng(1)
FLOATS = RNG.normal(size=(6, 20)).astype(np.float32)
LAYERS: tuple[dict[str, np.ndarray], ...] = (
    {"up.weight": FLOATS},
    {"a": FLOATS.astype(np.float64), "b": np.arange(5)},
    {
        "q.codes": RNG.integers(-8, 8, (4, 8)).astype(np.int8),
        "q.scales": RNG.random((2, 4)).astype(np.float16),
    },
    {
        "codes": RNG.integers(0, 8, (4, 8)),
        "scales": RNG.random((2, 4)).astype(np.float32),
        "zeros": RNG.integers(0, 8, (2, 4)).astype(np.int16),
    },
    {
        "g.qweight": RNG.integers(-99, 99, (4, 8)).astype(np.int32),
        "g.qzeros": RNG.integers(-99, 99, (2, 1)).astype(np.int32),
        "g.scales": RNG.random((2, 8)).astype(np.float16),
        "g.g_idx": (np.arange(32) // 16).astype(np.int32),
    },
)
REQUESTS = (
    PackRequest(),
    PackRequest(bits=4),
    PackRequest(bits=3, scheme="asymmetric"),
    PackRequest(group="4", scales="int8", layout="beats", fold=0),
    PackRequest(scheme="bcq", bits=2, rows="in"),
)
WORDS = (
    b"'descr'", b"'<f4'", b"'|O'", b"'<f8'", b"'|S0'", b"'>i8'", b"'<c16'", b"True", b"(1,)", b"L,",
    b"'fortran_order'", b"'shape'", b"(2**64,)", b"\\d", b"F32", b"BF16", b"F8_E4M3", b"U64",
    b'"dtype":"F16"', b'"shape":[0,9223372036854775807]', b'"data_offsets":[0,0]', b"\\u001b",
    b"\\ud800", b"\0\0\x80\x7f", b"\0\x7c", b"\xff\x7f",
)  # fmt: skip


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(members: Sequence[tuple[str, bytes]], kind: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", kind) as archive:
        warnings.simplefilter("ignore")  # of a name there twice
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, kind)
    return stream.getvalue()


ARRAYS = [npy(array) for layer in LAYERS for array in layer.values()]
ARCHIVES = [npz([(f"{name}.npy", npy(array)) for name, array in layer.items()]) for layer in LAYERS]
ONES = [save(layer) for layer in LAYERS]
HOSTILE = (
    "..npy",
    "../../x.npy",
    "a\x1b[2J\n.npy",
    "/etc/x.npy",
    "readme.txt",
    ".npy",
    "\u202e.npy",
    "codes.npy",
    "scales.npy",
    "zeros.npy",
    "weight.npy",
    "x" * 300 + ".npy",
)


@st.composite
def archives(draw: st.DrawFn) -> bytes:
    """Make an archive that is whole, of members that are broken, some named to harm."""
    layer = draw(st.sampled_from(LAYERS))
    files = [(f"{name}.npy", npy(array)) for name, array in layer.items()]
    files = [
        (draw(st.sampled_from((name, name, *HOSTILE))), draw(broken([data], WORDS, most=1)))
        for name, data in files
    ]
    kind = draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)))
    return draw(broken([npz(files, kind)], most=draw(st.sampled_from((0, 0, 1)))))


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    """Break the header of safetensors, but not its length."""
    data = draw(st.sampled_from(ONES))
    (size,) = struct.unpack("<Q", data[:8])
    header = draw(broken([data[8 : 8 + size]], WORDS))
    return struct.pack("<Q", len(header)) + header + data[8 + size :]


def cut_member() -> bytes:
    """Return an archive that ends within its last member, by what its directory says."""
    whole = bytearray(ARCHIVES[0])
    entry = whole.rindex(b"PK\x01\x02")
    for size in (20, 24):  # packed, and not
        struct.pack_into("<I", whole, entry + size, len(whole))
    return bytes(whole)


KNOWN: dict[str, list[bytes]] = {".npy": [], ".npz": [cut_member()], ".safetensors": []}
"""Files that were failed on."""


@budgets
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_broken_tensors(tmp_path: Path, suffix: str, seconds: float) -> None:
    file = tmp_path / f"file{suffix}"
    files = {
        ".npy": broken(ARRAYS, WORDS),
        ".npz": broken(ARCHIVES, WORDS) | archives(),
        ".safetensors": broken(ONES, WORDS) | headers(),
    }[suffix]

    def read(data: bytes) -> None:
        file.write_bytes(data)
        errors: list[Exception] = []
        for request in REQUESTS:
            try:
                image.pack(file, request, tmp_path / "out", None)
            except (UsageError, ValueError) as error:
                errors.append(error)
        made = {path.parent for path in tmp_path.rglob("*.bin")}
        assert made <= {tmp_path / "out"}
        if errors:
            raise errors[0]

    fuzz(read, files, seconds, KNOWN[suffix])


VALUES = (
    "int8",
    "object",
    "fp32",
    "odd",
    "codes",
    "gptq",
    "awq",
    "float",
    "bcq",
    "beats",
    "trits5",
)


@budgets
def test_broken_manifests(tmp_path: Path, seconds: float) -> None:
    """Edited by hand, and so by somebody who makes the digests right again."""
    kept: list[tuple[dict[str, Any], bytes]] = []
    for number, (layer, request) in enumerate(zip(LAYERS, REQUESTS, strict=True)):
        file = tmp_path / f"{number}.npz"
        chosen = {2: REQUESTS[1], 3: REQUESTS[2], 4: REQUESTS[0]}.get(number, request)
        np.savez(file, **layer)  # type: ignore[arg-type]
        (data, manifest), _ = image.pack(file, chosen, tmp_path / f"{number}", "x")
        kept.append((json.loads(manifest.read_text()), data.read_bytes()))
    texts = [json.dumps(manifest).encode() for manifest, _ in kept]

    @st.composite
    def texts_edited(draw: st.DrawFn) -> bytes:
        manifest = draw(edited([one for one, _ in kept], VALUES))
        return json.dumps(sealed(manifest) if draw(st.booleans()) else manifest).encode()

    (tmp_path / "in").mkdir()
    datas = [data for _, data in kept]
    file = tmp_path / "in" / "x.json"

    def read(both: bytes) -> None:
        manifest, _, data = both.partition(b"\0image\0")
        file.write_bytes(manifest)
        (tmp_path / "in" / "x.bin").write_bytes(data)
        path, _ = image.unpack(file, tmp_path / "out", None, ".safetensors")
        path.unlink()

    @st.composite
    def files(draw: st.DrawFn) -> bytes:
        data = draw(broken(datas, most=draw(st.sampled_from((0, 0, 0, 1)))))
        return draw(broken(texts) | texts_edited()) + b"\0image\0" + data

    @st.composite
    def with_digest(draw: st.DrawFn) -> bytes:
        """Break an image, and make the digest of the manifest right."""
        manifest, data = draw(st.sampled_from(kept))
        data = draw(broken([data], most=2))
        digest = hashlib.sha256(data).hexdigest()
        right = sealed({**manifest, "sha256": digest, "bytes": len(data)})
        return json.dumps(right).encode() + b"\0image\0" + data

    # An image of another name is not there.
    refusals = (UsageError, ValueError, FileNotFoundError)
    fuzz(read, files() | with_digest(), seconds, (), refusals)
