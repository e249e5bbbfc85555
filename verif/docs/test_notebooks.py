"""Notebooks of examples: their cells run in order, and find the figures of their text."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import carrysave

ROOT = Path(carrysave.__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").rglob("*.ipynb"))
TABLE = ROOT / "examples" / "paper_table" / "hpca25.ipynb"


def cells(notebook: Path, kind: str) -> list[str]:
    """Return the text of cells, in order."""
    every = json.loads(notebook.read_text())["cells"]
    return ["".join(cell["source"]) for cell in every if cell["cell_type"] == kind]


def run(notebook: Path) -> dict[str, Any]:
    """Run the code of a notebook as Jupyter does, in one namespace, and show what cells end with.

    Jupyter itself is no dependency.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, text in enumerate(cells(notebook, "code")):
        body = ast.parse(text).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        place = f"{notebook.name}[{number}]"
        exec(compile(ast.Module(body, []), place, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
            assert value is None or value._repr_html_()
    return names


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_has_text_and_no_outputs(notebook: Path) -> None:
    """Outputs of some run would be figures that nothing checks, and change with each one."""
    content = json.loads(notebook.read_text())
    assert (content["nbformat"], content["cells"][0]["cell_type"]) == (4, "markdown")
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


def test_notebook_finds_the_figures_of_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = run(TABLE)
    last = cells(TABLE, "markdown")[-1]
    (said,) = re.findall(r"^Here, mapped to generic gates: (.*)\.$", last, re.M)
    assert ", ".join(f"{array} {ratio:.2f}" for array, ratio in names["table"].items()) == said
    assert len(names["table"]) == 3
    assert "2D matrix           1.44" in capsys.readouterr().out
    (paper,) = re.findall(r"the paper's (.*):", last)
    ratios = [ratio for _, _, ratio in names["ARRAYS"].values()]
    assert re.findall(r"\d\.\d\d", paper) == [f"{ratio:.2f}" for ratio in ratios]


def test_ratios_are_those_of_reproduce() -> None:
    """The paper's, as `carrysave reproduce hpca25` has them."""
    from carrysave.papers.ratios import hpca25

    names: dict[str, Any] = {}
    exec(cells(TABLE, "code")[0], names)
    rows = {row.name: row.area for row in hpca25(True)}
    for array, (_, _, ratio) in names["ARRAYS"].items():
        assert ratio == rows[array]
