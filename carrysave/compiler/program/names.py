"""Names of the files of a program's folder; light to import."""

from pathlib import Path

__all__ = ["HOST", "MANIFEST", "MEMORY", "is_program"]

MEMORY, MANIFEST, HOST = "memory.bin", "program.json", "host.onnx"


def is_program(path: Path) -> bool:
    """Return whether a path is a program's folder, and no model."""
    return path.is_dir() and (path / MANIFEST).exists()
