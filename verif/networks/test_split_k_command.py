"""``carrysave precision --split-k``: what it chooses, shows and refuses, and `run` of its model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verif.support.command import Run
from verif.support.networks import Task
from verif.support.schemas import check

ENGINE = "npe(m=2,n=2,formats=int8,int4)"
OPTIONS = ("-p", "m=2", "-p", "n=2", "-p", "formats=int8,int4")


@pytest.fixture
def files(task: Task, tmp_path: Path) -> list[Any]:
    arrays = {"cal": task.calibration[:60], "x": task.inputs[:40], "y": task.labels[:40]}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    inputs = ("--input", tmp_path / "x.npy", "--labels", tmp_path / "y.npy")
    return [task.model, "--calibration", tmp_path / "cal.npy", *inputs]


def ran(run: Run, files: list[Any], out: Path, *more: Any, engine: str = ENGINE) -> Any:
    """Run the model that `precision` has written; return the facts."""
    block = ("-p", f"engine={engine}", "-p", "row_factors=true", "--energy", "none")
    model = out / "precision" / "digits" / "digits.onnx"
    found = run("run", model, *files[3:], *block, *more, "--json", "-o", out)
    assert found.code == 0, found.err
    return check("run", found.out)


def test_precision_splits_all_layers(run: Run, files: list[Any], tmp_path: Path) -> None:
    """Beside all in either format, in accuracy, bytes and cycles; and `run` runs that model."""
    out = tmp_path / "out"
    found = run("precision", *files, *OPTIONS, "--split-k", "1/8", "--json", "-o", out)
    assert found.code == 0, found.err
    facts = check("precision", found.out)
    assert facts["limits"] == {}
    assert facts["pareto"] == []
    depths, widths = (64, 32), (32, 10)
    for row, depth, width in zip(facts["layers"], depths, widths, strict=True):
        assert list(row["sensitivity"]) == ["int8 x int8", "int4 x int4", "int4 + 1/8 int8"]
        assert len(row["split"]["columns"]) == depth // 8
        assert row["weight_bits"] == width * (depth * 4 + depth // 8 * 4)
        wide, narrow, split = row["sensitivity"].values()
        assert wide["noise"] < split["noise"] < narrow["noise"]
        assert split["cycles"] > narrow["cycles"]
        assert depth < 64 or wide["cycles"] > split["cycles"]
        assert "split" not in wide
    names = [one["name"] for one in facts["uniform"]]
    assert names == ["all int8", "all int4", "all int4 + 1/8 int8"]
    wide, narrow, _ = facts["uniform"]
    assert wide["noise"] < facts["chosen"]["noise"] < narrow["noise"]
    assert facts["chosen"]["formats"] == ["int4 x int4 + int8 x int8"] * 2
    assert facts["chosen"]["bits"] == 4.5
    text = (out / "precision" / "digits" / "precision.md").read_text()
    assert "two formats along K" in text
    assert "int4 + 8 int8" in text

    result = ran(run, files, out, "--simulate", "none")
    assert result["outputs"][0]["accuracy"] == facts["chosen"]["right"]
    assert [row["shapes"] for row in result["layers"]] == [[[8, 64, 32]], [[8, 32, 10]]]


def test_precision_chooses_what_is_split(run: Run, files: list[Any], tmp_path: Path) -> None:
    """Of two shares, both formats, and a budget that is between them."""
    found = run(
        "precision",
        *files,
        *OPTIONS,
        "--split-k",
        "1/8,1/4",
        "--budget",
        "bytes=63%",
        "--json",
        "-o",
        tmp_path / "out",
    )
    assert found.code == 0, found.err
    facts = check("precision", found.out)
    assert facts["chosen"]["bytes"] <= facts["limits"]["bytes"]
    tables = [row["sensitivity"] for row in facts["layers"]]
    names = list(tables[0])
    assert names[2:] == ["int4 + 1/8 int8", "int4 + 1/4 int8"]
    least = min(
        tables[0][one]["noise"] + tables[1][other]["noise"]
        for one in names
        for other in names
        if tables[0][one]["bytes"] + tables[1][other]["bytes"] <= facts["limits"]["bytes"]
    )
    assert sum(row["noise"] for row in facts["layers"]) == pytest.approx(least)
    assert any("split" in row for row in facts["layers"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--split-k", "1"), "--split-k must be shares of K between 0 and 1"),
        (("--split-k", "1/0"), "--split-k must be shares of K between 0 and 1, such as 1/8"),
        (("--split-k", "some"), "such as 1/8, not 'some'"),
        (("--split-k", "1/8", "--formats", "int8"), "--formats must have two of integers"),
        (("--split-k", "1/8", "-p", "row_factors=false"), "row_factors must be true with"),
        (("--split-k", "1/8", "--fine-tune", "1"), "--fine-tune must be 0 with --split-k"),
        ((), "--budget must be given"),
    ],
)
def test_refused(
    run: Run, files: list[Any], tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    found = run("precision", *files, *OPTIONS, *options, "-o", tmp_path / "out")
    assert found.code == 2
    assert says in found.err
    assert not (tmp_path / "out").exists()


@pytest.mark.prove
@pytest.mark.parametrize(
    ("fast", "formats"),
    [(False, "int4 x int4 + int8 x int8"), (True, "int4 x int4 + int8 x int4")],
)
def test_both_jobs_on_the_simulated_block(
    run: Run, files: list[Any], tmp_path: Path, fast: bool, formats: str
) -> None:
    """All of each, equal to golden's; cycles are those of the model, the existing C included."""
    out = tmp_path / "out"
    options = (*OPTIONS, "-p", f"w4a8={str(fast).lower()}", "--split-k", "1/4", "--json")
    found = run("precision", *files, *options, "-o", out)
    assert found.code == 0, found.err
    chosen = check("precision", found.out)["chosen"]
    assert chosen["formats"] == [formats] * 2
    assert (chosen["bits"] == 4) == fast
    engine = ENGINE.replace(")", ",w4a8=true)") if fast else ENGINE
    facts = ran(run, files, out, "--simulate", "all", "--batch", 40, engine=engine)
    assert facts["simulation_equal"] is True
    for row in facts["layers"]:
        assert row["simulated_rows"] == row["rows"] == 80
        assert row["cycles"] == pytest.approx(row["cycles_by_model"], rel=0.05)
