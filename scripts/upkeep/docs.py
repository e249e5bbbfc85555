"""Build the site: `make docs`, or .venv/bin/python scripts/upkeep/docs.py [--output FOLDER].

Pages of docs/ and generated ones go to build/docs/source, the site to build/docs/html. Warnings
are errors, so a link to a page or a heading that is not there is one, too.
"""

import argparse
import shutil
import sys
from pathlib import Path

from rich.console import Console
from sphinx.cmd.build import main as sphinx

from carrysave.docs import site
from carrysave.progress import Steps

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Copy, generate, build; return Sphinx' exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs", help="folder")
    output = parser.parse_args().output
    source = output / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    for page in ROOT.glob("*.md"):  # pages of docs/project include them, by the same paths
        shutil.copy(page, output)
    with Steps(Console(stderr=True)) as steps:
        site.write(source, steps.step)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--fresh-env", "-b", "html"]
    code = sphinx([*options, str(source), str(output / "html")])
    if not code:
        print(f"{output / 'html' / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
