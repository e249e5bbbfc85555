"""``carrysave selftest``: a small design goes all the way, and formats mean what is published."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

import carrysave
from carrysave.installation import parts
from carrysave.progress import Steps
from hw.catalog import Design
from hw.emit import tools
from hw.emit.files import generate

__all__ = ["DESIGN", "run", "show"]

DESIGN = Design("mac", {"a_width": 4, "b_width": 4, "accumulator_width": 12})
_SEED = 1


def run(steps: Steps) -> dict[str, Any]:
    """Do all checks, each whatever became of the others.

    Returns
    -------
    ``ok version design seconds checks``, of which the last has ``check ok skipped found seconds``.
    """
    start = time.monotonic()
    checks: list[tuple[str, Callable[[Path], str]]] = [
        ("generate", _generated),
        ("verify", _verified),
        ("formats", _formats),
        ("map to LUTs", _luts),
        ("verify the netlist of gates", _netlist),
    ]
    rows = []
    steps.plan(len(checks))
    with tools.workplace() as folder:
        for name, check in checks:
            steps.step(name)
            rows.append(_row(name, check, folder))
    return {
        "ok": all(row["ok"] or row["skipped"] for row in rows),
        "version": carrysave.__version__,
        "design": DESIGN.module,
        "seconds": time.monotonic() - start,
        "checks": rows,
    }


class _LackError(RuntimeError):
    """A check needs what is not installed."""


def _row(name: str, check: Callable[[Path], str], folder: Path) -> dict[str, Any]:
    start = time.monotonic()
    ok, skipped = False, False
    try:
        result = check(folder)
        ok = True
    except _LackError as error:
        result, skipped = str(error), True
    except Exception as error:  # whatever is broken is what is looked for
        result = " ".join(f"{type(error).__name__}: {error}".split())
    seconds = time.monotonic() - start
    return {"check": name, "ok": ok, "skipped": skipped, "found": result, "seconds": seconds}


def _expect(good: bool, wrong: str) -> None:
    if not good:
        raise RuntimeError(wrong)


def _generated(folder: Path) -> str:
    files = {path.suffix: path for path in generate(DESIGN, folder)}
    manifest = json.loads(files[".json"].read_text())
    digest = hashlib.sha256(files[".v"].read_bytes()).hexdigest()
    _expect(manifest["verilog_sha256"] == digest, "the Verilog is not that of its manifest")
    return f"{DESIGN.module}.v, {files['.v'].stat().st_size:,} bytes"


def _verified(folder: Path) -> str:
    from carrysave.sim import runner

    result = runner.verify(DESIGN, seed=_SEED, directory=folder / "runs")
    said = f"{result.tests - result.failures} of {result.tests} tests passed"
    _expect(result.ok and result.tests > 0, said)
    return f"{said} against the numpy twin, on Verilator"


def _formats(folder: Path) -> str:
    from carrysave.vectors.package import FORMATS, files_of, formats_of, published

    known = published()
    made = {
        name: hashlib.sha256(data).hexdigest()
        for fmt in formats_of(FORMATS)
        for _, name, data in files_of(fmt)
    }
    wrong = sorted(name for name in made.keys() | known.keys() if made.get(name) != known.get(name))
    _expect(not wrong, f"other digests than published: {', '.join(wrong)}")
    return f"{len(made)} tables of {len(FORMATS)} formats have the published digests"


def _luts(folder: Path) -> str:
    from carrysave.asic import synthesis

    report = synthesis.synthesise_design(DESIGN, "xilinx7")
    _expect(bool(report["luts"]), "no LUTs")
    return f"{report['luts']} LUTs, {report['ffs']} flip-flops of 7 series; mapped"


def _netlist(folder: Path) -> str:
    from carrysave.asic.bench_job import netlist_sources
    from carrysave.asic.liberty import cells
    from carrysave.sim import runner

    sta = next(part for part in parts.system() if part.name == "sta")
    if not sta.ok:
        raise _LackError(f"needs OpenSTA: {sta.remedy}")
    sources = netlist_sources(DESIGN, cells.generic(), folder / "netlist")
    result = runner.verify(DESIGN, seed=_SEED, netlist=sources, directory=folder / "gates")
    said = f"{result.tests - result.failures} of {result.tests} tests passed"
    _expect(result.ok and result.tests > 0, said)
    return f"{said} on gates of the generic library"


def show(console: Console, report: Mapping[str, Any]) -> None:
    """Print a line for each check."""
    for row in report["checks"]:
        state = "ok" if row["ok"] else "skipped" if row["skipped"] else "FAIL"
        text = f"{state:8}{row['check']}: {row['found']} ({row['seconds']:.1f} s)"
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    state = "works" if report["ok"] else "does not work: `carrysave doctor` may say why"
    console.print(
        f"carrysave {report['version']} {state}; {report['seconds']:.0f} s",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
