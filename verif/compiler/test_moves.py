"""Why codes are moved and not computed by jobs: each reason, in results and in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.graph.code_table import CodeTable, MapRule
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.map_jobs import map_job
from carrysave.compiler.program.max_pool import max_pool
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.places import places_of
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.reasons import NO_MAPS, NO_RULE, NO_TABLE, SHORT, UNEVEN
from carrysave.compiler.program.steps import Move
from carrysave.compiler.program.write import write
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Tensor
from hw.catalog import Design
from verif.compiler.networks import SHAPE, feature_maps
from verif.compiler.test_on_chip import chain
from verif.system.networks import SHAPE as SMALL
from verif.system.networks import convolutions

PLAIN: dict[str, str] = {}
MAPS = {
    "vector": "vector_unit(lanes=4,length=64,width=16)",
    "taps": "3",
    "requantisers": "4",
}
TABLES = MAPS | {"table": "true"}
RULE = MapRule(
    operation="map_add", zeros=(0, 0), factors=(1, 1), multiplier=1 << 30, shift=30, zero_point=0,
    low=-128, high=127,
)  # fmt: skip
NODE = "node", "operator"
EVEN = (2, 6, 5, 4), (120, 1, 24, 6)


def target(parameters: dict[str, str]) -> Target:
    return Target(Design.parse("coprocessor", {"engine": "systolic_os(m=8,n=8)", **parameters}))


def tensor(shape: tuple[int, ...], steps: tuple[int, ...], kind: Any = np.int8) -> Tensor:
    return Tensor(places_of(64, shape, steps), np.dtype(kind), 0)


def table(inputs: int, rule: MapRule | None) -> CodeTable:
    return CodeTable(
        "table", (-128,) * inputs, np.zeros((256,) * inputs, np.int8), 0,
        (np.dtype(np.int8),) * inputs, None, rule,
    )  # fmt: skip


def made(parameters: dict[str, str], *arguments: Any) -> Tensor | str:
    image = Image(target(parameters))
    image.room(4096)
    result = map_job(image, NODE, *arguments)
    assert isinstance(result, str) == (not image.steps)
    return result


@pytest.mark.parametrize(
    ("parameters", "inputs", "rule", "says"),
    [
        (PLAIN, 2, RULE, NO_MAPS),
        (MAPS | {"taps": "0"}, 2, RULE, NO_MAPS),
        (MAPS, 2, None, NO_RULE),
        (TABLES, 2, None, NO_RULE),
        (MAPS, 1, None, NO_TABLE),
        (TABLES, 1, None, ""),
        (MAPS, 2, RULE, ""),
    ],
)
def test_tables(parameters: dict[str, str], inputs: int, rule: MapRule | None, says: str) -> None:
    """By what the block has, and by what the table is."""
    result = made(parameters, table(inputs, rule), [tensor(*EVEN)] * inputs)
    assert (result if isinstance(result, str) else "") == says


def test_where_codes_are() -> None:
    """Uneven ones, and those that few of a job's would be."""
    shape, steps = EVEN
    uneven = tensor(shape, steps)
    uneven.sources[1, 2, 3] += 1
    pair = table(2, RULE)
    assert made(MAPS, pair, [tensor(shape, steps), uneven]) == UNEVEN
    assert made(MAPS, pair, [tensor(shape, steps), tensor(shape, (120, 1, -24, 6))]) == UNEVEN
    few = (3, 4, 5, 6), (1000, 160, 30, 3)
    assert made(MAPS, pair, [tensor(*few)] * 2) == SHORT


@pytest.mark.parametrize(
    ("parameters", "shape", "kind", "windows", "says"),
    [
        (PLAIN, EVEN[0], np.int8, (2, 1, 0), NO_MAPS),
        (MAPS, EVEN[0], np.float32, (2, 1, 0), UNEVEN),
        (
            MAPS,
            EVEN[0],
            np.int8,
            (1, 2, 0),
            "a kernel of 1 must have a stride of 1, and no padding",
        ),
        (
            MAPS,
            EVEN[0],
            np.int8,
            (1, 1, 1),
            "a kernel of 1 must have a stride of 1, and no padding",
        ),
        (MAPS, (1, 70, 3, 3), np.int8, (2, 1, 0), "it must have 1..64 channels, not 70"),
        (MAPS, EVEN[0], np.int8, (2, 1, 0), ""),
    ],
)
def test_pools(
    parameters: dict[str, str],
    shape: tuple[int, ...],
    kind: Any,
    windows: tuple[int, int, int],
    says: str,
) -> None:
    kernel, stride, pad = windows
    _, channels, down, across = shape
    steps = (down * across * channels, 1, across * channels, channels)
    image = Image(target(parameters))
    image.room(4096)
    result = max_pool(
        image,
        NODE,
        tensor(shape, steps, kind),
        Windows(kernel=(kernel,) * 2, strides=(stride,) * 2, dilations=(1, 1), pads=(pad,) * 4),
    )
    assert (result if isinstance(result, str) else "") == says


def compiled(model: Any, parameters: dict[str, str], shape: tuple[int, ...]) -> Program:
    chosen = target(parameters)
    lowered = lower(Graph(model), chosen, until=PASSES[-1].name)
    return compile_network(lowered, chosen, {"x": np.zeros(shape, np.uint8)})


def reasons(program: Program) -> list[str]:
    return [reason for one in facts(program, "", "")["nodes"] for reason in one["reasons"]]


@pytest.mark.parametrize("parameters", [PLAIN, MAPS])
def test_each_move_has_its_reason(parameters: dict[str, str], tmp_path: Path) -> None:
    """Also after it was written, and read; with its bytes, beside the node."""
    program = compiled(feature_maps(4), parameters, SHAPE)
    moves = [step for step in program.steps if isinstance(step, Move)]
    assert len(moves) > 4
    says = reasons(program)
    for move in moves:
        assert move.reason
        assert f"{move.operator} {move.node!r}: {move.bytes:,} bytes moved: {move.reason}" in says
    assert len(says) == len({(one.node, one.operator, one.bytes, one.reason) for one in moves})
    tables = [move for move in moves if move.table]
    assert {move.reason for move in tables} == {NO_TABLE if parameters else NO_MAPS}
    write(program, tmp_path, facts(program, "", ""))
    again = read(tmp_path)
    assert [one.reason for one in again.steps if isinstance(one, Move)] == [
        one.reason for one in moves
    ]
    assert reasons(again) == says


def test_pools_of_a_network_have_the_reason() -> None:
    model, shape = chain(2, 8, 8, pool=2)
    program = compiled(model, PLAIN, shape)
    pools = [one for one in program.steps if isinstance(one, Move) and one.operator == "MaxPool"]
    assert [one.reason for one in pools] == [NO_MAPS]


def test_what_jobs_do_needs_no_reason() -> None:
    """But where rows of a convolution are not made by the loader."""
    for parameters, says in (
        (MAPS | {"windows": "true"}, []),
        (MAPS, ["codes of a matrix do not lie in rows"]),
    ):
        program = compiled(convolutions(5, "Relu"), parameters, SMALL)
        assert [one.rsplit(": ", 1)[-1] for one in reasons(program)] == says
