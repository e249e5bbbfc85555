"""Build the site: `make docs`, or .venv/bin/python scripts/upkeep/docs.py [--output FOLDER].

Pages of docs/ and generated ones go to build/docs/source, the site to build/docs/html/VERSION,
beside those of other versions that were built into the same folder; each has a list of all.
Warnings are errors, so a link to a page or a heading that is not there is one, too.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

from rich.console import Console
from sphinx.cmd.build import main as sphinx

from carrysave import __version__
from carrysave.docs import site, versions
from carrysave.progress import Steps

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Copy, generate, build; return Sphinx' exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs", help="folder")
    parser.add_argument("--version", default=__version__, help="what it is listed as")
    arguments = parser.parse_args()
    if not re.fullmatch(r"\w[\w.+-]*", arguments.version):
        parser.error(
            f"--version must be of letters, digits, . + - and _, not {arguments.version!r}"
        )
    output, html = arguments.output, arguments.output / "html"
    source = output / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    for page in ROOT.glob("*.md"):  # pages of docs/project include them, by the same paths
        shutil.copy(page, output)
    with Steps(Console(stderr=True)) as steps:
        site.write(source, steps.step)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--fresh-env", "-b", "html"]
    code = sphinx([*options, str(source), str(html / arguments.version)])
    if not code:
        versions.join(html)
        print(html / "index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
