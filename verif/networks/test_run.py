"""``carrysave run``: networks from files to answers, what it refuses, and what it writes."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.lowered import golden
from carrysave.compiler.program.cost import Spent
from carrysave.compiler.run.exact_product import saturates
from carrysave.compiler.run.results import ProductRun
from verif.networks.graphs import Builder
from verif.support.browser import Browser
from verif.support.command import Run
from verif.support.networks import MODELS, Task, quantise
from verif.support.schemas import check

JUDGE = "exact integers'" if saturates() else "onnxruntime's"
SMALL = ("-p", "engine=systolic_os(m=2,n=4)", "-p", "data_width=32")
PLAIN = ("--energy", "none", "--simulate", "none")


@pytest.fixture
def run(run: Run) -> Run:
    """Run a network."""
    return partial(run, "run")


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Task]:
    """Train and quantise the digits network."""
    folder = tmp_path_factory.mktemp("digits")
    task = MODELS["digits"](folder)
    return quantise(task, folder / "quantised.onnx"), task


def save(path: Path, array: np.ndarray) -> Path:
    np.save(path, array)
    return path


def test_corrected_cycles_are_within_the_peak() -> None:
    """Of a part that took less than modelled; what was counted of all rows stays."""
    product: Any = None  # not asked
    part = ProductRun(
        product, [(200, 64, 32)], 200 * 64 * 32, 16.0, Spent(cycles=26_000), 200, 8, 900, 1_100
    )
    assert part.total == 200 * 64 * 32 // 16
    assert replace(part, cycles=1_200).total == round(26_000 * 1_200 / 1_100)
    assert replace(part, simulated=200, modelled=26_000, cycles=25_000).total == 25_000


def test_no_energy_of_an_engine_of_blocks(
    run: Run, digits: tuple[Path, Task], tmp_path: Path
) -> None:
    """Cells cannot be what a board's default engine is built of."""
    x = save(tmp_path / "x.npy", digits[1].inputs[:8])
    found = run(digits[0], "--input", x, "--board", "ulx3s_25f", "--simulate", "none", "--energy",
                "osu018", "--json", "-o", tmp_path / "out")  # fmt: skip
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["notes"][0] == "no energy: the engine is of blocks of ecp5, not of cells"


@pytest.mark.prove
def test_digits_on_the_simulated_block(run: Run, digits: tuple[Path, Task], tmp_path: Path) -> None:
    """Every product on the simulated block; the demo runs all of the test images."""
    model, task = digits
    x = save(tmp_path / "x.npy", task.inputs[:64])
    y = save(tmp_path / "y.npy", task.labels[:64])
    found = run(model, "--input", x, "--labels", y, *SMALL, "--simulate", "all", "--batch", 64,
                "--energy", "none", "--json", "-o", tmp_path / "out")  # fmt: skip
    assert found.code == 0, found.err
    facts = check("run", found.out)
    (output,) = facts["outputs"]
    assert output["equal"]
    assert output["top1_equal"] == 1
    assert output["accuracy"] == output["accuracy_onnxruntime"] > 0.96
    assert facts["simulation_equal"] is True
    first, second = facts["layers"]
    assert [row["simulated_rows"] for row in (first, second)] == [64, 64]
    assert first["macs"] == 64 * 64 * 32
    assert 0.8 < first["utilisation"] < 1
    names = {Path(path).name for path in facts["files"]}
    assert names == {"outputs.npz", "layers.svg", "layers.md", "run.json"}
    own = tmp_path / "out" / "run" / "quantised"
    assert check("run", own / "run.json") == facts
    logits = np.load(own / "outputs.npz")["logits"]
    assert np.mean(logits.argmax(axis=1) == task.labels[:64]) == output["accuracy"]
    text = (own / "layers.md").read_text()
    assert "| layer0 | Gemm | 64 x 64 x 32 |" in text
    assert f"equal to {JUDGE} bit for bit" in text
    assert (own / "layers.svg").read_bytes().startswith(b"<?xml")


def test_page(run: Run, tmp_path: Path, browser: Browser) -> None:
    rng = np.random.default_rng(1)
    net = Builder(rng)
    net.node("MatMulInteger", ["x", net.codes((4, 3), np.int8)], "y")
    onnx.save(net.model(("count", 4), np.int8, np.int32, ("count", "sums")), tmp_path / "<b>.onnx")
    x = save(tmp_path / "x.npy", np.ones((3, 4), np.int8))
    line = (tmp_path / "<b>.onnx", "--input", x, *SMALL, *PLAIN, "--html", "a/page.html")
    outcome = run(*line)
    assert outcome.code == 0, outcome.err
    assert "wrote a/page.html\n" in outcome.out
    text = browser.check(tmp_path / "a" / "page.html", charts=1)
    for part in ("<b>.onnx on coprocessor", "MatMulInteger", "utilisation", "onnxruntime", "total"):
        assert part in text
    # Other JSON than on disk, which does not know of the page.
    files = check("run", run(*line, "--json").out)["files"]
    assert files[-1] == "a/page.html"


@pytest.mark.prove
def test_digits_through_the_pins(run: Run, digits: tuple[Path, Task], tmp_path: Path) -> None:
    """The host's driver, at the serial line of the block that `build` puts onto the board."""
    model, task = digits
    x, y = save(tmp_path / "x.npy", task.inputs[:20]), save(tmp_path / "y.npy", task.labels[:20])
    found = run(model, "--input", x, "--labels", y, "--board", "ulx3s_85f", "-p", "m=2",
                "-p", "n=2", "-p", "divisor=4", "--simulate", "all", "--batch", 20,
                "--energy", "none", "--json")  # fmt: skip
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["design"].startswith("coprocessor_uart")
    assert facts["simulation_equal"] is True
    assert facts["outputs"][0]["equal"]
    assert all(row["simulated_rows"] == 20 for row in facts["layers"])


@pytest.mark.prove
@pytest.mark.parametrize("board", ["ulx3s_85f", "orangecrab_25f", "colorlight_i9"])
def test_digits_on_the_whole_board(
    run: Run, digits: tuple[Path, Task], tmp_path: Path, board: str
) -> None:
    """All of the test images through the pins of the build as it is: 14 x 12, 4 x 4, 8 x 8."""
    model, task = digits
    x = save(tmp_path / "x.npy", task.inputs)
    found = run(model, "--input", x, "--board", board, "-p", "divisor=4", "--simulate",
                "all", "--batch", 200, "--energy", "none", "--json")  # fmt: skip
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["simulation_equal"] is True
    assert facts["outputs"][0]["equal"]


def test_sample(run: Run, digits: tuple[Path, Task], tmp_path: Path) -> None:
    model, task = digits
    x = save(tmp_path / "x.npy", np.tile(task.inputs, (10, 1)))
    found = run(model, "--input", x, *SMALL, "--batch", 6000, "--energy", "none", "--json")
    assert found.code == 0, found.err
    for row in check("run", found.out)["layers"]:
        assert 0 < row["simulated_rows"] < row["rows"] == 5990
        assert 0.8 < row["cycles"] / row["cycles_by_model"] < 2


def test_table_on_a_narrow_terminal(run: Run, digits: tuple[Path, Task], tmp_path: Path) -> None:
    model, task = digits
    x = save(tmp_path / "x.npy", task.inputs[:16])
    found = run(model, "--input", x, *SMALL, *PLAIN)
    assert found.code == 0
    assert "layer0" in found.out
    assert f"logits: of 16 inputs, equal to {JUDGE} bit for bit" in found.out
    assert max(map(len, found.out.splitlines()[:9])) <= 80


def test_hardware_that_differs_fails(
    run: Run, digits: tuple[Path, Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A golden model of something else than the hardware is noticed, and named."""
    model, task = digits
    x = save(tmp_path / "x.npy", task.inputs[:8])
    exact = golden.run

    def wrong(spec: Any, works: Any) -> Any:
        return [
            np.where(result == result.max(), result - 1, result) for result in exact(spec, works)
        ]

    monkeypatch.setattr(golden, "run", wrong)
    found = run(model, "--input", x, *SMALL, "--energy", "none", "--json")
    assert found.code == 1
    facts = check("run", found.out)
    assert facts["simulation_equal"] is False
    assert "layer0" in facts["wrong"]


@pytest.fixture
def wrong(tmp_path: Path, digits: tuple[Path, Task]) -> Callable[[str], tuple[Path, Path]]:
    """Make files of which one is wrong; returns model and input."""
    model, task = digits

    def make(what: str) -> tuple[Path, Path]:
        path, x = model, task.inputs[:4]
        if what == "corrupt":
            path = tmp_path / "bad.onnx"
            path.write_bytes(model.read_bytes()[:1000])
        if what == "text":
            path = tmp_path / "bad.onnx"
            path.write_text("no model")
        if what == "float":
            path = task.model
        if what == "absent":
            path = tmp_path / "absent.onnx"
        if what == "operator":
            path = _with_operator(tmp_path / "operator.onnx")
        if what == "wide":
            path = _wide(tmp_path / "wide.onnx")
        if what == "shape":
            x = x[:, :60]
        if what == "axes":
            x = x[0]
        if what == "type":
            x = x.astype(np.float64)
        if what == "empty":
            x = x[:0]
        return path, save(tmp_path / "x.npy", x)

    return make


def _with_operator(path: Path) -> Path:
    builder = Builder(np.random.default_rng(1))
    scale, zero = builder.scale(), builder.zero(np.uint8)
    weights = [builder.codes((64, 8), np.int8), builder.scale(), builder.constant(0, np.int8)]
    builder.node("QuantizeLinear", ["x", scale, zero], "q")
    builder.node("QLinearMatMul", ["q", scale, zero, *weights, scale, zero], "c")
    builder.node("Attention", ["c"], "y", domain="com.microsoft", num_heads=2)
    onnx.save(builder.model(("count", 64), np.float32, np.float32, ("count", "found")), path)
    return path


def _wide(path: Path) -> Path:
    builder = Builder(np.random.default_rng(1))
    scale, zero = builder.scale(), builder.constant(0, np.uint16)
    builder.node("QuantizeLinear", ["x", scale, zero], "q")
    builder.node("DequantizeLinear", ["q", scale, zero], "left")
    weights = [builder.codes((64, 8), np.int8), builder.scale(), builder.constant(0, np.int8)]
    builder.node("DequantizeLinear", weights, "right")
    builder.node("MatMul", ["left", "right"], "y")
    onnx.save(builder.model(("count", 64), np.float32, np.float32, ("count", "found")), path)
    return path


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("corrupt", "bad.onnx: no valid ONNX model"),
        ("text", "bad.onnx: no valid ONNX model"),
        ("absent", "No such file"),
        ("float", "quantise it first"),
        ("operator", "Attention 'Attention_y': operators of domain 'com.microsoft'"),
        ("wide", "MatMul 'MatMul_y': A has codes 0..65535; the engine takes -128..127"),
        ("shape", "input 'pixels' must be count x 64, not 4 x 60"),
        ("axes", "input 'pixels' must be count x 64, not 64"),
        ("type", "input 'pixels' must be of float32, not float64"),
        ("empty", "one or more"),
    ],
)
def test_refused(
    run: Run, wrong: Callable[[str], tuple[Path, Path]], tmp_path: Path, what: str, says: str
) -> None:
    """One clear line, exit code 2, nothing written."""
    model, x = wrong(what)
    before = set(tmp_path.rglob("*"))
    found = run(model, "--input", x, *SMALL, *PLAIN)
    assert found.code == 2
    lines = [line for line in found.err.splitlines() if not line.startswith("...")]
    assert len(lines) == 1
    assert says in lines[0]
    assert found.out == ""
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--simulate", "some"), "--simulate must be one of all, sample, none, not 'some'"),
        (("--requantise", "x"), "--requantise must be one of hardware, host, not 'x'"),
        (("--batch", "0"), "--batch must be 1 or more, not 0"),
        (("--energy", "foo"), "--energy must be osu018, sky130, gf180"),
        (("-p", "engine=npe", "-p", "formats=int4,e4m3"), "engine must have the format int8"),
        (("--board", "ulx3"), "unknown board 'ulx3'; did you mean ulx3s_85f"),
        (("-p", "bias=false"), "bias must be true"),
        (("-p", "engine=systolic_os(m=2,n=2,k_max=32)"), "K must be 1..32, the engine's k_max"),
    ],
)
def test_options_refused(
    run: Run, digits: tuple[Path, Task], tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    model, task = digits
    x = save(tmp_path / "x.npy", task.inputs[:4])
    free = () if "--energy" in options else ("--energy", "none")
    found = run(model, "--input", x, *free, *options)
    assert found.code == 2
    assert says in found.err


def test_labels_and_inputs_refused(run: Run, digits: tuple[Path, Task], tmp_path: Path) -> None:
    model, task = digits
    x = save(tmp_path / "x.npy", task.inputs[:4])
    few = save(tmp_path / "few.npy", task.labels[:3])
    found = run(model, "--input", x, "--labels", few, *PLAIN)
    assert found.code == 2
    assert "--labels must be 4 integers" in found.err
    text = tmp_path / "text.npy"
    text.write_text("numbers")
    found = run(model, "--input", text, *PLAIN)
    assert found.code == 2
    assert "text.npy: must be an array of NumPy's" in found.err


@pytest.mark.prove
@pytest.mark.parametrize("name", [name for name in MODELS if name != "digits"])
def test_shipped_networks(run: Run, tmp_path: Path, name: str) -> None:
    """Networks that packages ship, on 100 real inputs or more: the same classes."""
    task = MODELS[name](tmp_path)
    model = quantise(task, tmp_path / f"{name}.onnx")
    x, y = save(tmp_path / "x.npy", task.inputs), save(tmp_path / "y.npy", task.labels)
    assert len(task.inputs) >= 100
    found = run(model, "--input", x, "--labels", y, *SMALL, "--energy", "none", "--json")
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["simulation_equal"] is True
    for output in facts["outputs"]:
        assert output["top1_equal"] >= 0.99
        assert abs(output["accuracy"] - output["accuracy_onnxruntime"]) <= 0.01
    assert all(cause["most"] == 1 for cause in facts["causes"])
