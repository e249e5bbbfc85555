"""Layers of several products, with work of the host between them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.lowered.operands import Operands

__all__ = ["Layer", "Product"]

Product = Callable[..., np.ndarray]
"""Multiplies codes by those of a product, or by others that it gets behind them; returns sums."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer(ABC):
    """A node whose products the block has, and whose other operations the host has.

    Parameters
    ----------
    node : in the model.
    """

    node: NodeProto

    @property
    @abstractmethod
    def products(self) -> Sequence[Operands]:
        """All of its products."""

    @property
    @abstractmethod
    def inputs(self) -> Sequence[str]:
        """Names of the tensors that it gets when it runs; "" is one that is left out."""

    @property
    @abstractmethod
    def why(self) -> str:
        """Why outputs may differ from onnxruntime's."""

    @abstractmethod
    def run(self, multiply: Product, *given: Any) -> tuple[np.ndarray, ...]:
        """Return its outputs.

        Parameters
        ----------
        multiply : makes sums.
        given : the tensors of :attr:`inputs`; None for one that is left out.

        Raises
        ------
        ValueError
            Tensors that do not fit.
        """
