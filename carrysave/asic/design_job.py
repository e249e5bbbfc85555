"""Synthesis of a design as one job of many."""

from collections.abc import Mapping
from typing import Any

from carrysave import jobs
from carrysave.asic import sta, synthesis
from carrysave.asic.liberty.cells import Library
from carrysave.errors import package_of
from hw.catalog import Design
from hw.device import family
from hw.emit import yosys

__all__ = ["design_job", "synthesise"]


def design_job(
    design: Design, target: str | Library, *, facts: Mapping[str, Any] | None = None, **options: Any
) -> jobs.Job:
    """Return the job of :func:`carrysave.asic.synthesis.synthesise_design`.

    Parameters
    ----------
    facts : what the store says of it besides the result.
    options : plain data.
    """
    where = target.plain(jobs.File) if isinstance(target, Library) else target
    tools: list[jobs.Tool] = [yosys.version, "verilator", "cocotb"]
    if isinstance(target, Library) or target in synthesis.LIBRARIES:
        tools.append(sta.version)
    elif package := family(target).flow.nextpnr:
        tools.append(package_of(package))
    return jobs.Job(
        function=synthesise,
        arguments={
            "name": design.name, "parameters": dict(design.parameters), "target": where,
            "options": options,
        },
        tools=tools,
        label=design.module,
        facts={"kind": "design", "design": design.name, **(facts or {})},
    )  # fmt: skip


def synthesise(
    name: str, parameters: dict[str, Any], target: Any, options: dict[str, Any]
) -> dict[str, Any]:
    """Synthesise a design by plain arguments: the job's function."""
    where = target if isinstance(target, str) else Library.of_plain(target)
    return synthesis.synthesise_design(Design(name, parameters), where, **options)
