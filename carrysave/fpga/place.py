"""Place and route by nextpnr, from several seeds side by side."""

import functools
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version as package_version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from carrysave import jobs
from carrysave.errors import needs, package_of
from carrysave.fpga.path import Words, critical_path
from carrysave.fpga.wrapper import TOP
from hw.device import family
from hw.device.description import Flow, Part
from hw.emit import tools

__all__ = ["FpgaError", "call", "from_seeds", "median", "nextpnr", "nextpnr_version"]

_USED = re.compile(r"^Info:\s+(\w+):\s+(\d+)/\s*(\d+)\s+\d+%", re.MULTILINE | re.ASCII)
"""nextpnr's lines of what a design takes of a part."""


class FpgaError(RuntimeError):
    """nextpnr is missing or could not place and route a design.

    Members
    -------
    used : cell -> how many the design has, and the part, as far as nextpnr has said.
    """

    def __init__(self, text: str, used: Mapping[str, tuple[int, int]] = MappingProxyType({})):
        super().__init__(text)
        self.used = dict(used)


class _RefusedError(FpgaError):
    """nextpnr says why it cannot place and route a design, and would again."""

    final = True


@functools.cache
def nextpnr_version(target: str) -> str | None:
    """Return the version of the family's nextpnr package; None if there is none for it.

    Raises
    ------
    ModuleNotFoundError
        If the package is not installed.
    """
    name = family(target).flow.nextpnr
    if name is None:
        return None
    needs(name)
    return package_version(package_of(name))


def from_seeds(
    target: str,
    part: Part,
    folder: Path,
    seeds: Sequence[int],
    names: Mapping[str, str],
    key: Sequence[str | bytes],
    progress: Callable[[str], None],
    more: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Place and route ``wrapper.json`` in a folder once for each seed, by :mod:`carrysave.jobs`.

    Parameters
    ----------
    more : arguments of nextpnr, besides the part's.
    names : what the source calls what has another name in the netlist.
    key : what the netlist is made of: what is done is kept, so that work which ends early goes on.

    Returns
    -------
    For each seed ``seed fmax_mhz error critical_path``; Fmax is None if nothing was timed, and
    where there is an error.

    Raises
    ------
    FpgaError
        No seed is placed and routed.
    """
    package = family(target).flow.nextpnr
    assert package is not None
    wanted = [
        jobs.Job(
            function=run_seed,
            arguments={
                "target": target,
                "part": part.name,
                "netlist": jobs.File(folder / "wrapper.json"),
                "names": dict(names),
                "seed": seed,
                "more": list(more),
            },
            content=[*key, repr(part)],
            tools=(package_of(package),),
            label=f"{part.name}, seed {seed}",
            facts={"kind": "seed", "target": target, "part": part.name, "seed": seed},
        )
        for seed in seeds
    ]
    runs: list[dict[str, Any]] = []
    for outcome in jobs.run(wanted):
        last = _outcome(outcome)
        runs.append(last)
        fmax = last["fmax_mhz"]
        text = last["error"] or ("routed" if fmax is None else f"{fmax:.1f} MHz")
        progress(f"{part.name}: seed {last['seed']}: {text} ({len(runs)} of {len(seeds)})")
    if all(each["error"] for each in runs):
        raise FpgaError(runs[0]["error"])
    return sorted(runs, key=lambda each: each["seed"])


def _outcome(outcome: jobs.Outcome) -> dict[str, Any]:
    """Return what became of a seed; an error that is not the tools' is raised."""
    seed = outcome.job.arguments["seed"]
    facts = {"seed": seed, "fmax_mhz": None, "error": None, "critical_path": []}
    if outcome.failure is None:
        return facts | outcome.value
    if outcome.failure.error is not None and not isinstance(outcome.failure.error, FpgaError):
        raise outcome.failure.error
    return facts | {"error": outcome.failure.text}


def run_seed(
    target: str, part: str, netlist: Path, names: dict[str, str], seed: int, more: list[str]
) -> dict[str, Any]:
    """Place and route a netlist from a seed: a job; returns ``fmax_mhz critical_path``."""
    flow = family(target).flow
    (chosen,) = (each for each in flow.parts if each.name == part)
    with tools.workplace() as folder:
        shutil.copy(netlist, folder / "wrapper.json")
        (folder / "pins").write_text(chosen.pins)
        arguments = [*chosen.arguments, *more, "--json", "wrapper.json", "--timing-allow-fail"]
        facts = nextpnr(flow, folder, arguments, seed)
        module = json.loads((folder / "wrapper.json").read_text())["modules"][TOP]
    fmax = min((clock["achieved"] for clock in facts["fmax"].values()), default=None)
    return {"fmax_mhz": fmax, "critical_path": critical_path(facts, Words(module, names))}


def median(runs: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the run of median Fmax, the lower one of the middle two; None if nothing is timed."""
    timed = sorted(
        (each for each in runs if each["fmax_mhz"] is not None), key=lambda each: each["fmax_mhz"]
    )
    return timed[(len(timed) - 1) // 2] if timed else None


def nextpnr(flow: Flow, folder: Path, arguments: Sequence[str], seed: int = 1) -> dict[str, Any]:
    """Place and route in a folder, with its files as arguments; returns nextpnr's report.

    Raises
    ------
    FpgaError
        It fails; says why.
    """
    report = folder / f"report{seed}.json"
    report.unlink(missing_ok=True)
    more = "--report", report.name, "--seed", str(seed)
    done = call(str(flow.nextpnr), folder, [*arguments, *more])
    if done.code or not report.exists():
        errors = [line for line in done.output.splitlines() if line.startswith("ERROR")]
        if errors:
            used = {name: (int(has), int(of)) for name, has, of in _USED.findall(done.output)}
            raise _RefusedError(f"nextpnr: {errors[0]}", used)
        last = done.output.strip().splitlines()[-1:]
        raise FpgaError(f"nextpnr: {(last or [f'ended with code {done.code}'])[0]}")
    return json.loads(report.read_text())


def call(package: str, folder: Path, arguments: Sequence[str], tool: str = "") -> tools.Finished:
    """Run a tool of a package in a folder, the one that it is named for if `tool` is empty.

    Parameters
    ----------
    package : of YoWASP's tools; else a module that is a program.
    """
    command = ["-m", package]
    if package.startswith("yowasp_"):
        program = tool or package.removeprefix("yowasp_")
        command = ["-c", f"import sys, {package}; sys.exit({package}.run_{program}(sys.argv[1:]))"]
    return tools.run([sys.executable, *command, *arguments], cwd=folder)
