"""Logs of tools are read to their end, however this process is started, or are an error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hw.emit import yosys

SCRIPT = "read_verilog all.v\nproc\nsat -prove y 1 all"
VERILOG = "module all (input a, output y); assign y = a | !a; endmodule\n"


@pytest.mark.parametrize("unbuffered", [None, "1"])
def test_a_log_ends_with_what_yosys_printed_last(
    unbuffered: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    if unbuffered:
        monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    (tmp_path / "all.v").write_text(VERILOG)
    log = yosys.run(SCRIPT, cwd=tmp_path)
    assert "SAT proof finished - no model found: SUCCESS!" in log
    # More than any buffer, with an end that is in the last one.
    long = yosys.run("help -all\nlog the last word", cwd=tmp_path)
    assert len(long) > 1 << 17
    assert long.rstrip().endswith("the last word")


def test_a_plain_shell_proves_what_this_one_does(tmp_path: Path) -> None:
    """With no variable but PATH, as a user's shell may have it."""
    (tmp_path / "all.v").write_text(VERILOG)
    program = f"from hw.emit import yosys\nprint(yosys.run({SCRIPT!r}, cwd='.'))\n"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}"],
        cwd=tmp_path,
        env={"PATH": os.defpath, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "SAT proof finished - no model found: SUCCESS!" in done.stdout


@pytest.mark.parametrize(
    ("ending", "code"), [("os._exit(0)", 0), ("os._exit(7)", 7), ("os.kill(os.getpid(), 9)", -9)]
)
def test_a_log_without_an_end_is_an_error(
    ending: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the code is: what a proof has said may be in the part that is missing."""
    lines = yosys._RUNNER.splitlines()
    lines[-1] = ending
    monkeypatch.setattr(yosys, "_RUNNER", "\n".join(lines))
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with pytest.raises(yosys.YosysError, match=f"Yosys ended with code {code}"):
        yosys.run("stat", cwd=tmp_path)


def test_abc_that_is_killed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hello" in yosys.run_abc("echo hello", cwd=tmp_path)
    program = tmp_path / "abc"
    program.write_text("#!/bin/sh\necho Property proved\nkill -9 $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(yosys, "abc", lambda: program)
    with pytest.raises(yosys.YosysError, match="ABC ended with code -9: Property proved"):
        yosys.never("claim.aig", 1, cwd=tmp_path)
