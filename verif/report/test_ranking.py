"""Rankings of designs by a period and a memory: worked out by hand, and against all orders."""

import itertools
from typing import Any

import pytest

from carrysave.compiler.target.memory import MemoryRate, rate_of
from carrysave.errors import UsageError
from carrysave.report.ranking import Question, answered, lines, table

NAMES = ["slow", "fast", "wide"]
RESULTS: list[dict[str, Any]] = [
    {"period_ns": 2.5, "gops": 0.8, "area_um2": 1000.0, "pj_per_mac": 3.0, "luts": None},
    {"period_ns": 1.0, "gops": 2.0, "area_um2": 4000.0, "pj_per_mac": 2.0, "luts": None},
    {"period_ns": 2.0, "gops": 8.0, "area_um2": 8000.0, "pj_per_mac": 4.0, "luts": None},
]
"""Operations a cycle: 2, 2 and 16."""
NEEDED = [1.0, 2.0, 16.0]


def ranking(question: Question, needed: list[Any] = NEEDED) -> dict[str, Any]:
    return answered(NAMES, RESULTS, needed, question)


def test_period_is_missed_by_so_much() -> None:
    answer = ranking(Question(2.0, None, "density"), [None] * 3)
    first, second, last = answer["ranking"]
    assert [row["name"] for row in (first, second, last)] == ["wide", "fast", "slow"]
    assert [row["rank"] for row in (first, second, last)] == [1, 2, None]
    # At 2 ns: 16 / 2 GOPS in 0.008 mm2, 2 / 2 in 0.004; what meets it exactly does meet it.
    assert (first["value"], second["value"]) == (1000.0, 250.0)
    assert (first["over_percent"], second["over_percent"], last["over_percent"]) == (0, -50, 25)
    assert last["value"] == pytest.approx(800.0)  # as fast as it gets, and not the second
    assert answer["best"] == "wide"
    assert lines(answer) == [
        "for 2 ns: wide is the best by density",
        "slow misses that: its least period is 2.500 ns, 25.0 % more than 2 ns",
    ]


def test_memory_binds() -> None:
    """0.8 GB/s at 2 ns are 1.6 bytes a cycle: a tenth of 16, four fifths of 2."""
    answer = ranking(Question(2.0, rate_of("0.8GB/s"), "density"))
    rows = {row["name"]: row for row in answer["ranking"]}
    assert answer["best"] is None
    assert [row["name"] for row in answer["ranking"]] == ["slow", "fast", "wide"]
    assert rows["wide"]["bytes_available"] == pytest.approx(1.6)
    assert rows["wide"]["gops"] == pytest.approx(0.8)
    assert rows["fast"]["gops"] == pytest.approx(0.8)
    # Slower clocks leave more of the memory for a cycle: 2 bytes in 2.5 ns.
    assert rows["slow"]["bytes_available"] == pytest.approx(2.0)
    assert lines(answer) == [
        "for 2 ns and 0.8GB/s: no design",
        "slow misses that: its least period is 2.500 ns, 25.0 % more than 2 ns",
        "fast misses that: bandwidth-bound: its operands are 2 bytes a cycle, 0.8GB/s brings 1.6 at"
        " 2 ns: 80.0% of its speed",
        "wide misses that: bandwidth-bound: its operands are 16 bytes a cycle, 0.8GB/s brings 1.6"
        " at 2 ns: 10.0% of its speed",
    ]
    # A design may miss both.
    both = ranking(Question(0.5, rate_of("0.2 GB/s"), "density"))
    assert all(len(row["misses"]) == 2 for row in both["ranking"])
    # As much as it takes is enough.
    enough = ranking(Question(2.0, rate_of("8000MB/s"), "density"))
    assert [row["meets"] for row in enough["ranking"]] == [True, True, False]
    assert [row["gops"] for row in enough["ranking"]] == pytest.approx([8.0, 1.0, 0.8])


@pytest.mark.parametrize(
    ("objective", "best"),
    [("density", "slow"), ("period", "fast"), ("area", "slow"), ("energy", "fast")],
)
def test_best_is_by_the_objective(objective: str, best: str) -> None:
    """Each at its own period: 800, 500 and 1000 GOPS/mm2, and 4 bytes a cycle stop `wide`."""
    question = Question(None, rate_of("latency=9,bytes=4"), objective)
    answer = ranking(question)
    assert answer["best"] == best
    assert answer["ranking"][-1]["name"] == "wide"
    assert answer["ranking"][-1]["bytes_available"] == 4
    assert answer["ranking"][-1]["over_percent"] is None
    for order in itertools.permutations(range(3)):
        names, results = [NAMES[n] for n in order], [RESULTS[n] for n in order]
        assert answered(names, results, [NEEDED[n] for n in order], question) == answer


def test_design_without_the_figure_has_no_rank() -> None:
    results = [{**RESULTS[1], "gops": None}, RESULTS[1]]
    question = Question(2.0, None, "density")
    answer = answered(["a", "b"], results, [None, None], question)
    assert [(row["name"], row["rank"]) for row in answer["ranking"]] == [("b", 1), ("a", None)]
    assert answer["ranking"][1]["value"] is None
    assert table(answer).lines[1][:4] == ["a", "-", "-", "-"]
    assert lines(answer)[1:] == ["a meets that, and has no rank: its gops_per_mm2 is not known"]
    energy = Question(2.0, None, "energy")
    results[0] = {**RESULTS[1], "pj_per_mac": None}
    assert answered(["a", "b"], results, [None, None], energy)["best"] == "b"
    results[0] = {**RESULTS[1], "gops": None}
    none = answered(["a", "b"], [results[0]] * 2, [None, None], question)
    assert none["best"] is None
    assert lines(none)[0] == "for 2 ns: no design"


def test_devices_have_their_figures() -> None:
    results = [{"period_ns": 5.0, "gops": 0.4, "luts": luts} for luts in (100, 50)]
    for objective, measure, best in (
        ("density", "gops_per_1000_luts", 8.0),
        ("area", "luts", 50),
    ):
        answer = answered(["a", "b"], results, [1, 1], Question(5.0, None, objective))
        assert (answer["measure"], answer["best"]) == (measure, "b")
        assert answer["ranking"][0]["value"] == pytest.approx(best)


def test_rates() -> None:
    assert rate_of("0.8GB/s") == MemoryRate("0.8GB/s", gigabytes=0.8)
    assert rate_of("800 MB/s").gigabytes == pytest.approx(0.8)
    assert rate_of("sdram16") == MemoryRate("sdram16", bytes=2)
    assert rate_of("sdram16").in_cycle(None) == rate_of("sdram16").in_cycle(7.0) == 2
    assert rate_of("0.8GB/s").in_cycle(2.5) == pytest.approx(2.0)
    assert rate_of("0.8GB/s").in_cycle(None) is None


@pytest.mark.parametrize(
    "text",
    [
        "0GB/s",
        "-1GB/s",
        "nanGB/s",
        "infGB/s",
        "1e9GB/s",
        "GB/s",
        "1",
        "1gb/s",
        "1GB",
        "ddr",
        "xGB/s",
    ],
)
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"memory must be a rate above 0, such as 0\.8GB/s .*, not '"
    ):
        rate_of(text)
