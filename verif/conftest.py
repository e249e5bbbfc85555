"""What all tests share: strict simulations, and the command line in a folder of its own."""

import sys
from pathlib import Path

import pytest

from verif.support.command import Outcome, Run


@pytest.fixture(autouse=True)
def strict_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Python inside the simulator as strict as pytest's `filterwarnings`."""
    monkeypatch.setenv("PYTHONWARNINGS", "error")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process, in a folder of its own, on a terminal of 80 columns."""
    from carrysave.cli import main  # slow to load, and most tests do without

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["carrysave", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Outcome(int(end.value.code or 0), captured.out, captured.err)

    return call
