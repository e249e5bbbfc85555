"""Codes and scales of ggml's blocks in two levels, tables and trits, by its own library.

The library turns blocks into floats. What lies behind these is asked of it, too: blocks whose scale
is 1 come out as integers, those whose codes are all the same as scales. So no layout of bits is
written down here, but for where a block has its scale, its offset's scale and its codes.
"""

from dataclasses import dataclass

import numpy as np

from carrysave.errors import UsageError, needs

__all__ = ["LAYOUTS", "PLAIN", "Codes", "codes_of", "dequantised"]

_ONE = np.frombuffer(np.float16(1).tobytes(), np.uint8)
_ZERO = np.zeros(2, np.uint8)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where a block has what.

    Members
    -------
    group, bits : weights that share a scale; of a code.
    levels : what codes mean, as of :class:`golden.lut.weights.GroupedWeights`.
    scale : the byte from which on the block's scale is fp16; None: found by codes that are 1.
    one : bytes of a block that are 1 in place of the scale, from the byte `scale` or 0 on.
    low : the byte from which on the scale of offsets is fp16; None: there are none.
    codes : ranges of bytes with codes.
    fill, most : a byte, and the integer that all codes are if their bytes are that.
    steps : each group has a scale of its own, an integer times the block's.
    """

    group: int
    bits: int
    levels: str = "uniform"
    scale: int | None
    one: bytes = _ONE.tobytes()
    low: int | None = None
    codes: tuple[tuple[int, int], ...]
    fill: int = 0xFF
    most: int
    steps: bool = True


LAYOUTS: dict[str, Layout] = {
    "Q2_K": Layout(group=16, bits=2, levels="affine", scale=80, low=82, codes=((16, 80),), most=3),
    "Q3_K": Layout(group=16, bits=3, scale=108, codes=((0, 96),), most=3),
    "Q4_K": Layout(group=32, bits=4, levels="affine", scale=0, low=2, codes=((16, 144),), most=15),
    "Q5_K": Layout(group=32, bits=5, levels="affine", scale=0, low=2, codes=((16, 176),), most=31),
    "Q6_K": Layout(group=16, bits=6, scale=208, codes=((0, 192),), most=31),
    "IQ4_NL": Layout(group=32, bits=8, scale=0, codes=((2, 18),), most=113, steps=False),
    "IQ4_XS": Layout(group=32, bits=8, scale=0, codes=((8, 136),), most=113),
    "TQ1_0": Layout(
        group=256, bits=2, levels="ternary", scale=52, codes=((0, 52),), most=1, steps=False
    ),
    "TQ2_0": Layout(
        group=256,
        bits=2,
        levels="ternary",
        scale=64,
        codes=((0, 64),),
        fill=0xAA,
        most=1,
        steps=False,
    ),
    "MXFP4": Layout(
        group=32, bits=5, scale=None, one=b"\x80", codes=((1, 17),), fill=0x11, most=1, steps=False
    ),
    "NVFP4": Layout(
        group=16,
        bits=5,
        scale=None,
        one=b"\x40" * 4,
        codes=((4, 36),),
        fill=0x11,
        most=1,
        steps=False,
    ),
}
"""Kinds whose codes stay as they are; their scales are rounded to fp16, if these have more bits."""
PLAIN = ("Q8_K",)
"""Kinds of which the library has no floats: a scale of fp32, codes of 8 bits, and sums of these."""
_PLAIN_CODES = slice(4, 260)


@dataclass(frozen=True, eq=False)
class Codes:
    """Weights as integers times scales, less what is added to each group.

    Members
    -------
    integers : blocks x weights, as scales multiply them; of "affine" from 0 on.
    scales, offsets : blocks x groups, float32.
    group, bits, levels : as of :class:`Layout`.
    """

    integers: np.ndarray
    scales: np.ndarray
    offsets: np.ndarray | None
    group: int
    bits: int
    levels: str


def dequantised(kind: str, blocks: np.ndarray) -> np.ndarray:
    """Return floats of blocks, as the library computes them.

    Parameters
    ----------
    kind : of ggml.
    blocks : blocks x bytes.
    """
    if kind in PLAIN:
        integers, scales = _plain(blocks)
        return scales * integers.astype(np.float32)
    needs("gguf")
    from gguf import GGMLQuantizationType, quants

    # Scales that are no numbers are for the caller.
    with np.errstate(all="ignore"):
        values = quants.dequantize(np.ascontiguousarray(blocks), GGMLQuantizationType[kind])
    return values.astype(np.float32, copy=False)


def codes_of(kind: str, blocks: np.ndarray) -> Codes:
    """Return the integers and scales of blocks of a kind of :data:`LAYOUTS` or :data:`PLAIN`.

    Raises
    ------
    UsageError
        Codes of trits are none.
    """
    if kind in PLAIN:
        integers, scales = _plain(blocks)
        return Codes(integers, scales, None, integers.shape[1], 8, "uniform")
    form = LAYOUTS[kind]
    place = form.scale or 0
    unit = _with(blocks, place, np.frombuffer(form.one, np.uint8))
    if form.low is not None:
        unit = _with(unit, form.low, _ZERO)
    integers, count = dequantised(kind, unit), len(blocks)
    grouped = integers.reshape(count, -1, form.group)
    if form.scale is None:
        scales = _filled(form, kind, blocks)
    else:
        scales = blocks[:, place : place + 2].copy().view("<f2").astype(np.float32)
        if form.steps:
            steps = _filled(form, kind, unit) / form.most
            grouped = np.divide(
                grouped, steps[..., None], out=np.zeros_like(grouped), where=steps[..., None] != 0
            )
            scales = scales * steps
    if form.levels == "ternary" and grouped.max(initial=0) > 1:
        raise UsageError(f"codes of {kind} must be 0..2, not 3")
    offsets = None
    if form.low is not None:
        offsets = _filled(form, kind, _with(blocks, place, _ZERO))
    return Codes(
        np.rint(grouped).astype(np.int64).reshape(count, -1),
        np.broadcast_to(scales, grouped.shape[:2]),
        offsets,
        form.group,
        form.bits,
        form.levels,
    )


def _with(blocks: np.ndarray, place: int, values: np.ndarray) -> np.ndarray:
    """Return blocks with other bytes from a place on."""
    blocks = blocks.copy()
    blocks[:, place : place + len(values)] = values
    return blocks


def _filled(form: Layout, kind: str, blocks: np.ndarray) -> np.ndarray:
    """Return what all weights of each group are if their codes are the same."""
    for first, last in form.codes:
        blocks = _with(blocks, first, np.full(last - first, form.fill, np.uint8))
    return dequantised(kind, blocks).reshape(len(blocks), -1, form.group)[..., 0]


def _plain(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return codes of 8 bits, blocks x weights, and scales, blocks x 1."""
    scales = blocks[:, :4].copy().view("<f4").astype(np.float32)
    return blocks[:, _PLAIN_CODES].view(np.int8).astype(np.int64), scales
