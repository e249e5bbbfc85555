"""Sites of several versions beside each other: a folder each, and what chooses among them."""

import json
from pathlib import Path

from packaging.version import InvalidVersion, Version

__all__ = ["join", "newest_first"]

_START = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>carrysave</title>
<meta http-equiv="refresh" content="0; url={path}">
<p><a href="{path}">carrysave {name}</a></p>
</html>
"""


def newest_first(names: list[str]) -> list[str]:
    """Sort names of versions: releases, then what comes before a release, then other names."""

    def rank(name: str) -> tuple[bool, bool, Version, str]:
        try:
            version = Version(name)
        except InvalidVersion:
            return False, False, Version("0"), name
        return True, not version.is_prerelease, version, name

    return sorted(names, key=rank, reverse=True)


def join(folder: Path) -> list[str]:
    """List the sites in a folder for those who read one of them.

    Writes ``versions.js``, which each site's own script reads, with all pages of each, and an
    ``index.html`` that leads to the newest one.

    Returns
    -------
    Names of the versions, the newest first.

    Raises
    ------
    FileNotFoundError
        If there is no site in the folder.
    """
    names = newest_first([path.parent.name for path in folder.glob("*/index.html")])
    if not names:
        raise FileNotFoundError(f"no VERSION/index.html in {folder}")
    pages = {
        name: sorted(
            path.relative_to(folder / name).as_posix() for path in (folder / name).rglob("*.html")
        )
        for name in names
    }
    # A script, for pages that are read from files may load nothing else.
    text = json.dumps(list(pages.items()), separators=(",", ":"))
    (folder / "versions.js").write_text(f"var CARRYSAVE_VERSIONS = {text};\n")
    (folder / "index.html").write_text(_START.format(name=names[0], path=f"{names[0]}/index.html"))
    return names
