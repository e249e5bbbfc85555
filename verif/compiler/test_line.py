"""Programs behind a serial line: golden's bytes by both drivers, and no byte too many sent."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.steps import HostStep, Start
from carrysave.compiler.run import network
from carrysave.compiler.run.attached import Attached, room, traffic
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.stepwise import first_difference
from carrysave.compiler.target.target import Target
from carrysave.driver import LinkError
from golden.soc.serial.flash_image import flash_image
from verif.compiler.line import Port, by_c, by_python
from verif.compiler.programs import DESIGNS
from verif.compiler.stepwise import stepwise
from verif.compiler.test_program import compiled, inputs
from verif.networks.graphs import Builder
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


def windows() -> onnx.ModelProto:
    """Return a network of convolutions, the last of which makes one code of a channel."""
    b = Builder(np.random.default_rng(5), opset=17)
    name = "x"
    for number, (kernel, columns) in enumerate(((3, 6), (3, 6), (3, 6), (8, 4))):
        given = [name, b.scale(), b.zero(np.uint8), b.judged_weights((columns, 6, kernel, kernel))]
        given += [b.scale(), b.constant(0, np.int8), b.constant(0.2), b.zero(np.uint8)]
        name = b.node("QLinearConv", given, f"c{number}", pads=[kernel % 2] * 4)
    b.nodes[-1].output[0] = "y"
    return b.model(("batch", 6, 8, 8), np.uint8, np.uint8, ["batch", 4, 1, 1])


@pytest.mark.parametrize("batch", [1, 3])
def test_jobs_alone_send_inputs_and_get_outputs(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what jobs write no more is read than outputs."""
    monkeypatch.setattr("carrysave.driver.line.secrets.randbelow", lambda end: 0)
    parameters = {"engine": "systolic_os(m=4,n=4,target=ecp5)", **DESIGNS["maps"]}
    target = Target(design_of(BOARDS["ulx3s_85f"], parameters))
    graph, shape = Graph(windows()), (batch, 6, 8, 8)
    x = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    lowered = lower(graph, target, until=PASSES[-1].name)
    program = compile_network(lowered, target, {"x": x})
    assert all(isinstance(step, Start | HostStep) for step in program.steps)
    port = Port(program)
    attached, golden = Attached(program, port), program.memory.copy()
    # Also inputs that are those of before, of which nothing is sent.
    for given in (x, x, 255 - x, x):
        before = port.sent, port.came
        made = attached.run({"x": given})
        expected = network.run(program, {"x": given}, golden, by_golden(program, golden))
        np.testing.assert_equal(made, expected)
        counted = traffic(program)
        assert port.sent - before[0] <= 1.02 * counted.sent
        assert 0.95 * counted.came < port.came - before[1] <= 1.02 * counted.came
    size = sum(program.tensors[name].sources.size for name in program.outputs)
    assert counted.came < 450 + 2 * size


@pytest.mark.parametrize("driver", ["python", "c"])
def test_memory_comes_from_flash(driver: str, library: Any) -> None:
    """Nothing of it is sent, whatever was run before; if flash has another one, all is."""
    program = compiled(convolutions(5), TARGET)
    port, data = Port(program), program.memory.tobytes()
    digest = int(program.target.design.digest, 16)
    damaged = bytearray(flash_image(digest, data))
    damaged[-1] ^= 1
    images = {
        "": flash_image(digest, data),
        "there is no image in flash": bytes(len(data)),
        "the image in flash is of another design": flash_image(digest ^ 1, data),
        "the image in flash is damaged": bytes(damaged),
        "loaded": flash_image(digest, data[:-1]),
    }
    port.link.digest, sent = digest, []
    for says, image in images.items():
        port.link.flash = image
        for turn in range(2):
            # What another host has left there; a reset fills it.
            port.memory[:] = 0xA5
            if not turn:
                port.link.reset()
            before, given = port.sent, inputs(5 + turn)
            if driver == "python":
                attached = Attached(program, port)
                memory, runner = attached.memory, attached.runner
                assert attached.flash == says
            else:
                memory, runner = by_c(library)(program, port)
            sent.append(port.sent - before)
            golden = program.memory.copy()
            bare = replace(program, outputs=())
            network.run(bare, given, golden, by_golden(program, golden))
            network.run(bare, given, memory, runner)
            assert first_difference(program, memory, golden) is None
    # With flash, only what opens the device is sent.
    weights = np.count_nonzero(program.memory)
    assert max(sent[:2]) < 2000
    assert min(sent[2:]) >= max(sent[:2]) + weights
