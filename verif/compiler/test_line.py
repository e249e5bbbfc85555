"""Programs behind a serial line: golden's bytes by both drivers, and no byte too many sent."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.compiler.run import network
from carrysave.compiler.run.attached import Attached, room, traffic
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.stepwise import first_difference
from carrysave.compiler.target.target import Target
from carrysave.driver import LinkError
from verif.compiler.line import Port, by_c, by_python
from verif.compiler.stepwise import stepwise
from verif.compiler.test_program import compiled, inputs
from verif.soc.driver.c_link import compile_link
from verif.system.networks import convolutions

TARGET = Target(design_of(BOARDS["ulx3s_85f"], {"engine": "systolic_os(m=4,n=4,target=ecp5)"}))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return compile_link(tmp_path_factory.mktemp("line"))


@pytest.mark.parametrize("driver", ["python", "c"])
def test_step_by_step(driver: str, library: Any) -> None:
    program = stepwise(compiled(convolutions(5), TARGET))
    port = Port(program)
    memory, runner = (by_python if driver == "python" else by_c(library))(program, port)
    golden = program.memory.copy()
    expected = by_golden(program, golden)
    for again in range(2):
        for one in (memory, golden):
            bare = replace(program, parts=(), outputs=())
            network.run(bare, inputs(5 + again), one, expected)
        for number, section in enumerate(program.sections):
            expected(section)
            runner(section)
            assert first_difference(program, memory, golden, number) is None


def test_a_device_that_was_reset_gets_all_again(library: Any) -> None:
    """Nothing of a program is on it then: it is an error, and the next run sends it anew."""
    program = compiled(convolutions(5), TARGET)
    port = Port(program)
    memory, runner = by_c(library)(program, port)
    (section,) = program.sections
    given = replace(program, parts=(section,), outputs=())
    network.run(given, inputs(5), memory, runner)
    expected = memory.copy()
    port.link.reset()
    port.memory[:] = 77
    with pytest.raises(LinkError):
        runner(section)
    runner.mend()
    runner(section)
    assert first_difference(program, memory, expected) is None


def test_what_is_on_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count of bytes is that of the driver's line, within a few frames.

    Frames are numbered from one by chance, by which bytes of them are escaped: here from 0.
    """
    monkeypatch.setattr("carrysave.driver.line.secrets.randbelow", lambda end: 0)
    program = compiled(convolutions(5), TARGET)
    port = Port(program)
    attached = Attached(program, port)
    golden = program.memory.copy()
    for seed in range(3):
        before = port.sent, port.came
        found = attached.run(inputs(seed))
        sent, came = port.sent - before[0], port.came - before[1]
        np.testing.assert_equal(
            found, network.run(program, inputs(seed), golden, by_golden(program, golden))
        )
        assert first_difference(program, attached.memory, golden) is None
        counted = traffic(program)
        assert 0.8 * counted.sent < sent <= 1.02 * counted.sent
        assert 0.95 * counted.came < came <= 1.02 * counted.came
    assert port.used <= room(program)
