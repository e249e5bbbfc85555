"""Descriptors that are in memory: read back, and written for memory that is elsewhere."""

from typing import Any

import numpy as np

from .descriptor import WINDOW_FIELDS, window_of
from .job import Job, Requantisation
from .maps import map_of_word
from .operations import HIGH, INDEX, MAPS
from .registers import FIELDS, JOB, JOB_BYTES, OPERATIONS

__all__ = ["job_of", "relocate"]

_NAMES = {number: name for name, number in OPERATIONS.items()}
_HIGH = {low: name for name, low in HIGH.items()}
_AS_GIVEN = ("m", "n", "k", "lda", "ldb", "ldc", "block_m", "block_n", "block_k")
_ADDRESSES = 5
"""Of matrices, with which a descriptor begins: those of A, B, C, bias and records."""


def job_of(image: bytes) -> Job:
    """Read a descriptor back; scales of columns stay in memory.

    Raises
    ------
    ValueError
        It has an operation that there is none of.
    """
    words = np.frombuffer(image, "<u4").tolist()

    def get(name: str) -> int:
        address, low, width = FIELDS[f"job_{name}"]
        return int(words[(address - JOB) // 4] >> low & ((1 << width) - 1))

    def signed(name: str) -> int:
        half = 1 << FIELDS[f"job_{name}"][2] - 1
        return (get(name) ^ half) - half

    def address(name: str) -> int:
        return get(f"{name}_lo") | get(f"{name}_hi") << 32

    given: dict[str, Any] = {name: address(name) for name in ("a", "b", "c")}
    given |= {name: get(name) for name in _AS_GIVEN}
    listed, requantise = get("mode_listed"), get("mode_requantise")
    vector = _name(get("mode_vector"), requantise, listed)
    if listed and vector in (None, INDEX):
        given |= {"least": get("low")} if vector else {"places": address("a_scales")}
    if vector in MAPS:
        pairs = map_of_word(get("ldsa")), map_of_word(get("ldsb"))
        given |= {"factors": (pairs[0][0], pairs[1][0]), "zeros": (pairs[0][1], pairs[1][1])}
    elif get("mode_window"):
        given["window"] = window_of([get(name) for name in WINDOW_FIELDS])
    else:
        scales = ("a_scales", "b_scales")[listed and not vector :]
        given |= {name: address(name) for name in scales}
        given |= {name: get(name) for name in ("ldsa", "ldsb")}
    if requantise:
        given["requantisation"] = Requantisation(
            multiplier=get("multiplier"),
            shift=get("shift"),
            zero_point=signed("zero_point"),
            low=signed("low"),
            high=signed("high"),
            relu=bool(get("mode_relu")),
        )
    beside = address("bias") if get("mode_bias") else None
    return Job(
        **given,
        bias=beside if not get("mode_accumulate") else None,
        row_factors=beside if get("mode_accumulate") else None,
        records=address("requant") if get("mode_per_column") or get("mode_table") else None,
        a_format=get("mode_a_format"),
        b_format=get("mode_b_format"),
        accumulate=bool(get("mode_accumulate")),
        by_columns=bool(get("mode_order")),
        c_bytes=get("mode_c_bytes"),
        table=bool(get("mode_table")),
        packed=bool(get("mode_packed")),
        vector=vector,
    )


def _name(operation: int, requantise: int, listed: int) -> str | None:
    """Return the name of an operation; None of a product. Requantised shares are divided."""
    name = _NAMES[operation] if operation else None
    if name and listed:
        return _HIGH.get(name, name)
    return "divide" if name == "exps" and requantise else name


def relocate(images: np.ndarray, by: int, chip: int) -> None:
    """Add to the addresses of jobs in memory, but to those on chip.

    A product that has strides of scales, or a list, has addresses of these, too; windows and maps,
    whose fields are in the same words, have none.

    Parameters
    ----------
    images : descriptors, uint8, which are changed.
    by : what is added.
    chip : first address on chip.
    """
    rows = images.reshape(-1, JOB_BYTES)
    rows[:, : 8 * _ADDRESSES] = _moved(rows[:, : 8 * _ADDRESSES], by, chip)
    words, (address, low, width) = rows.view("<u4"), FIELDS["job_mode_vector"]
    others = (1 << width) - 1 << low | 1 << FIELDS["job_mode_window"][1]
    strides = words[:, (FIELDS["job_ldsa"][0] - JOB) // 4]
    mode = words[:, (address - JOB) // 4]
    listed = mode >> FIELDS["job_mode_listed"][1] & 1
    scaled = ((strides | listed) != 0) & (mode & others == 0)
    first = FIELDS["job_a_scales_lo"][0] - JOB
    part = slice(first, first + 16)
    rows[scaled, part] = _moved(rows[scaled, part], by, chip)


def _moved(images: np.ndarray, by: int, chip: int) -> np.ndarray:
    """Return addresses of 8 bytes each, with what is added to those that are not on chip."""
    addresses = images.copy().view("<u8")
    moved = np.where(
        addresses < np.uint64(min(chip, (1 << 64) - 1)),
        addresses + np.uint64(by % (1 << 64)),
        addresses,
    )
    return moved.view(np.uint8)
