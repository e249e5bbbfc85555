"""A language model's file to memory images: of one matrix of codes, or of all."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.errors import ArgumentError, UsageError
from carrysave.weights.gguf import GgufFile, read_gguf
from carrysave.weights.gguf_tensor import GgufTensor
from carrysave.weights.grouped import error_of
from carrysave.weights.layer import check_finite
from carrysave.weights.request import PackRequest
from carrysave.weights.tensor_files import Tensor, dump
from golden.lut.image import pack_image, sealed
from golden.lut.weights import GroupedWeights
from hw.emit.user_files import TENSORS, FileError, shown, within

__all__ = ["SUFFIX", "pack_model"]

SUFFIX = ".gguf"
_FIXED = (
    *("source", "rows", "bits", "group", "scheme", "scales"),
    *("codebook", "zeros", "sparse", "prune", "depth"),
)


def pack_model(
    file: Path, request: PackRequest, folder: Path, name: str | None
) -> tuple[list[Path], dict[str, Any]]:
    """Write the image and the manifest of one matrix, or those of all, and an index of them.

    Codes, scales and offsets are used unchanged; scales that fp16 does not have, as those of
    K-quants, are rounded to it. The index, ``<name>.json``, has the model's facts that are numbers
    or words, and for each matrix its files, shape and bytes, and how far it is from the file's
    floats if scales were rounded; ``<name>.npz`` the vectors of floats, such as norms have. All is
    checked before anything is written.

    Parameters
    ----------
    file : .gguf.
    request : which tensor, if not all, and the layout.
    folder : created if missing.
    name : of the files, or of the index; by default the tensor's, or the file's.

    Returns
    -------
    The files, and the manifest of the one matrix, or the index.
    """
    request.refuse("gguf", *_FIXED)
    model = read_gguf(file)
    matrices = {key: one for key, one in model.tensors.items() if one.grouped}
    if request.tensor is not None:
        if request.tensor not in matrices:
            listed = ", ".join(shown(key) for key in list(matrices)[:8])
            raise ArgumentError(
                "{tensor} must be one of the matrices of codes: {listed}{more}; not {value!r}",
                listed=listed or "none",
                more=" and more" * (len(matrices) > 8),
                value=request.tensor,
            )
        matrices = {request.tensor: matrices[request.tensor]}
    if not matrices:
        raise UsageError("file must have matrices of codes with scales, not none")
    names = {key: _plain(key) for key in matrices}
    if len(set(names.values())) < len(names):
        raise FileError(file, "names of tensors must differ in letters and digits")
    for weights in map(_weights(file), matrices.values()):
        request.layout_of(weights)
    if request.tensor is not None:
        return _write(model, request.tensor, request, folder, name or names[request.tensor])
    if not (index := name or _plain(file.stem)) or index in names.values():
        raise ArgumentError(
            "{name} must be given, another than a tensor's, not {index!r}", index=index
        )
    return _write_all(model, names, request, folder, index)


def _write_all(
    model: GgufFile, names: dict[str, str], request: PackRequest, folder: Path, index: str
) -> tuple[list[Path], dict[str, Any]]:
    """Write all images, then the floats and the index."""
    files: list[Path] = []
    described = {}
    for key, name in names.items():
        written, manifest = _write(model, key, request, folder, name)
        files += written
        described[key] = {
            "image": manifest["image"],
            "manifest": f"{name}.json",
            "k": manifest["k"],
            "n": manifest["n"],
            "bits": manifest["layout"]["bits"],
            "bytes": manifest["bytes"],
        }
        one = model.tensors[key]
        if not one.exact:
            described[key]["error"] = error_of(one.weights(), one.floats())
    floats = {
        key: Tensor(array=one.floats().view(np.uint32), format="fp32")
        for key, one in model.tensors.items()
        if not one.grouped
    }
    facts = {
        key: value
        for key, value in model.facts.items()
        if isinstance(value, (int, float)) or (isinstance(value, str) and len(value) <= 200)
    }
    index_file = {
        "model": model.path.name,
        "facts": facts,
        "floats": f"{index}.npz",
        "tensors": described,
        "bytes": sum(one["bytes"] for one in described.values()),
    }
    files.append(cache.write(folder / f"{index}.npz", dump(floats, ".npz")))
    files.append(cache.write(folder / f"{index}.json", json.dumps(index_file, indent=2) + "\n"))
    return files, index_file


def _write(
    model: GgufFile, key: str, request: PackRequest, folder: Path, name: str
) -> tuple[list[Path], dict[str, Any]]:
    """Write the image of a matrix, and its manifest."""
    weights = model.tensors[key].weights()
    packed = pack_image(weights, request.layout_of(weights))
    manifest = sealed({
        "image": f"{name}.bin",
        **packed.manifest,
        "source": {"format": "gguf", "layer": key, "rows": "out", "kind": model.tensors[key].kind},
    })
    files = [
        cache.write(folder / f"{name}.bin", packed.data),
        cache.write(folder / f"{name}.json", json.dumps(manifest, indent=2) + "\n"),
    ]
    return files, manifest


def _weights(file: Path) -> Any:
    """Return what makes weights of a tensor, and refuses too many, and infinite ones."""

    def made(one: GgufTensor) -> GroupedWeights:
        within(file, 8 * int(np.prod(one.shape)), TENSORS)
        try:
            weights = one.weights()
            check_finite(weights)
        except UsageError as error:
            raise FileError(file, error, f"tensor '{shown(one.name)}'") from None
        return weights

    return made


def _plain(name: str) -> str:
    """Return a file's name for a tensor: none of its own marks."""
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII).lstrip(".-")[:100]
