"""Broken states of chats: read, or refused in one line."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from carrysave.compiler.decoder import state
from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.front.gguf import load
from carrysave.weights.gguf import read_gguf
from hw.emit.user_files import FileError
from verif.language.test_chat import write
from verif.language.test_chat_state import arrays, stopped_chat
from verif.support.fuzz import broken, budgets, edited, fuzz, minutes


@budgets
def test_broken_states(seconds: float, tmp_path: Path) -> None:
    path, made, _ = stopped_chat(tmp_path)
    good = path.read_bytes()

    def read(data: bytes) -> None:
        path.write_bytes(data)
        state.load(path, made, 5)

    fuzz(read, broken([good], []), seconds)


def resealed(facts: Any, arrays: dict[str, Any]) -> bytes:
    """Make a state of any facts and arrays, with the SHA-256 that these have."""
    if isinstance(facts, dict):
        facts = {**facts, "sha256": state._sum(facts, arrays)}
    file = io.BytesIO()
    np.savez(file, header=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)
    return file.getvalue()


@minutes
def test_states_of_somebody_who_can_seal_them(seconds: float, tmp_path: Path) -> None:
    """Read as they say, or refused: by the file's reader, or by the decoder."""
    path = write(tmp_path / "m.gguf")
    decoder = Decoder(load(read_gguf(path)), cache=8)
    decoder.step(np.array([1, 2, 3]))
    made = {"version": "1", "model": "m", "kv": 8, "weights": 8}
    file = tmp_path / "s.npz"
    left = state.Stopped(
        tokens=[1, 2, 3, 4], length=3, answer=2, ended="end", arrays=decoder.state()
    )
    state.save(file, left, made)
    good = arrays(file)
    facts = json.loads(good.pop("header").tobytes())
    del facts["sha256"]

    @st.composite
    def states(draw: st.DrawFn) -> bytes:
        some = dict(good)
        for name in draw(st.lists(st.sampled_from(sorted(some)), max_size=1)):
            kind = draw(st.sampled_from(("i8", "f4", "U3", "c16", "?", "<u2", ">f8", "M8[s]")))
            one = some[name]
            changed = np.zeros(one.shape, kind), one[:0], one * float("nan"), one.ravel()
            some[name] = draw(st.sampled_from(changed))
        return resealed(draw(edited([facts], ["end", "tokens", 3, 4, 5])), some)

    def read(data: bytes) -> None:
        file.write_bytes(data)
        found = state.load(file, made, 5)
        decoder.restore(found.length, found.arrays)
        assert set(found.tokens) <= set(range(5))
        assert 0 <= found.length <= len(found.tokens)
        assert len(found.last) == found.answer

    known = [
        resealed({key: one for key, one in facts.items() if key != name}, good) for name in facts
    ]
    known += [
        resealed(facts, {**good, name: np.full(good[name].shape, "x")})
        for name in ("codes", "steps", "tokens")
    ]
    for data in known:
        file.write_bytes(data)
        with pytest.raises(FileError):
            state.load(file, made, 5)
    read(resealed(facts, good))
    fuzz(read, states(), seconds)
