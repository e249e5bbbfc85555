"""What a comparison is asked: a period, a memory, and what of designs and targets answers that."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from carrysave.api.design import Design
from carrysave.api.synthesis import Verilog
from carrysave.asic.libraries import is_fpga
from carrysave.asic.operand_rate import operand_bytes
from carrysave.asic.options import CompareOptions
from carrysave.compiler.target.memory import rate_of
from carrysave.errors import ArgumentError, check_positive
from carrysave.report.ranking import Question
from hw.device import family

if TYPE_CHECKING:
    from carrysave.asic.liberty.cells import Library

__all__ = ["check_ranked", "operands_of", "question_of"]


def question_of(options: CompareOptions, where: "Library | str") -> Question | None:
    """Return what is asked; None: nothing.

    Raises
    ------
    ArgumentError
        The target has no figures that would answer it.
    """
    if options.period_ns is None and options.memory is None:
        return None
    check_positive("period_ns", options.period_ns, " ns")
    memory = None if options.memory is None else rate_of(options.memory)
    fpga = is_fpga(where)
    why = "which knows gates and FO4 alone" if where == "generic" else "which is mapped only"
    if where == "generic" or (fpga and family(str(where)).flow.nextpnr is None):
        raise ArgumentError(
            "{period_ns} and {memory} ask for ns, not for {where}, {why}", where=where, why=why
        )
    if fpga and options.objective == "energy":
        raise ArgumentError(
            "{objective} energy is for cell libraries, not for {family}", family=where
        )
    return Question(options.period_ns, memory, options.objective)


def check_ranked(
    names: Sequence[str], entrants: Sequence[Design | Verilog], question: Question | None
) -> None:
    """Refuse a question for a speed that is known of no entrant."""
    known = [isinstance(one, Design) or one.operations is not None for one in entrants]
    if question is not None and question.objective == "density" and not any(known):
        raise ArgumentError(
            "{objective} density has no data: operations in a cycle are not known of {names};"
            " give their number, or another {objective}",
            names=" and ".join(names),
        )


def operands_of(
    names: Sequence[str], entrants: Sequence[Design | Verilog], question: Question | None
) -> list[float | None]:
    """Return the bytes of operands that each takes in a cycle; None if no memory is asked for."""
    if question is None or question.memory is None:
        return [None] * len(entrants)
    needed = [operand_bytes(one) if isinstance(one, Design) else None for one in entrants]
    unknown = [name for name, one in zip(names, needed, strict=True) if one is None]
    if unknown:
        raise ArgumentError(
            "{memory} is for designs that take operands A and B alone, not for {unknown}",
            unknown=", ".join(unknown),
        )
    return needed
