"""``carrysave embed``."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.coprocessor_flags import DEFAULT_BLOCK, Block, check_left_out
from carrysave.cli.defaults import defaults
from carrysave.cli.options import Json, errors, print_outcome
from carrysave.compiler.encoder import command, view
from carrysave.compiler.encoder.folder import embed_by_program
from carrysave.compiler.encoder.request import EmbedOptions, EmbedRequest, parameters
from carrysave.compiler.program.names import is_program
from carrysave.keywords import differing
from carrysave.progress import Steps
from hw.catalog import Design

__all__ = ["embed"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EmbedFlags(EmbedOptions):
    """Flags of vectors; defaults are those of the options."""

    calibration: Annotated[
        Path | None,
        Parameter(help="Sentences that steps are chosen for. [default: those of the text]"),
    ]
    batch: Annotated[int, Parameter(help="Sentences in one program.")]
    simulate: Annotated[
        str,
        Parameter(
            help="Jobs to run on the block: layer (all of the first, parts of others), sample"
            " (parts), none.",
        ),
    ]
    attention: Annotated[
        str,
        Parameter(
            help="one-pass (by blocks of keys: a vector unit with exps and divide, and shares),"
            " rows (a softmax of whole rows), auto (of fewer cycles by the cost model).",
        ),
    ]


_FLAGS = defaults(EmbedFlags)


def embed(
    model: Annotated[
        Path,
        Parameter(
            help="A text encoder: folder of config.json, model.safetensors, tokenizer.json; or its"
            " program's, of `carrysave compile`."
        ),
    ],
    text: Annotated[Path, Parameter(help="Text, a sentence in each line.")],
    /,
    *,
    options: EmbedFlags = _FLAGS,
    block: Block = DEFAULT_BLOCK,
    json_: Json = False,
) -> int:
    """Turn sentences into vectors by a text encoder in int8, as one program.

    Encoders are those of BERT's kind, such as all-MiniLM-L6-v2, as floats. Weights and operands are
    rounded to int8, sums between layers to 16 bits. From numbers of tokens to vectors, which are
    divided by their length at the end, all is a program of jobs on the co-processor and its vector
    unit, computed by their golden models. The table counts the cycles of a program, by models.
    Products make codes of 16 bits or of 8, as the vector unit's jobs do, so `code_bytes` must be 2,
    as it is by default; so are `transpose`, for keys, and `gather`, without which embeddings are
    gathered before it runs. With `scratch`, scores stay on chip. Vectors are compared
    with those in floats. With `--simulate`, jobs of the first sentence also run on the simulated
    block, through its driver, as far as it is built for them, and must match. Parameters are those
    of `generate coprocessor`. A program's folder makes vectors without the encoder's weights.

    **Examples:**

    - `carrysave embed all-MiniLM-L6-v2 sentences.txt --calibration others.txt`
    - `carrysave embed all-MiniLM-L6-v2 sentences.txt -p m=16 -p n=16 --batch 8`
    - `carrysave embed build/compile/all-MiniLM-L6-v2 sentences.txt`
    """
    folder, command_ = block.folder, shlex.join(["carrysave", *sys.argv[1:]])
    if is_program(model):
        given = {"-p": block.parameter, **differing(options)}
        check_left_out(given, "the program is compiled")
        with Steps(errors) as steps:
            made = embed_by_program(model, text, folder, command_, steps)
        print_outcome(made, view.show_program, json_)
        return 0
    texts = parameters(block.settings(), options.attention)
    request = EmbedRequest(
        model=model, text=text, design=Design.parse("coprocessor", texts), options=options
    )
    with Steps(errors) as steps:
        facts = command.execute(request, folder, steps, command_)
    print_outcome(facts, view.show, json_)
    return 1 if facts["wrong"] else 0
