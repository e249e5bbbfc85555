"""``carrysave vectors``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from carrysave.cli.options import Json, errors, output_folder, print_outcome
from carrysave.errors import UsageError
from carrysave.progress import Steps

__all__ = ["vectors"]


def vectors(
    folder: Annotated[Path, Parameter(help="Folder for the files.")],
    /,
    *,
    formats: Annotated[
        str | None,
        Parameter(help="Names with commas between them. [default: those that are published]"),
    ] = None,
    json_: Json = False,
) -> int:
    """Write test vectors of number formats, for others to check theirs.

    For each format what codes mean, how numbers round, exact products and sums, as CSV; for blocks
    their scales and codes. The digests in `SHA256SUMS` must be those of this version of carrysave:
    the exit code is 1 if one differs.

    **Examples:**

    - `carrysave vectors vectors`
    - `carrysave vectors vectors --formats e4m3,posit8e0,mx_e2m1`
    """
    from carrysave.vectors.package import FORMATS, formats_of, write  # slow to load

    names = [name.strip() for name in formats.split(",")] if formats is not None else FORMATS
    try:
        chosen = [fmt.name for fmt in formats_of(names)]
    except ValueError as error:
        raise UsageError(f"--formats: {error}") from None
    where = output_folder(folder)
    with Steps(errors) as steps:
        steps.plan(len(chosen))
        written = write(where, chosen, steps.step)
    print_outcome(written, _show, json_)
    return 1 if written["wrong"] else 0


def _show(console: Console, checked: Mapping[str, Any]) -> None:
    tables = [table for fmt in checked["formats"] for table in fmt["tables"].values()]
    rows = sum(table["rows"] for table in tables)
    state = "FAIL" if checked["wrong"] else "ok"
    console.print(
        f"{state}: {len(checked['formats'])} formats, {len(tables)} tables, {rows:,} rows",
        highlight=False,
    )
    for name in checked["wrong"]:
        console.print(f"  {name} differs from that of this version", highlight=False, markup=False)
