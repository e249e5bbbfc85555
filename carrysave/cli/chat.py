"""``carrysave chat``."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from carrysave.cli.chat_flags import ChatFlags, Task
from carrysave.cli.coprocessor_flags import DEFAULT_BLOCK, Block, check_left_out
from carrysave.cli.defaults import defaults
from carrysave.cli.options import Json, console, errors, print_outcome
from carrysave.compiler.decoder.perplexity import PerplexityRequest, measured
from carrysave.compiler.decoder.summary import lines
from carrysave.compiler.decoder.view import show, show_perplexity
from carrysave.compiler.decoder.write import WriteRequest, write
from carrysave.compiler.program.names import is_program
from carrysave.errors import UsageError
from carrysave.keywords import differing
from carrysave.progress import Steps

__all__ = ["chat"]

_FLAGS, _TASK = defaults(ChatFlags), defaults(Task)


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
    task: Task = _TASK,
    options: ChatFlags = _FLAGS,
    block: Block = DEFAULT_BLOCK,
    json_: Json = False,
) -> int:
    """Have a language model answer, in the arithmetic of the golden models.

    Weights of few bits times int8 activations, summed exactly. Families: LLaMA, Mistral, Mixtral,
    Qwen 2, 3, Gemma 1 to 3, Phi-3, SmolLM3, Granite, OLMo 2, BitNet b1.58. A model of characters in
    .npz, as `scripts/train/train_text.py` of a checkout writes them, continues the prompt. A folder
    of `carrysave compile` has the model's program, whose jobs run on a board with `--port`. With
    `--simulate`, golden runs the program for a block, and its jobs run on the simulated co-
    processor, too, through its driver, and must be golden's: a few of each kind and, of large ones,
    a part; or all, in hours. Parameters are those of `generate coprocessor`.

    **Examples:**

    - `carrysave chat SmolLM2.Q4_1.gguf --prompt "Which city is the capital of France?"`
    - `carrysave chat model.gguf --prompt "Tell a story." --temp 0.8 --repeat-penalty 1.1 --seed 7`
    - `carrysave chat model.gguf --prompt "Shorter." --resume chat.npz --save chat.npz`
    - `carrysave chat model.gguf --perplexity text.txt --cache 512 --json`
    - `carrysave chat text.npz --prompt "The " --simulate all --core ternary_core`
    - `carrysave chat build/boards/ulx3s_85f/network --prompt "Hello" --port /dev/ttyUSB0`
    """
    if task.perplexity is not None:
        return _foresee(model, task, options, block, json_)
    if options.simulate == "none" and block.parameter:
        raise UsageError("-p needs --simulate")
    request = WriteRequest(
        model=model,
        prompt=task.prompt,
        options=options,
        parameters=block.settings(),
        folder=block.folder,
        save=task.save,
        resume=task.resume,
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


def _foresee(model: Path, task: Task, options: ChatFlags, block: Block, raw: bool) -> int:
    """Measure the perplexity of a text."""
    used = ("kv", "keys", "attention", "cache", "weights", "skip", "calibration")
    others = {name: value for name, value in differing(options).items() if name not in used}
    check_left_out(
        {**vars(task), "perplexity": None, "-p": block.parameter or None, **others},
        "--perplexity has no answer",
    )
    if is_program(model):
        raise UsageError("--perplexity is of a model's file, not of a program")
    assert task.perplexity is not None
    request = PerplexityRequest(model=model, text=task.perplexity, options=options)
    with Steps(errors) as steps:
        facts = measured(request, steps.jobs)
    print_outcome(facts, show_perplexity, raw)
    return 0


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
