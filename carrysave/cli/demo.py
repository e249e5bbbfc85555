"""The demo: from a design's name to Verilog, regression, a network on it, figures and a proof."""

import json
import os
import shlex
import sys
import time
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from rich.console import Console

from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.recipes import PROJECT
from carrysave.cli.options import Folder, Json, console, errors, output_folder
from carrysave.data.digits_model import write_model
from carrysave.progress import Steps
from carrysave.report.designs import verification
from carrysave.report.figures import measures
from carrysave.report.synthesis import print_synthesis, write_synthesis
from carrysave.sim import runner
from hw.catalog import Design, EngineText
from hw.emit import tools
from hw.emit.files import generate

__all__ = ["demo", "run"]

DESIGN = Design("systolic_os")
BASELINE = Design("systolic_os", {"pe": "mac"})
PROVEN = Design("opt1")

_SECONDS = (1, 25, 15, 15, 20, 4)
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
    """Run the demo: Verilog, regression, figures, a network on the simulated hardware, a proof.

    Each part is said with a command that does it. Both arrays are synthesised by the recipes that
    the same search found best for them, which are kept in the project; the figures are measured.
    The network's timeline is a page, which is opened where there is a screen.

    **Examples:**

    - `carrysave demo -o build`
    - `carrysave demo --sweep`
    """
    folder = output_folder(output)
    with Steps(errors) as steps:
        outcome = run(steps, folder, Console(quiet=True) if json_ else console, sweep)
    if json_:
        print(json.dumps(outcome, indent=2))
    elif _screen():
        webbrowser.open(Path(outcome["digits"]["timeline"]).resolve().as_uri())
    return 0 if outcome["ok"] else 1


def run(steps: Steps, folder: Path, console: Console, sweep: bool = False) -> dict[str, Any]:
    """Run every step and print its results.

    Parameters
    ----------
    sweep : search the best recipes, rather than to use those that are kept.

    Returns
    -------
    ``ok``: all tests passed, the simulated block's memory is the golden model's, and the proof is
    one; ``files``, ``verification``, ``synthesis`` (the design, and the same with plain MACs),
    ``digits`` and ``proof``.
    """
    start = time.monotonic()
    tools.find("sta")  # for the figures: not after minutes of the others

    out = _Printer(console)
    first, then, *searched, network_seconds, proof_seconds = _SECONDS
    searched = [_SWEEP_SECONDS] * 2 if sweep else searched
    steps.plan([first, then, *searched, network_seconds, proof_seconds])
    files, checked = _verified(steps, folder, out)
    results = [_synthesise(design, steps, folder, sweep) for design in (DESIGN, BASELINE)]
    print_synthesis(console, results)
    measure = measures(results[0])
    ours, plain = (result[measure.density] for result in results)
    out.say("compared", f"{ours / plain:.2f}x the {measure.density_unit} of plain MACs")
    out.show("compare", *(EngineText.text(one) for one in (DESIGN, BASELINE)))

    steps.step("classify handwritten digits on the simulated co-processor")
    seen = _classify(folder / "demo", out)
    out.say(
        "classified",
        f"{seen['images']} handwritten digits, a quantised network that the co-processor runs as a"
        f" program, in {seen['cycles']:,} cycles ({seen['cycles_by_model']:,} by the cost model):"
        f" {seen['accuracy']:.2%} right; all of memory"
        f" {'equals' if seen['equal'] else 'DIFFERS FROM'} the golden model's",
    )
    out.say("", f"what ran when: {seen['timeline']}")

    steps.step(f"prove {PROVEN.module}")
    proof = _facts("prove", PROVEN.name)
    claim = proof["parts"][0]["claim"]
    out.say(proof["verdict"], f"{PROVEN.module}, gate by gate, for all operands: {claim}")
    out.show("prove", PROVEN.name)
    out.say("in all", f"{time.monotonic() - start:.0f} s")
    return {
        "ok": checked.ok and seen["equal"] and proof["verdict"] == "proven",
        "files": [str(path) for path in files],
        "verification": verification(DESIGN, checked),
        "digits": seen,
        "synthesis": results,
        "proof": proof,
    }


class _Printer:
    """Says what was done, and the commands that do it."""

    def __init__(self, console: Console):
        self.console = console

    def say(self, word: str, text: str, style: str = "bold") -> None:
        """Print a line behind a word."""
        line = f"[{style}]{word:11}[/{style}]{text}"
        self.console.print(line, highlight=False, soft_wrap=True)

    def show(self, *line: str) -> None:
        """Print a command of carrysave."""
        self.say("", f"$ {shlex.join(['carrysave', *line])}", "dim")


def _verified(steps: Steps, folder: Path, out: _Printer) -> tuple[list[Path], runner.Result]:
    """Generate the design, and run its regression; return its files, and the outcome."""
    steps.step(f"generate {DESIGN.module}")
    files = generate(DESIGN, folder)
    out.say("generated", f"{DESIGN.module}: {DESIGN.entry.summary}")
    out.show("generate", DESIGN.name)
    for path in files:
        out.say("", f"{path} ({path.stat().st_size:,} bytes)")

    steps.step("build the simulator and run the regression")
    checked = runner.verify(DESIGN, seed=1, directory=folder / "runs")
    passed = checked.tests - checked.failures
    text = f"{passed} of {checked.tests} tests passed against the numpy twin ({checked.xml})"
    out.say("verified", text)
    out.show("verify", DESIGN.name)
    return files, checked


def _screen() -> bool:
    """Return whether a page can be opened beside this terminal."""
    shown = sys.platform in ("darwin", "win32") or {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}
    return bool(shown) and console.is_terminal and not os.environ.get("CI")


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


def _classify(folder: Path, out: _Printer) -> dict[str, Any]:
    """Compile the network of the digits, and run its test images on the simulated block."""
    model, images, labels = write_model(folder)
    program, timeline = folder / "compile" / model.stem, folder / "timeline.html"
    count = len(np.load(labels))
    compiled = ["compile", str(model), "--batch", str(count), "-o", str(folder)]
    run = ["run", str(program), "--input", str(images), "--labels", str(labels)]
    run += ["--simulate", "all", "--timeline", str(timeline), "-o", str(folder)]
    for line in (compiled, run):
        out.show(*line)
        facts = _facts(*line)
    (logits,), counted = facts["outputs"], facts["counted"]
    return {
        "images": count,
        "accuracy": logits["accuracy"],
        "equal": facts["simulated"] > 0 and facts["different"] is None,
        "cycles": round(counted["cycles"]),
        "cycles_by_model": counted["cycles_by_model"],
        "timeline": str(timeline),
    }


def _facts(*line: str) -> Any:
    """Run a command as a user does, and return what it finds.

    Raises
    ------
    RuntimeError
        It found nothing.
    """
    command = [sys.executable, "-m", "carrysave", *line, "--json"]
    printed = tools.run(command, cwd=Path.cwd()).output
    # Before it are lines of progress.
    facts = printed.find("{\n")
    if facts < 0:
        raise RuntimeError(f"{shlex.join(line)}: {printed.strip().splitlines()[-1:]}")
    return json.JSONDecoder().raw_decode(printed, facts)[0]
