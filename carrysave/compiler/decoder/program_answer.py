"""Language models that answer by their programs: from a folder, or simulated."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.decoder.compile import (
    ProgramDecoder,
    compile_decoder,
    core_block,
    lists_for,
)
from carrysave.compiler.decoder.program_folder import load_program
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.text import Characters
from carrysave.compiler.front.text_tokens import Vocabulary
from carrysave.compiler.program.facts import packed_remark
from carrysave.compiler.program.program import Program
from carrysave.compiler.run.attached import on_board
from carrysave.compiler.run.network import Runner
from carrysave.compiler.run.sample import Sample
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError

__all__ = ["program_of", "simulated"]


def program_of(
    folder: Path, options: ChatOptions, opened: ExitStack
) -> tuple[ProgramDecoder, Vocabulary | Characters]:
    """Return the program of a folder, on golden or a board, and its vocabulary.

    Parameters
    ----------
    folder : of :func:`carrysave.compiler.program.write.write`.
    options : the cache, and the port of a board.
    opened : closes the board.
    """
    port = options.port
    if port is None:
        return load_program(folder, options.cache)

    def there(program: Program) -> tuple[np.ndarray, Runner]:
        board = opened.enter_context(on_board(program, port, options.baud))
        return board.memory, board.runner

    return load_program(folder, options.cache, there)


def simulated(
    model: Model,
    most: int,
    options: ChatOptions,
    parameters: Mapping[str, str],
    folder: Path,
    note: Callable[[str], None],
) -> tuple[ProgramDecoder, Sample]:
    """Compile a model for a block; return its program, whose jobs also run on the block.

    Parameters
    ----------
    model : weights.
    most : tokens that are taken.
    options : the core, and which jobs run.
    parameters : of the block; after the core's own.
    folder : for the simulation.
    note : takes what is being done.
    """
    bits = model.weight_format[0] if model.weight_format else 4
    try:
        every = {**lists_for(model, options.core), **parameters}
        block = core_block(options.core, every, bits, options.weights, most, options.attention)
        target = Target(block)
        program = compile_decoder(model, target, cache=most, bits=options.kv)
        if remark := packed_remark(program):
            note(remark)
    except ValueError as error:
        raise UsageError(str(error)) from None
    sample = Sample(
        program,
        every=options.simulate == "all",
        seed=options.seed,
        folder=folder,
        tell=note,
    )
    memory = program.memory

    return (
        ProgramDecoder(
            program, memory, lambda section: sample.execute(memory, section.start), most
        ),
        sample,
    )
