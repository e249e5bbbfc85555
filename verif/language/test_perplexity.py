"""Losses of windows, as jobs: by the reference reader, and by golden's units."""

from pathlib import Path

import numpy as np
import pytest

from carrysave import jobs
from scripts.language.perplexity import SETTINGS, loss_job
from verif.language.test_chat import TOKENS, floats, write


def test_losses_of_windows(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf")
    rng = np.random.default_rng(2)
    windows = [rng.integers(0, len(TOKENS), 16).tolist() for _ in range(2)]
    wanted = [
        loss_job(path, setting, window, f"{setting}, {place}")
        for setting in SETTINGS
        for place, window in enumerate(windows)
    ]
    # Each setting and window is a job of its own.
    assert len({job.key for job in wanted}) == len(wanted)
    found = np.reshape([outcome.get() for outcome in jobs.run(wanted, ordered=True)], (-1, 2))
    for window, bits in zip(windows, found[0], strict=True):
        logits = floats(path, np.array(window))
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        exact = -sum(np.log2(shares[at, token]) for at, token in enumerate(window[1:]))
        assert bits == pytest.approx(exact, rel=1e-5)
    # Units of integers change it, but little.
    change = np.abs(found[1:] / found[0] - 1)
    assert (change > 0).all()
    assert change.max() < 0.05
