"""What a command loads before it does anything: nothing that it does not need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = {
    "dask", "distributed", "matplotlib", "onnx", "onnxruntime", "peakrdl_html", "peakrdl_ipxact",
    "peakrdl_python", "psutil", "pyarrow", "safetensors", "scipy", "sklearn", "systemrdl",
}  # fmt: skip
DESIGNS = {"amaranth", "golden", "hw", "numpy"}
PROGRAM = """
import json, sys
sys.argv[0] = "carrysave"
from carrysave.cli import main
try:
    main()
except SystemExit as end:
    print(json.dumps([end.code or 0, sorted({name.partition(".")[0] for name in sys.modules})]),
          file=sys.stderr)
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "unwanted", "wanted"),
    [
        (["--help"], SLOW | DESIGNS, {"cyclopts"}),
        (["--version"], SLOW | DESIGNS, {"cyclopts"}),
        (["list"], SLOW | {"amaranth", "numpy"}, {"hw"}),
        (["generate", "mac"], SLOW, {"amaranth"}),
        (["synth", "--help"], SLOW - {"psutil"}, {"hw"}),
        (["regress", "--help"], SLOW | {"covertable", "numpy"}, {"hw"}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_commands_load_what_they_need(
    arguments: list[str], unwanted: set[str], wanted: set[str], tmp_path: Path
) -> None:
    # `list` keeps what it has found, so that it loads all designs once.
    for _ in range(1 + (arguments == ["list"])):
        command = [sys.executable, "-W", "error", "-c", PROGRAM, *arguments]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        code, loaded = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    assert not unwanted & set(loaded)
    assert wanted <= set(loaded)
