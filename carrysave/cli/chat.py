"""``carrysave chat``."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from carrysave.cli.coprocessor_flags import DEFAULT_BLOCK, Block
from carrysave.cli.defaults import defaults
from carrysave.cli.options import Json, console, errors
from carrysave.cli.sampling_flags import SamplingFlags
from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.decoder.summary import lines
from carrysave.compiler.decoder.view import show
from carrysave.compiler.decoder.write import WriteRequest, write
from carrysave.errors import UsageError

__all__ = ["chat"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ChatFlags(SamplingFlags, ChatOptions):
    """Flags of an answer; defaults are those of the options."""

    tokens: Annotated[int, Parameter(help="Most tokens of the answer.")]
    kv: Annotated[
        int | None,
        Parameter(
            help="Bits of a key or value in the cache: 8, 4. [default: the model's own; .gguf: 8]"
        ),
    ]
    cache: Annotated[
        int, Parameter(help="Tokens of prompt and answer together; at most the model's context.")
    ]
    simulate: Annotated[str, Parameter(help="Jobs to run on the block, too: all, sample, none.")]
    core: Annotated[
        str,
        Parameter(
            help="Engine of the block: lut_core, blocks (of multipliers), int8, ternary_core, "
            "shift_add_core."
        ),
    ]
    weights: Annotated[int, Parameter(help="Bits to which matrices of floats are rounded: 2 to 8.")]
    port: Annotated[
        str | None,
        Parameter(help="Serial port of the board for which `build --model` wrote the program."),
    ]
    baud: Annotated[
        int | None, Parameter(help="Baud rate of the port. [default: that of the board's build]")
    ]


_FLAGS = defaults(ChatFlags)


def chat(
    model: Annotated[
        Path,
        Parameter(
            help="A language model: .gguf, or a folder with config.json and .safetensors; one of "
            "characters, .npz; or a program's folder."
        ),
    ],
    /,
    *,
    prompt: Annotated[str, Parameter(help="What the model answers.")],
    options: ChatFlags = _FLAGS,
    block: Block = DEFAULT_BLOCK,
    json_: Json = False,
) -> int:
    """Have a language model answer, in the arithmetic of the golden models.

    Weights of few bits in groups times int8 activations: sums of groups are exact integers. Floats
    are rounded to `--weights` bits, and how far they are off is said. Families: LLaMA, Mistral,
    Mixtral, Qwen 2, 3, Gemma 1 to 3, Phi-3, SmolLM3, Granite, OLMo 2, BitNet b1.58.

    A model of characters in .npz, as `scripts/train/train_text.py` of a checkout writes them, has
    weights that are ternary, of 2 or of 4 bits; it continues the prompt, by attention or, without a
    cache, by a recurrent state. A folder of `carrysave compile` has the model's program; with
    `--port` the program's jobs run on the board for which `build --model` wrote it.

    With `--simulate`, the model is compiled for a block, golden runs the program, and its jobs also
    run on the simulated co-processor, through its driver, and must be golden's: a few of each kind
    and, of large ones, a part; or all, which takes hours for a long answer. Parameters are those of
    `generate coprocessor`, after `--core`'s.

    **Examples:**

    - `carrysave chat SmolLM2.Q4_1.gguf --prompt "Which city is the capital of France?"`
    - `carrysave chat model.gguf --prompt "Tell a story." --tokens 200 --kv 4`
    - `carrysave chat model.gguf --prompt "Tell a story." --temp 0.8 --repeat-penalty 1.1 --seed 7`
    - `carrysave chat text.npz --prompt "The " --tokens 4 --simulate all --core ternary_core`
    - `carrysave chat build/boards/ulx3s_85f/network --prompt "Hello" --port /dev/ttyUSB0`
    """
    if options.simulate == "none" and block.parameter:
        raise UsageError("-p needs --simulate")
    request = WriteRequest(
        model=model,
        prompt=prompt,
        options=options,
        parameters=block.settings(),
        folder=block.folder,
    )

    def tell(piece: str) -> None:
        if not json_:
            sys.stdout.write(piece)
            sys.stdout.flush()

    facts = write(request, tell, lambda text: errors.print(text, highlight=False))
    wrong = facts.get("simulation", {}).get("wrong")
    if json_:
        print(json.dumps(facts, indent=2))
    else:
        _show(facts)
    return 1 if wrong else 0


def _show(facts: dict[str, Any]) -> None:
    """Print how long an answer took, below it, and what its simulation found."""
    print()
    rate = facts["tokens"] / max(facts["seconds"], 1e-3)
    errors.print(
        f"{facts['prompt_tokens']} tokens of prompt, {facts['tokens']} written ({rate:.1f} a "
        f"second), ended by {facts['ended']}",
        highlight=False,
    )
    for line in lines(facts["model"]) if "model" in facts else ():
        errors.print(line, highlight=False)
    if "simulation" in facts:
        show(console, facts["simulation"])
