"""Runs tests on mutants of Python code, and says of each whether a test fails.

A run collects tests once, notes which lines of the modules each one reaches, and forks a process
for each mutant: it changes the code of one function and runs the tests that reach that line, the
fastest first, until one fails.

    python -m verif.support.code_mutants COUNT SEED RESULT.json MODULE.. -- TESTS..
"""

import functools
import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from verif.support.code_changes import Mutant, apply, mutants, sample

SLOWEST = 1.0
"""CPU seconds of a test, beyond which no mutant runs it."""


class _Run:
    """Runs the tests of a session on mutants; a plugin."""

    def __init__(self, modules: Sequence[str], count: int, seed: int, result: Path) -> None:
        self.modules, self.count, self.seed, self.result = modules, count, seed, result
        self.lines: set[tuple[str, int]] = set()
        self.files = {str(Path(module).resolve()): module for module in modules}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Note what each test reaches, then try all mutants."""
        reach: list[tuple[float, pytest.Item, set[tuple[str, int]]]] = []
        for item in session.items:
            self.lines = set()
            sys.settrace(self._enter)
            begin = time.process_time()
            passed = _passes(item)
            took = time.process_time() - begin
            sys.settrace(None)
            if not passed:
                raise pytest.UsageError(f"{item.nodeid} fails as it is")
            print(f"{took:8.2f} s, {len(self.lines):4} lines: {item.nodeid}", flush=True)
            if took < SLOWEST:
                reach.append((took, item, self.lines))
        reach.sort(key=lambda each: each[0])
        every = [
            one for module in self.modules for one in mutants(module, Path(module).read_text())
        ]
        gc.unfreeze()
        memories = [
            one
            for one in gc.get_objects()
            if isinstance(one, functools._lru_cache_wrapper) and "carrysave" in one.__module__
        ]
        gc.freeze()
        found = {}
        for mutant in sample(every, self.count, self.seed):
            here = mutant.module, mutant.line
            tests = [(took, item) for took, item, lines in reach if here in lines]
            found[mutant.name] = _fate(mutant, tests, memories)
            print(f"{found[mutant.name]:<9} {mutant.line:>4} {mutant.name}", flush=True)
        self.result.write_text(json.dumps({"all": len(every), "fates": found}, indent=1) + "\n")
        return True

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        module = self.files.get(frame.f_code.co_filename)
        if module is None:
            return None
        self.lines.add((module, frame.f_lineno))
        return functools.partial(self._step, module)

    def _step(self, module: str, frame: FrameType, event: str, _: Any) -> Any:
        self.lines.add((module, frame.f_lineno))
        return functools.partial(self._step, module)


def _passes(item: Any) -> bool:
    """Run a test, from the start."""
    item._initrequest()
    return all(not report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def _fate(
    mutant: Mutant, tests: Sequence[tuple[float, pytest.Item]], memories: Sequence[Any]
) -> str:
    """Return what becomes of a mutant: killed, survived, or unreached by any test."""
    if not tests:
        return "unreached"
    child = os.fork()
    if child:
        deadline = time.monotonic() + 20 + 30 * sum(took for took, _ in tests)
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "killed"
    code = 1  # of whatever ends it
    try:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.environ["CARRYSAVE_CACHE"] = cache = tempfile.mkdtemp()
        gc.disable()
        for one in memories:
            one.cache_clear()
        apply(mutant)
        code = 0 if all(_passes(item) for _, item in tests) else 1
        shutil.rmtree(cache, ignore_errors=True)
    finally:
        os._exit(code)


def main() -> None:
    """Take the arguments, and run."""
    count, seed, result, *rest = sys.argv[1:]
    modules, tests = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    run = _Run(modules, int(count), int(seed), Path(result))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    sys.exit(pytest.main([*options, *tests], plugins=[run]))


if __name__ == "__main__":
    main()
