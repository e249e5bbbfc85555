"""Some blocks of a real language model on the simulated co-processor, behind a board's memory."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from carrysave.compiler.decoder.compile import ProgramDecoder, compile_decoder, core_block
from carrysave.compiler.front.gguf import load
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.sample import Sample
from carrysave.compiler.target.target import Target
from carrysave.weights.gguf import read_gguf
from golden.soc.memory_timing import MEMORIES
from verif.language.test_chat import smollm2


@pytest.mark.prove
def test_two_blocks_of_smollm2_behind_ddr3(tmp_path: Path) -> None:
    """All their jobs of a token, of real weights, on a memory of DDR3's latency and rate.

    What the memory does not have, rows that are opened and refreshes, the cost model has.
    """
    model = load(read_gguf(smollm2()))
    shape = replace(model.shape, layers=2)
    model = replace(model, shape=shape, layers=model.layers[:2])
    engine = "systolic_os(m=1,n=16,b_width=4)"
    design = core_block("blocks", {"engine": engine, "data_width": "64"})
    ddr3 = MEMORIES["ddr3x16"]
    program = compile_decoder(model, Target(design, timing=ddr3), cache=128)
    memory, (section,) = program.memory, program.sections
    own = Sample(program, every=lambda one: one.node.startswith("blk."), seed=0, folder=tmp_path)
    decoder = ProgramDecoder(program, memory, lambda one: own.execute(memory, section.start), 128)
    decoder.step(np.array([1000]))
    own.run()
    assert own.wrong == {}
    plain = Target(design, timing=replace(ddr3, sdram=None))
    starts = [one for one in program.steps if isinstance(one, Start)]
    jobs = [job for one in starts if one.node.startswith("blk.") for job in one.jobs]
    modelled = sum(cycles_of(job, plain) for job in jobs)
    assert modelled == pytest.approx(own.whole_counted, rel=0.04)
    assert own.whole_modelled > modelled
