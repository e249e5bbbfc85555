"""``carrysave reproduce``."""

import shlex
import sys
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
from carrysave.progress import Steps
from hw.unknown import nearest

__all__ = ["reproduce"]


def reproduce(
    table: Annotated[str, Parameter(help=f"One of {', '.join(papers.TABLES)}.")],
    /,
    *,
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

    Writes JSON, Markdown and a picture to `OUTPUT/reproduce`. Synthesis results are cached: an
    interrupted run resumes where it stopped.

    **Examples:**

    - `carrysave reproduce hpca25 --quick`
    - `carrysave reproduce ent --liberty my.lib.gz`
    """
    if table not in papers.TABLES:
        raise nearest(table, papers.TABLES, "table")
    folder = output_folder(output)
    check_page(html)
    where = target_of(None, liberty)
    if where == "generic":
        cells.osu018()  # its error says what brings it: papers give areas and energies
    with Steps(errors) as steps, running.session():
        command = shlex.join(["carrysave", *sys.argv[1:]])
        table_rows = papers.run(table, where, quick=quick, steps=steps, command=command)
    table_rows["files"] = [str(path) for path in papers.write(folder / "reproduce", table_rows)]
    table_rows["files"] = write_page(html, papers.page, table_rows)
    print_outcome(table_rows, papers.print_table, json_)
    return 0
