"""The memory image of a layer's weights: what the hardware reads, with a description of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from golden.check import Integer
from golden.lut.bits import pack_fields, unpack_fields
from golden.lut.layout import LayoutSpec, blocks, pack_codes, unblock, unpack_codes
from golden.lut.lookup import constants
from golden.lut.weights import GroupedWeights, scale_width

__all__ = ["ALIGNMENT", "VERSION", "Image", "pack_image", "sealed", "unpack_image"]

ALIGNMENT = 64
"""Bytes of which every section's start is a multiple."""

VERSION = 2
"""Of the manifest; 1 had no digest of its fields."""

_SEAL = "fields_sha256"
_COUNT = Integer("rows or columns", 1, 1, 1 << 32)


@dataclass(frozen=True, kw_only=True, eq=False)
class Image:
    """Bytes, and a manifest of plain numbers, texts, lists and tables that says what they are."""

    data: bytes
    manifest: dict[str, Any]


def sealed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with a digest of all its other fields.

    ``fields_sha256`` is the SHA-256 of them as JSON: in ASCII, keys in order, without spaces.
    """
    fields = {name: value for name, value in manifest.items() if name != _SEAL}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return {**fields, _SEAL: hashlib.sha256(text.encode()).hexdigest()}


def pack_image(weights: GroupedWeights, layout: LayoutSpec) -> Image:
    """Lay out codes, scales, zero points and negation constants.

    Sections, each from a multiple of 64 bytes on: "codes", see :class:`LayoutSpec`; the others
    block of n columns by block, in a block group by group, n numbers, or W of them for a column of
    "bcq", least plane first; columns that the last block is filled up with have zeros.

    - "scales": codes of scales; one alone if there is one for all;
    - "zeros": zero points z' of the odd grid, two's complement (of "uniform");
    - "offsets": codes of offsets (of "affine" and "bcq");
    - "column_scales": fp32, n for each block (with scales of "int8");
    - "constants": what negation by "constant" leaves to be added (where codes are folded);
    - "rows": for each row of codes, its row in the original matrix, 32 bits.

    Parameters
    ----------
    weights : what is laid out.
    layout : how; its group and bits must be those of the weights.
    """
    if (layout.group, layout.bits) != (weights.group, weights.bits):
        raise ValueError(
            f"group and bits of the layout must be {weights.group} and {weights.bits}, "
            f"not {layout.group} and {layout.bits}"
        )
    if layout.ternary and weights.levels != "ternary":
        raise ValueError(
            f"layout must be one of beats, planes_inner, planes_outer for {weights.levels} "
            f"weights, not {layout.layout!r}"
        )
    sections: dict[str, tuple[bytes, dict[str, Any]]] = {
        "codes": (pack_codes(layout, weights.codes), {"field_bits": layout.field})
    }
    for name, (width, signed, array) in _numbers(weights, layout).items():
        fields = pack_fields(np.concatenate(array), width)
        sections[name] = (fields, {"field_bits": width, "signed": signed})
    data = b""
    described: dict[str, dict[str, Any]] = {}
    for name, (part, facts) in sections.items():
        data += bytes(-len(data) % ALIGNMENT)
        digest = hashlib.sha256(part).hexdigest()
        described[name] = {"offset": len(data), "bytes": len(part), **facts, "sha256": digest}
        data += part
    manifest = {
        "version": VERSION,
        "k": weights.codes.shape[0],
        "n": weights.codes.shape[1],
        "levels": weights.levels,
        "scale_format": weights.scale_format,
        "one_scale": weights.scales.shape[:2] == (1, 1),
        "groups": weights.groups,
        "block_bytes": layout.block_bytes(weights.codes.shape[0]),
        "group_beats": layout.group_beats(weights.codes.shape[0]),
        "layout": asdict(layout),
        "sections": described,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    return Image(data=data, manifest=sealed(manifest))


def unpack_image(image: Image) -> GroupedWeights:
    """Return the weights of an image; refuse one that is not what its manifest says.

    Its manifest may have further fields, and must be :func:`sealed` with them.

    Raises
    ------
    ValueError
        If a digest is another, or :func:`pack_image` would not write just this of these weights.
    """
    try:
        weights, layout = _unpacked(image)
        again = pack_image(weights, layout).manifest
        for name in again.keys() - {_SEAL}:
            if image.manifest[name] != again[name]:
                raise ValueError(f"{name} must be what the weights have, not anything else")
        return weights
    except (KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"manifest must be one of carrysave pack; wrong is {error}") from None


def _unpacked(image: Image) -> tuple[GroupedWeights, LayoutSpec]:
    """Return the weights, and how they are laid out; of an image with the right digests."""
    manifest = image.manifest
    if manifest["version"] != VERSION:
        older = (
            ", which has no digest of its fields: pack again" if manifest["version"] == 1 else ""
        )
        raise ValueError(f"version must be {VERSION}, not {manifest['version']!r}{older}")
    if manifest[_SEAL] != sealed(manifest)[_SEAL]:
        raise ValueError("fields must be those that were packed; their SHA-256 is another")
    if hashlib.sha256(image.data).hexdigest() != manifest["sha256"]:
        raise ValueError("image must be the one of the manifest; its SHA-256 is another")
    layout = LayoutSpec(**manifest["layout"])
    shape = _COUNT.check("k", manifest["k"]), _COUNT.check("n", manifest["n"])
    if layout.block_bytes(shape[0]) * -(-shape[1] // layout.n) > len(image.data):
        raise ValueError(f"k x n must be what the image holds, not {shape[0]} x {shape[1]}")
    codes = unpack_codes(layout, _section(image, "codes"), shape)
    read = _Reader(image, layout)
    planes = layout.bits if manifest["levels"] == "bcq" else 1
    scales = read.grouped("scales", planes)
    if scales is None:
        raise ValueError("sections must have scales")
    if manifest["levels"] == "bcq":
        scales = scales.reshape(scales.shape[0], -1, planes)
    zeros = read.grouped("zeros")
    if zeros is not None:
        zeros = zeros + (1 << layout.bits) - 1 >> 1
    columns = read.grouped("column_scales", groups=1)
    weights = GroupedWeights(
        codes=codes,
        bits=layout.bits,
        levels=manifest["levels"],
        group=layout.group,
        scale_format=manifest["scale_format"],
        scales=scales,
        zeros=zeros,
        offsets=read.grouped("offsets"),
        column_scales=None if columns is None else columns[0],
        rows=read.rows(),
    )
    return weights, layout


def _numbers(
    weights: GroupedWeights, layout: LayoutSpec
) -> dict[str, tuple[int, bool, list[np.ndarray]]]:
    """Return width, sign and numbers of every section but the codes."""

    def grouped(array: np.ndarray) -> list[np.ndarray]:
        if weights.scales.shape[:2] == (1, 1):
            return [array.reshape(-1)]
        return [part.reshape(-1) for part in _blocks(array, layout.n)]

    width = scale_width(weights.scale_format)
    sections = {"scales": (width, False, grouped(weights.scales))}
    if weights.zeros is not None:
        if weights.zeros.min() < -16000 or weights.zeros.max() > 16000:
            raise ValueError("zeros must be -16000..16000, not beyond")
        odd = 2 * weights.zeros + 1 - (1 << weights.bits)
        signed = 8 if np.abs(odd).max() < 128 else 16
        sections["zeros"] = (signed, True, grouped(odd))
    if weights.offsets is not None:
        sections["offsets"] = (width, False, grouped(weights.offsets))
    if weights.column_scales is not None:
        sections["column_scales"] = (32, False, grouped(weights.column_scales[None]))
    if layout.fold and not layout.ternary:
        missing = np.stack([
            constants(weights.codes[start : start + layout.group], layout.fold)
            for start in range(0, weights.codes.shape[0], layout.group)
        ])
        blocked = [part.reshape(-1) for part in _blocks(missing, layout.n)]
        most = -(-layout.group // layout.fold) * ((1 << layout.bits) - 1)
        sections["constants"] = (16 if most < 1 << 15 else 32, True, blocked)
    if weights.rows is not None:
        sections["rows"] = (32, False, [weights.rows])
    return sections


def _blocks(array: np.ndarray, n: int) -> list[np.ndarray]:
    """Cut columns of groups x N, or x W, into blocks."""
    if array.ndim == 2:
        return blocks(array, n)
    groups, _, planes = array.shape
    parts = blocks(array.reshape(groups, -1), n * planes)
    return [part.reshape(groups, n, planes) for part in parts]


def _section(image: Image, name: str) -> bytes:
    """Return the bytes of a section."""
    where: Mapping[str, int] = image.manifest["sections"][name]
    return image.data[where["offset"] : where["offset"] + where["bytes"]]


class _Reader:
    """Reads sections of numbers."""

    def __init__(self, image: Image, layout: LayoutSpec):
        self.image = image
        self.layout = layout

    def numbers(self, name: str, count: int) -> np.ndarray | None:
        """Read so many numbers; None without the section."""
        where = self.image.manifest["sections"].get(name)
        if where is None:
            return None
        data = _section(self.image, name)
        return unpack_fields(data, where["field_bits"], count, signed=where["signed"])

    def grouped(self, name: str, planes: int = 1, groups: int | None = None) -> np.ndarray | None:
        """Read numbers of groups and columns, of W planes each side by side."""
        manifest = self.image.manifest
        groups = -(-manifest["k"] // self.layout.group) if groups is None else groups
        columns = manifest["n"]
        if manifest["one_scale"]:
            values = self.numbers(name, planes)
            return None if values is None else values.reshape(1, planes)
        wide = self.layout.n * planes
        number = -(-columns // self.layout.n)
        values = self.numbers(name, number * groups * wide)
        if values is None:
            return None
        return unblock(list(values.reshape(number, groups, wide)), columns * planes)

    def rows(self) -> np.ndarray | None:
        """Read the permutation."""
        return self.numbers("rows", self.image.manifest["k"])
