"""``carrysave soc``: programs with steps on floats, for which the firmware has no room."""

from pathlib import Path

import numpy as np
import onnx

from verif.support.command import Run
from verif.system.networks import SHAPE, convolutions


def test_refuses_floats(run: Run, tmp_path: Path) -> None:
    """The firmware is without: a program with such steps is refused by its first node."""
    onnx.save(convolutions(between="Softmax"), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.uint8))
    line = ("soc", "--board", "ulx3s_85f", "--input", tmp_path / "x.npy", "-o", tmp_path / "out")
    says = "Softmax 'Softmax_o': takes floats, for which the ROM of the system has no room"
    done = run(*line, "--model", tmp_path / "m.onnx", "--simulate")
    assert (done.code, says in done.err) == (2, True), done.err
    assert not (tmp_path / "out").exists()
