"""``carrysave precision``: sensitivities against numpy, its intervals and choices, the run."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from scipy.stats import binomtest

from carrysave.compiler.lowered.encoded import encode, steps_of
from carrysave.precision import picture, view
from carrysave.report.page import write
from golden.formats.names import parse
from verif.support.browser import Browser
from verif.support.command import Run
from verif.support.networks import Task, quantise
from verif.support.schemas import check

SMALL = ("-p", "m=2", "-p", "n=2", "-p", "formats=int8,int4,e2m1")


@pytest.fixture
def files(task: Task, tmp_path: Path) -> list[Any]:
    """Write model, calibration, inputs and labels; returns the arguments."""
    arrays = {"cal": task.calibration[:100], "x": task.inputs[:60], "y": task.labels[:60]}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    return [
        task.model,
        "--calibration",
        tmp_path / "cal.npy",
        "--input",
        tmp_path / "x.npy",
        "--labels",
        tmp_path / "y.npy",
    ]


def rounded(name: str, values: np.ndarray, by_columns: bool) -> np.ndarray:
    """Round to a format and back, in doubles."""
    fmt: Any = parse(name)
    steps = steps_of(fmt, values if by_columns else values.reshape(-1, 1))
    return fmt.to_float(encode(fmt, values, steps)) * steps


@pytest.mark.prove
def test_digits(run: Run, task: Task, files: list[Any], tmp_path: Path) -> None:
    """Sensitivities are numpy's; the choice keeps its budget, and runs on the simulated block."""
    out = tmp_path / "out"
    found = run("precision", *files, *SMALL, "--budget", "bytes=60%", "--json", "-o", out)
    assert found.code == 0, found.err
    facts = check("precision", found.out)
    constants = {
        one.name: onnx.numpy_helper.to_array(one).astype(np.float64)
        for one in onnx.load(task.model).graph.initializer
    }

    def network(x: np.ndarray, names: tuple[str, str]) -> np.ndarray:
        for number, name in enumerate(names):
            weights = constants[f"weights{number}"]
            if name:
                x, weights = rounded(name, x, False), rounded(name, weights, True)
            x = x @ weights + constants[f"bias{number}"]
            x = x if number else np.maximum(x, 0)
        return x

    x = task.calibration[:100].astype(np.float64)
    floats = network(x, ("", ""))
    for number, row in enumerate(facts["layers"]):
        assert list(row["sensitivity"]) == ["int8 x int8", "int4 x int4", "e2m1 x e2m1"]
        for pair, option in row["sensitivity"].items():
            names = ["", ""]
            names[number] = pair.split(" x ")[0]
            noise = ((network(x, (names[0], names[1])) - floats) ** 2).sum() / (floats**2).sum()
            assert option["noise"] == pytest.approx(noise, rel=1e-3)
    assert [row["sensitivity"]["int4 x int4"]["bytes"] for row in facts["layers"]] == [1024, 160]
    chosen = facts["chosen"]
    assert chosen["bytes"] <= facts["limits"]["bytes"] == pytest.approx(0.6 * (2048 + 320))
    assert chosen["formats"] == [f"{row['a']} x {row['b']}" for row in facts["layers"]]
    assert len(set(chosen["formats"])) == 2
    uniform = {one["name"]: one for one in facts["uniform"]}
    assert uniform["all int8"]["bits"] == 8
    assert uniform["all int8"]["noise"] < chosen["noise"] < uniform["all int4"]["noise"]
    assert uniform["all int8"]["cycles"] > chosen["cycles"] > uniform["all int4"]["cycles"]
    bytes_of = [one["bytes"] for one in facts["pareto"]]
    assert bytes_of == sorted(bytes_of)
    for one in (chosen, *facts["uniform"]):
        for share in ("same", "right", "right_floats"):
            wanted = binomtest(round(60 * one[share]), 60).proportion_ci(method="wilson")
            assert one[f"{share}_interval"] == pytest.approx(wanted)
        low, high = one["change_interval"]
        assert low < one["right"] - one["right_floats"] < high
        low, high = one["noise_interval"]
        assert low < one["noise"] < high

    own = out / "precision" / "digits"
    assert (own / "precision.svg").read_bytes().startswith(b"<?xml")
    assert "| chosen |" in (own / "precision.md").read_text()
    # The block that test_encoded.py simulates, built once for both.
    engine = "engine=npe(m=2,n=2,formats=int8,int4,e2m1,e4m3)"
    result = run("run", own / "digits.onnx", "--input", tmp_path / "x.npy", "--labels",
                 tmp_path / "y.npy", "-p", engine, "--simulate", "all", "--batch", 60,
                 "--energy", "none", "--json", "-o", out)  # fmt: skip
    assert result.code == 0, result.err
    ran = check("run", result.out)
    assert ran["simulation_equal"] is True
    assert [row["formats"] for row in ran["layers"]] == chosen["formats"]
    assert all(row["simulated_rows"] == 60 for row in ran["layers"])
    (output,) = ran["outputs"]
    assert output["accuracy"] == chosen["right"]
    assert output["accuracy_onnxruntime"] == chosen["right_floats"]
    logits = np.load(out / "run" / "digits" / "outputs.npz")["logits"]
    reference = network(task.inputs[:60].astype(np.float64), ("", ""))
    noise = ((logits - reference) ** 2).sum() / (reference**2).sum()
    assert noise == pytest.approx(chosen["noise"], rel=1e-3)


@pytest.mark.prove
def test_pairs_and_energy(run: Run, files: list[Any], tmp_path: Path) -> None:
    """Weights of fewer bits than activations; a budget of cycles and one of energy."""
    found = run("precision", *files[:3], "-p", "m=1", "-p", "n=2", "-p", "formats=int8,int4",
                "--pairs", "all", "--energy", "osu018", "--budget", "energy=70%",
                "--budget", "cycles=100%", "--json", "-o", tmp_path / "out")  # fmt: skip
    assert found.code == 0, found.err
    facts = check("precision", found.out)
    pairs = ["int8 x int8", "int8 x int4", "int4 x int8", "int4 x int4"]
    for row in facts["layers"]:
        assert list(row["sensitivity"]) == pairs
        wide, mixed, _, narrow = (row["sensitivity"][pair] for pair in pairs)
        assert wide["noise"] < mixed["noise"] < narrow["noise"]
        assert (wide["bytes"], mixed["bytes"]) == (2 * narrow["bytes"], narrow["bytes"])
        assert wide["energy_uj"] > narrow["energy_uj"] > 0
    assert facts["chosen"]["energy_uj"] <= facts["limits"]["energy"]
    assert facts["chosen"]["right"] is None
    assert {one["name"] for one in facts["uniform"]} == {"all int8", "all int4"}


def test_table_is_shown(run: Run, files: list[Any], tmp_path: Path) -> None:
    found = run("precision", *files, *SMALL, "--budget", "cycles=80%", "-o", tmp_path / "out")
    assert found.code == 0, found.err
    assert "layer0" in found.out
    assert "all int8" in found.out
    assert "accuracy in floats: " in found.out
    assert "intervals of 95 %" in found.out
    assert "uJ" not in found.out.split("whole networks")[1]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--budget", "bits=3"), "--budget must be one of bytes=NUMBER"),
        (("--budget", "bytes=x"), "--budget must be one of bytes=NUMBER"),
        (("--budget", "bytes=-1"), "--budget must be one of bytes=NUMBER"),
        (("--budget", "bytes=1", "--budget", "bytes=2"), "--budget must be given once"),
        (("--budget", "bytes=100"), "bytes must be 1184 or more, not 100"),
        (("--budget", "energy=1"), "--energy must be osu018 or a Liberty file"),
        (("--budget", "bytes=60%", "--formats", "e5m2"), "--formats must be of int8, int4, e2m1"),
        (("--budget", "bytes=60%", "--pairs", "some"), "--pairs must be one of same, all"),
        (("--budget", "bytes=60%", "--batch", "0"), "--batch must be 1 or more, not 0"),
    ],
)
def test_refused(
    run: Run, files: list[Any], tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    found = run("precision", *files, *SMALL, *options, "-o", tmp_path / "out")
    assert found.code == 2
    assert says in found.err
    assert found.out == ""
    assert not (tmp_path / "out").exists()


def test_models_refused(run: Run, task: Task, files: list[Any], tmp_path: Path) -> None:
    """No products of floats; an engine without formats; inputs of another shape."""
    model = quantise(task, tmp_path / "quantised.onnx")
    found = run("precision", model, *files[1:], *SMALL, "--budget", "bytes=60%")
    assert found.code == 2
    assert "the model must be of floats; it has QuantizeLinear" in found.err
    found = run("precision", *files, "-p", "engine=systolic_os", "--budget", "bytes=60%")
    assert found.code == 2
    assert "engine must have several formats, such as npe" in found.err
    np.save(tmp_path / "cal.npy", task.calibration[:4, :60])
    found = run("precision", *files, *SMALL, "--budget", "bytes=60%")
    assert found.code == 2
    assert "input 'pixels' must be count x 64, not 4 x 60" in found.err


def test_format_that_does_not_take_a_layer(run: Run, files: list[Any], tmp_path: Path) -> None:
    """Sums of 20 bits hold 31 products of int8, of 21 bits 63; the layers have K = 64 and 32."""
    engine = "engine=npe(m=1,n=2,formats=int8,int4,accumulator_width=20)"
    found = run(
        "precision",
        *files,
        "-p",
        engine,
        "--budget",
        "bytes=100%",
        "--json",
        "-o",
        tmp_path / "out",
    )
    assert found.code == 0, found.err
    facts = check("precision", found.out)
    assert [list(row["sensitivity"]) for row in facts["layers"]] == [["int4 x int4"]] * 2
    assert [one["name"] for one in facts["uniform"]] == ["all int4"]
    engine = "engine=npe(m=1,n=2,formats=int8,int4,accumulator_width=21)"
    found = run(
        "precision",
        *files,
        "-p",
        engine,
        "--budget",
        "bytes=100%",
        "--json",
        "-o",
        tmp_path / "out",
    )
    facts = check("precision", found.out)
    assert [list(row["sensitivity"]) for row in facts["layers"]] == [
        ["int4 x int4"],
        ["int8 x int8", "int4 x int4"],
    ]
    assert facts["chosen"]["formats"] == ["int4 x int4", "int8 x int8"]


def results(low: float) -> dict[str, Any]:
    """Return results by hand; the interval of the chosen network's noise is from `low` on."""
    layer = {
        "layer": "a <b>",
        "operator": "Gemm",
        "a": "int8",
        "b": "int4",
        "noise": 1e-3,
        "bytes": 2048.0,
        "cycles": 90.0,
        "energy_uj": None,
    }
    outcome = {"name": "chosen", "bits": 4.0, "bytes": 4096.0, "cycles": 180.0, "energy_uj": None,
               "noise": 2e-3, "same": 0.99, "right": None, "right_floats": None,
               "noise_interval": (low, 3e-3), "same_interval": (0.98, 0.995),
               "right_interval": None, "change_interval": None}  # fmt: skip
    others = [
        {
            **outcome,
            "name": f"all int{bits}",
            "bits": bits,
            "bytes": 1024.0 * bits,
            "noise": 4.0**-bits,
            "noise_interval": None,
        }
        for bits in (8, 4, 2)
    ]
    return {
        "model": "a$_{b}$.onnx",
        "command": "carrysave precision m.onnx",
        "design": "npe",
        "judged": 60,
        "calibration": 100,
        "limits": {"bytes": 5000.0},
        "energy": None,
        "chosen": outcome,
        "layers": [layer, {**layer, "layer": "c", "bytes": 999.0}],
        "tuned": None,
        "uniform": others,
        "pareto": [],
        "files": [],
    }


def test_page(browser: Browser, tmp_path: Path) -> None:
    text = browser.check(write(tmp_path / "a.html", view.page(results(1e-3))), charts=2)
    for part in (
        "a <b>",
        "-27.0 dB",
        "99.0% (98.0..99.5 %)",
        "-30.0..-25.2",
        "at most bytes 5,000",
        "chosen",
    ):
        assert part in text


def test_noise_that_may_be_none_is_drawn_from_the_bottom() -> None:
    def drawn(low: float) -> tuple[float, list[list[float]]]:
        """Return the bottom of the first axes, and the ends of the bars in both, from the top."""
        text = picture.draw(results(low)).decode()
        frame = re.findall(r'id="patch_2">\s*<path d="M [\d.]+ ([\d.]+)', text)
        ends = r'id="LineCollection_\d+">\s*<path d="M [\d.]+ ([\d.]+)\s*L [\d.]+ ([\d.]+)'
        return float(frame[0]), [sorted(map(float, bar)) for bar in re.findall(ends, text)[:2]]

    bottom, bars = drawn(1e-3)
    assert all(0 < high < low < bottom for high, low in bars)
    bottom, bars = drawn(0.0)
    assert [low for _, low in bars] == [bottom, bottom]
    assert all(0 < high < bottom for high, _ in bars)
    assert "| at most -25.2 |" in view.markdown(results(0.0))
    assert "a$_{b}$.onnx on npe" in picture.draw(results(0.0)).decode()  # no mathematics
