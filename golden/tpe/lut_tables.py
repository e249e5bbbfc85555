"""Generator of tables over activations, for LUT cores with external tables."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.integer import IntFormat
from golden.lut.table import FORMS, TableSpec, full_table, half_table

__all__ = ["LutTablesSpec", "lut_tables"]


@dataclass(frozen=True, kw_only=True)
class LutTablesSpec(TableSpec):
    """A beat is m rows of `lookups` groups of activations, each of which becomes a table."""

    m: int = parameter(Integer("rows of A per beat", 2, 1, 64, "rows"))
    group: int = parameter(Integer("activations per table", 2, 2, 5, "activations"))
    lookups: int = parameter(Integer("tables per row", 8, 1, 32, "groups"))
    table: str = parameter(
        Choice("entries: subset sums (full), or half of all signed sums", "full", FORMS)
    )

    def __post_init__(self) -> None:
        """Check all fields."""
        check_fields(parameters_of(LutTablesSpec), vars(self))

    @property
    def k(self) -> int:
        """Activations of a row in a beat."""
        return self.group * self.lookups

    @property
    def table_entries(self) -> int:
        """Entries of a table."""
        return self.entries if self.table == "half" else (1 << self.group) - 1

    @property
    def code_format(self) -> IntFormat:
        """Format of all entries: the narrowest; for a half table, complements fit too."""
        return self.entry_format if self.table == "half" else self.sum_format(self.group)


def lut_tables(spec: LutTablesSpec, a: np.ndarray) -> np.ndarray:
    """Make tables, with entries in the order of :mod:`golden.lut.table`.

    Parameters
    ----------
    spec : groups and formats.
    a : activations, beats x (rows lookups group).

    Returns
    -------
    int64 entries, beats x (rows lookups table_entries).
    """
    groups = spec.check(a).reshape(len(a), -1, spec.group)
    made = half_table(groups) if spec.table == "half" else full_table(groups)
    return spec.code_format.check("entries", made).reshape(len(a), -1)
