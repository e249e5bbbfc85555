"""Names of test cases."""

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["case_name", "long"]


def case_name(parameters: dict[str, Any]) -> str:
    """Name a case after its parameters: ``m1-n5-a_signed0``."""
    texts = (
        f"{name}{int(value) if isinstance(value, bool) else value}"
        for name, value in parameters.items()
    )
    return "-".join(texts) or "default"


def long(cases: Iterable[Any]) -> list[Any]:
    """Leave cases to ``make prove``; tuples are several arguments."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.prove)
        for case in cases
    ]
