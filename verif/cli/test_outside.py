"""The I/O budget of constraints: written as it was asked for, or refused."""

from pathlib import Path

import pytest

from verif.support.command import Run

LINE = ("generate", "mac", "-p", "a_width=2", "-p", "b_width=2")


@pytest.mark.parametrize(("words", "share"), [((), "0"), (("--outside", "0.25"), "0.25")])
def test_a_budget_is_in_the_constraints(
    run: Run, tmp_path: Path, words: tuple[str, ...], share: str
) -> None:
    assert run(*LINE, *words).code == 0
    (constraints,) = (tmp_path / "build").glob("*.sdc")
    assert f"set outside {share}\n" in constraints.read_text()


@pytest.mark.parametrize("share", ["1", "-0.1", "nan"])
def test_what_is_no_share_is_refused(run: Run, tmp_path: Path, share: str) -> None:
    outcome = run(*LINE, "--outside", share)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"--outside must be 0 or more, and less than 1, not {share}" in outcome.err
    assert not (tmp_path / "build").exists()
