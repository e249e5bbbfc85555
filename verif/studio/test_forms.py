"""The form of a design: the errors of the command line, at the field that has them."""

import pytest

from carrysave.api.design import Design
from carrysave.studio.forms import LONGEST, command_lines, form_of
from golden.check import Integer
from hw.catalog import CATALOG


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", CATALOG)
def test_every_parameter_has_a_field_with_its_legal_values(name: str) -> None:
    form = form_of(name, {})
    fields = {field.name: field for field in form.fields}
    for key, kind in CATALOG[name].parameters.items():
        assert fields[key].legal == kind.legal
        assert fields[key].doc == kind.doc
    assert (form.errors, form.problem) == ({}, "")
    assert form.design == Design(name)


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", CATALOG)
def test_a_value_out_of_range_makes_no_design(name: str) -> None:
    for key, kind in CATALOG[name].parameters.items():
        if isinstance(kind, Integer):
            for value in (kind.low - 1, kind.high + 1, "x"):
                form = form_of(name, {key: str(value)})
                assert form.design is None
                assert form.errors == {
                    key: f"{key} must be {kind.legal}, not {value!r}",
                }


def test_values_that_are_legal_apart_alone_are_a_problem() -> None:
    form = form_of("mac", {"a_width": "2", "nothing": "3"})
    assert form.errors == {}
    assert form.design is None
    assert "unknown parameter of mac 'nothing'" in form.problem


def test_long_values_are_refused_before_they_are_read() -> None:
    form = form_of("coprocessor", {"engine": "systolic_os(" * LONGEST})
    assert "at most 400 characters, not 4800" in form.errors["engine"]


def test_what_is_empty_is_the_default() -> None:
    form = form_of("mac", {"a_width": " ", "b_width": " 4 "})
    assert form.design == Design("mac", b_width=4)
    assert command_lines(form.design) == [
        f"carrysave {verb} mac -p b_width=4" for verb in ("generate", "verify", "synth")
    ]


def test_an_engine_has_its_own_parameters() -> None:
    form = form_of("coprocessor", {"engine": "adder_tree", "k": "4"})
    inner = {field.name: field for field in form.fields if field.group == "engine"}
    assert inner["k"].value == "4"
    assert form.design is not None
    assert form.design.engine == Design("adder_tree", k=4)
    assert "'engine=adder_tree(k=4)'" in command_lines(form.design)[0]
    twice = form_of("coprocessor", {"engine": "adder_tree(k=4)", "k": "8"})
    assert "once, not twice" in twice.problem
    wrong = form_of("coprocessor", {"engine": "mac"})
    assert "engine must be one of" in wrong.errors["engine"]
