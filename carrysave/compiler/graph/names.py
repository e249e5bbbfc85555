"""Names from a model, and errors that say where in it something is wrong."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from onnx import NodeProto

from carrysave.errors import ArgumentError
from hw.emit.user_files import FileError, shown

__all__ = ["key", "label", "quoted", "within_file"]


def quoted(name: str) -> str:
    """Return a name from a model for one line of text."""
    return shown(repr(name), 100)


def label(node: NodeProto) -> str:
    """Say which node it is, for one line of text."""
    return f"{shown(node.op_type, 100)} {quoted(node.name or next(iter(node.output), ''))}"


@contextlib.contextmanager
def within_file(path: Path) -> Iterator[None]:
    """Add the file to what is said of a part of it."""
    try:
        yield
    except (FileError, ArgumentError):
        raise
    except ValueError as error:
        raise FileError(path, error) from None


def key(node: NodeProto) -> str:
    """Return a node's name or, without one, its output's."""
    return node.name or node.output[0]
