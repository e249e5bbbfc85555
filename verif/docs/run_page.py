"""Run the blocks of a page, in order, in this folder: Python in one process, commands by bash.

    run_page.py BLOCKS.json

Not imported by tests: each page has a process of its own, as its reader has.
"""

import json
import re
import subprocess
import sys
from pathlib import Path


def show(text: str) -> str:
    """Return output without spaces at the ends of lines, and without empty lines around it."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def compare(place: str, wanted: str, found: str) -> None:
    """Fail if output is not what the page shows; `...` stands for any lines, or a part of one."""
    known = "".join(
        "(?:.*\n)*" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n"
        for line in show(wanted).splitlines()
    )
    if not re.fullmatch(known, f"{show(found)}\n"):
        sys.exit(f"{place}: the page shows\n{show(wanted)}\nand it prints\n{show(found)}")


def main() -> None:
    """Run all blocks of a file."""
    names: dict[str, object] = {"__name__": "__main__"}
    for place, kind, text, wanted in json.loads(Path(sys.argv[1]).read_text()):
        if kind == "file":
            Path(wanted).parent.mkdir(parents=True, exist_ok=True)
            Path(wanted).write_text(text)
            continue
        if kind == "python":
            exec(compile(text, place, "exec"), names)
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text], stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{place}: exit code {done.returncode} of\n{text}{done.stdout}")
        if wanted:
            compare(place, wanted, done.stdout)


if __name__ == "__main__":
    main()
