"""Licences of the files of a pack."""

from importlib.metadata import distribution
from pathlib import Path

from carrysave import cache

__all__ = ["table", "write"]

_TERMS = (
    ("everything that is not named here", "MIT (`licences/carrysave/`)", "Written by carrysave."),
    (
        "`registers/*.h`",
        "no terms of its own",
        "Written by peakrdl-cheader (LGPL-3.0); of its text, the file holds include guards and a"
        " comment.",
    ),
    (
        "`registers/*.xml`",
        "no terms of its own",
        "Written by peakrdl-ipxact (GPL-3.0); of its text, the file holds a comment. The memory map"
        " in the component of the block is the same.",
    ),
    (
        "`registers/*_pyuvm.py`",
        "MIT (`licences/peakrdl-pyuvm/`)",
        "Written by peakrdl-pyuvm, from its templates.",
    ),
    (
        "`registers/<name>/lib/`, `sim_lib/`",
        "LGPL-3.0-or-later (`licences/peakrdl-python/`; the GPL: `licences/peakrdl-ipxact/`)",
        "Copies of a part of peakrdl-python: who passes them on does so under these terms.",
    ),
    (
        "`registers/<name>/`, the rest",
        "not stated by peakrdl-python (LGPL-3.0-or-later)",
        "Written from its templates, and of use with the two folders above alone.",
    ),
)
_DOCS_TERMS = (
    "`registers/<name>_html/`",
    "LGPL-3.0 (`licences/peakrdl-html/`), and those of the fonts and scripts in it",
    "Pages around copies of a part of peakrdl-html: its scripts and style sheets. Font Awesome"
    " Free, Lato (OFL-1.1), Roboto Slab (Apache-2.0), normalize.css and ProgressBar.js (MIT), a"
    " SHA-1 script (webtoolkit.info).",
)

# The LGPL refers to the GPL, whose text is with peakrdl-ipxact.
_COPIED = ("carrysave", "peakrdl-pyuvm", "peakrdl-python", "peakrdl-ipxact")
_DOCS_COPIED = "peakrdl-html"


def table(docs: bool) -> tuple[tuple[str, str, str], ...]:
    """Return files, terms and why, of a pack with the register map as pages or without."""
    return (*_TERMS, _DOCS_TERMS) if docs else _TERMS


def write(folder: Path, docs: bool) -> None:
    """Copy the licence texts from the packages, one folder each."""
    for package in (*_COPIED, _DOCS_COPIED) if docs else _COPIED:
        files = [
            file
            for file in distribution(package).files or ()
            if file.name.startswith("LICENSE") and ".dist-info" in file.parts[0]
        ]
        if not files:
            raise FileNotFoundError(f"the package {package} is installed without its licence")
        for file in files:
            cache.write(folder / package / file.name, Path(str(file.locate())).read_bytes())
