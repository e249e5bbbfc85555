"""``carrysave precision``."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave.api.targets import library_of
from carrysave.cli.options import (
    TABLES,
    Folder,
    Sets,
    View,
    check_page,
    errors,
    output_folder,
    print_outcome,
    settings,
    write_page,
)
from carrysave.cli.reading import BY_THE_MODEL, Reading
from carrysave.compiler.front.options import ReadOptions
from carrysave.precision import view as pages
from carrysave.precision.execution import execute
from carrysave.precision.request import PrecisionRequest
from carrysave.progress import Steps
from hw.catalog import Design

__all__ = ["precision"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PrecisionFlags:
    """Flags of a choice of formats."""

    calibration: Annotated[Path, Parameter(help="Inputs, .npy, or .npz by name, as of `run`.")]
    budget: Annotated[
        list[str] | None,
        Parameter(
            help="bytes, cycles or energy=NUMBER, NUMBER% of the costliest formats, or FORMAT: as "
            "much as all layers in it. Needed but with --split-k."
        ),
    ] = None
    split_k: Annotated[
        str,
        Parameter(
            help="Share of K, such as 1/8, in the widest format of integers, the rest in the "
            "narrowest one: each layer that can be, or, under a budget, by choice, of several "
            "shares, comma-separated.",
            show_default=False,
        ),
    ] = ""
    input_: Annotated[
        Path | None,
        Parameter(name="--input", help="Inputs to evaluate on. [default: the calibration inputs]"),
    ] = None
    labels: Annotated[Path | None, Parameter(help="Labels of these inputs, .npy.")] = None
    formats: Annotated[
        str,
        Parameter(
            help="Formats, comma-separated. [default: all of the engine's]", show_default=False
        ),
    ] = ""
    against: Annotated[
        str,
        Parameter(
            help="More formats to compare with, each for all layers, comma-separated.",
            show_default=False,
        ),
    ] = ""
    pairs: Annotated[str, Parameter(help="Formats of A and B: same, or all pairs.")] = "same"
    parameter: Sets = None
    batch: Annotated[int | None, Parameter(help="Batch size. [default: the model's, or 8]")] = None
    fine_tune: Annotated[
        int,
        Parameter(
            help="Epochs in which weights are fitted to the chosen formats, on the calibration "
            "inputs; needs jax."
        ),
    ] = 0
    energy: Annotated[
        str,
        Parameter(help="Library for the engine's energy: osu018, a Liberty file, or none."),
    ] = "none"

    def request(self, model: Path, reading: ReadOptions) -> PrecisionRequest:
        """Return what is asked for."""
        return PrecisionRequest(
            model=model,
            calibration=self.calibration,
            data=self.input_,
            labels=self.labels,
            design=Design.parse(
                "coprocessor",
                {
                    "engine": "npe",
                    **({"row_factors": "true"} if self.split_k else {}),
                    **settings(self.parameter),
                },
            ),
            formats=[name for name in self.formats.split(",") if name],
            against=[name for name in self.against.split(",") if name],
            pairs=self.pairs,
            budgets=self.budget or [],
            split_k=[share for share in self.split_k.split(",") if share],
            batch=self.batch,
            fine_tune=self.fine_tune,
            reading=reading,
            library=None if self.energy == "none" else library_of(self.energy, "energy"),
        )


def precision(
    model: Annotated[Path, Parameter(help="A float ONNX model.")],
    /,
    *,
    flags: PrecisionFlags,
    reading: Reading = BY_THE_MODEL,
    output: Folder = None,
    view: View = TABLES,
) -> int:
    """Choose a number format for each layer of a network, under a budget.

    Layers are rounded to each format of the engine, one at a time, and the outputs are compared
    with the float ones; an integer program then minimises total noise under the budget. The model
    is written with its formats, for `carrysave run`. Parameters are those of `generate
    coprocessor`; the engine is `npe`.

    With `--split-k`, a share of a layer's columns of activations, those with the greatest
    magnitudes on the calibration inputs, are of a wider format with their rows of weights, as in
    LLM.int8() and ResQ: two jobs, of which the second goes on with the first one's sums. To run
    the model, the co-processor needs `-p row_factors=true`.

    With `--fine-tune`, the network then learns, rounded to the chosen formats, its own outputs in
    floats on the calibration inputs: no labels are needed. The model is written with these weights.

    **Examples:**

    - `carrysave precision model.onnx --calibration images.npy --budget bytes=60%`
    - `carrysave precision model.onnx --calibration x.npy --budget cycles=20000 -p m=4 -p n=4`
    - `carrysave precision model.onnx --calibration x.npy --budget bytes=50% --fine-tune 5`
    - `carrysave precision model.onnx --calibration x.npy --split-k 1/8 -p formats=int8,int4`
    - `carrysave precision model.onnx --calibration x.npy --formats e2m1,posit8e0 --against e4m3
      --budget bytes=int8`
    """
    folder = output_folder(output)
    check_page(view.html)
    request = flags.request(model, reading.options)
    with Steps(errors) as steps:
        line = shlex.join(["carrysave", *sys.argv[1:]])
        facts = execute(request, folder, steps, line)
    facts["files"] = write_page(view.html, pages.page, facts)
    print_outcome(facts, pages.show, view.json_)
    return 0
