"""Parameters of a bench: a design as JSON, from its caller to the simulator.

The bench rebuilds the spec, without loading Amaranth.
"""

import dataclasses
import functools
import importlib
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hw.catalog import Design

__all__ = [
    "BENCH_VARIABLE", "CALL", "PROGRESS", "RESULT", "bench_parameters", "bench_spec", "describe",
]  # fmt: skip

BENCH_VARIABLE = "CARRYSAVE_BENCH"
"""Environment variable with a bench's parameters, as JSON."""
CALL, RESULT, PROGRESS = "call.pickle", "result.pickle", "progress"
"""Files of a call with a driver, see :mod:`carrysave.sim.device`."""


def describe(design: "Design") -> dict[str, Any]:
    """Describe a design to its bench; the inverse of :func:`bench_spec`."""
    spec, component = design.spec, design.component()
    return {
        "design": design.name,
        "key": design.key,
        "spec": _described(spec),
        "latency": component.latency,
        "gap": getattr(component, "gap", None),
        "rows_held": getattr(component, "rows_held", None),
    }


def _described(spec: Any) -> list[Any]:
    """Describe a spec by its class and fields, nested specs likewise."""
    fields = {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)}
    values = {
        name: _described(value) if dataclasses.is_dataclass(value) else value
        for name, value in fields.items()
    }
    return [type(spec).__module__, type(spec).__name__, values]


@functools.cache
def bench_parameters() -> dict[str, Any]:
    """Read the parameters that the caller of the simulation gave this bench."""
    return json.loads(os.environ[BENCH_VARIABLE])


@functools.cache
def bench_spec() -> Any:
    """Rebuild the design's spec from its fields."""
    return _make(bench_parameters()["spec"])


def _make(description: Sequence[Any]) -> Any:
    """Make a spec of its module, its name and its fields."""
    module, name, fields = description
    cls = getattr(importlib.import_module(module), name)
    values = {field.name: fields[field.name] for field in dataclasses.fields(cls) if field.init}
    return cls(**{
        key: _make(value) if isinstance(value, list) else value for key, value in values.items()
    })
