"""``carrysave results``."""

import json
from math import inf
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from carrysave import jobs
from carrysave.cli.options import StoreFile, console
from carrysave.cli.results_diff import print_changes
from carrysave.cli.results_form import TABLE, Foreign, Form
from carrysave.errors import UsageError
from hw.emit.user_files import shown

__all__ = ["results"]

_FIRST = ("kind", "design", "target", "recipe", "parameters")
_FIGURES = (
    "area_um2",
    "period_ns",
    "power_mw",
    "pj_per_mac",
    "gops_per_mm2",
    "luts",
    "dsps",
    "fmax_mhz",
)
_LAST = ("tier", "seconds", "who", "at", "revision")
_WIDTH = 180  # characters of a table in a file or a pipe
_MOST = 100  # rows of a table on a terminal
_SHORT = 12  # characters of a revision


def results(
    action: Annotated[
        Literal["diff"] | None, Parameter(help="`diff`: compare. [default: print]")
    ] = None,
    before: Annotated[
        str | None, Parameter(help="Of `diff`: a store, or a revision in --store.")
    ] = None,
    after: Annotated[str | None, Parameter(help="The same, later.")] = None,
    /,
    *,
    where: Annotated[
        str | None, Parameter(help="An SQL expression over the columns, which rows must fulfil.")
    ] = None,
    failures: Annotated[
        bool, Parameter(show_default=False, help="The jobs that failed when last tried.")
    ] = False,
    threshold: Annotated[
        float, Parameter(help="Of `diff`: percent of a figure that it may be worse by.")
    ] = 2.0,
    form: Form = TABLE,
    store: StoreFile = None,
) -> int:
    """Print what all jobs found: `synth --sweep`, `compare`, `reproduce`, on all machines.

    A row for each job, with a column for each figure; parameters of a design have columns
    `p_NAME`. The store is a SQLite file, whose table `results` pandas and DuckDB read as it is, or
    a database of a PostgreSQL server. Where a figure comes from is in `revision` (the commit),
    `versions`, `library_sha256`, `machine` and `tier`. Rows that were changed since, or that a
    store of another version made, are named; their jobs run again.

    `diff` compares two stores, or two revisions in one, and fails if a figure is worse by more
    than the threshold, or a result of a store is gone.

    **Examples:**

    - `carrysave results --where "design = 'mac' and p_a_width <= 8"`
    - `carrysave results --columns design,area_um2,tier,revision,machine`
    - `carrysave results --where "period_ns < 2" --parquet -o fast.parquet`
    - `carrysave results diff before.sqlite after.sqlite --threshold 5`
    - `carrysave results diff 3f2a91c 88d0e4b --json`
    """
    form.check()
    if not 0 <= threshold < inf:
        raise UsageError(f"--threshold must be a percentage from 0 up, not {threshold:g}")
    if action is not None:
        if before is None or after is None:
            raise UsageError("results diff needs two stores, or two revisions")
        if failures or form not in (TABLE, Form(json=True)):
            raise UsageError("results diff takes --where, --threshold, --json and --store alone")
        return print_changes(before, after, store, where, threshold / 100, raw=form.json)
    with jobs.reading(store, "failures" if failures else "results") as reader:
        chosen = form.chosen(reader.names)
        foreign = None if failures else Foreign(reader.names)
        if form.kind is None:
            _print(reader, where, chosen, foreign)
        else:
            form.write(reader, where, chosen, foreign)
    if foreign is not None:
        foreign.tell()
    return 0


def _print(
    reader: jobs.Reader, where: str | None, chosen: list[str] | None, foreign: Foreign | None
) -> None:
    """Print columns, or those that say most, of the last rows."""
    latest, count = reader.latest(_MOST, where)
    some = [dict(zip(reader.names, row, strict=True)) for row in reversed(latest)]
    if foreign is not None:
        foreign.seen(latest)
    if chosen is not None:
        columns = chosen
    else:
        failed = [name for name in reader.names if name not in {"key", "log"}]
        wanted = failed if foreign is None else [*_FIRST, *_FIGURES, *_LAST]
        columns = [name for name in wanted if any(row.get(name) is not None for row in some)]
    view = Table()
    for name in columns:
        number = any(isinstance(row.get(name), int | float) for row in some)
        view.add_column(
            name, justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    for row in some:
        view.add_row(*(escape(_cell(name, row.get(name), chosen is None)) for name in columns))
    if some:
        wide = console if console.is_terminal else Console(width=_WIDTH)
        wide.print(view)
    rest = f", the last {len(some)} of them" if len(some) < count else ""
    console.print(f"{count} rows{rest}", highlight=False)


def _cell(name: str, value: Any, short: bool) -> str:
    if value is None:
        return "-"
    if name == "parameters":
        value = " ".join(f"{key}={each}" for key, each in json.loads(value).items())
    if name == "revision" and short:
        commit, plus, _ = value.partition("+")
        value = f"{commit[:_SHORT]}{plus}"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    return shown(str(value), 400)
