"""``carrysave build`` of a language model, and ``chat --port`` on a board: a pseudo-terminal's."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.sdram import SDRAMS
from carrysave.compiler.decoder.compile import needed_parameters
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.read import read
from carrysave.compiler.program.steps import Start
from carrysave.system.board_text import text_on_board
from hw.catalog import Design
from verif.boards.test_attached import Device
from verif.language.test_chat import smollm2, write
from verif.support.command import Run
from verif.support.schemas import check
from verif.system.test_board_network import quick as quick

BOARD = BOARDS["ulx3s_25f"]
_SAID = ("text", "tokens", "prompt_tokens", "ended")
PROMPT = ("--prompt", "hello", "--cache", "8", "--tokens", "3")


def test_answer_is_the_boards(quick: None, run: Run, tmp_path: Path) -> None:
    """From what the build wrote: the text is golden's, and every job is done over the line."""
    model = write(tmp_path / "m.gguf")
    line = ("build", "--board", BOARD.name, "-p", "memory=external", "--model", model)
    done = run(*line, "--cache", "8", "-o", tmp_path, "--json")
    assert done.code == 0, done.err
    found = check("board", done.out)
    taken, folder = found["network"], tmp_path / "boards" / BOARD.name
    assert (taken["unit"], taken["bound"], taken["host_segments"]) == ("token", "serial line", 0)
    assert taken["memory_bytes"] == 1 << 25
    assert found["parameters"]["requantisers"] == 0
    seconds = taken["cycles"] / (1e6 * found["clock_mhz"])
    assert taken["block_inputs_per_second"] == pytest.approx(1 / seconds)
    assert taken["inputs_per_second"] == pytest.approx(1 / (seconds + taken["line_seconds"]))
    page = (folder / "network.html").read_text()
    assert "tokens a second" in page
    assert "inputs a second" not in page
    assert not (folder / "run.py").exists()
    program = read(folder / "network")
    assert facts(program, "", "")["jobs"] == taken["jobs"]
    device = Device(Design("coprocessor_uart", found["parameters"]))
    try:
        done = run("chat", folder / "network", *PROMPT, "--port", device.port, "--json")
        assert done.code == 0, done.err
        # Its last product was made there.
        jobs = [job for one in program.steps if isinstance(one, Start) for job in one.jobs]
        sums = jobs[-1].c + 4 * np.arange(jobs[-1].n)
        assert np.count_nonzero(device.memory[sums]) > len(sums) // 2
        assert not program.memory[sums].any()
    finally:
        device.close()
    there, ours = json.loads(done.out), json.loads(run("chat", model, *PROMPT, "--json").out)
    assert [there[key] for key in _SAID] == [ours[key] for key in _SAID]
    assert ours["tokens"] > 0


def test_what_does_not_fit_is_refused_with_its_bytes(run: Run, tmp_path: Path) -> None:
    model = write(tmp_path / "m.gguf")
    line = ("build", "--model", model, "-o", tmp_path, "--board")
    bytes_ = r"needs \d{2,3},\d{3} bytes of memory, and the co-processor of"
    rate = r"; jobs of a token would take [\d,]+ cycles, [\d.,]+ tokens a second at 81.25 MHz"
    for more, says in (
        (
            [BOARD.name],
            rf"--model m.gguf {bytes_} ulx3s_25f has 32,768: -p memory_bytes=N may give it more,"
            rf" and -p memory=external 33,554,432{rate}",
        ),
        (
            [BOARD.name, "-p", "memory=external", "-p", "memory_bytes=2048"],
            rf"{bytes_} ulx3s_25f has 2,048: the board's SDRAM has 33,554,432{rate}",
        ),
        (["kv260"], "--model must be left out: kv260 has a processor, which runs the files of"),
        ([BOARD.name, "--batch", "2"], "--input, --batch, .* must be left out of m.gguf"),
        (
            [BOARD.name, "--tokens", "4"],
            "--skip, --calibration and --tokens must be left out of m",
        ),
        ([BOARD.name, "--kv", "5"], "--kv must be 8 or 4"),
        ([BOARD.name, "-p", "vector=vector_unit(width=12)"], "vector must be vector_unit"),
    ):
        done = run(*line, *more)
        assert done.code == 2, more
        assert re.search(says, done.err.replace("\n", " ")), done.err
    done = run("build", "--board", BOARD.name, "--cache", "4")
    assert (done.code, "must be left out of a build without --model" in done.err) == (2, True)
    encoder = tmp_path / "encoder"
    encoder.mkdir()
    (encoder / "config.json").write_text('{"model_type": "bert"}')
    done = run("build", "--board", BOARD.name, "--model", encoder)
    assert done.code == 2
    assert "not encoder: text encoders take sentences" in done.err.replace("\n", " ")
    assert not (tmp_path / "boards").exists()


def test_port_is_for_programs(run: Run, tmp_path: Path) -> None:
    model = write(tmp_path / "m.gguf")
    for more, says in (
        (["--port", "/dev/null"], "--port is for a program of `carrysave build`, by its folder"),
        (["--baud", "9600"], "--baud must be 1 or more, and needs --port"),
    ):
        done = run("chat", model, *PROMPT, *more)
        assert (done.code, says in done.err.replace("\n", " ")) == (2, True), done.err
    folder = tmp_path / "compiled"
    design = design_of(BOARD, needed_parameters() | {"memory": "external"})
    program = text_on_board(model, BOARD, design, cache=8, bits=8)
    assert program.parameters
    done = run("compile", model, "--cache", "8", "-o", folder)
    assert done.code == 0, done.err
    done = run("chat", folder / "compile" / "m", *PROMPT, "--port", "/dev/null")
    assert done.code == 2
    assert "--baud must be given: the program is not of `carrysave build`" in done.err


@pytest.mark.prove
def test_smollm2_is_as_large_as_is_said_and_6_tokens_a_second(run: Run) -> None:
    """Of an OrangeCrab's 128 MiB all of it, with 1,024 tokens; too much for a serial line."""
    line = ("build", "--board", "orangecrab_85f", "--model", smollm2(), "-p", "memory=external")
    more = [
        "engine=systolic_os(m=1,n=32,b_width=4,target=ecp5)",
        "data_width=128",
        "burst=256",
        "outstanding=16",
        *(f"{name}=4096" for name in ("sums", "a_bytes", "b_bytes")),
    ]
    done = run(*line, *(part for one in more for part in ("-p", one)), "--cache", "1024")
    assert done.code == 2
    said = re.search(r"needs ([\d,]+) bytes .* 16,777,216 at most; .* take ([\d,]+) cyc", done.err)
    assert said, done.err
    bytes_, cycles = (int(one.replace(",", "")) for one in said.groups())
    assert 110_000_000 < bytes_ < SDRAMS["orangecrab_85f"].bytes
    assert 6 < 100e6 / cycles < 7
