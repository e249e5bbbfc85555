"""Packages of which a file is read, and that are of no extra."""

import importlib.util
from pathlib import Path

__all__ = ["package_folder"]


def package_folder(module: str, package: str) -> Path:
    """Return the folder of an installed package.

    Parameters
    ----------
    module, package : what it is imported as, and installed as.

    Raises
    ------
    ModuleNotFoundError
        It is not installed; says how it is.
    """
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package}: pip install --no-deps {package}", name=module)
    return Path(spec.origin).parent
