"""Scripts that make the figures of docs: each of these still runs, on little."""

import subprocess
import sys
from pathlib import Path

import pytest

import carrysave

ROOT = Path(carrysave.__file__).parents[1]
LINES = {
    "bench_fpga": ("--quick", "--only", "ice40", "--json"),
    "bench_shell": ("--seeds", "0", "-p", "engine=systolic_os(m=2,n=2)"),
}
"""Scripts with little to do; what they print is not compared: a page's figures take hours."""


@pytest.mark.prove
@pytest.mark.parametrize("script", LINES)
def test_scripts_run(script: str) -> None:
    line = [sys.executable, ROOT / "scripts" / "figures" / f"{script}.py", *LINES[script]]
    done = subprocess.run([*map(str, line)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
