"""``carrysave reproduce``."""

import shlex
import sys
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from carrysave import papers
from carrysave.asic.liberty import cells
from carrysave.cli.flags import Liberty
from carrysave.cli.libraries import target_of
from carrysave.cli.options import (
    ALL_CORES,
    Folder,
    Html,
    Json,
    Running,
    check_page,
    errors,
    output_folder,
    print_outcome,
    write_page,
)
from carrysave.errors import UsageError
from carrysave.papers import known
from carrysave.progress import Steps
from hw.unknown import nearest

__all__ = ["reproduce"]


def reproduce(
    table: Annotated[
        str | None, Parameter(help=f"One of {', '.join(papers.TABLES)}; or a paper of --list.")
    ] = None,
    /,
    *,
    list_: Annotated[
        bool, Parameter(name="--list", show_default=False, help="All papers, and what is here.")
    ] = False,
    quick: Annotated[
        bool, Parameter(show_default=False, help="Small designs: minutes instead of hours.")
    ] = False,
    liberty: Liberty = None,
    output: Folder = None,
    running: Running = ALL_CORES,
    html: Html = None,
    json_: Json = False,
) -> int:
    """Reproduce a paper's table: every design and its baseline in one flow, beside its ratios.

    With `--list`, prints all papers by name: whether what they say is here, and the command that
    shows it.

    Writes JSON, Markdown and a picture to `OUTPUT/reproduce`. Synthesis results are cached: an
    interrupted run resumes where it stopped.

    **Examples:**

    - `carrysave reproduce --list`
    - `carrysave reproduce hpca25 --quick`
    - `carrysave reproduce ent --liberty my.lib.gz`
    """
    if list_:
        listed = {"papers": [asdict(paper) for paper in known.read()]}
        print_outcome(listed, known.print_list, json_)
        return 0
    name = _table(table)
    folder = output_folder(output)
    check_page(html)
    where = target_of(None, liberty)
    if where == "generic":
        cells.osu018()  # its error says what brings it: papers give areas and energies
    with Steps(errors) as steps, running.session():
        command = shlex.join(["carrysave", *sys.argv[1:]])
        table_rows = papers.run(name, where, quick=quick, steps=steps, command=command)
    table_rows["files"] = [str(path) for path in papers.write(folder / "reproduce", table_rows)]
    table_rows["files"] = write_page(html, papers.page, table_rows)
    print_outcome(table_rows, papers.print_table, json_)
    return 0


def _table(name: str | None) -> str:
    """Return the name of a table, its own or a paper's; of other papers, say what is here."""
    if name is None:
        raise UsageError(f"give a table, one of {', '.join(papers.TABLES)}, or --list")
    if name in papers.TABLES:
        return name
    paper = known.find(name)
    if paper is None:
        raise nearest(name, papers.TABLES, "table")
    if paper.table is not None and paper.is_named(name):
        return paper.table
    shown = f"see: {paper.command}" if paper.command else paper.why
    raise UsageError(f"{name} is no table; {paper.short} is {paper.status}. {shown}")
