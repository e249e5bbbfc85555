"""What a command loads before it does anything: nothing that it does not need."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from verif.networks.graphs import Builder

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


def test_a_refusal_loads_what_it_needs(tmp_path: Path) -> None:
    """All nodes that cannot run are said at once: no program is made, and nothing to print one."""
    builder, count = Builder(np.random.default_rng(1), opset=17), 300
    name = builder.node("DequantizeLinear", ["x", builder.scale(), builder.zero(np.uint8)], "n")
    for at in range(count):
        domain = "com.acme" if at % 3 == 0 else ""
        name = builder.node("Mine" if domain else "Relu", [name], f"n{at}", domain=domain)
    builder.node("Identity", [name], "y")
    model = builder.model((1, 8), np.uint8, np.float32, [1, 8])
    model.opset_import.add(domain="com.acme", version=1)
    onnx.save(model, tmp_path / "m.onnx")
    command = [sys.executable, "-W", "error", "-c", PROGRAM, "compile", "m.onnx", "-o", "out"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    *_, said, last = done.stderr.splitlines()
    code, loaded = json.loads(last)
    assert code == 2
    assert said.startswith("carrysave: m.onnx: Mine 'Mine_n0', Mine 'Mine_n3', "), said
    says = "and 80 others: operators of domain 'com.acme' are not supported; run can leave such"
    assert says in said
    assert not {"dask", "jinja2", "onnxruntime", "psutil", "scipy", "sklearn"} & set(loaded)
    assert not (tmp_path / "out").exists()
