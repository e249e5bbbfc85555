"""Cell libraries of open processes, in the folders where their installers put them."""

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from carrysave.asic.liberty.cells import Library
from carrysave.errors import ArgumentError

__all__ = ["KITS", "Kit", "lef_of"]

_FOLDERS = ("~/.ciel", "~/.volare", "/usr/local/share/pdk", "/usr/share/pdk")
"""Where process kits are if PDK_ROOT does not say so: those of ciel, of volare, of open_pdks."""


@dataclass(frozen=True)
class Kit:
    """An open process, and the library of cells that stands for it.

    Members
    -------
    processes : folders of the kit, of which one is there.
    name : of the library, as its cells' names begin.
    liberty : of the typical corner.
    lef : of the technology, and of the cells.
    package : of PyPI that brings LEF, if any, and its folder of the library.
    """

    processes: tuple[str, ...]
    name: str
    liberty: str
    lef: tuple[str, str]
    package: tuple[str, str] | None = None

    def library(self) -> Library:
        """Read the library.

        Raises
        ------
        ArgumentError
            If it is nowhere; says where it was looked for, and who installs it.
        """
        for folder in self._libraries():
            for suffix in ("", ".gz"):
                file = folder / f"{self.liberty}{suffix}"
                for path in (file, folder / file.name):
                    if path.is_file():
                        return Library.load(path)
        raise ArgumentError(
            "{target} needs {_file} of a kit of {_process}, which is not in {_roots}: install it,"
            " such as by ciel of PyPI, or name its folder in PDK_ROOT, or the file by {liberty}",
            _file=Path(self.liberty).name,
            _process=self.processes[0],
            _roots=", ".join(map(str, roots())),
        )

    def lef_files(self) -> list[Path]:
        """Return LEF of the technology and of the cells; none if they are not all there."""
        for folder in self._libraries():
            files = [folder / name for name in self.lef]
            for some in (files, [folder / file.name for file in files]):
                if all(file.is_file() for file in some):
                    return some
        return self._of_package()

    def _libraries(self) -> Iterator[Path]:
        """Yield folders that can have the library: of kits, and those that a user filled."""
        for root in roots():
            for kit in (*(root / process for process in self.processes), root):
                yield kit / "libs.ref" / self.name
            yield root

    def _of_package(self) -> list[Path]:
        """Return LEF that a package of PyPI brought."""
        if self.package is None:
            return []
        name, inside = self.package
        try:
            there = find_spec(name)
        except ValueError:
            there = None
        if there is None or not there.submodule_search_locations:
            return []
        folder = Path(next(iter(there.submodule_search_locations))) / inside
        technology = folder / "tech" / Path(self.lef[0]).name
        cells = sorted(folder.glob(f"cells/*/{self.name}__*[0-9].lef"))
        return [technology, *cells] if technology.is_file() and cells else []


def roots() -> list[Path]:
    """Return the folders of process kits: PDK_ROOT, or those of installers that are there."""
    named = os.environ.get("PDK_ROOT")
    if named:
        return [Path(named).expanduser()]
    prefix = Path(sysconfig.get_path("data")) / "share/pdk"
    return [*(Path(one).expanduser() for one in _FOLDERS), prefix]


KITS = {
    "sky130": Kit(
        processes=("sky130A", "sky130B"),
        name="sky130_fd_sc_hd",
        liberty="lib/sky130_fd_sc_hd__tt_025C_1v80.lib",
        lef=("techlef/sky130_fd_sc_hd__nom.tlef", "lef/sky130_fd_sc_hd.lef"),
        package=("sky130", "src/sky130_fd_sc_hd"),
    ),
    "gf180": Kit(
        processes=("gf180mcuD", "gf180mcuC"),
        name="gf180mcu_fd_sc_mcu7t5v0",
        liberty="lib/gf180mcu_fd_sc_mcu7t5v0__tt_025C_5v00.lib",
        lef=("techlef/gf180mcu_fd_sc_mcu7t5v0__nom.tlef", "lef/gf180mcu_fd_sc_mcu7t5v0.lef"),
    ),
    "ihp": Kit(
        processes=("ihp-sg13g2",),
        name="sg13g2_stdcell",
        liberty="lib/sg13g2_stdcell_typ_1p20V_25C.lib",
        lef=("lef/sg13g2_tech.lef", "lef/sg13g2_stdcell.lef"),
    ),
}
"""Libraries of open processes by the names that users type; none comes with carrysave."""


def lef_of(library: Library) -> list[Path]:
    """Return LEF of a library of an open process, if its kit or a package of PyPI is there."""
    for kit in KITS.values():
        if library.name.startswith(kit.name):
            return kit.lef_files()
    return []
