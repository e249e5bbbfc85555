"""Published vectors of formats, read as a stranger reads them, against other libraries."""

import csv
import hashlib
import json
import math
import subprocess
from fractions import Fraction
from pathlib import Path

import gfloat  # type: ignore[import-untyped]
import numpy as np
import pytest
from gfloat import RoundMode

from carrysave.vectors import tables
from carrysave.vectors.package import FORMATS, SUMS, published
from golden.formats.names import parse
from verif.golden.formats.reference import NAN, dot, element, rounded, value
from verif.golden.formats.test_golden_formats_block import GFLOAT
from verif.golden.formats.test_golden_formats_minifloat import ORACLES
from verif.support.command import Run

SMALL = (
    *("int4", "uint4", "int8", "e2m1", "e1m2", "e3m0", "e2m3", "e3m2", "e4m3", "e5m2", "e3m4"),
    *("posit4e1", "posit8e0", "posit8e2"),
)
"""With all codes and pairs of the first of them, in Python's fractions."""
Row = dict[str, str]
TOP = Fraction((1 << 24) - 1) * Fraction(2) ** 104
OVERFLOW = TOP + Fraction(2) ** 103
"""The largest number of fp32, and the least that rounds to infinity."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what is published, by the package itself: the command is tested apart."""
    from carrysave.vectors.package import write

    found = tmp_path_factory.mktemp("vectors")
    write(found, FORMATS)
    return found


def rows(folder: Path, name: str, table: str) -> list[Row]:
    with (folder / name / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def exact(row: Row) -> Fraction | float | str:
    if row["significand"] == "nan":
        return NAN
    if "inf" in row["significand"]:
        return float(row["significand"])
    return Fraction(int(row["significand"])) * Fraction(2) ** int(row["exponent"])


def as_single(bits: int) -> float:
    return float(np.array([bits], dtype=np.uint32).view(np.float32)[0])


def code_of(name: str, text: str) -> int:
    """Read a bit pattern as a code of the reference."""
    fmt = element(name)
    found = int(text, 16)
    return found - (1 << fmt.width) if found > fmt.high else found


def test_digests_are_those_that_are_published(folder: Path) -> None:
    assert (folder / SUMS).read_bytes() == Path(tables.__file__).with_name(SUMS).read_bytes()
    done = subprocess.run(["sha256sum", "-c", "--quiet", SUMS], cwd=folder, check=False)
    assert done.returncode == 0
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.csv")}
    assert files == set(published())
    manifest = json.loads((folder / "manifest.json").read_text())
    assert [fmt["name"] for fmt in manifest["formats"]] == list(FORMATS)
    for fmt in manifest["formats"]:
        for table, facts in fmt["tables"].items():
            assert facts["file"] == f"{fmt['name']}/{table}.csv"
            data = (folder / facts["file"]).read_bytes()
            assert data.count(b"\n") - 1 == facts["rows"] > 10
            assert published()[facts["file"]] == facts["sha256"]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [name for name in ORACLES if name in FORMATS])
def test_codes_and_rounding_are_those_of_numpy_types(folder: Path, name: str) -> None:
    kind = np.dtype(ORACLES[name][0])
    found = rows(folder, name, "decode")
    codes = np.array([int(row["code"], 16) for row in found])
    assert len(codes) == 1 << parse(name).width  # type: ignore[union-attr]
    with np.errstate(invalid="ignore"):
        theirs = codes.astype(f"u{kind.itemsize}").view(kind).astype(np.float64)
    ours = np.array([float.fromhex(row["value"]) for row in found])
    assert np.array_equal(ours, theirs, equal_nan=True)
    assert np.array_equal(np.signbit(ours)[~np.isnan(ours)], np.signbit(theirs)[~np.isnan(ours)])
    for row, number in zip(found, theirs.tolist(), strict=True):
        told = exact(row)
        assert math.isnan(number) if told == NAN else told == number
    # They round doubles to fp32 first.
    found = rows(folder, name, "encode")
    values = np.array([float.fromhex(row["value"]) for row in found])
    with np.errstate(over="ignore"):
        once = values.astype(np.float32).astype(np.float64) == values
        made = values[once].astype(kind)
    numbers = ~np.isnan(made.astype(np.float64))
    rounded_codes = np.array([int(row["rne"], 16) for row in found])[once]
    assert np.array_equal(
        rounded_codes[numbers], made.view(f"u{kind.itemsize}")[numbers].astype(np.int64)
    )
    assert once.sum() > len(found) // 5


@pytest.mark.parametrize("name", [name for name in ORACLES if ORACLES[name][1] if name in FORMATS])
def test_codes_and_rounding_are_those_of_gfloat(folder: Path, name: str) -> None:
    info = ORACLES[name][1]
    for row in rows(folder, name, "decode"):
        theirs = gfloat.decode_float(info, int(row["code"], 16)).fval
        assert theirs.hex() == row["value"] or (math.isnan(theirs) and row["value"] == "nan")
    for row in rows(folder, name, "encode"):
        number = float.fromhex(row["value"])
        if math.isnan(number):
            continue
        for mode, rounding in ((RoundMode.TiesToEven, "rne"), (RoundMode.TowardZero, "rtz")):
            made = gfloat.encode_float(info, gfloat.round_float(info, number, mode, sat=True))
            assert made == int(row[f"{rounding}_saturate"], 16), row


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", SMALL)
def test_tables_are_those_of_fractions(folder: Path, name: str) -> None:
    fmt = element(name)
    for row in rows(folder, name, "decode"):
        assert exact(row) == value(fmt, code_of(name, row["code"]))
    for row in rows(folder, name, "encode"):
        number = float.fromhex(row["value"])
        if number == 0 and math.copysign(1, number) < 0:
            continue  # fractions have no -0
        told: Fraction | float | str = NAN if math.isnan(number) else number
        if math.isfinite(number):
            told = Fraction(number)
        for rounding in ("rne", "rtz"):
            wanted = rounded(fmt, told, rounding == "rne")
            assert code_of(name, row[f"{rounding}_saturate"]) == wanted, row
    every = rows(folder, name, "product")
    assert len(every) == 1 << 2 * fmt.width
    for row in every[:: max(1, len(every) // 1000)]:
        a, b = (value(fmt, code_of(name, row[key])) for key in "ab")
        product = dot([a], [b])
        assert exact(row) == product, row
        if product != 0:
            assert code_of(name, row["rounded"]) == rounded(fmt, product), row


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", [*SMALL, "fp16", "bf16", "fp32", "posit16e1", "posit32e2"])
def test_sums_are_those_of_fractions(folder: Path, name: str) -> None:
    fmt = element(name)
    finite = 0
    for row in rows(folder, name, "dot"):
        a, b = ([value(fmt, code_of(name, code)) for code in row[key].split()] for key in "ab")
        total = dot(a, b)
        assert exact(row) == total
        bits = int(row["fp32"], 16)
        single = as_single(bits)
        if not isinstance(total, Fraction):
            assert math.isnan(single) if total == NAN else single == total
            continue
        finite += 1
        if math.isinf(single):
            assert abs(total) >= OVERFLOW
            continue
        # Of both neighbours none is nearer; at the same distance this one is even.
        error = abs(Fraction(single) - total)
        for other in (bits - 1, bits + 1) if total else ():
            there = abs(as_single(other))
            size = OVERFLOW * 2 - TOP if math.isinf(there) else Fraction(there)
            distance = abs((-size if total < 0 else size) - total)
            assert error < distance or (error == distance and bits % 2 == 0), row
    assert finite >= 100


@pytest.mark.parametrize("name", GFLOAT)
def test_blocks_are_those_of_gfloat(folder: Path, name: str) -> None:
    info = GFLOAT[name]
    scales = {row["code"]: float.fromhex(row["value"]) for row in rows(folder, name, "scale")}
    element_name = name.removeprefix("mx_")
    if name != "mx_int8f6":
        decoded = {
            row["code"]: float.fromhex(row["value"]) for row in rows(folder, element_name, "decode")
        }
    for row in rows(folder, name, "quantise"):
        values = np.array([float.fromhex(word) for word in row["values"].split()])
        if row["rounding"] != "rne" or not np.isfinite(values).all():
            continue
        if name == "mx_int8f6":
            # Its integers reach -2, which here they do not.
            top = np.frexp(np.abs(values).max())[1] - 1
            values = np.maximum(values, -127 / 64 * 2.0**top)
        theirs = gfloat.quantize_block(info, values, gfloat.compute_scale_amax)
        numbers = [
            code_of("int8", code) / 64 if name == "mx_int8f6" else decoded[code]
            for code in row["codes"].split()
        ]
        assert np.array_equal(np.array(numbers) * scales[row["scale"]], theirs), row


def test_command_writes_what_is_asked_for(run: Run, tmp_path: Path) -> None:
    outcome = run("vectors", "here", "--formats", "e2m1, mx_e2m1,e2m1", "--json")
    found = json.loads(outcome.out)
    assert (outcome.code, found["wrong"]) == (0, [])
    lines = (tmp_path / "here" / SUMS).read_text().splitlines()
    assert [line.partition("  ")[2] for line in lines] == [
        *(f"e2m1/{name}.csv" for name in ("decode", "encode", "product", "dot")),
        *(f"mx_e2m1/{name}.csv" for name in ("scale", "quantise")),
    ]
    for line in lines:
        sha, _, name = line.partition("  ")
        assert hashlib.sha256((tmp_path / "here" / name).read_bytes()).hexdigest() == sha
    assert (tmp_path / "here" / "README.md").read_text().count(".csv`:") == len(tables.MEANINGS)
    # Of formats that nobody has asked for before, too.
    assert run("vectors", "there", "--formats", "int53,posit31e3,e6m9ieee,mx_int4f2_k7").code == 0


def test_command_finds_what_differs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_TERMS", 15)
    outcome = run("vectors", "here", "--formats", "e2m1,e6m2nan")
    assert outcome.code == 1
    assert outcome.out.startswith("FAIL: 2 formats, 8 tables,")
    assert "  e2m1/dot.csv differs from that of this version\n" in outcome.out


@pytest.mark.parametrize(
    ("formats", "says"),
    [
        ("e4m3,", "--formats: name must be that of a format, such as int8 or e4m3, not ''"),
        ("e4m3,e9m9", "--formats: name must be that of a format"),
        ("int60", "--formats: formats must be of 2..53 bits, not int60"),
        ("mx_e4m3_k2000", "--formats: blocks must be of 1024 elements at most"),
    ],
)
def test_command_refuses_formats(run: Run, tmp_path: Path, formats: str, says: str) -> None:
    outcome = run("vectors", "here", "--formats", formats)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"carrysave: {says}")
    assert outcome.err.count("\n") == 1
    assert not list(tmp_path.iterdir())
