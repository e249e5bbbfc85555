"""Tables of figures, made again by the commands of their pages, and compared.

    .venv/bin/python scripts/upkeep/figures.py                lists the tables and their commands
    .venv/bin/python scripts/upkeep/figures.py split tokens   makes these again
    .venv/bin/python scripts/upkeep/figures.py --sample 10 --seed 3   runs ten commands of them

Each command runs on a copy of the pages. Cells must be the same, numbers within the noise that is
stated here; what differs is listed, and the exit code is 1. With `--write` pages become what the
commands made.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from carrysave.cli.options import errors
from carrysave.progress import Steps

__all__ = ["LONG", "TABLES", "Table", "compare", "table_of"]

ROOT = Path(__file__).resolve().parents[2]
PAGES = "docs/figures"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A command, the tables that it makes, and what of them is compared.

    Parameters
    ----------
    names : of the marks around them.
    line : of a script in scripts/figures, as the page has it.
    noise : by column, the greatest relative difference of a number; of others 0.
    other : columns that are not compared: times of a machine.
    """

    names: tuple[str, ...]
    line: str
    noise: tuple[tuple[str, float], ...] = ()
    other: tuple[str, ...] = ()


_CYCLES = ("cycles", 0.002)
_RATIO = 0.01
TABLES = (
    Table(names=("tokens", "energy", "others"), line="bench_language.py --parts tokens --docs"),
    Table(names=("recurrent",), line="bench_language.py --parts recurrent --docs"),
    Table(
        names=("split",),
        line="bench_split.py --docs",
        noise=(_CYCLES, ("by int4's", _RATIO)),
    ),
    Table(
        names=("groups",),
        line="bench_groups.py --docs",
        noise=(_CYCLES, ("of dense / groups", _RATIO)),
    ),
    Table(names=("qwen3",), line="bench_qwen3.py --docs"),
    Table(names=("dataflow",), line="bench_dataflow.py --docs"),
    Table(names=("packed_text",), line="bench_packed_text.py --docs"),
    Table(names=("attention_bytes",), line="attention_bytes.py --docs"),
    Table(
        names=("schedule",),
        line="bench_schedule.py --docs",
        other=("solver, s", "more to compile, s"),
    ),
)

_LIBRARY = "a cell library, and hours"
_PLACED = "an hour or more of mapping, placing and routing"
_MODELS = "other people's models"
_SIMULATED = "half an hour or more of simulation"
_TEXTS = "hours of a language model's or a network's evaluation or training"
LONG = {
    **dict.fromkeys(
        (
            *("figures osu018", "figures sky130", "energy sky130", "least energy sky130"),
            *("wires sky130", "sizes", "routed", "ternary", "recipes", "explore", "stages"),
            *("estimate", "neighbours"),
        ),
        _LIBRARY,
    ),
    **dict.fromkeys(("boards", "shell", "fpga", "narrow", "luts"), _PLACED),
    **dict.fromkeys(("networks", "programs", "network_boards", "transformer"), _MODELS),
    **dict.fromkeys(("transformer_jobs", "transformer_layers", "attention"), _MODELS),
    **dict.fromkeys(
        (
            *("coprocessor", "depthwise", "grouped", "scores_on_chip", "one_pass_errors"),
            *("one_pass_cycles", "one_pass_blocks", "linear_attention", "patterns"),
            *("figures mutants", "figures signoff"),
        ),
        _SIMULATED,
    ),
    **dict.fromkeys(
        (
            *("language", "units", "text", "pruning", "precision digits", "precision tuned"),
            *("precision lines", "precision encoder", "precision text"),
        ),
        _TEXTS,
    ),
}
"""Tables that are not made again, and what they take."""

_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


def table_of(pages: Path, name: str) -> list[list[str]]:
    """Return the cells of a table, its head first; none: there are no such marks."""
    for page in sorted(pages.glob("*.md")):
        _, first, rest = page.read_text().partition(f"<!-- {name} -->\n")
        if first:
            lines = rest.partition(f"<!-- end of {name} -->")[0].splitlines()
            rows = [line for line in lines if line.startswith("|") and not line.startswith("| ---")]
            return [[cell.strip() for cell in row.strip("| ").split("|")] for row in rows]
    return []


def compare(table: Table, page: list[list[str]], again: list[list[str]]) -> Iterator[str]:
    """Say where a table differs from its page, by row and column."""
    if len(page) != len(again) or page[:1] != again[:1]:
        yield f"{len(again)} rows of {again[:1]}, not {len(page)} of {page[:1]}"
        return
    noise = dict(table.noise)
    for row, (was, now) in enumerate(zip(page[1:], again[1:], strict=True), 1):
        for column, (old, new) in enumerate(zip(was, now, strict=True)):
            head = page[0][column]
            if head not in table.other and not _alike(old, new, noise.get(head, 0)):
                yield f"row {row} ({was[0]}), {head}: {new}, not {old}"


def _alike(old: str, new: str, noise: float) -> bool:
    """Return whether cells say the same: numbers within the noise, all else to the letter."""
    if old == new or not noise:
        return old == new
    numbers = [
        [float(one.replace(",", "")) for one in _NUMBER.findall(cell)] for cell in (old, new)
    ]
    same = [_NUMBER.sub("#", cell) for cell in (old, new)]
    return same[0] == same[1] and all(
        abs(one - other) <= noise * abs(one) for one, other in zip(*numbers, strict=True)
    )


def make(table: Table, folder: Path) -> list[str]:
    """Run a command on a copy of the pages in a folder; say what is not as on the pages."""
    for name in ("docs", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "README.md", folder)
    script, *rest = shlex.split(table.line)
    paths = [str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(folder / "scripts" / "figures" / script), *rest],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        return [f"exit code {done.returncode}: {''.join(last)}"]
    differences = []
    for name in table.names:
        was, now = (table_of(root / PAGES, name) for root in (ROOT, folder))
        differences += [f"{name}: {one}" for one in compare(table, was, now)]
    return differences


def _chosen(arguments: argparse.Namespace) -> Sequence[Table]:
    """Return what is to be made; an unknown name ends the program."""
    names = {name: table for table in TABLES for name in table.names}
    for name in arguments.names:
        if name not in names:
            why = LONG.get(name, f"there is none; there are {', '.join(names)}")
            sys.exit(f"figures.py: {name}: {why}")
    if arguments.sample:
        return Random(arguments.seed).sample(TABLES, min(arguments.sample, len(TABLES)))
    return list(dict.fromkeys(names[name] for name in arguments.names))


def main() -> None:
    """List tables, or make some of them again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of tables")
    parser.add_argument("--sample", type=int, default=0, help="how many commands are drawn")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--write", action="store_true", help="pages become what was made")
    arguments = parser.parse_args()
    chosen = _chosen(arguments)
    if not chosen:
        for table in TABLES:
            print(f"{', '.join(table.names)}: scripts/figures/{table.line}")
        for name, why in LONG.items():
            print(f"{name}: not made again: {why}")
        return
    failed = False
    with Steps(errors) as steps:
        steps.plan(len(chosen))
        for table in chosen:
            steps.step(table.line)
            with tempfile.TemporaryDirectory() as name:
                differences = make(table, Path(name))
                if arguments.write and differences:
                    shutil.copytree(Path(name) / "docs", ROOT / "docs", dirs_exist_ok=True)
            print(f"{'differs' if differences else 'same'}: {table.line}")
            print(*(f"  {one}" for one in differences), sep="\n", end="\n" if differences else "")
            failed |= bool(differences)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
