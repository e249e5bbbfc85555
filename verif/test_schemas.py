"""Schemas of JSON files refuse what is not as they say."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

from hw.catalog import Design
from hw.emit.verilog import Emission
from verif.support.schemas import SCHEMAS, check

FOLDER = Path(__file__).with_name("schemas")


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    found: dict[str, Any] = Emission(Design("mac", {"a_width": 2, "b_width": 2})).manifest
    return found


@pytest.mark.parametrize("name", SCHEMAS)
def test_new_keys_must_be_written_into_the_schema(name: str) -> None:
    schema = json.loads((FOLDER / f"{name}.json").read_text())
    empty: Any = {}
    if schema["type"] == "array":
        schema, empty = schema["items"], [{}]
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(schema["properties"])
    with pytest.raises(fastjsonschema.JsonSchemaValueException, match=r"data.* must"):
        check(name, json.dumps(empty))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda manifest: manifest.pop("ports"), "must contain"),
        (lambda manifest: manifest.update(colour="red"), "must not contain {'colour'}"),
        (lambda manifest: manifest.update(hash=5), r"data\.hash must be string"),
        (lambda manifest: manifest.update(verilog_sha256="ab"), "must match pattern"),
        (lambda manifest: manifest.update(latency_cycles=-1), "must be bigger than or equal to 0"),
        (lambda manifest: manifest["ports"][0].update(direction="inout"), "must be one of"),
        (lambda manifest: manifest["ports"][0].update(width="8"), "width must be integer"),
        (lambda manifest: manifest["ports"][0].pop("is"), "must contain"),
        (lambda manifest: manifest["versions"].update(yosys="0.9"), "must not contain {'yosys'}"),
        (
            lambda manifest: manifest["throughput"].update(operations_per_cycle=0),
            "must be bigger than",
        ),
    ],
)
def test_broken_manifest_is_refused(
    manifest: dict[str, Any], change: Callable[[dict[str, Any]], object], says: str
) -> None:
    broken = copy.deepcopy(manifest)
    assert check("design", json.dumps(broken)) == json.loads(json.dumps(manifest))
    change(broken)
    with pytest.raises(fastjsonschema.JsonSchemaValueException, match=says):
        check("design", json.dumps(broken))
