"""``carrysave soc`` with a language model: its firmware runs all that a token takes."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carrysave.compiler.run import golden
from carrysave.system import command, generate
from hw.catalog import Design
from verif.language.test_text import write
from verif.support.command import Run
from verif.support.schemas import check
from verif.system import software_firmware
from verif.system.software_firmware import Firmware
from verif.system.test_on_board import Port

SOC = ("soc", "--board", "ulx3s_85f", "-p", "engine=systolic_os(m=2,n=16)")
ASKED = ("--prompt", "ab", "--tokens", "3")


def tiny(folder: Path, form: str) -> Path:
    """Write a model of one block, whose state of a run is that of the next one."""
    return write(folder / "m.npz", form, layers=1, width=32, hidden=32, heads=1)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write no system, and make no bitstream."""
    none = SimpleNamespace(sources=[], data=[], firmware_bytes=4096)
    monkeypatch.setattr(generate, "write", lambda *given: none)
    monkeypatch.setattr(
        command, "bitstream_of", lambda *given: ({"ok": True, "fmax_mhz": 60.0}, b"bits")
    )


@pytest.mark.parametrize("form", ["attention", "recurrent"])
def test_board_answers(
    form: str, built: None, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `soc --port`, and by `chat --port` with what `soc` wrote: as golden does, all logits."""
    model, out = tiny(tmp_path, form), ("-o", tmp_path, "--json")
    line = (*SOC, "--model", model, "--cache", "8")
    done = run(*line, *out)
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert facts["floats"]
    firmware = Firmware(Design("coprocessor", facts["parameters"]).spec)
    monkeypatch.setattr("serial.Serial", lambda *given, **more: Port(firmware, 5))
    done = run(*line, *ASKED, "--port", "/dev/ttyX", *out)
    assert done.code == 0, done.err
    ran = check("soc", done.out)["attached"]
    ours = json.loads(run("chat", model, *ASKED, "--cache", "8", "--json").out)
    assert (ran["answer"], ran["wrong"], ran["classes"]) == (ours["text"], [], [])
    # The last one once more, whose starts are counted.
    assert ran["inputs"] == ours["prompt_tokens"] + ours["tokens"] - 1 == firmware.runs - 1
    folder = tmp_path / "soc" / "ulx3s_85f" / "network"
    done = run("chat", folder, *ASKED, "--port", "/dev/ttyX", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["text"] == ours["text"]
    assert firmware.runs == 2 * ran["inputs"] + 1
    # Logits that are not golden's are said.
    execute = golden.execute

    def wrong(spec: Any, memory: Any, start: int) -> None:
        execute(spec, memory, start)
        memory[memory[start + 8 : start + 12].view("<u4")[0]] ^= 1

    monkeypatch.setattr(software_firmware, "execute", wrong)
    done = run(*line, *ASKED, "--port", "/dev/ttyX", *out)
    assert (done.code, check("soc", done.out)["attached"]["wrong"]) == (1, ["logits"])


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--simulate",), "--simulate of a language model needs --prompt"),
        (("--prompt", "ab", "--tokens", "0"), "--tokens must be 1 or more, not 0"),
        (("--prompt", "abcdefgh", "--cache", "4"), "--prompt must be 1..3 tokens, so that there"),
        (("--input", "x.npy"), "--input, --labels, --count and --batch are not of a language mod"),
        (("--cache", "0"), "--cache must be 1.."),
    ],
)
def test_refuses(built: None, run: Run, tmp_path: Path, more: tuple[str, ...], says: str) -> None:
    done = run(*SOC, "--model", tiny(tmp_path, "attention"), *more, "-o", tmp_path / "out")
    assert (done.code, says in done.err) == (2, True), done.err
    assert not (tmp_path / "out").exists()


def test_networks_have_no_prompt(run: Run, tmp_path: Path) -> None:
    done = run(*SOC, "--tokens", "3", "-o", tmp_path)
    assert (done.code, "--kv must be left out of a system without --model" in done.err) == (2, True)


@pytest.mark.prove
@pytest.mark.parametrize("form", ["attention", "recurrent"])
def test_simulated_system_answers(form: str, run: Run, tmp_path: Path) -> None:
    """From power-up on, token by token over the line; all of memory is golden's."""
    model = tiny(tmp_path, form)
    line = (*SOC, "--model", model, "--cache", "8", *ASKED, "--simulate", "-o", tmp_path, "--json")
    done = run(*line)
    assert done.code == 0, done.err
    ran = check("soc", done.out)["simulation"]
    assert (ran["wrong"], ran["difference"]) == ([], None)
    ours = json.loads(run("chat", model, *ASKED, "--cache", "8", "--json").out)
    assert ran["answer"] == ours["text"]
    assert ran["inputs"] == ours["prompt_tokens"] + ours["tokens"] - 1
