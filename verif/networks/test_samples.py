"""Samples along any axis, states from sample to sample, inputs that become constants."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import carrysave
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered import golden
from verif.networks.graphs import judged
from verif.support.command import Run
from verif.support.schemas import check

RNG = np.random.default_rng(54)
WEIGHTS = ", ".join(map(str, judged(RNG.integers(-128, 128, 12))))
PRODUCT = """
  xq, xs, xz = DynamicQuantizeLinear(x)
  m = MatMulInteger(xq, w, xz)
  f = Cast<to = 1>(m)
  s = Mul(f, xs)
"""
STREAM = """
<ir_version: 9, opset_import: ["" : 17]>
net (float[n, 4] x, float[2, n, 3] h, float k) => (float[n, 3] y, float[2, n, 3] hn)
<int8[4, 3] w = {WEIGHTS}>
{PRODUCT
  t = Mul(s, k)
  y = ReduceSum<keepdims = 0>(z, zero)
  hn = Mul(z, k)
}
"""
STREAM = STREAM.replace("  y =", "  z = Add(h, t)\n  zero = Constant<value_ints = [0]>()\n  y =")
TIME_FIRST = """
<ir_version: 9, opset_import: ["" : 17]>
net (float[t, n, 4] x) => (float[3, n, t] y)
<int8[4, 3] w = {WEIGHTS}>
{PRODUCT
  y = Transpose<perm = [2, 1, 0]>(s)
}
"""
CHAIN = """
<ir_version: 9, opset_import: ["" : 17]>
net (float[n, 4] x) => (int32[n, 4] y)
<int8[4, 3] w = {WEIGHTS}, int8[3, 4] v = {WEIGHTS}>
{PRODUCT
  sq, ss, sz = DynamicQuantizeLinear(s)
  y = MatMulInteger(sq, v, sz)
}
"""
DATA = {
    "x": RNG.normal(size=(5, 4)).astype(np.float32),
    "h": RNG.normal(size=(2, 1, 3)).astype(np.float32),
}
K = np.array(0.5, np.float32)
OPTIONS: dict[str, Any] = {"simulate": "none", "states": {"hn": "h"}, "constants": {"k": K}}


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text.replace("WEIGHTS", WEIGHTS).replace("PRODUCT", PRODUCT))


def followed(data: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Run onnxruntime on one sample after the other; return its outputs and the last state."""
    opened, state = session(model(STREAM).SerializeToString()), data["h"]
    rows = []
    for x in data["x"]:
        row, state = opened.run(["y", "hn"], {"x": x[None], "h": state, "k": K})
        rows.append(row)
    return np.concatenate(rows), state


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., list[Any]]:
    """Return what writes a model and its inputs, and returns the command's arguments."""

    def write(text: str, data: Mapping[str, np.ndarray], *more: Any) -> list[Any]:
        onnx.save(model(text), tmp_path / "net.onnx")
        np.savez(tmp_path / "x.npz", **dict[str, Any](data))
        np.save(tmp_path / "k.npy", K)
        return [
            "run",
            tmp_path / "net.onnx",
            "--input",
            tmp_path / "x.npz",
            "--simulate",
            "none",
            "-o",
            tmp_path / "out",
            *more,
        ]

    return write


def test_states_go_from_sample_to_sample(run: Run, files: Any, tmp_path: Path) -> None:
    """The first is given; the last remains, and the judge has its own."""
    states = ("--state", "hn=h", "--constant", f"k={tmp_path / 'k.npy'}")
    made = run(*files(STREAM, DATA, *states, "--json"))
    assert made.code == 0, made.err
    facts = check("run", made.out)
    assert (facts["inputs"], facts["batch"]) == (5, 1)
    assert [(one["name"], one["axis"]) for one in facts["outputs"]] == [("y", 0), ("hn", None)]
    assert all(one["equal"] for one in facts["outputs"])
    rows, state = followed(DATA)
    with np.load(tmp_path / "out" / "run" / "net" / "outputs.npz") as outputs:
        assert np.array_equal(outputs["y"], rows)
        assert np.array_equal(outputs["hn"], state)


def test_states_begin_with_zeros() -> None:
    """By the Python interface; a state that is not zero makes another end."""
    design = carrysave.Design("coprocessor")
    made = carrysave.run(model(STREAM), DATA["x"], design, **OPTIONS)
    rows, state = followed({**DATA, "h": np.zeros((2, 1, 3), np.float32)})
    assert np.array_equal(made.outputs["y"], rows)
    assert np.array_equal(made.outputs["hn"], state)
    assert not np.array_equal(state, followed(DATA)[1])


@pytest.mark.parametrize(("axis", "batch"), [("n", 2), ("n", None), (None, 3)])
def test_samples_are_along_an_axis_by_name(axis: str | None, batch: int | None) -> None:
    """In batches that divide them or not; outputs keep the axes of the file."""
    x = RNG.normal(size=(6, 5, 4)).astype(np.float32)
    design = carrysave.Design("coprocessor")
    made = carrysave.run(
        model(TIME_FIRST), x, design, simulate="none", batch_axis=axis, batch=batch
    )
    place = 1 if axis else 0
    count, size = x.shape[place], batch or 8
    opened = session(model(TIME_FIRST).SerializeToString())
    parts = [
        opened.run(["y"], {"x": x.take(range(at, min(at + size, count)), place)})[0]
        for at in range(0, count, size)
    ]
    assert np.array_equal(made.outputs["y"], np.concatenate(parts, 1 if axis else 2))
    assert made["outputs"][0]["axis"] == (1 if axis else 2)
    assert made["outputs"][0]["equal"]


def test_a_size_of_one_name_is_the_sample_in_every_input() -> None:
    """Where it is not the first axis of one of them, and no state."""
    x, h = (RNG.normal(size=shape).astype(np.float32) for shape in ((5, 4), (2, 5, 3)))
    design = carrysave.Design("coprocessor")
    made = carrysave.run(
        model(STREAM), {"x": x, "h": h}, design, simulate="none", constants={"k": K}, batch=5
    )
    wanted = session(model(STREAM).SerializeToString()).run(["y", "hn"], {"x": x, "h": h, "k": K})
    assert all(
        np.array_equal(made.outputs[name], one)
        for name, one in zip(("y", "hn"), wanted, strict=True)
    )


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((), "input 'k' is one number, and has no samples: --constant makes it a part of"),
        (("--constant", "k=K", "--batch-axis", "m"), "--batch-axis must be one of n, not 'm'"),
        (("--constant", "q=K"), "--constant must be one of x, h, k, not 'q'"),
        (("--constant", "k"), "--constant must be NAME=FILE.npy, not 'k'"),
        (
            ("--constant", "h=K"),
            "--constant h must be 2 x n x 3 of float32, not a number of float32",
        ),
        (("--constant", "k=K", "--constant", "k=K"), "--constant k must be given once, not twice"),
        (
            ("--constant", "k=K", "--state", "hn=x"),
            "--state hn=x: output 'hn' must be n x 4, as the input, not 2 x n x 3",
        ),
        (
            ("--constant", "k=K", "--state", "z=h"),
            "--state: the output must be one of y, hn, not 'z'",
        ),
        (
            ("--constant", "k=K", "--state", "hn=z"),
            "--state: the input must be one of x, h, not 'z'",
        ),
        (("--constant", "k=K", "--state", "hn"), "--state must be OUT=IN, not 'hn'"),
        (
            ("--constant", "k=K", "--state", "hn=h", "--batch", "2"),
            "--batch must be 1 with --state, not 2",
        ),
    ],
)
def test_refusals(run: Run, files: Any, tmp_path: Path, more: tuple[str, ...], says: str) -> None:
    """By name, before anything is computed; nothing is written."""
    made = run(*files(STREAM, DATA, *(one.replace("=K", f"={tmp_path / 'k.npy'}") for one in more)))
    assert made.code == 2
    assert says in made.err
    assert len(made.err.strip().splitlines()) <= 2
    assert not (tmp_path / "out").exists()


def test_outputs_of_no_sample_are_refused_before_they_are_computed(
    run: Run, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output that the file says has twenty places first."""
    text = TIME_FIRST.replace("float[3, n, t] y", "float[3, m, k] y")
    monkeypatch.setattr("carrysave.compiler.run.request.run", None)
    made = run(*files(text, {"x": np.zeros((2, 2, 4), np.float32)}))
    assert made.code == 2
    assert "output 'y': its first axis must be the sample, not 3 x m x k; --batch-axis" in made.err


def test_a_product_of_codes_as_before_is_not_multiplied_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For the comparison; codes that another state makes are. Each sample has its own."""
    runs: list[int] = []
    exact = golden.run

    def counted(spec: Any, works: Any) -> list[np.ndarray]:
        runs.append(len(works))
        return exact(spec, works)

    monkeypatch.setattr(golden, "run", counted)
    design = carrysave.Design("coprocessor")
    for compare in (False, True):
        runs.clear()
        made = carrysave.run(model(STREAM), DATA["x"], design, compare=compare, **OPTIONS)
        assert len(runs) == len(DATA["x"])
    assert all(one["equal"] for one in made["outputs"])
    # The judge gets codes of its own, where ours differ.
    runs.clear()
    monkeypatch.setattr(
        golden, "run", lambda spec, works: [one // 99 for one in counted(spec, works)]
    )
    made = carrysave.run(model(CHAIN), DATA["x"], design, simulate="none", batch=5)
    assert len(runs) == 3
    assert not made["outputs"][0]["equal"]
