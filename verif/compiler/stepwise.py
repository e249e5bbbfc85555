"""Programs whose steps are sections of their own, so that memory is compared after each."""

from dataclasses import replace

from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep

__all__ = ["stepwise"]


def stepwise(program: Program) -> Program:
    """Return a program that does the same, each step as a section of its own.

    Its buffers are where they are; states are copied by its last step, as they were.
    """
    image = replace(
        program.image, parts=dict(program.image.parts), buffers=dict(program.image.buffers)
    )
    parts = [step if isinstance(step, HostStep) else (step,) for step in program.steps]
    placed = assembled(
        image, parts, scores=(program.scores, program.classes), parameters=program.parameters
    )
    return replace(
        program, image=image, parts=placed.parts, ring=placed.ring, parameters=placed.parameters
    )
