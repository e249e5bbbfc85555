"""Names of the tests that a design's bench has: run as a program, those of a module's tests."""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from carrysave.sim.parameters import BENCH_VARIABLE, describe
from hw.emit import tools

if TYPE_CHECKING:
    from hw.catalog import Design

__all__ = ["bench_tests"]


def bench_tests(design: "Design") -> list[str]:
    """Return the names that results of a design's bench have; none if it cannot be loaded.

    A bench reads its design when it is loaded: it has a process of its own, as in simulation.
    """
    variables = os.environ | {
        BENCH_VARIABLE: json.dumps(describe(design) | {"seed": 1}),
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
    }
    with tools.workplace() as folder:
        log = folder / "log"
        command = [sys.executable, "-m", __name__, design.entry.bench]
        done = tools.run(command, cwd=folder, environment=variables, log=log)
        last = log.read_text(errors="replace").splitlines()[-1:]
    return json.loads(last[0]) if done.code == 0 and last else []


def _names(module: str) -> list[str]:
    """Return the names of a module's tests, as cocotb gives them."""
    from cocotb.regression import Test, TestGenerator  # slow to load

    names: list[str] = []
    for one in vars(import_module(module)).values():
        if isinstance(one, Test):
            names.append(one.name)
        elif isinstance(one, TestGenerator):
            names += [test.name for test in one.generate_tests()]
    return names


if __name__ == "__main__":
    print(json.dumps(_names(sys.argv[1])))
