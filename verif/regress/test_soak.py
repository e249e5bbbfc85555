"""``carrysave soak``: runs until the time is over, and what it refuses."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from carrysave import jobs
from carrysave.jobs.options import cores
from carrysave.regress import execution, plan
from carrysave.regress.plan import Request, endless
from carrysave.sim import runner
from hw.catalog import Design
from verif.support.command import Run
from verif.support.schemas import check


def test_runs_are_the_same_for_a_seed_and_never_repeat() -> None:
    request = Request(designs=("mac", "opt1"), configurations=1, seeds=2, seed=5, minutes=1)
    runs = [*islice(endless(request), 16)]
    assert runs == [*islice(endless(request), 16)]
    assert len({(run.design.key, run.seed) for run in runs}) == 16
    assert [run.design.name for run in runs[:5]] == ["mac"] * 2 + ["opt1"] * 2 + ["mac"]
    assert [run.seed for run in runs[:6]] == [5, 6, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--minutes", "0"), "--minutes must be more than 0, not 0"),
        (("--minutes", "20000"), "--minutes must be 0..10000, not 20000"),
        (("--orders", "0"), "--orders must be 1 or more, not 0"),
        (("--orders", "2000000"), "--transactions must be 0..1000000, not 2e+06"),
    ],
)
def test_refuses(run: Run, more: tuple[str, ...], says: str) -> None:
    done = run("soak", *more)
    assert (done.code, says in done.err) == (2, True), done.err


def tell(seed: int, transactions: int | None) -> dict[str, Any]:
    """Tell what a bench did: from the seed 3 on it fails, if there are seven orders or more."""
    failed = ["test_soak"] * (seed >= 3 and (transactions or 100) >= 7)
    case = {"name": "test_soak", "start": 0.0, "stop": 10.0 * (transactions or 100)}
    case |= {
        "seconds": 1.0,
        "outcome": "failed" if failed else "passed",
        "why": "bytes differ" if failed else "",
    }
    more = {"coverage": [], "bench_seconds": 1.0, "log": "", "skipped": None}
    return {"ok": not failed, "tests": 1, "failed": failed, "cases": [case], **more}


def test_first_fault_ends_it_and_is_made_small(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long before the minutes are over."""

    def job(design: Design, seed: int, **more: Any) -> jobs.Job:
        assert "test_soak" in more["tests"]
        count = more["bench_parameters"]["transactions"]
        arguments = {"seed": seed, "transactions": count}
        return jobs.Job(
            function=tell, arguments=arguments, content=[design.key, Path(__file__).read_bytes()]
        )

    def drawn(name: str, seed: int) -> Iterator[Design]:
        return (Design(name, {"sums": 64 << number}) for number in range(4))

    monkeypatch.setattr(execution, "bench_job", job)

    def no_waves(*given: Any, **more: Any) -> None:
        raise RuntimeError("there is no simulator")

    monkeypatch.setattr(plan, "configurations", drawn)
    monkeypatch.setattr(runner, "verify", no_waves)
    monkeypatch.setattr(execution, "smallest", lambda design, fails: design)
    options = ("--minutes", "100", "--orders", "50", "--store", tmp_path / "s.sqlite", "--json")
    done = run("soak", *options, "-o", tmp_path)
    assert done.code == 1, done.err
    found = check("regress", done.out)
    for one in found["runs"]:
        assert one["outcome"] == ("passed" if one["seed"] < 3 else "failed")
    assert found["counts"]["failed"] > 0
    assert len(found["runs"]) < 4 + 2 * cores()
    (reduced,) = found["reduced"]
    assert (reduced["test"], reduced["why"][:12]) == ("test_soak", "bytes differ")
    assert reduced["command"].endswith("--seed 3 --test test_soak --transactions 8")
    assert (tmp_path / "soak" / "junit.xml").exists()


@pytest.mark.prove
def test_soaks(run: Run, tmp_path: Path) -> None:
    line = ("soak", "--minutes", "0.01", "--orders", "50", "--json", "-o", tmp_path)
    done = run(*line)
    assert done.code == 0, done.err
    found = check("regress", done.out)
    assert {one["outcome"] for one in found["runs"]} <= {"passed", "skipped"}
    assert all(one["tests"] == 1 for one in found["runs"] if one["outcome"] == "passed")
