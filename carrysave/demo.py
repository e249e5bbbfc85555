"""The main job: one design from nothing to Verilog, proof, work done and figures."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from carrysave import digits, report, simulate, synth
from hw.catalog import Design
from hw.emit import generate

__all__ = ["run"]

DESIGN = Design("systolic_os")
BASELINE = Design("systolic_os", {"pe": "mac"})


def run(console: Console, errors: Console, folder: Path) -> int:
    """Run every step, print a line after each and a summary; return the exit code."""
    start = time.monotonic()
    ok = True
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
    ) as progress:
        task = progress.add_task("generate", total=None)

        def say(step: str, text: str) -> None:
            console.print(f"[bold]{step:11}[/bold]{text}", highlight=False, soft_wrap=True)

        files = generate(DESIGN, folder / "verilog")
        baseline = generate(BASELINE, folder / "verilog")
        say("generated", f"{DESIGN.module}: {DESIGN.entry.summary}")
        for path in files:
            say("", f"{path} ({path.stat().st_size:,} bytes)")

        progress.update(task, description="verify: build the simulator, run the regression")
        checked = simulate.verify(DESIGN, seed=1, directory=folder / "runs")
        ok &= checked.ok
        say(
            "verified",
            f"{checked.tests - checked.failures} of {checked.tests} tests passed against the numpy"
            f" twin ({checked.xml})",
        )

        network, images, labels = digits.load()
        progress.update(task, description="classify digits on the simulated hardware")

        def multiply(a: Any, b: Any) -> Any:
            def advance(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            return simulate.multiply(DESIGN, [(a, b)], folder / "runs", advance)[0]

        network, images, labels = digits.load()
        logits, golden = network.run(images, multiply), network.run(images, digits.matmul)
        same = bool(np.array_equal(logits, golden))
        ok &= same
        say(
            "classified",
            f"{len(images)} handwritten digits, every product on the simulated hardware:"
            f" {np.mean(logits.argmax(axis=1) == labels):.2%} right; the golden model:"
            f" {np.mean(golden.argmax(axis=1) == labels):.2%};"
            f" logits {'equal bit for bit' if same else 'DIFFER'}",
        )

        progress.update(task, description="synthesise", total=None)
        results = []
        for design, paths in ((DESIGN, files), (BASELINE, baseline)):
            result = synth.synthesise(
                paths[:1],
                top=design.module,
                target="osu018",
                operations_per_cycle=design.component().operations_per_cycle,
                sweep=True,
                progress=lambda text, name=design.module: progress.update(  # type: ignore[misc]
                    task, description=f"synthesise {name}: {text}"
                ),
            )
            result["files"] = report.write_synthesis(folder / "synth", result)
            results.append(result)
    report.print_synthesis(console, results)
    ours, plain = (result["gops_per_mm2"] for result in results)
    console.print(
        f"carry-save elements against plain MACs: {ours / plain:.2f}x the GOPS/mm2;"
        f" {time.monotonic() - start:.0f} s in all",
        highlight=False,
    )
    return 0 if ok else 1
