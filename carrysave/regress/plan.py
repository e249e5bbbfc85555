"""What a regression runs: its request, and the list of its runs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice

from carrysave.asic.liberty.cells import Library
from carrysave.errors import ArgumentError, UsageError, check_choice, refusal
from carrysave.regress.configurations import configurations, options
from carrysave.regress.deciding.equivalence import SECONDS
from carrysave.regress.mutants import MOST
from carrysave.sim import icarus, runner
from hw.catalog import CATALOG, Design
from hw.unknown import nearest

__all__ = ["RTL", "Request", "Run", "endless", "planned"]

RTL = "rtl"
"""The level of generated Verilog; all others are netlists."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request.

    Parameters
    ----------
    designs : names; ``all`` is the catalogue.
    configurations : of each design.
    seeds : of the stimulus, for each configuration: `seed` and those that follow it.
    seed : also of what is drawn.
    simulators : of :data:`carrysave.sim.runner.SIMULATORS`.
    netlists : libraries for whose netlists benches run too, by what a command line calls them.
    shard : which part of the runs, and of how many parts.
    mutants : of each configuration.
    proof_seconds : for each way to decide whether a mutant that lives is a fault.
    minutes : new configurations and seeds are run until these are over, in place of a list; 0: not.
    test : that is run alone, of `transactions` at most; empty: all tests, as long as they are.
    """

    designs: tuple[str, ...]
    configurations: int
    seeds: int = 1
    seed: int = 1
    simulators: tuple[str, ...] = ("verilator",)
    netlists: Mapping[str, Library] = field(default_factory=dict)
    shard: tuple[int, int] = (1, 1)
    mutants: int = 0
    proof_seconds: int = SECONDS
    minutes: float = 0.0
    test: str = ""
    transactions: int = 0

    def __post_init__(self) -> None:
        """Check all of it, before any work is done."""
        names = tuple(CATALOG) if self.designs == ("all",) else self.designs
        for name in names:
            if name not in CATALOG:
                raise UsageError(str(nearest(name, CATALOG, "design")))
        object.__setattr__(self, "designs", tuple(dict.fromkeys(names)))
        for name, value, low, high in (
            ("configurations", self.configurations, 1, 1_000_000),
            ("seeds", self.seeds, 1, 1_000_000),
            ("seed", self.seed, 0, (1 << 31) - self.seeds),
            ("mutants", self.mutants, 0, MOST),
            ("proof_seconds", self.proof_seconds, 1, 86_400),
            ("minutes", self.minutes, 0, 10_000),
            ("transactions", self.transactions, 0, 1_000_000),
        ):
            if not low <= value <= high:
                raise refusal(name, f"{low}..{high}", f"{value:g}")
        part, parts = self.shard
        if not 1 <= part <= parts:
            raise ArgumentError(
                "{shard} must be 1/N..N/N, not {part}/{parts}", part=part, parts=parts
            )
        for simulator in self.simulators:
            check_choice("simulators", simulator, runner.SIMULATORS)
        if "icarus" in self.simulators:
            try:
                icarus.version()
            except RuntimeError as error:
                raise UsageError(str(error)) from None


@dataclass(frozen=True)
class Run:
    """A bench to run: of a configuration, with a seed, on a simulator.

    Members
    -------
    level : ``rtl``, or what the command line calls the library of a netlist.
    """

    design: Design
    seed: int
    simulator: str = "verilator"
    level: str = RTL

    @property
    def label(self) -> str:
        """What tells it apart."""
        return f"{self.design.module}, seed {self.seed}, {self.simulator}, {self.level}"

    def words(self) -> list[str]:
        """Return the command line that repeats it."""
        words = ["carrysave", "verify", *options(self.design), "--seed", str(self.seed)]
        if self.simulator != "verilator":
            words += ["--simulator", self.simulator]
        return words if self.level == RTL else [*words, "--netlist", self.level]


def endless(request: Request) -> Iterator[Run]:
    """List runs without end: of each configuration, of each design in turn, all its seeds."""
    drawn = [configurations(name, request.seed) for name in request.designs]
    for first in count(request.seed, request.seeds):
        for design in map(next, drawn):
            for number in range(request.seeds):
                yield Run(design, first + number)


def planned(request: Request, tell: Callable[[str], None] = lambda text: None) -> list[Run]:
    """List the runs of a request: of its shard, one in `count` of all that there are."""
    runs = []
    for name in request.designs:
        tell(f"draw {request.configurations} configurations of {name}")
        for design in islice(configurations(name, request.seed), request.configurations):
            runs += [
                Run(design, request.seed + number, simulator, level)
                for simulator in request.simulators
                for level in (RTL, *request.netlists)
                for number in range(request.seeds)
            ]
    part, parts = request.shard
    return runs[part - 1 :: parts]
