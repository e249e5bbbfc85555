"""The demo: one design, from its name to Verilog, regression, a workload and figures."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from rich.console import Console

from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.recipes import PROJECT
from carrysave.cli.options import Folder, Json, console, errors, output_folder
from carrysave.data import digits
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from carrysave.progress import Steps
from carrysave.report.designs import verification
from carrysave.report.figures import measures
from carrysave.report.synthesis import print_synthesis, write_synthesis
from carrysave.sim import products, runner
from hw.catalog import Design
from hw.emit import tools
from hw.emit.files import generate

__all__ = ["demo", "run"]

DESIGN = Design("systolic_os")
BASELINE = Design("systolic_os", {"pe": "mac"})
BLOCK = Design("coprocessor", {"per_column": False})


_SECONDS = (1, 25, 20, 15, 15)
"""What the steps take on two cores."""
_SWEEP_SECONDS = 75


def demo(
    *,
    output: Folder = None,
    sweep: Annotated[
        bool,
        Parameter(show_default=False, help="Search the best recipes again: two minutes more."),
    ] = False,
    json_: Json = False,
) -> int:
    """Run the demo: Verilog, regression, handwritten digits on the hardware, figures.

    Both arrays are synthesised by the recipes that the same search found best for them, which are
    kept in the project; the figures are measured.

    **Examples:**

    - `carrysave demo -o build`
    - `carrysave demo --sweep`
    """
    folder = output_folder(output)
    with Steps(errors) as steps:
        outcome = run(steps, folder, Console(quiet=True) if json_ else console, sweep)
    if json_:
        print(json.dumps(outcome, indent=2))
    return 0 if outcome["ok"] else 1


def run(steps: Steps, folder: Path, console: Console, sweep: bool = False) -> dict[str, Any]:
    """Run every step and print its results.

    Parameters
    ----------
    sweep : search the best recipes, rather than to use those that are kept.

    Returns
    -------
    ``ok``: all tests passed and the hardware's logits are the golden model's; ``files``,
    ``verification``, ``digits`` and ``synthesis`` (the design, and the same with plain MACs).
    """
    start = time.monotonic()
    tools.find("sta")  # for the last step: not after minutes of the others

    def say(word: str, text: str) -> None:
        console.print(f"[bold]{word:11}[/bold]{text}", highlight=False, soft_wrap=True)

    *first, ours_seconds, plain_seconds = _SECONDS
    steps.plan([*first, *([_SWEEP_SECONDS] * 2 if sweep else (ours_seconds, plain_seconds))])
    steps.step(f"generate {DESIGN.module}")
    files = generate(DESIGN, folder)
    say("generated", f"{DESIGN.module}: {DESIGN.entry.summary}")
    for path in files:
        say("", f"{path} ({path.stat().st_size:,} bytes)")

    steps.step("build the simulator and run the regression")
    checked = runner.verify(DESIGN, seed=1, directory=folder / "runs")
    passed = checked.tests - checked.failures
    text = f"{passed} of {checked.tests} tests passed against the numpy twin ({checked.xml})"
    say("verified", text)

    steps.step("classify handwritten digits on the simulated co-processor")
    seen = _classify(folder)
    say(
        "classified",
        f"{seen['images']} handwritten digits by the driver on the simulated co-processor around"
        f" it, on one start, in {seen['counters']['cycles']:,} cycles: {seen['accuracy']:.2%}"
        f" right; golden model {seen['golden_accuracy']:.2%}; logits"
        f" {'equal bit for bit' if seen['equal'] else 'DIFFER'}",
    )

    results = [_synthesise(design, steps, folder, sweep) for design in (DESIGN, BASELINE)]
    print_synthesis(console, results)
    measure = measures(results[0])
    ours, plain = (result[measure.density] for result in results)
    seconds = time.monotonic() - start
    text = f"{ours / plain:.2f}x the {measure.density_unit} of plain MACs; {seconds:.0f} s"
    say("in all", text)
    return {
        "ok": checked.ok and seen["equal"],
        "files": [str(path) for path in files],
        "verification": verification(DESIGN, checked),
        "digits": seen,
        "synthesis": results,
    }


def _synthesise(design: Design, steps: Steps, folder: Path, sweep: bool) -> dict[str, Any]:
    """Synthesise a design, and write what was found."""
    steps.step(f"synthesise {design.module}")
    result = synthesis.synthesise_design(
        design,
        cells.default(),
        sweep=sweep,
        stored_recipes=() if sweep else (PROJECT,),
        progress=steps.note,
    )
    result["files"] = write_synthesis(folder / "synth", result)
    return result


def _classify(folder: Path) -> dict[str, Any]:
    """Classify the test images twice, by the simulated hardware and by numpy."""
    network, images, labels = digits.load()
    golden = network.run(images, digits.matmul)
    works = [
        Work(
            a=None if number else images.astype(int),
            b=layer.weights,
            bias=layer.bias,
            requantisation=Requantisation(
                layer.multiplier, layer.shift, layer.zero_point, layer.zero_point, digits.CODES[1]
            )
            if layer.multiplier
            else None,
        )
        for number, layer in enumerate(network.layers)
    ]
    (*_, logits), (counters,) = products.run_works(BLOCK, works, folder / "runs", one_start=True)
    return {
        "images": len(images),
        "accuracy": float(np.mean(logits.argmax(axis=1) == labels)),
        "golden_accuracy": float(np.mean(golden.argmax(axis=1) == labels)),
        "equal": bool(np.array_equal(logits, golden)),
        "counters": counters,
    }
