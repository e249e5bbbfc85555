"""``carrysave chat``."""

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.options import Json, errors
from carrysave.language.write import WriteRequest, write

__all__ = ["chat"]


def chat(
    model: Annotated[Path, Parameter(help="A language model, .gguf.")],
    /,
    *,
    prompt: Annotated[str, Parameter(help="What the model answers.")],
    tokens: Annotated[int, Parameter(help="Most tokens of the answer.")] = 64,
    kv: Annotated[int, Parameter(help="Bits of a key or value in the cache: 8, 4.")] = 8,
    cache: Annotated[
        int, Parameter(help="Tokens that the cache holds; at most the model's context.")
    ] = 1024,
    json_: Json = False,
) -> int:
    """Have a language model answer, in the arithmetic of the golden models.

    Weights of 4, 5 or 8 bits in groups of 32 (LLaMA's kind, all matrices Q4_0, Q4_1, Q5_0, Q5_1 or
    Q8_0) times int8 activations: sums of groups are exact integers, and scaled in fp32. RMS norm,
    softmax and SiLU are the vector unit's. Gains of norms, rotary positions and residual sums are
    of floats. The likeliest token is taken each time, so that answers are the same again.

    **Examples:**

    - `carrysave chat SmolLM2-135M-Instruct.Q4_1.gguf --prompt "What is the capital of France?"`
    - `carrysave chat model.gguf --prompt "Tell a story." --tokens 200 --kv 4`
    """
    request = WriteRequest(model=model, prompt=prompt, tokens=tokens, cache=cache, bits=kv)

    def tell(piece: str) -> None:
        if not json_:
            sys.stdout.write(piece)
            sys.stdout.flush()

    found = write(request, tell)
    if json_:
        print(json.dumps(found, indent=2))
        return 0
    print()
    rate = found["tokens"] / max(found["seconds"], 1e-3)
    errors.print(
        f"{found['prompt_tokens']} tokens of prompt, {found['tokens']} written ({rate:.1f} a "
        f"second), ended by {found['ended']}",
        highlight=False,
    )
    return 0
