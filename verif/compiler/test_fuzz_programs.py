"""Folders of programs that are broken: read, or refused in one line."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.read import read
from carrysave.compiler.program.text import text
from verif.compiler.test_parameters import Cache
from verif.compiler.test_program import compiled
from verif.compiler.test_read import stored
from verif.support.fuzz import NUMBERS, broken, edited, fuzz, minutes
from verif.system.networks import convolutions

FILES = ("program.json", "memory.bin", "host.onnx")
BETWEEN = b"\0file\0"
VALUES = (
    "tensor",
    "buffer",
    "int8",
    "F32",
    "move",
    "start",
    "floats",
    [1 << 20, 1 << 20],
    [[0, 1]],
)
WORDS = (-(1 << 31), -1, 0, 1, 2, 3, 4, 5, 26, 255, 1 << 16, (1 << 31) - 1)
"""Words of a section: kinds of steps, counts, addresses."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Jobs alone; with a step of the host; with parameters and states."""
    made = tmp_path_factory.mktemp("programs")
    programs = compiled(convolutions()), compiled(convolutions(between="Softmax")), Cache().program
    return [stored(program, made / str(number)) for number, program in enumerate(programs)]


def contents(folder: Path) -> list[bytes]:
    """Return the files of a program; one that is not there is empty."""
    return [path.read_bytes() if (path := folder / name).exists() else b"" for name in FILES]


def sealed(manifest: Any, memory: bytes) -> Any:
    """Have a manifest say that the memory is its own."""
    if isinstance(manifest, dict):
        manifest |= {"bytes": len(memory), "digest": hashlib.sha256(memory).hexdigest()}
    return manifest


@st.composite
def words_changed(draw: st.DrawFn, manifest: Any, memory: bytes) -> bytes:
    """Change words behind where a section begins."""
    words = np.frombuffer(memory, np.uint8).copy()
    starts = [part["section"] for part in manifest["parts"] if "section" in part]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.sampled_from(starts)) + 4 * draw(st.integers(0, 120))
        if at + 4 <= len(words):
            words[at : at + 4].view("<i4")[0] = draw(st.sampled_from(WORDS))
    return words.tobytes()


@st.composite
def programs(draw: st.DrawFn, good: list[list[bytes]]) -> bytes:
    """Make a program: broken, or edited by somebody who makes its digest right again."""
    manifest, memory, host = draw(st.sampled_from(good))
    match draw(st.sampled_from(("bytes", "json", "words", "host"))):
        case "bytes":
            manifest = draw(broken([manifest], NUMBERS))
            memory = draw(broken([memory], most=1))
        case "json":
            manifest = json.dumps(draw(edited([json.loads(manifest)], VALUES))).encode()
        case "words":
            one = json.loads(manifest)
            memory = draw(words_changed(one, memory))
            manifest = json.dumps(sealed(draw(edited([one], VALUES)), memory)).encode()
        case host_:
            assert host_ == "host"
            host = draw(broken([host], most=2))
    return BETWEEN.join((manifest, memory, host))


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@minutes
def test_broken_programs(folders: list[Path], tmp_path: Path, seconds: float) -> None:
    good = [contents(folder) for folder in folders]

    def one(data: bytes) -> None:
        for name, content in zip(FILES, data.split(BETWEEN, 2), strict=True):
            (tmp_path / name).write_bytes(content)
        program = read(tmp_path)
        json.dumps(facts(program, "", ""))
        assert text(program)

    for whole in good:
        one(BETWEEN.join(whole))
    fuzz(one, programs(good), seconds)
