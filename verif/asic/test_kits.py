"""Cell libraries by the name of a process: where they are looked for, and what is refused."""

import gzip
from pathlib import Path

import pytest

from carrysave.api import synthesis, targets
from carrysave.api.design import Design
from carrysave.asic.kits import KITS, lef_of
from carrysave.asic.liberty import generic
from carrysave.asic.liberty.cells import Library
from carrysave.asic.options import SynthesisOptions
from carrysave.cli.flags import check_libraries
from carrysave.cli.libraries import target_of
from carrysave.errors import ArgumentError, UsageError
from hw.device import DEVICES, NAMES
from hw.device.choice import TARGET

TYPICAL = {
    "sky130": "sky130_fd_sc_hd__tt_025C_1v80",
    "gf180": "gf180mcu_fd_sc_mcu7t5v0__tt_025C_5v00",
    "ihp": "sg13g2_stdcell_typ_1p20V_25C",
}


def text(name: str) -> str:
    """Return a Liberty file of the generic cells, by the name of a process's library."""
    first, rest = generic.text().split("\n", 1)
    assert first.startswith("library")
    return f"library ({name}) {{\n{rest}"


def fill(folder: Path, name: str, kinds: tuple[str, ...]) -> None:
    """Write a kit as its installer lays it out."""
    kit = KITS[name]
    library = folder / kit.processes[-1] / "libs.ref" / kit.name
    for kind, file in (("lib", kit.liberty), *(("lef", file) for file in kit.lef)):
        if kind in kinds:
            (library / file).parent.mkdir(parents=True, exist_ok=True)
            (library / file).write_text(text(TYPICAL[name]) if kind == "lib" else "VERSION 5.8 ;\n")


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PDK_ROOT", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", KITS)
def test_a_library_is_where_its_installer_puts_it(name: str, root: Path) -> None:
    fill(root, name, ("lib", "lef"))
    check_libraries(name, None)
    library = target_of(name, None)
    assert isinstance(library, Library)
    assert library.name == TYPICAL[name]
    assert targets.target_of(name) == library == targets.library_of(name)
    assert [file.name for file in lef_of(library)] == [Path(one).name for one in KITS[name].lef]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files_alone_in_a_folder_are_taken(suffix: str, root: Path) -> None:
    file = root / f"{TYPICAL['sky130']}.lib{suffix}"
    data = text(TYPICAL["sky130"]).encode()
    file.write_bytes(gzip.compress(data) if suffix else data)
    library = targets.library_of("sky130")
    assert library.file == str(file)


def test_without_a_kit_the_error_says_what_is_missing_and_where(root: Path) -> None:
    with pytest.raises(ArgumentError) as error:
        target_of("gf180", None)
    for part in ("gf180mcu_fd_sc_mcu7t5v0__tt_025C_5v00.lib", "gf180mcuD", str(root), "PDK_ROOT"):
        assert part in str(error.value)
    with pytest.raises(UsageError, match="sky130, gf180, ihp"):
        check_libraries("sky90", None)


def test_lef_is_taken_where_it_is_needed_and_not_named(root: Path) -> None:
    for name in ("sky130", "ihp"):
        fill(root, name, ("lib", "lef"))
    sky130, ihp = (targets.library_of(name) for name in ("sky130", "ihp"))
    place, route = SynthesisOptions(place=True), SynthesisOptions(route=True)
    assert synthesis._with_lef(SynthesisOptions(), sky130).lef == ()
    assert synthesis._with_lef(place, sky130).lef == ()  # its wires are known
    assert synthesis._with_lef(route, sky130).lef == lef_of(sky130)
    assert synthesis._with_lef(place, ihp).lef == lef_of(ihp)
    given = SynthesisOptions(route=True, lef=["my.lef"])
    assert synthesis._with_lef(given, sky130) is given


def test_lef_without_its_technology_is_not_taken(root: Path) -> None:
    fill(root, "ihp", ("lib", "lef"))
    library = targets.library_of("ihp")
    kit = KITS["ihp"]
    (root / kit.processes[0] / "libs.ref" / kit.name / kit.lef[0]).unlink()
    assert lef_of(library) == []


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("sky130", "sky130_fd_sc_hd__dlymetal6s2s_1"),
        ("gf180", "gf180mcu_fd_sc_mcu7t5v0__dlya_1"),
        ("ihp", "sg13g2_dlygate4sd1_1"),
    ],
)
def test_cells_that_logic_must_not_take_are_known_of_each_process(name: str, cell: str) -> None:
    renamed = text(TYPICAL[name]).replace("(BUFX2)", f"({cell})")
    assert cell in Library.of(renamed.encode())._banned


def test_devices_are_of_their_families() -> None:
    assert set(DEVICES.values()) == set(NAMES)
    assert targets.target_of("artix7") == target_of("artix7", None) == "xilinx7"
    check_libraries("zynq", None)
    assert TARGET.parse("target", "ecp5-85") == "ecp5"
    assert Design.parse("systolic_os", {"target": "artix7"}).parameters["target"] == "xilinx7"
