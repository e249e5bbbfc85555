"""Runs a section from its words in memory; its jobs by whom they are given to."""

from collections.abc import Callable

import numpy as np

from carrysave.compiler.program.decode import Words, step_of
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.rings import Ring
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.program.words import APART_WORD, HEAD_WORDS, PARAMETER_WORDS, TABLE_WORD
from carrysave.compiler.run.floats import calculate
from carrysave.driver.job import Job

__all__ = ["interpret", "move", "set_parameters"]


def interpret(
    memory: np.ndarray,
    start: int,
    run_jobs: Callable[[list[Job]], np.ndarray | None],
    run_ring: Callable[[Ring, int, int], np.ndarray | None],
) -> None:
    """Run the steps at an address.

    Parameters
    ----------
    memory : uint8; what steps make is written into it.
    start : where their words are.
    run_jobs : runs jobs on one start, and returns its counters.
    run_ring : the same of jobs of a ring, from one on, so many.

    Raises
    ------
    ValueError
        Words of no step, or a parameter that is out of range.
    """
    words = Words(memory, start)
    head = words.take(HEAD_WORDS)
    if head[TABLE_WORD]:
        set_parameters(memory, head[TABLE_WORD])
    for _ in range(head[0]):
        step = step_of(words)
        if isinstance(step, Move):
            move(memory, step.to, step.at, step.words, step.taps, step.table)
        elif isinstance(step, Start):
            _count(memory, step.counters, run_jobs(step.jobs))
        elif isinstance(step, Floats):
            calculate(memory, step)
        else:
            first = 0
            whole = ((step.count, step.counters),)
            for count, at in step.starts if head[APART_WORD] else whole:
                _count(memory, at, run_ring(step, first, count))
                first += count


def _count(memory: np.ndarray, at: int, counters: np.ndarray | None) -> None:
    """Write counters, if there are some."""
    if counters is not None:
        memory[at : at + counters.nbytes] = counters.view(np.uint8)


def set_parameters(memory: np.ndarray, table: int) -> None:
    """Change words by the parameters whose value is not the one that is wanted.

    Raises
    ------
    ValueError
        One is out of range.
    """
    words = memory[table : table + (len(memory) - table) // 4 * 4].view("<i4")
    at_word = 1
    for number in range(int(words[0])):
        wanted, now, low, high, count = words[at_word : at_word + PARAMETER_WORDS].tolist()
        if not low <= wanted <= high:
            raise ValueError(f"parameter {number} must be {low}..{high}, not {wanted}")
        words[at_word + 1] = wanted
        at_word += PARAMETER_WORDS
        for address, factor in words[at_word : at_word + 2 * count].reshape(count, 2).tolist():
            word = memory[address : address + 4].view("<u4")
            word[0] = (int(word[0]) + factor * (wanted - now)) & 0xFFFFFFFF
        at_word += 2 * count


def move(memory: np.ndarray, to: int, at: int, words: int, taps: int, table: int) -> None:
    """Do a move; see :mod:`carrysave.compiler.program.words`."""
    sizes, first = _records(memory[at : at + 4 * words].view("<i4").astype(np.int64), taps)
    each = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    sources = np.repeat(first, sizes, axis=0)
    sources = np.where(sources < 0, sources, sources + each[:, None])
    moving = np.maximum(sources, 0)
    codes = np.where(sources < 0, sources.astype(np.int8), memory.view(np.int8)[moving])
    if not table:
        made = codes.max(axis=1).view(np.uint8)
    else:
        index = codes.view(np.uint8).astype(np.int64)
        index = index[:, 0] if taps == 1 else 256 * index[:, 0] + index[:, 1]
        made = memory[table : table + 256**taps][index]
    memory[to : to + len(made)] = made


def _records(words: np.ndarray, taps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records one after the other, without loops: bytes, and addresses of sources."""
    sizes, first = [], []
    while len(words):
        if words[0] > 0:
            end = 1 + taps
            sizes.append(words[:1])
            first.append(words[None, 1:end])
        else:
            times, end = -int(words[0]), 4 + int(words[1])
            inner, places = _records(words[4:end], taps)
            steps = np.where(np.arange(taps) == 0, words[2], words[3])
            moving = places + steps * np.arange(times)[:, None, None]
            sizes.append(np.tile(inner, times))
            first.append(np.where(places < 0, places, moving).reshape(-1, taps))
        words = words[end:]
    return np.concatenate(sizes), np.concatenate(first)
