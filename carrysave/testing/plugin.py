"""The pytest plugin: fixtures for benches of larger designs with generated blocks inside.

It adds two options, and loads what they are for when a fixture is asked for.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from carrysave.testing.bench import Bench

__all__ = ["carrysave_bench", "carrysave_generate", "pytest_addoption", "pytest_configure"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixtures."""
    group = parser.getgroup("carrysave")
    group.addoption(
        "--carrysave-seed", type=int, help="Seed of the stimulus. [default: $CARRYSAVE_SEED, drawn]"
    )
    group.addoption("--carrysave-waves", action="store_true", help="Record waves, VCD.")


def pytest_configure(config: pytest.Config) -> None:
    """Leave out what Amaranth says of components that were built to be asked for their ports."""
    config.addinivalue_line("filterwarnings", "ignore:.* created but never used$")


@pytest.fixture
def carrysave_bench(request: pytest.FixtureRequest, tmp_path: Path) -> "Bench":
    """Run the cocotb tests of this file on a design, see :class:`carrysave.testing.bench.Bench`."""
    from carrysave.testing.bench import Bench

    return Bench(
        request.path,
        tmp_path,
        seed=request.config.getoption("carrysave_seed"),
        waves=request.config.getoption("carrysave_waves"),
    )


@pytest.fixture
def carrysave_generate(tmp_path: Path) -> Callable[..., Any]:
    """Write a design of the catalogue, for a runner of your own: ``(name, **parameters)``.

    Returns what ``Design.generate`` does: ``verilog files`` and the manifest.
    """
    from carrysave.api.design import Design

    def generate(name: str, **parameters: Any) -> Any:
        return Design(name, parameters).generate(tmp_path / "generated")

    return generate
