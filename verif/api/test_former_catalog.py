"""Former names of the plug-in interface: they work for one release more, and warn."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

import carrysave
from golden.check import Parameter
from golden.pe.mac import MacSpec
from hw import catalog
from hw.arith.adder import ADDER
from hw.catalog import CATALOG, Design, Entry


class FormerPlugin:
    """A component of a package that was written for the release before."""

    SPEC = MacSpec
    HOWS: Mapping[str, Parameter] = {"adder": ADDER}

    @classmethod
    def default_hows(cls, spec: MacSpec, build: Mapping[str, Any]) -> dict[str, Any]:
        return {"adder": "ripple" if spec.a_width > 4 else build["adder"]}


def entry_of(component: type) -> Entry:
    point: Any = SimpleNamespace(load=lambda: component)
    return Entry(name="former", stage="user", number=catalog.USER_DESIGN, plugin=point)


def test_a_plugin_with_former_names_works_and_warns() -> None:
    entry = entry_of(FormerPlugin)
    with pytest.warns(DeprecationWarning, match="^HOWS is deprecated .*: use BUILD$"):
        assert entry.build == {"adder": ADDER}
    with pytest.warns(DeprecationWarning, match="^default_hows is .*: use default_build$"):
        dependent = entry.default_build
    assert dependent is not None
    assert dependent(MacSpec(a_width=8), {"adder": "sklansky"}) == {"adder": "ripple"}
    assert dependent(MacSpec(a_width=4), {"adder": "sklansky"}) == {"adder": "sklansky"}


def test_a_plugin_without_build_parameters_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="former has no BUILD: parameters of how it is built"):
        entry_of(type("Bare", (), {})).build  # noqa: B018  (a property)


def test_former_names_of_the_catalogue_work_and_warn() -> None:
    with pytest.warns(DeprecationWarning, match="^FOREIGN is deprecated .*: use USER_DESIGN$"):
        assert catalog.FOREIGN == catalog.USER_DESIGN == 255
    with pytest.warns(DeprecationWarning, match="^Entry.hows is deprecated .*: use Entry.build$"):
        assert CATALOG["mac"].hows == CATALOG["mac"].build
    with pytest.raises(AttributeError, match="no attribute 'NATIVE'"):
        catalog.NATIVE  # noqa: B018  (a module's attribute)


def test_the_former_name_of_explicit_parameters_works_and_warns() -> None:
    unit = Design("vector_unit")
    best = unit.device_values(explicit=["exponential"])
    assert set(best) == set(unit.device_values()) - {"exponential"}
    public = carrysave.Design("mac", a_width=4)
    with pytest.warns(DeprecationWarning, match="^Design.told is .*: use Design.explicit$"):
        assert public.told == public.explicit == {"a_width"}
    former: Any = unit.device_values
    with pytest.warns(DeprecationWarning, match="use explicit$"):
        assert former(told=["exponential"]) == best
