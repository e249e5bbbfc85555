"""Exit codes are as the page has them: a command of each, and the commands that may return 1."""

import json
import re
import subprocess
import sys
from pathlib import Path

import carrysave
from carrysave import cli
from carrysave.__main__ import _SIGNALS
from verif.support.command import Run

PAGE = Path(carrysave.__file__).parents[1] / "docs" / "reference" / "exit_codes.md"
CODES = dict(re.findall(r"^\| (\d+) \| .* \| (.*?) ?\|$", PAGE.read_text(), re.M))
FAILING = re.findall(r"^\| `(\w+)` \| .+ \|$", PAGE.read_text(), re.M)

_ENDED = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup this
import carrysave.__main__, carrysave.cli

def run():
    os.kill(os.getpid(), {number})
    time.sleep(30)

carrysave.cli.main = run
carrysave.__main__.main()
"""


def test_a_command_of_each_code(run: Run, tmp_path: Path) -> None:
    """Those of the page, as they stand."""
    for name, period in (("old", 2.0), ("new", 3.0)):
        report = {"module": "mac", "target": "osu018", "period_ns": period}
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    shown = {
        int(code): re.findall(r"`carrysave (.*?)`", text)
        for code, text in CODES.items()
        if "`" in text
    }
    assert sorted(shown) == [0, 1, 2]
    for code, commands in shown.items():
        for command in commands:
            outcome = run(*command.split())
            assert outcome.code == code, command
            assert (outcome.out == "") == (code == 2)
    assert run("generate", "mac", "-p", "a_width=0").code == 2
    assert run("changes", "old.json", "missing.json").code == 2


def test_codes_of_signals() -> None:
    assert sorted(map(int, CODES)) == sorted([0, 1, 2, *(128 + number for number in _SIGNALS)])
    for number in _SIGNALS:
        assert f"| {128 + number} | Ended by {number.name}" in PAGE.read_text()
        program = [sys.executable, "-c", _ENDED.format(number=int(number))]
        done = subprocess.run(program, capture_output=True, text=True, timeout=20, check=False)
        assert (done.returncode, done.stderr) == (128 + number, "carrysave: interrupted\n")


def test_commands_that_may_return_1() -> None:
    """By their source: each is in the table, and no other."""
    rooms = {path.stem: path.read_text() for path in Path(cli.__file__).parent.glob("*.py")}
    failing = {
        name.removesuffix("_diff")
        for name, source in rooms.items()
        if re.search(r"\breturn 1\b|\belse 1\b", re.sub(r'""".*?"""', "", source, flags=re.S))
    }
    assert failing == set(FAILING)
    assert len(FAILING) == len(set(FAILING))
