"""Pages of designs: what one is, and the files of one."""

from collections.abc import Mapping
from typing import Any

from carrysave.report.page import Page, Part, Text, package_versions
from carrysave.report.tables import Section
from hw.catalog import Design

__all__ = ["of_design", "of_files"]


def of_design(design: Design) -> Page:
    """Return what a design is, and its parameters."""
    kinds = design.entry.parameters
    rows = [
        (name, _plain(value), _plain(design.defaults[name]), kinds[name].legal, kinds[name].doc)
        for name, value in design.parameters.items()
    ]
    return Page(
        title=design.module,
        says=design.entry.summary,
        command="",
        versions=package_versions(),
        parts=[
            Section("", ["parameter", "value", "default", "legal", "meaning"], rows),
            Text("verified by", design.entry.evidence),
        ],
    )


def of_files(facts: Mapping[str, Any], command: str) -> Page:
    """Return the files of a design and its ports, from its manifest."""
    ports = [
        (port["name"], port["direction"], port["width"], port["is"]) for port in facts["ports"]
    ]
    rate = facts["throughput"]["operations_per_cycle"]
    parts: list[Part] = [
        Text("files", facts["files"]),
        Section("ports", ["port", "direction", ("width", "{} bits"), "is"], ports, 2),
    ]
    return Page(
        title=facts["module"],
        command=command,
        versions=package_versions("amaranth"),
        summary=[
            ("latency", f"{facts['latency_cycles']} cycles"),
            ("operations per cycle", f"{rate:,}"),
        ],
        parts=parts,
    )


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
