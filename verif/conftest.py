"""What all tests share: strict simulations with fixed seeds, the command line, the order of files.

`make test` leaves out what passed before, see :mod:`verif.support.stamps`.
"""

import gc
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from verif.support import sample
from verif.support.budget import Budget
from verif.support.command import Outcome, Run
from verif.support.seeds import of_the_day
from verif.support.stamps import Stamps, deselect, wanted, whole_run

if TYPE_CHECKING:
    from verif.support.browser import Browser

# As the command has it: threads of numpy's BLAS would wait for each other, in other workers' time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Files whose tests take longest come first, so that no worker has one left at the end.
FIRST = (
    "test_coprocessor_rtl.py", "test_coprocessor_uart_rtl.py", "test_implementation.py",
    "test_generic.py", "test_transactions.py", "test_figures.py", "test_mutants.py",
    "test_command.py", "test_float_lut_rtl.py", "test_products.py", "test_driver_rtl.py",
    "test_engines_rtl.py", "test_search.py", "test_activity.py", "test_sl16_rtl.py",
    "test_install.py", "test_network.py", "test_synthesis.py", "test_sl8_prove.py", "test_place.py",
    "test_recipes.py", "test_testing.py", "test_run.py", "test_group_scale_rtl.py",
    "test_doctor.py", "test_netlist.py", "test_compare.py", "test_blocks.py", "test_mixes.py",
    "test_selftest.py", "test_golden_lut_isa.py", "test_mac_rtl.py", "test_pages.py",
    "test_vectors.py", "test_hostile_names.py", "test_tuning.py", "test_pulls.py",
    "test_commands.py", "test_catalog.py",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--fresh`."""
    parser.addoption("--fresh", action="store_true", help="run what passed before, too")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Tell the seed of the day, with which a run can be repeated."""
    if "prove" not in config.getoption("markexpr") or "not prove" in config.getoption("markexpr"):
        return None
    return f"mutants of the day: CARRYSAVE_SEED={of_the_day()}"


def pytest_configure(config: pytest.Config) -> None:
    """Keep what passes, in the process that sees all results; measure in every one."""
    whole = not hasattr(config, "workerinput") and whole_run(config)
    config.pluginmanager.register(Budget(whole=whole), "budget")
    if not hasattr(config, "workerinput") and wanted(config):
        stamps = Stamps(config.rootpath, fresh=config.getoption("fresh"))
        config.pluginmanager.register(stamps, "stamps")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Take samples before pytest leaves out what is marked; then do it to what passed before."""
    sample.leave_out(items)
    yield
    _order(config, items)


def _order(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is kept, and bring long tests forward."""
    stamps = config.pluginmanager.get_plugin("stamps")
    kept = stamps.kept if stamps else set(getattr(config, "workerinput", {}).get("kept", ()))
    deselect(config, items, kept)
    ranks = {name: rank for rank, name in enumerate(FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(FIRST)))


def pytest_collection_finish() -> None:
    """Spare the collector what lives until the end: thousands of tests, and all that is loaded."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let all be freed at the end, as libraries expect."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def strict_simulation(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Make Python inside the simulator as strict as pytest's `filterwarnings`.

    Simulations draw their seeds in `make prove` only: what passes in `make test` passes again.
    """
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    # What tests find is nothing that a developer would look for among their own results.
    monkeypatch.setenv("CARRYSAVE_STORE", str(tmp_path_factory.getbasetemp() / "results.sqlite"))
    if request.node.get_closest_marker("prove") is None:
        monkeypatch.setenv("CARRYSAVE_SEED", "1")


@pytest.fixture
def short_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sweeps try two mappings in place of all, and one period beyond the shortest."""
    from carrysave.asic import abc_scripts, search

    maps = {name: abc_scripts.MAPS[name] for name in ("dch2", "amap")}
    monkeypatch.setattr(search, "MAPS", maps)
    monkeypatch.setattr(search, "RELAXED", (1.2,))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process, in a folder of its own, on a terminal of 80 columns."""
    # The console is made when its module is loaded, and would keep a width of then.
    monkeypatch.delenv("COLUMNS", raising=False)
    import_module("carrysave.cli.options")
    from carrysave.cli import main  # slow to load, and most tests do without

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["carrysave", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Outcome(int(end.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Browser]":
    """Start a browser, for all tests of a process; one skips without, or fails in CI."""
    from verif.support.browser import Browser  # slow to load, and most tests do without

    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()
