"""The same bytes by other kernels of numpy and BLAS than those that this processor has."""

import os
import subprocess
import sys
from pathlib import Path

from verif.support.portable import DIGESTS, baseline, digests


def test_results_are_those_of_every_processor() -> None:
    """`make portable` compares more, and emulates processors."""
    published = DIGESTS.read_text()
    assert "".join(f"{digest}  {name}\n" for name, digest in digests()) == published
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "verif.support.portable"]
    environment = os.environ | baseline()
    found = subprocess.run(
        command, cwd=root, env=environment, check=True, capture_output=True, text=True
    )
    assert found.stdout == published
    assert not found.stderr


def test_variables_leave_numpy_no_kernels() -> None:
    text = (
        "from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__\n"
        "print([name for name in __cpu_dispatch__ if __cpu_features__[name]])"
    )
    command = [sys.executable, "-c", text]
    environment = os.environ | baseline()
    assert subprocess.check_output(command, env=environment, text=True) == "[]\n"
