"""What a newcomer meets first: completion, manual pages, and errors that say what was meant."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import carrysave
from carrysave.cli import _COMMANDS
from verif.support.command import Run

COMPLETE = """
source {script}
for words in "carrysave sy" "carrysave synth mac --tar" "carrysave chat --te"; do
  COMP_WORDS=($words); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()
  _carrysave
  echo "${{COMPREPLY[*]}}"
done
"""


def test_bash_completes_commands_and_options(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "carrysave"
    script.write_text(run("completion", "bash").out)
    done = subprocess.run(
        ["bash", "-c", COMPLETE.format(script=script)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["synth", "--target", "--temp"]


@pytest.mark.parametrize(("shell", "begins"), [("zsh", "#compdef carrysave"), ("fish", "#")])
def test_other_shells_have_a_text(run: Run, shell: str, begins: str) -> None:
    text = run("completion", shell).out
    assert text.startswith(begins)
    assert all(name in text for name, _, _ in _COMMANDS)


def test_each_command_has_a_manual_page(run: Run, tmp_path: Path) -> None:
    found = json.loads(run("man", "-o", tmp_path, "--json").out)
    names = {Path(file).name for file in found["files"]}
    assert names == {"carrysave.1", *(f"carrysave-{name}.1" for name, _, _ in _COMMANDS)}
    page = (tmp_path / "carrysave-synth.1").read_text()
    assert f'.TH "carrysave-synth" "1" "" "{carrysave.__version__}"' in page
    assert re.search(r"\.SH SYNOPSIS\n.*\n?.*carrysave synth \[OPTIONS\]", page)
    assert r"\-\-sweep" in page
    # Docutils says here what it did not understand.
    assert not re.search("System Message|Problematic|Unknown target", page)
    if shutil.which("man"):
        shown = subprocess.run(
            ["man", "-l", tmp_path / "carrysave-synth.1"],
            capture_output=True,
            text=True,
            check=True,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        )
        assert shown.stderr == ""
        assert "carrysave synth [OPTIONS]" in shown.stdout


def test_help_names_commands_by_what_they_are_for(run: Run) -> None:
    text = run("--help").out
    titles = ["Designs", "Tests and proofs", "Area, timing, power", "Networks", "Boards"]
    places = [text.index(f"─ {title}") for title in titles]
    assert places == sorted(places)
    assert places[0] < text.index("generate") < places[1] < text.index("verify") < places[2]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("generate mac -m 4", "Unknown option: -m. A design's parameters are given as -p m=VALUE."),
        ("synth mac --width 4", "are given as -p width=VALUE."),
        ("generate", "name a design (`carrysave list` says more): mac, opt1,"),
        ("generate systolic_os -p rows=4", "'rows'; did you mean m?"),
        ("verify opt1 -p target=ecp5", "unknown parameter of opt1 'target'; known: k, "),
        ("explore --objective speed", "did you mean gops or fmax_mhz or period_ns?"),
        ("generate bitnet", "did you mean ternary_core?"),
        ("run missing.onnx", "missing.onnx: No such file or directory"),
    ],
)
def test_errors_say_what_was_meant(run: Run, words: str, says: str) -> None:
    outcome = run(*words.split())
    assert outcome.code == 2
    assert says in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_other_commands_do_not_speak_of_designs(run: Run) -> None:
    assert "-p" not in run("doctor", "--width", "4").err


def test_run_says_what_its_input_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.onnx").touch()
    outcome = run("run", tmp_path / "a.onnx")
    assert (outcome.code, "run needs --input: a file .npy, or .npz" in outcome.err) == (2, True)
