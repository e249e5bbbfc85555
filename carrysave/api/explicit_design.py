"""Parameters of a design, and which of them were given."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from carrysave.deprecation import former_attribute
from hw import catalog
from hw.unknown import nearest

if TYPE_CHECKING:
    from hw.emit.instance import DesignInstance

__all__ = ["ExplicitDesign", "check_once"]


class ExplicitDesign(catalog.Design):
    """A design of the catalogue that knows which of its parameters were given.

    Parameters
    ----------
    name, parameters, values : as of :class:`carrysave.Design`.

    Members
    -------
    explicit : names of the parameters that were given.
    """

    explicit: frozenset[str]
    told = former_attribute("0.2.0", "Design.told", "Design.explicit")

    def __init__(
        self, name: str, parameters: Mapping[str, Any] | None = None, **values: Any
    ) -> None:
        given = {**(parameters or {}), **values}
        super().__init__(name, _with_engine(name, given))
        self._set_explicit(given)

    @classmethod
    def parse(cls, name: str, texts: Mapping[str, str]) -> Self:
        """Make a design from parameters as text, as the command line has them."""
        design = super().parse(name, texts)
        design._set_explicit(texts)
        return design

    @classmethod
    def of(cls, design: catalog.Design) -> Self:
        """Make one of an entry of the catalogue with parameters, none of them explicit."""
        if isinstance(design, cls):
            return design
        made = cls(design.name, design.parameters)
        made._set_explicit(())
        return made

    def with_values(self, **values: Any) -> Self:
        """Return it with other parameters, or its engine's; explicit parameters remain explicit."""
        kind, kinds = self.entry.engine, self.entry.parameters
        explicit = self.explicit.intersection(kinds) | self.changed.keys()
        chosen = {name: self.parameters[name] for name in kinds if name in explicit}
        chosen |= {name: values.pop(name) for name in kinds if name in values}
        if values and kind is not None:
            chosen["engine"] = kind.extended("engine", chosen.get("engine", kind.default), values)
            values = {}
        design = type(self)(self.name, chosen, **values)
        design._set_explicit(self.explicit)
        return design

    def as_component(self) -> "DesignInstance":
        """Return its Verilog as a component of Amaranth, for a design of yours.

        Returns
        -------
        A component with the streams of the design, in the domain ``sync``. Amaranth's platforms add
        the Verilog file by themselves; its own simulator cannot simulate it.

        Raises
        ------
        ValueError
            A design of two clocks.
        """
        from hw.emit.instance import DesignInstance

        return DesignInstance(self)

    def _set_explicit(self, names: Any) -> None:
        object.__setattr__(self, "explicit", frozenset(names))

    def __repr__(self) -> str:
        parts = [f", {name}={value!r}" for name, value in self.changed.items()]
        return f"{type(self).__name__}({self.name!r}{''.join(parts)})"


def _with_engine(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters in which those of the engine are in its text."""
    if name not in catalog.CATALOG:
        raise nearest(name, catalog.CATALOG, "design")
    kinds, kind = catalog.CATALOG[name].parameters, catalog.CATALOG[name].engine
    merged = dict(values)
    if kind is None:
        return merged
    text = merged.get("engine", kind.default)
    if isinstance(text, catalog.Design):
        merged["engine"] = text = kind.text(text)
    more = {key: merged.pop(key) for key in values if key not in kinds}
    if more:
        kind.check("engine", text)
        check_once(text, more)
        merged["engine"] = kind.extended("engine", text, more)
    return merged


def check_once(engine: str, parameters: Mapping[str, object]) -> None:
    """Refuse parameters of an engine that its text has, too."""
    for key, value in parameters.items():
        if re.search(rf"[(,]\s*{re.escape(key)}\s*=", engine):
            raise ValueError(
                f"{key} of engine must be given once, not twice: in {engine!r} and as {value}"
            )
