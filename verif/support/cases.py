"""Names of test cases."""

from collections.abc import Sequence
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


def long(cases: Sequence[Any], *places: int) -> list[Any]:
    """Leave the cases at these places, or all, to ``make prove``; tuples are several arguments."""
    left = {range(len(cases))[place] for place in places} or set(range(len(cases)))
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.prove)
        if at in left
        else case
        for at, case in enumerate(cases)
    ]
