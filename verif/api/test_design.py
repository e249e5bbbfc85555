"""``import carrysave``: it is light, and its designs write, verify, multiply and simulate."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import carrysave
from carrysave.errors import ArgumentError, option_of
from hw import catalog
from hw.emit.files import generate
from hw.tpe.adder_tree import AdderTree

SMALL: dict[str, Any] = {"m": 2, "n": 2, "k_max": 16}
HEAVY = {"amaranth", "cocotb", "cyclopts", "golden", "hw", "jinja2", "matplotlib", "numpy", "rich"}


def test_import_loads_nothing_heavy() -> None:
    program = "import sys, carrysave; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    assert not HEAVY & set(done.stdout.split())


def test_all_that_is_public_is_there_and_documented() -> None:
    assert carrysave.__doc__ is not None
    for name in carrysave.__all__:
        assert name in dir(carrysave)
        found = getattr(carrysave, name)
        if name.startswith("__"):
            continue
        assert inspect.getdoc(found), name
        assert f"\n{name} " in carrysave.__doc__
        for own, member in vars(found).items() if inspect.isclass(found) else ():
            if not own.startswith("_"):
                assert inspect.getdoc(member) or own in str(inspect.getdoc(found)), (name, own)
    with pytest.raises(AttributeError, match="no attribute 'desing'"):
        carrysave.desing  # noqa: B018


def test_a_design_is_one_of_the_catalogue() -> None:
    design = carrysave.Design("systolic_os", **SMALL)
    plain = catalog.Design("systolic_os", SMALL)
    assert isinstance(design, catalog.Design)
    assert (design, plain) == (plain, design)
    assert hash(design) == hash(plain)
    assert design != carrysave.Design("systolic_os")
    assert repr(design) == "Design('systolic_os', m=2, n=2, k_max=16)"
    assert eval(repr(design), {"Design": carrysave.Design}) == design
    assert design.explicit == set(SMALL)
    assert carrysave.Design.parse("mac", {"a_width": "4"}).explicit == {"a_width"}


def test_an_engine_and_its_parameters() -> None:
    inside = carrysave.Design("systolic_os", m=2)
    found = carrysave.Design("coprocessor", engine=inside, n=4)
    assert found == carrysave.Design("coprocessor", engine="systolic_os(m=2,n=4)")
    assert isinstance(found.engine, carrysave.Design)
    assert found.with_values(n=8, sums=64) == carrysave.Design(
        "coprocessor", engine="systolic_os(m=2)", sums=64
    )
    assert found.with_values(n=8).explicit == {"engine", "n"}


TREE: dict[str, Any] = {"n": 32, "k": 32, "a_width": 2}
"""An array of elements for which one pipeline register more pays."""


def _depths(values: dict[str, Any]) -> tuple[int, int]:
    """Return the pipeline registers of trees, as the design says and as its hardware has them."""
    design = carrysave.Design("adder_tree", values)
    return design.parameters["pipeline"], design.component().element.pipeline


def test_a_default_that_depends_on_the_size() -> None:
    assert _depths(TREE) == (4, 4)
    assert _depths(TREE | {"n": 40, "k": 31}) == _depths(TREE | {"n": 8}) == (3, 3)
    assert _depths(TREE | {"pipeline": 3}) == (3, 3)
    assert AdderTree(carrysave.Design("adder_tree", TREE).spec).element.pipeline == 4
    assert carrysave.Design("adder_tree", TREE).module == "adder_tree_n32_k32_a_width2"
    on_device = carrysave.Design("adder_tree", TREE, target="ecp5")
    assert on_device.parameters["pipeline"] == 3


@pytest.mark.parametrize("own", [{}, {"pipeline": 3}, {"pipeline": 4}])
def test_a_default_that_depends_on_the_size_in_other_designs(own: dict[str, Any]) -> None:
    """In a text, behind another size, beside a device: what was not told follows the size."""
    wanted = carrysave.Design("adder_tree", TREE | own)
    small = carrysave.Design("adder_tree", own)
    texts = {key: str(value) for key, value in (TREE | own).items()}
    inside = f"adder_tree({','.join(f'{key}={value}' for key, value in own.items())})"
    assert eval(repr(wanted), {"Design": carrysave.Design}) == wanted
    assert small.with_values(**TREE) == wanted
    for found in (
        carrysave.Design("coprocessor", engine=wanted),
        carrysave.Design("coprocessor", {"engine": inside if own else "adder_tree", **TREE}),
        catalog.Design.parse("coprocessor", texts | {"engine": "adder_tree"}),
    ):
        assert found.engine == wanted, found


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("systolic", {}, "unknown design 'systolic'; did you mean systolic_ws or systolic_os"),
        ("mac", {"a_widht": 4}, "unknown parameter of mac 'a_widht'; did you mean a_width"),
        ("mac", {"a_width": 17}, "a_width must be 2..16 bits, not 17"),
        ("mac", {"a_width": "8"}, "a_width must be 2..16 bits, not '8'"),
        ("coprocessor", {"mm": 3}, "unknown parameter of systolic_os 'mm'"),
        ("coprocessor", {"engine": "systolic_os(m=2)", "m": 3}, "m of engine must be given once"),
        ("coprocessor", {"engine": 3, "m": 3}, "engine must be one of systolic_os"),
    ],
)
def test_what_is_no_design_is_refused(name: str, values: dict[str, Any], says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says.replace("(", r"\(").replace(")", r"\)")):
        carrysave.Design(name, **values)


def test_generate_writes_what_the_command_writes(tmp_path: Path) -> None:
    design = carrysave.Design("mac", a_width=2, b_width=2, accumulator_width=6)
    found = design.generate(tmp_path / "one", period_ns=2.5)
    there = generate(design, tmp_path / "two", period_ns=2.5)
    assert [path.name for path in found.files] == [path.name for path in there]
    for mine, other in zip(found.files, there, strict=True):
        assert mine.read_bytes() == other.read_bytes()
    assert (found.module, found.latency, found.operations_per_cycle) == (design.module, 2, 2)
    assert found.verilog.name == f"{design.module}.v"
    assert json.loads(found.to_json())["ports"][0]["name"] == "clk"
    assert f"{design.module}: latency 2 cycles" in str(found)
    html = found._repr_html_()
    assert "<td>i_a</td><td>input</td><td>2</td>" in html
    assert found.command.endswith(f".generate('{tmp_path}/one', period_ns=2.5)")
    assert f"<td>{design.parameters['a_width']}</td>" in design._repr_html_()


def test_verify_tells_of_tests(tmp_path: Path) -> None:
    design = carrysave.Design("mac", a_width=2, b_width=2, accumulator_width=6)
    found = design.verify(seed=7, folder=tmp_path)
    assert found.ok
    assert (found.seed, found.failures) == (7, [])
    assert found.tests == len([row for row in found.records() if row["result"] == "passed"]) > 10
    assert str(found).startswith(f"passed  {design.module}: {found.tests} of {found.tests} tests")
    assert found["junit"] == str(found.junit)
    assert found.junit.exists()
    assert "test_matches_golden" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seed": -1}, "seed must be 0..2147483647, not -1"),
        ({"simulator": "vcs"}, "simulator must be one of verilator, icarus, not 'vcs'"),
        ({"transactions": 1}, "transactions is for one test: "),
        ({"verilog": "a.v", "netlist": "osu018"}, "verilog is in place of a netlist"),
        ({"netlist": "ecp5"}, "netlist must be osu018, generic, sky130, gf180"),
    ],
)
def test_errors_name_arguments(options: dict[str, object], says: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=f"^{says}") as error:
        carrysave.Design("mac").verify(folder=tmp_path, **options)
    assert isinstance(error.value, ValueError)
    assert error.value.naming(option_of).startswith("--")
    assert not list(tmp_path.iterdir())


def test_hardware_and_twin_multiply_alike(tmp_path: Path) -> None:
    design = carrysave.Design("systolic_os", **SMALL)
    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, (5, 40)), rng.integers(-128, 128, (40, 3))
    due = design.multiply(a, b)
    assert np.array_equal(due, a @ b)  # in parts, for K is above k_max
    assert np.array_equal(design.simulate(a, b, folder=tmp_path), due)
    assert np.array_equal(design.twin(a[:, :16], b[:16]), a[:, :16] @ b[:16])
    assert design.multiply(a[:, :0], b[:0]).tolist() == np.zeros((5, 3)).tolist()
    # A list of Python's integers is a matrix, too.
    assert design.multiply([[1, 2]], [[3], [4]]).tolist() == [[11]]


def test_weights_stand_for_other_numbers_than_their_codes(tmp_path: Path) -> None:
    design = carrysave.Design(
        "lut_core", m=1, n=4, lookups=1, table="half", weights="odd", b_signed=False, k_max=64
    )
    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, (2, 6)), rng.integers(0, 4, (6, 5))
    due = design.multiply(a, b)
    assert np.array_equal(due, a @ (2 * b - 3))
    assert np.array_equal(design.simulate(a, b, folder=tmp_path), due)


@pytest.mark.prove
def test_a_coprocessor_multiplies(tmp_path: Path) -> None:
    design = carrysave.Design("coprocessor", engine=carrysave.Design("systolic_os", **SMALL))
    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, (3, 7)), rng.integers(-128, 128, (7, 5))
    assert np.array_equal(design.multiply(a, b), a @ b)
    assert np.array_equal(design.simulate(a, b, folder=tmp_path), a @ b)
    with pytest.raises(ValueError, match="K at most 16, not 3, 17 and 5"):
        design.multiply(np.ones((3, 17), int), np.ones((17, 5), int))


@pytest.mark.parametrize(
    ("name", "a", "b", "says"),
    [
        ("mac", [[1]], [[1]], "design must be an engine of integers, or .*, not mac"),
        ("npe", [[1]], [[1]], "formats must be given for npe: two of int8, int4"),
        ("systolic_os", [[128]], [[1]], r"a must be -128..127 \(int8\), not 128"),
        ("systolic_os", [[0.5]], [[1]], "a must be integers"),
        ("systolic_os", [[1, 2]], [[1]], r"a and b must be M x K and K x N, not \(1, 2\)"),
        ("systolic_os", [1], [[1]], r"a and b must be M x K and K x N, not \(1,\)"),
    ],
)
def test_what_cannot_be_multiplied_is_refused(
    name: str, a: object, b: object, says: str, tmp_path: Path
) -> None:
    for action in ("multiply", "simulate"):
        more = {"folder": tmp_path} if action == "simulate" else {}
        with pytest.raises((ValueError, TypeError), match=says):
            getattr(carrysave.Design(name), action)(a, b, **more)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("inside", [{}, {"engine": "systolic_os(m=4,n=4)"}])
def test_names_of_devices_stand_for_their_family(inside: dict[str, str]) -> None:
    name = "coprocessor" if inside else "systolic_os"
    by_device, by_family = (
        carrysave.Design(name, inside, target=target) for target in ("artix7", "xilinx7")
    )
    assert by_device == by_family
    assert by_device.module == by_family.module
    with pytest.raises(ValueError, match=r"one of generic, .*, not 'artix6'"):
        carrysave.Design(name, inside, target="artix6")
    with pytest.raises(TypeError, match="target must be one of"):
        carrysave.Design(name, inside, target=["artix7"])
