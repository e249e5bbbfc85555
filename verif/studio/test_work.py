"""Jobs of the studio: one at a time, stopped when that is asked for, or when they take too long."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from carrysave.api.design import Design
from carrysave.studio.tasks import KINDS
from carrysave.studio.work import Busy, Worker


def slow(name: str, parameters: dict[str, object], folder: str) -> dict[str, str]:
    """Take longer than any test."""
    program = "import time; time.sleep(600)"
    subprocess.run([sys.executable, "-c", program], check=True)
    return {"file": name, "said": ""}


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Worker]:
    monkeypatch.setitem(KINDS, "slow", slow)
    return lambda seconds: Worker(tmp_path, seconds)


def ended(one: Worker) -> str:
    assert one._thread is not None
    one._thread.join(60)
    status = one.status()
    assert status["state"] == "failed"
    return str(status["text"])


def test_a_job_at_a_time_and_it_can_be_stopped(worker: Callable[[float], Worker]) -> None:
    one = worker(100)
    try:
        one.start("slow", Design("mac"))
        with pytest.raises(Busy, match="slow of mac is under way"):
            one.start("blocks", Design("mac"))
        one.stop()
        assert "not wanted" in ended(one)
        assert one.made("slow", Design("mac")) is None
    finally:
        one.close()


def test_a_job_has_a_limit_of_time(worker: Callable[[float], Worker]) -> None:
    one = worker(0.5)
    try:
        one.start("slow", Design("mac"))
        assert "longer than 0.5 s" in ended(one)
    finally:
        one.close()
