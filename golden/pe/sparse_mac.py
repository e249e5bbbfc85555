"""Multiply-accumulate of kept codes with those of A that a mask tells."""

from dataclasses import dataclass, replace

from golden.check import parameter
from golden.formats.sparse import DENSE, SPARSITY, SparseFormat
from golden.pe.mac import MacSpec

__all__ = ["SparseMacSpec"]

_CHOICE = replace(
    SPARSITY, default="2:4", options=tuple(one for one in SPARSITY.options if one != DENSE)
)


@dataclass(frozen=True, kw_only=True)
class SparseMacSpec(MacSpec):
    """k products per beat, of k kept codes of b with k of :attr:`a_codes` codes of a."""

    sparsity: str = parameter(_CHOICE)

    @property
    def sparse(self) -> SparseFormat:
        """The format of groups."""
        return SparseFormat.parse(self.sparsity)

    @property
    def a_codes(self) -> int:
        """Codes of A in a beat, of which masks choose k."""
        return self.k * self.sparse.share
