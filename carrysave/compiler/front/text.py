"""Files of small language models of characters, trained in few bits: .npz with a JSON header."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.front import decoder
from carrysave.compiler.front.decoder import CACHE_BITS, FEED, FORMS, Layer, Model, Shape
from carrysave.errors import ArgumentError
from carrysave.weights.array_files import check_all_used, read_arrays
from golden.lut.grouped import FastWeights
from golden.lut.weights import GroupedWeights
from hw.emit.user_files import FileError, parsing, shown

__all__ = ["FORMATS", "KIND", "Characters", "check_header", "gains_of", "load_text", "matrices_of"]

FORMATS = {
    "w1.58a8": (2, "ternary", 8, 0),
    "w2a8": (2, "affine", 8, 0),
    "w4a4": (4, "uniform", 4, 32),
}
"""Bits of weights, what their codes mean, bits of activations, and rows of a group (0: all)."""
KIND = "carrysave text"
_NUMBERS = {
    "layers": (1, 256),
    "width": (32, 4096),
    "hidden": (32, 4096),
    "heads": (1, 128),
    "context": (2, decoder.MOST_TOKENS),
}
_HEADER = {"kind", "form", "format", *_NUMBERS, "cache_bits", "characters"}


class Characters:
    """A vocabulary of characters; no token ends a text.

    Parameters
    ----------
    characters : each once.
    """

    ends: frozenset[int] = frozenset()

    def __init__(self, characters: str):
        self.characters = characters
        self._numbers = {one: number for number, one in enumerate(characters)}

    def tokens(self, text: str) -> np.ndarray:
        """Cut a text into characters.

        Raises
        ------
        UsageError
            The vocabulary lacks one.
        """
        for one in text:
            if one not in self._numbers:
                says = "{prompt} must be of the model's {_count} characters, which have no {_one!r}"
                raise ArgumentError(says, _count=len(self.characters), _one=shown(one))
        return np.array([self._numbers[one] for one in text], dtype=np.int64)

    def question(self, prompt: str, *, follows: bool = False) -> np.ndarray:
        """Return a prompt's characters, which the model continues, whatever it follows."""
        return self.tokens(prompt)

    def words(self, numbers: Iterator[int]) -> Iterator[str]:
        """Yield characters as they come."""
        for number in numbers:
            yield self.characters[number]


def matrices_of(header: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Return inputs and outputs of each matrix, by name in the file."""
    width, hidden = header["width"], header["hidden"]
    feed = ((width, hidden), (width, hidden), (hidden, width))
    shapes = dict.fromkeys(FORMS[header["form"]], (width, width)) | dict(
        zip(FEED, feed, strict=True)
    )
    matrices = {
        f"{number}.{name}": shape
        for number in range(header["layers"])
        for name, shape in shapes.items()
    }
    return matrices | {"head": (width, len(header["characters"]))}


def gains_of(header: Mapping[str, Any]) -> dict[str, int]:
    """Return the length of each norm's gains, by name in the file."""
    width, hidden = header["width"], header["hidden"]
    widths = {"mix_norm": width, "output_norm": width, "ffn_norm": width, "down_norm": hidden}
    gains = {
        f"{number}.{name}": length
        for number in range(header["layers"])
        for name, length in widths.items()
    }
    return gains | {"norm": width}


def load_text(path: Path) -> tuple[Model, Characters]:
    """Read a model and its vocabulary.

    Raises
    ------
    FileNotFoundError, FileError
        There is none; it is damaged, or something is missing or of another shape or range.
    """
    arrays = read_arrays(path)
    if not isinstance(arrays, dict) or "header" not in arrays:
        raise FileError(path, "must be a model of characters, .npz with a header")
    header = _header(path, arrays["header"])
    width, words = header["width"], len(header["characters"])
    parts = (f"{name}.{part}" for name in matrices_of(header) for part in ("codes", "scales"))
    check_all_used(path, "array", arrays, {"header", "embedding", *gains_of(header), *parts})
    gains = {name: _floats(path, arrays, name, (size,)) for name, size in gains_of(header).items()}
    matrices = {
        name: _matrix(path, arrays, name, shape, header["format"])
        for name, shape in matrices_of(header).items()
    }
    attends = header["form"] == "attention"
    rope = decoder.plain_rope(10000.0, width // header["heads"]) if attends else None
    layers = [
        Layer(
            matrices={
                name: matrices[f"{number}.{name}"] for name in (*FORMS[header["form"]], *FEED)
            },
            attention_gain=gains[f"{number}.mix_norm"],
            feed_gain=gains[f"{number}.ffn_norm"],
            output_gain=gains[f"{number}.output_norm"],
            down_gain=gains[f"{number}.down_norm"],
            rope=rope,
        )
        for number in range(header["layers"])
    ]
    bits, levels, activations, _ = FORMATS[header["format"]]
    shape = Shape(
        layers=header["layers"], width=width, hidden=header["hidden"], heads=header["heads"],
        shared=header["heads"], head=width // header["heads"], words=words,
        context=header["context"],
    )  # fmt: skip
    model = Model(
        shape=shape, embedding=_floats(path, arrays, "embedding", (words, width)), layers=layers,
        gain=gains["norm"], head=matrices["head"], form=header["form"], bits=activations,
        cache_bits=header["cache_bits"], weight_format=(bits, levels),
    )  # fmt: skip
    return model, Characters(header["characters"])


def check_header(header: Any) -> None:
    """Check the header of a model.

    Raises
    ------
    ValueError
        It is none, or a value is out of range.
    """

    def refuse(name: str, legal: str) -> ValueError:
        return ValueError(f"{name} must be {legal}, not {header.get(name)!r}")

    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise ValueError("must be of a model of characters")
    for name, values in (("form", FORMS), ("format", FORMATS)):
        if header.get(name) not in [*values]:
            raise refuse(name, f"one of {', '.join(values)}")
    for name, (low, high) in _NUMBERS.items():
        value = header.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise refuse(name, f"{low}..{high}")
    if type(header.get("cache_bits")) is not int or header["cache_bits"] not in CACHE_BITS:
        raise refuse("cache_bits", " or ".join(map(str, CACHE_BITS)))
    head, rest = divmod(header["width"], header["heads"])
    if rest or head % 32 or head & head - 1:
        raise refuse(
            "heads", f"such that width {header['width']} is in heads of 32, 64, ... values"
        )
    if header["hidden"] % 32:
        raise refuse("hidden", "a multiple of 32")
    text = header.get("characters")
    if not isinstance(text, str) or not 2 <= len(text) == len(set(text)):
        raise refuse("characters", "a text of 2 characters or more, each once")
    if not all(one.isprintable() or one in "\n\t" for one in text):
        raise refuse("characters", "printable, ends of lines or tabs")


def _header(path: Path, array: np.ndarray) -> dict[str, Any]:
    """Read and check the header."""
    if array.dtype != np.uint8:
        raise FileError(path, "must be bytes", "header")
    with parsing(path, "header"):
        header = json.loads(array.tobytes())
    try:
        check_header(header)
    except ValueError as error:
        raise FileError(path, error, "header") from None
    check_all_used(path, "header", header, _HEADER)
    return header


def _array(
    path: Path, arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...]
) -> np.ndarray:
    array = arrays.get(name)
    if array is None or array.shape != shape:
        what = "not there" if array is None else f"not {array.shape}"
        raise FileError(path, f"must be of {shape}, {what}", f"array '{name}'")
    return array


def _floats(
    path: Path, arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...]
) -> np.ndarray:
    floats = _array(path, arrays, name, shape)
    if floats.dtype.kind != "f" or not np.isfinite(floats).all():
        raise FileError(path, "must be finite floats", f"array '{name}'")
    return floats.astype(np.float32)


def _matrix(
    path: Path, arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int, int], form: str
) -> FastWeights:
    bits, levels, _, group = FORMATS[form]
    group = group or shape[0]
    codes = _array(path, arrays, f"{name}.codes", shape)
    scales = _floats(path, arrays, f"{name}.scales", (shape[0] // group, shape[1]))
    with np.errstate(over="ignore"):
        halves = scales.astype(np.float16)
    if not np.isfinite(halves).all():
        raise FileError(path, "must be within fp16", f"array '{name}.scales'")
    if codes.dtype.kind not in "iu":
        raise FileError(path, "must be integers", f"array '{name}.codes'")

    def encoded(values: np.ndarray) -> np.ndarray:
        return values.astype(np.float16).view(np.uint16).astype(np.int64)

    try:
        whole = GroupedWeights(
            codes=codes.astype(np.int64),
            bits=bits,
            levels=levels,
            group=group,
            scale_format="fp16",
            scales=encoded(halves),
            zeros=np.full(scales.shape, 1 << bits - 1) if levels == "uniform" else None,
            offsets=encoded(halves * np.float16(-1.5)) if levels == "affine" else None,
        )
        return FastWeights(whole)
    except ValueError as error:
        raise FileError(path, error, f"array '{name}.codes'") from None
