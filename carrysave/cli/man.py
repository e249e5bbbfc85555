"""``carrysave man``."""

import json
import re
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

import carrysave
from carrysave import cache
from carrysave.cli.options import Json

__all__ = ["man"]


def man(
    *,
    output: Annotated[
        Path, Parameter(name=["--output", "-o"], help="Folder for the pages.")
    ] = Path("build/man/man1"),
    json_: Json = False,
) -> int:
    """Write manual pages: carrysave(1), and one for each command, such as carrysave-synth(1).

    They are made of what --help prints.

    **Examples:**

    - `carrysave man -o ~/.local/share/man/man1`
    """
    from carrysave.cli import command_line  # which is being loaded

    app = command_line([])
    pages = {"carrysave": app}
    for name in app.resolved_commands():
        if not name.startswith("-"):
            pages[f"carrysave-{name}"] = app[name]
    files = [
        str(cache.write(output / f"{name}.1", _page(name, one))) for name, one in pages.items()
    ]
    print(json.dumps({"files": files}) if json_ else "\n".join(files))
    return 0


def _page(name: str, app: App) -> str:
    """Return a page as troff has it."""
    from docutils.core import publish_string

    words = name.replace("-", " ", 1)
    text = app.generate_docs(output_format="rst", recursive=False, usage_name=words)
    text = re.sub(r"\A.*?(?=^::)", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\.\. contents::.*\n(?: +:.*\n)*", "", text, flags=re.MULTILINE)
    usage, rest = re.split(r"\n(?=\S)", text.partition("::\n")[2].lstrip("\n"), maxsplit=1)
    summary, _, rest = rest.partition("\n")
    rest = re.sub(
        r"^\*\*(.+?):?\*\*:?$",
        lambda title: f"{title[1].upper()}\n{'-' * len(title[1])}",
        rest,
        flags=re.MULTILINE,
    )
    bar = "=" * len(name)
    lines = [
        bar, name, bar, "", "-" * len(summary), summary, "-" * len(summary), "",
        ":Manual section: 1", f":Version: {carrysave.__version__}", "",
        "SYNOPSIS", "--------", "", f"``{usage.strip()}``", "",
        "DESCRIPTION", "-----------", "", summary, rest,
    ]  # fmt: skip
    settings = {"report_level": 5, "halt_level": 5, "output_encoding": "unicode"}
    return str(publish_string("\n".join(lines), writer="manpage", settings_overrides=settings))
