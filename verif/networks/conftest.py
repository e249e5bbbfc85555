"""What several tests of networks use."""

import pytest

from verif.support.networks import MODELS, Task


@pytest.fixture(scope="package")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Train the digits network, once."""
    return MODELS["digits"](tmp_path_factory.mktemp("digits"))
