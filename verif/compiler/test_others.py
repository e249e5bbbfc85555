"""Other people's networks: each pass keeps their codes, and programs have no host segment."""

from pathlib import Path

import pytest

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.reasons import between
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.each_pass import check
from verif.compiler.others import OTHERS, quantised

WIDE = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=8,n=8)"}))


@pytest.mark.prove
@pytest.mark.parametrize("name", OTHERS)
def test_others_are_whole(name: str, tmp_path: Path) -> None:
    """Golden makes the codes of the evaluator, in every layer."""
    try:
        path, x = quantised(name, tmp_path)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    graph = load(path)
    lowered = lower(graph, WIDE, until=PASSES[-1].name)
    given = {next(iter(graph.inputs)): x}
    program = compile_network(lowered, WIDE, given)
    assert not between(lowered, WIDE)
    assert not program.host
    runners.check(program, given)


@pytest.mark.prove
@pytest.mark.parametrize("name", OTHERS)
def test_passes_keep_the_codes_of_others(name: str, tmp_path: Path) -> None:
    try:
        path, x = quantised(name, tmp_path)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    graph = load(path)
    changed = check(graph, {next(iter(graph.inputs)): x}, WIDE)
    assert "products" in changed
