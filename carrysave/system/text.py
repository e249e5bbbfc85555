"""A language model on a system: its program of a token, and the tokens of an answer."""

import time
from dataclasses import replace
from pathlib import Path

from carrysave.compiler.decoder.answer import Answer
from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.decoder.compile import ProgramDecoder, needed_parameters
from carrysave.compiler.decoder.program_folder import compile_file, words_of
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.names import is_program
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.write import write
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError, refusal
from hw.emit.user_files import shown

__all__ = ["answer_of", "text_parameters", "text_program", "write_text"]


def text_parameters() -> dict[str, str]:
    """Return the parameters of the co-processor of a system that a language model needs."""
    # All columns of a row of sums leave at once: there is no requantiser to wait for.
    return needed_parameters() | {"requantisers": "0"}


def text_program(
    model: Path, target: Target, *, cache: int, bits: int | None, most: int
) -> Program:
    """Compile a language model, or read the program of one.

    Parameters
    ----------
    model, cache, bits : of :func:`carrysave.compiler.decoder.program_folder.compile_file`; or a
        folder.
    most : bytes of the memory.

    Raises
    ------
    ValueError
        The program does not fit into the memory; says the bytes. Or it has experts; or the folder
        is no decoder's.
    """
    if is_program(model):
        program = read(model, target)
        if "decoder" not in program.more:
            raise ArgumentError("{prompt} must be left out: {_name} is a network", _name=model.name)
    else:
        program, more = compile_file(model, target, cache=cache, bits=bits)
        program = replace(program, more=more)
    if len(program.sections) > 1:
        raise ValueError(f"{shown(model.name)} has experts, and a system runs one section alone")
    if len(program.memory) > most:
        raise ValueError(
            f"{shown(model.name)} needs {len(program.memory):,} bytes of memory, and the board has"
            f" {most:,}"
        )
    return program


def answer_of(
    program: Program, model: Path, prompt: str, tokens: int
) -> tuple[list[dict[str, int]], str]:
    """Answer a prompt by the golden model, with the likeliest token each time.

    Parameters
    ----------
    model : the file or folder of the program, for errors.
    tokens : of the answer, at most.

    Returns
    -------
    The parameters of each run of the program, and the answer.

    Raises
    ------
    UsageError
        The prompt has no token, or leaves no room for one.
    """
    cache, words = words_of(program, model)
    asked = words.question(prompt)
    if not 1 <= len(asked) < cache:
        raise refusal(
            "prompt", f"1..{cache - 1} tokens, so that there is an answer", str(len(asked))
        )
    memory = program.memory.copy()
    decoder = ProgramDecoder(program, memory, by_golden(program, memory), cache)
    every = asked.tolist()
    options = ChatOptions(tokens=tokens)
    answer = Answer(decoder, every, options, words.ends, time.monotonic)
    text = "".join(words.words(answer.numbers()))
    runs = [decoder.parameters(every[place], place) for place in range(decoder.length)]
    return runs, text


def write_text(program: Program, model: str, folder: Path, command: str, baud: int) -> list[Path]:
    """Write a program's folder, with which `carrysave chat --port` answers by the system."""
    more = {**facts(program, command, model), **program.more, "baud": baud, "system": True}
    return write(program, folder, more)
