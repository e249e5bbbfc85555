"""Weight files to the hardware's memory image, and back."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.errors import ArgumentError, UsageError, check_choice
from carrysave.weights import model_image
from carrysave.weights.codebook import pack_codebook, unpack_codebook
from carrysave.weights.layer import (
    check_finite,
    from_checkpoint,
    from_codes,
    from_float,
    to_checkpoint,
    to_codes,
    to_parts,
)
from carrysave.weights.operand_image import of_operand, pack_operand, unpack_operand
from carrysave.weights.request import SOURCES, PackRequest
from carrysave.weights.tensor_files import Tensor, dump, read
from golden.formats.names import minifloat
from golden.lut.checkpoint import FORMATS
from golden.lut.image import Image, pack_image, sealed, unpack_image
from golden.lut.layout import LAYOUTS
from golden.lut.weights import GroupedWeights
from hw.emit.user_files import TENSORS, FileError, parsing, read_text, shown, within
from hw.emit.user_files import read as read_file

__all__ = ["LAYOUTS", "SOURCES", "PackRequest", "pack", "unpack"]


def pack(
    file: Path, request: PackRequest, folder: Path, name: str | None
) -> tuple[list[Path], dict[str, Any]]:
    """Write ``<name>.bin`` and ``<name>.json``; return these files, and the manifest.

    Parameters
    ----------
    file : .npy, .npz or .safetensors; of a .gguf see
        :func:`carrysave.weights.model_image.pack_model`.
    request : which tensors of it, and how.
    folder : created if missing.
    name : of the files; by default the tensor's, or the file's.
    """
    if file.suffix == model_image.SUFFIX:
        return model_image.pack_model(file, request, folder, _checked(name))
    tensors = read(file)
    source, layer = _find(tensors, request)
    _bounded(file, tensors, source, layer)
    chosen = _checked(name) or (file.stem if file.suffix == ".npy" else _plain(layer)) or file.stem
    if request.codebook is not None:
        if source != "float":
            raise ArgumentError("{codebook} is for floats, not for {source}", source=source)
        data, manifest = pack_codebook(tensors[layer], request, chosen, layer)
        return _written(folder, chosen, data, manifest), manifest
    operand = of_operand(request)
    if operand is None:
        request.refuse("images of LUT cores", "depth")
    if source == "float":
        weights, facts = from_float(tensors[layer], operand or request)
    elif source == "codes":
        weights, facts = from_codes(_members(tensors, layer), request)
    else:
        weights, facts = from_checkpoint(_members(tensors, layer), source, request)
    if operand is not None:
        floats = operand.turned(tensors[layer].values()) if source == "float" else weights.values()
        described = {"format": source, "layer": layer, **facts}
        data, manifest = pack_operand(weights, floats, operand, f"{chosen}.bin", described)
        return _written(folder, chosen, data, manifest), manifest
    image = pack_image(weights, request.layout_of(weights))
    manifest = sealed({
        "image": f"{chosen}.bin",
        **image.manifest,
        "source": {"format": source, "layer": layer, **facts},
    })
    return _written(folder, chosen, image.data, manifest), manifest


def _written(folder: Path, name: str, data: bytes, manifest: Mapping[str, Any]) -> list[Path]:
    """Write an image and its manifest; return the files."""
    return [
        cache.write(folder / f"{name}.bin", data),
        cache.write(folder / f"{name}.json", json.dumps(manifest, indent=2) + "\n"),
    ]


def unpack(file: Path, folder: Path, name: str | None, suffix: str) -> tuple[Path, list[str]]:
    """Write the tensors that an image was made of, and return their file and names.

    For GPTQ and AWQ they are those of the checkpoint, for codes those of the file, bit by bit. For
    float weights: "codes" of :class:`golden.lut.weights.GroupedWeights`, K x N, "scales" and, if
    any, "zeros", "offsets" and "column_scales". Except for GPTQ and AWQ there is "weight" too: the
    dequantised weights, fp32, with rows as in the source.

    Parameters
    ----------
    file : the manifest; the image is beside it.
    folder : created if missing.
    name : of the file; by default the image's.
    suffix : .npz or .safetensors.
    """
    _checked(name)
    text = read_text(file)
    try:
        with parsing(file):
            manifest = json.loads(text)
        image = str(manifest["image"])
        if Path(image).name != image:
            raise ValueError(f"image {image!r}, which is not beside it")
        source = dict(manifest["source"])
        kind, layer = str(source["format"]), str(source["layer"])
        k, n = manifest["k"], manifest["n"]
    except FileError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise FileError(file, f"must be a manifest of carrysave pack; wrong is {error}") from None
    if isinstance(k, int) and isinstance(n, int):
        within(file, 8 * k * n)
    data = read_file(file.parent / image, TENSORS)
    try:
        if "codebook" in manifest or "operand" in manifest:
            read_back = unpack_codebook if "codebook" in manifest else unpack_operand
            matrix = read_back(data, manifest)
            turned = matrix if source.get("rows") == "in" else matrix.T
            weight = Tensor(array=np.ascontiguousarray(turned).view(np.uint32), format="fp32")
            path = folder / f"{name or file.stem + '_unpacked'}{suffix}"
            return cache.write(path, dump({"weight": weight}, suffix)), ["weight"]
        weights = unpack_image(Image(data=data, manifest=manifest))
        check_finite(weights)
        tensors = _tensors(weights, kind, source)
    except (UsageError, ValueError, TypeError, KeyError) as error:
        raise FileError(file, f"must be a manifest of carrysave pack; wrong is {error}") from None
    prefix = f"{layer}." if layer and kind != "float" else ""
    named = {prefix + key: tensor for key, tensor in tensors.items()}
    path = folder / f"{name or file.stem + '_unpacked'}{suffix}"
    cache.write(path, dump(named, suffix))
    return path, list(named)


def _tensors(weights: GroupedWeights, kind: str, source: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the tensors that an image was made of; its manifest's word may be anybody's."""
    check_choice("format of the source", kind, (*SOURCES[1:], "gguf"))
    if kind in FORMATS:
        return to_checkpoint(weights, kind, bool(source.get("g_idx")))
    tensors = to_codes(weights, source) if kind == "codes" else to_parts(weights)
    values = PackRequest(rows=source["rows"]).turned(weights.values())
    tensors["weight"] = Tensor(array=minifloat("fp32").encode(values), format="fp32")
    return tensors


def _checked(name: str | None) -> str | None:
    """Return the name of a file that an option asks for."""
    if name is not None and (Path(name).name != name or name == ".."):
        raise ArgumentError(
            "{name} must be a file's name without folder, not {value!r}", value=name
        )
    return name


def _plain(layer: str) -> str:
    """Return a file's name for a layer, whose name may be anything: none of its own marks."""
    return re.sub(r"[^\w.-]", "_", layer, flags=re.ASCII).lstrip(".-")[:100]


def _bounded(file: Path, tensors: Mapping[str, Tensor], source: str, layer: str) -> None:
    """Refuse a layer whose codes, 64 bits each, or doubles would take too much memory."""
    if source == "float":
        count = tensors[layer].array.size
    else:
        # A word has up to 16 codes.
        members = _members(tensors, layer)
        count = max(t.array.size * (16 if part == "qweight" else 1) for part, t in members.items())
    within(file, 8 * count)


def _find(tensors: Mapping[str, Tensor], request: PackRequest) -> tuple[str, str]:
    """Return the kind of source, and its layer: the tensor's name, or what precedes its parts."""
    source = request.source or "auto"
    if source == "auto":
        source = "float"
        for part, kind in (("qweight", "words"), ("codes", "codes")):
            if any(name == part or name.endswith(f".{part}") for name in tensors):
                source = kind
    if source in ("words", "codes", *FORMATS):
        part = "codes" if source == "codes" else "qweight"
        layers = [
            name[: -len(part)].rstrip(".")
            for name in tensors
            if name == part or name.endswith(f".{part}")
        ]
        layer = _choose(layers, request.tensor, f"layers with {part}")
        if source == "words":
            members = _members(tensors, layer)
            awq = "scales" in members and (
                members["qweight"].array.shape[-1] * 8 == members["scales"].array.shape[-1]
            )
            source = "awq" if awq else "gptq"
        return source, layer
    matrices = [
        name for name, tensor in tensors.items() if tensor.is_float and tensor.array.ndim == 2
    ]
    return source, _choose(matrices, request.tensor, "matrices of floats")


def _choose(names: list[str], wanted: str | None, what: str) -> str:
    """Return the name that is wanted, or the only one."""
    listed = ", ".join(shown(name) or "(no name)" for name in names[:8])
    listed += f" and {len(names) - 8} more" if len(names) > 8 else ""
    if not names:
        raise UsageError(f"file must have {what}, not none")
    if wanted is None and len(names) > 1:
        raise ArgumentError(
            "{tensor} must be given, one of the {what}: {listed}", what=what, listed=listed
        )
    if wanted is not None and wanted not in names:
        raise ArgumentError(
            "{tensor} must be one of the {what}: {listed}; not {wanted!r}",
            what=what,
            listed=listed,
            wanted=wanted,
        )
    return names[0] if wanted is None else wanted


def _members(tensors: Mapping[str, Tensor], layer: str) -> dict[str, Tensor]:
    """Return the tensors of a layer, by the last part of their names."""
    prefix = f"{layer}." if layer else ""
    return {
        name[len(prefix) :]: tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix) and "." not in name[len(prefix) :]
    }
