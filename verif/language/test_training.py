"""Networks that `scripts/train/train_text.py` trains are golden's but for what golden rounds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from carrysave.compiler.front.decoder import FORMS
from carrysave.compiler.front.text import FORMATS

ROOT = Path(__file__).parents[2]
NEAR = {"w1.58a8": 5e-4, "w2a8": 5e-4, "w4a4": 2e-3}
"""What golden's own rounding may change, of the bits; most of it is that of 4-bit activations."""


@pytest.mark.prove
@pytest.mark.parametrize("bits", FORMATS)
@pytest.mark.parametrize("form", FORMS)
def test_golden_foresees_as_the_trained_network(tmp_path: Path, form: str, bits: str) -> None:
    """After steps enough that a part which one of the two lacks would show: 0.1 % and more."""
    script = ROOT / "scripts" / "train" / "train_text.py"
    done = subprocess.run(
        [sys.executable, script, "--form", form, "--format", bits, "--steps", "300",
         "--layers", "2", "--width", "64", "--hidden", "96", "--kv", "8", "-o", tmp_path / "m.npz"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["golden"] < 4.5
    assert abs(found["difference"]) < NEAR[bits]
    assert (tmp_path / "m.json").exists()


@pytest.mark.prove
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--width", "48"], "width 48 is in heads of 32"),
        (["--layers", "300"], r"layers must be 1..256, not 300"),
        (["--seed", "-1"], "--seed must be 0 or more, not -1"),
    ],
)
def test_models_that_cannot_be_written_are_refused(
    tmp_path: Path, given: list[str], says: str
) -> None:
    """Before they are trained."""
    script = ROOT / "scripts" / "train" / "train_text.py"
    done = subprocess.run(
        [sys.executable, script, *given, "-o", tmp_path / "m.npz"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert says in done.stderr
    assert not list(tmp_path.iterdir())
