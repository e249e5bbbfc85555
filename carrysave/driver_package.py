"""The Python driver as a package of its own, without the generators.

Used by a co-processor's pack and by the build of ``carrysave-driver``, which loads this file alone.
"""

from pathlib import Path

__all__ = ["sources"]


def sources(driver: Path, *golden: Path) -> dict[str, str]:
    """Return the files of the package, by name; it needs numpy and the standard library.

    Parameters
    ----------
    driver : the folder of :mod:`carrysave.driver`.
    *golden : files of :mod:`golden.formats.bitmap`, :mod:`golden.soc.blocking`,
        :mod:`golden.soc.window`, :mod:`golden.lut.expander` and :mod:`golden.lut.trits`, which
        take the place of what imports them.
    """
    files = {path.name: path.read_text() for path in sorted(driver.glob("*.py"))}
    return files | {path.name: path.read_text() for path in golden}
