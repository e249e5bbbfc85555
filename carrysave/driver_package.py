"""The Python driver as a package of its own, without the generators.

Used by a co-processor's pack and by the build of ``carrysave-driver``, which loads this file alone.
"""

from pathlib import Path

__all__ = ["sources"]


def sources(driver: Path, planner: Path) -> dict[str, str]:
    """Return the files of the package, by name; it needs numpy and the standard library.

    Parameters
    ----------
    driver : the folder of :mod:`carrysave.driver`.
    planner : the file of :mod:`golden.soc.blocking`, which takes the place of what imports it.
    """
    files = {path.name: path.read_text() for path in sorted(driver.glob("*.py"))}
    return {**files, "blocking.py": planner.read_text()}
