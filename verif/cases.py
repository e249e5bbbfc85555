"""Names of test cases."""

from typing import Any

__all__ = ["case_name"]


def case_name(parameters: dict[str, Any]) -> str:
    """Name a case after its parameters: ``m1-n5-a_signed0``."""
    texts = (
        f"{name}{int(value) if isinstance(value, bool) else value}"
        for name, value in parameters.items()
    )
    return "-".join(texts) or "default"
