"""``carrysave train``."""

import shlex
import sys
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.coprocessor_flags import DEFAULT_BLOCK, Block
from carrysave.cli.defaults import defaults
from carrysave.cli.options import TABLES, View, check_page, errors, print_outcome, write_page
from carrysave.errors import UsageError, needs
from carrysave.progress import Steps
from carrysave.training import view as pages
from carrysave.training.options import DATA, SIMULATIONS, TrainOptions
from carrysave.training.recipes import RECIPES
from carrysave.training.train import execute

__all__ = ["train"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TrainFlags(TrainOptions):
    """Flags of a training; defaults are those of the options."""

    format: Annotated[
        str, Parameter(help=f"Formats of operands, comma-separated: {', '.join(RECIPES)}.")
    ]
    rounding: Annotated[
        str,
        Parameter(help="How gradients and updates are rounded: stochastic, nearest, or both."),
    ]
    steps: Annotated[int, Parameter(help="Steps, each of a batch.")]
    seed: Annotated[int, Parameter(help="Of weights, of the order of samples, of random bits.")]
    seeds: Annotated[int, Parameter(help="Trainings of each format, from this seed on.")]
    batch: Annotated[int, Parameter(help="Samples of a step.")]
    hidden: Annotated[int, Parameter(help="Outputs of the hidden layer.")]
    rate: Annotated[
        float, Parameter(help="Rate at which weights follow gradients; it falls evenly to 0.")
    ]
    momentum: Annotated[float, Parameter(help="Share of the last update in the next one.")]
    random_width: Annotated[int, Parameter(help="Bits of a number that is rounded by.")]
    simulate: Annotated[
        str,
        Parameter(help=f"Jobs to run on the block: {', '.join(SIMULATIONS)} (all of the first)."),
    ]


_FLAGS = defaults(TrainFlags)


def train(
    data: Annotated[str, Parameter(help=f"Samples: {', '.join(DATA)}.")],
    /,
    *,
    options: TrainFlags = _FLAGS,
    block: Block = DEFAULT_BLOCK,
    view: View = TABLES,
) -> int:
    """Train a small network in few bits, beside float32 and bf16.

    A step is a program: its products, Y = X W, dX = dY W^T and dW = X^T dY, are jobs on an engine
    with block scales, and biases, ReLU, loss and updates are its steps on floats. Before each
    product the host rounds floats to operands, along the axis that is summed: gradients by random
    bits, all else to nearest. Weights are kept in bf16. Jobs are computed by golden; with
    `--simulate step`, those of the first step also run on the simulated block, and must match.
    Parameters are those of `generate coprocessor`; the engine is that of the format.

    **Examples:**

    - `carrysave train digits --format nvfp4 --steps 200 --seed 1`
    - `carrysave train digits --format nvfp4,mxfp8,int8 --rounding stochastic,nearest --seeds 5`
    - `carrysave train digits --format nvfp4 --steps 20 --simulate step --html train.html`
    """
    if data not in DATA:
        raise UsageError(f"data must be one of {', '.join(DATA)}, not {data!r}")
    options.check()
    check_page(view.html, charts=False)
    if view.html is not None:
        needs("matplotlib")
    with Steps(errors) as steps:
        line = shlex.join(["carrysave", *sys.argv[1:]])
        facts = execute(data, options, block.settings(), block.folder, steps, line)
    facts["files"] = write_page(view.html, pages.page, facts)
    print_outcome(facts, pages.show, view.json_)
    return 1 if facts["wrong"] else 0
