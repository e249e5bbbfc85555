"""Jobs and moves that no compiler makes, in a program whose digests are right: refused."""

import hashlib
from pathlib import Path

import pytest

from carrysave.compiler.program.read import read
from carrysave.compiler.program.steps import Move
from carrysave.compiler.program.words import HEAD_WORDS, MOVE_FIELDS
from hw.emit.user_files import FileError
from verif.compiler.test_read import changed
from verif.compiler.test_read import folder as folder


@pytest.mark.parametrize(
    ("word", "value", "says"),
    [
        (14, 0, "the co-processor refuses a job of 0 x 4: DIMENSION"),
        (0, 1 << 20, "a of a job must be within the [0-9,]+ bytes of memory"),
        (4, 1 << 20, "c of a job must be within the [0-9,]+ bytes of memory"),
    ],
)
def test_jobs_that_a_co_processor_refuses(word: int, value: int, says: str, folder: Path) -> None:
    ring = next(ring for part in read(folder).sections for ring in part.rings)
    refused(folder, {ring.at + 4 * word: value}, says)


def refused(folder: Path, words: dict[int, int], says: str) -> None:
    """Check what is said of words by address, of somebody who makes the digest right again."""
    memory = bytearray((folder / "memory.bin").read_bytes())
    for address, value in words.items():
        memory[address : address + 4] = value.to_bytes(4, "little", signed=True)
    (folder / "memory.bin").write_bytes(memory)
    digest = hashlib.sha256(memory).hexdigest()
    changed(folder, lambda found: found.update(digest=digest))
    with pytest.raises(FileError, match=says):
        read(folder)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((-(1 << 31), 2, 0, 0), "a loop of a move must be whole|must make at most"),
        ((-2, 0, 0, 0), "a loop of a move must be whole, not of 0 words"),
        ((-2, -5, 0, 0), "a loop of a move must be whole, not of 0 words"),
        ((0, 2, 0, 0), "a loop of a move must be whole"),
        ((-3, 2, -1000, 0), "a move must be from within the"),
        ((1 << 30, 0), "a move must be from within the"),
        ((1 << 20, -1), "a move must make at most"),
    ],
)
def test_records_of_moves(words: tuple[int, ...], says: str, folder: Path) -> None:
    """Which a runner would play for ever, or beyond memory."""
    step = next(step for step in read(folder).steps if isinstance(step, Move))
    refused(folder, {step.at + 4 * number: word for number, word in enumerate(words)}, says)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("to", 1 << 20, "a move must be to within the"),
        ("to", -8, "a move must be to within the"),
        ("at", 1 << 20, "records of a move must be within"),
        ("words", 0, "records of a move must be within"),
        ("taps", 0, "a move must be of a source or more"),
        ("table", 1 << 20, "records of a move must be within"),
        ("table", -4, "records of a move must be within"),
    ],
)
def test_fields_of_moves(name: str, value: int, says: str, folder: Path) -> None:
    program = read(folder)
    start = next(part.start for part in program.sections if isinstance(part.steps[0], Move))
    place = start + 4 * (HEAD_WORDS + 1 + MOVE_FIELDS.index(name))
    refused(folder, {place: value}, says)
