"""The bench of the tutorial of a block says that a product is right if it is, and not otherwise."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import carrysave
from verif.support.snippets import blocks

ROOT = Path(carrysave.__file__).parents[1]
PAGE = ROOT / "docs/tutorials/fpga_block.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the reader's folder, up to the generated block and the operands."""
    made = tmp_path_factory.mktemp("tutorial")
    for block in blocks(PAGE):
        if block.mark == "file":
            (made / block.detail).write_text(block.text)
    command = [sys.executable, "make.py"]
    subprocess.run(command, cwd=made, env={"PYTHONPATH": str(ROOT)}, check=True)
    return made


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("^", "", "right"),
        (r"assign o_c_data = ", "assign o_c_data = 1 ^ ", "wrong"),
        (r"assign o_c_data = ", "assign o_c_data = 128'bx ^ ", "wrong"),
        (r"assign o_c_data = [^;]*", "assign o_c_data = 128'bz", "wrong"),
        (r"(else if .* o_c_valid <=) .*;", r"\1 1'b0;", "wrong"),
        (r"(else if .* o_c_valid <=) .*;", r"\1 1'bx;", "wrong"),
    ],
    ids=["right", "one bit", "x", "z", "no valid", "valid x"],
)
def test_tutorial_tells_right_from_wrong(folder: Path, old: str, new: str, says: str) -> None:
    (built,) = (path for path in folder.glob("build/*.v") if not path.stem.endswith("_models"))
    text, count = re.subn(old, new, built.read_text(), count=1)
    assert count == 1
    (folder / "block.v").write_text(text)
    models = [str(path) for path in folder.glob("build/*_models.v")]
    files = ["bench.v", "top.v", "block.v", *models]
    subprocess.run(["iverilog", "-g2012", "-obench", *files], cwd=folder, check=True)
    said = subprocess.run(["vvp", "bench"], cwd=folder, capture_output=True, text=True, check=True)
    assert said.stdout == f"{says}\n"
