"""A chat that stopped, as a file, from which it goes on as if it had not."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import __version__, cache
from carrysave.weights import tensor_files
from carrysave.weights.array_files import read_arrays
from carrysave.weights.tensor_files import Tensor
from hw.emit.user_files import FileError, parsing, shown

__all__ = ["SUFFIX", "Stopped", "load", "made_by", "save"]

SUFFIX = ".npz"
_KIND = "carrysave chat, 1"
_SUFFIXES = (".json", ".jinja", ".safetensors")
_HEADER, _TOKENS, _CODES = "header", "tokens", "codes"
_TEXTS = {
    "version": "version of carrysave",
    "model": "SHA-256 of the model",
    "kv": "bits of keys and values",
    "weights": "bits of rounded weights",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Stopped:
    """What is left of a chat.

    Members
    -------
    tokens : of all prompts and answers, the one with which the model ended an answer, too.
    length : how many of them the decoder has had.
    answer : how many at the end are the last answer's, without its end.
    ended : why it did; see :func:`carrysave.compiler.decoder.write.write`.
    arrays : of :meth:`carrysave.compiler.decoder.blocks.Blocks.state`.
    """

    tokens: list[int]
    length: int
    answer: int
    ended: str
    arrays: Mapping[str, np.ndarray]

    @property
    def last(self) -> list[int]:
        """Tokens of the last answer, if the model did not end it."""
        return self.tokens[len(self.tokens) - self.answer :]


def made_by(model: Path, bits: int | str, weights: int | str) -> dict[str, Any]:
    """Return what a state depends on.

    Parameters
    ----------
    model : file, or folder of a checkpoint.
    bits : of keys and values; 0: there are none.
    weights : bits to which floats are rounded, or a table.
    """
    # Of no chat that is not left or resumed.
    from carrysave.jobs.job import File

    files = [model]
    if model.is_dir():
        files = sorted(one for one in model.iterdir() if one.suffix in _SUFFIXES)
    sums = [part for one in files for part in (one.name, File(one).sha)]
    digest = cache.digest(sums if model.is_dir() else sums[1:])
    return {"version": __version__, "model": digest, "kv": bits, "weights": weights}


def save(path: Path, stopped: Stopped, made: Mapping[str, Any]) -> None:
    """Write a state; an old one stays until the new one is whole.

    Parameters
    ----------
    path : .npz.
    made : see :func:`made_by`.
    """
    arrays = {_TOKENS: np.array(stopped.tokens, np.int64)}
    for name, array in stopped.arrays.items():
        arrays[name] = array.astype(_type_of(name))
    facts = {"kind": _KIND, **made}
    facts |= {name: getattr(stopped, name) for name in ("length", "answer", "ended")}
    header = json.dumps({**facts, "sha256": _sum(facts, arrays)}).encode()
    arrays = {_HEADER: np.frombuffer(header, np.uint8), **arrays}
    tensors = {name: Tensor(array=array) for name, array in arrays.items()}
    cache.write(path, tensor_files.dump(tensors, SUFFIX))


def load(path: Path, made: Mapping[str, Any], words: int) -> Stopped:
    """Read a state.

    Parameters
    ----------
    path, made : as of :func:`save`.
    words : of the model.

    Raises
    ------
    FileNotFoundError
        There is none.
    FileError
        It is no state, is damaged, or is of another version, model, or bits.
    """
    arrays = read_arrays(path)
    if not isinstance(arrays, dict) or not {_HEADER, _TOKENS} <= set(arrays):
        raise FileError(path, "must be a state of `carrysave chat --save`")
    with parsing(path, _HEADER):
        facts: dict[str, Any] = json.loads(arrays.pop(_HEADER).tobytes())
        digest, kind = facts.pop("sha256"), facts["kind"]
    if kind != _KIND:
        raise FileError(path, f"kind must be {_KIND!r}, not {shown(repr(kind))}")
    if digest != _sum(facts, arrays):
        raise FileError(path, "must be as it was written: its SHA-256 is another one")
    for name, text in _TEXTS.items():
        if facts.get(name) != made[name]:
            given = shown(str(facts.get(name)))
            raise FileError(path, f"{text} must be {made[name]}, as of this chat, not {given}")
    tokens, length, answer = arrays.pop(_TOKENS), facts.get("length"), facts.get("answer")
    right = tokens.ndim == 1 and tokens.dtype == np.int64 and bool(tokens.size)
    if not right or tokens.min() < 0 or tokens.max() >= words:
        raise FileError(path, f"tokens must be 0..{words - 1}, one or more")
    for name, count in (("length", length), ("answer", answer)):
        if type(count) is not int or not 0 <= count <= len(tokens):
            raise FileError(path, f"{name} must be 0..{len(tokens)}, not {shown(repr(count))}")
    if not isinstance(facts.get("ended"), str):
        raise FileError(path, f"ended must be a text, not {shown(repr(facts.get('ended')))}")
    for name, array in arrays.items():
        if array.dtype != _type_of(name):
            raise FileError(path, f"{shown(name)} must be of {_type_of(name)}, not {array.dtype}")
    return Stopped(
        tokens=tokens.tolist(),
        length=facts["length"],
        answer=facts["answer"],
        ended=facts["ended"],
        arrays=arrays,
    )


def _type_of(name: str) -> np.dtype:
    """Return the type of an array of a state: codes have 8 bits at most."""
    return np.dtype(np.int8 if name == _CODES else np.float64)


def _sum(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of all that a state has."""
    parts: list[str | bytes] = [json.dumps(facts, sort_keys=True)]
    for name in sorted(arrays):
        array = arrays[name]
        parts += [f"{name} {array.dtype.str} {array.shape}", np.ascontiguousarray(array).tobytes()]
    return cache.digest(parts)
