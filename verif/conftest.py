"""What all tests share: simulations in which a warning is an error too."""

import pytest


@pytest.fixture(autouse=True)
def strict_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Python inside the simulator as strict as pytest's `filterwarnings`."""
    monkeypatch.setenv("PYTHONWARNINGS", "error")
