"""Coverage of several runs, its holes, and arguments for them."""

from pathlib import Path

import pytest

from carrysave.errors import UsageError
from carrysave.signoff.holes import ARGUMENTS, Argument, coverage_part, read_arguments
from carrysave.signoff.part import FAILED, PASSED
from carrysave.sim.code_coverage import merge, read
from hw.catalog import Design

DESIGN = Design("opt1", {})
FIELDS = "\x01f\x02a.v\x01l\x02{line}\x01n\x023\x01page\x02v_{page}\x01o\x02{what}\x01h\x02opt1.pe"
LINE = f"C '{FIELDS}' {{n}}"


def written(folder: Path, *points: tuple[str, int, str, int]) -> Path:
    """Write a file as Verilator does: page, line, what and hits of each point."""
    lines = [LINE.format(page=page, line=line, what=what, n=n) for page, line, what, n in points]
    path = folder / "coverage.dat"
    path.write_text("\n".join(["# SystemC::Coverage-3", *lines, ""]))
    return path


def argument(at: str, kind: str = "toggle", **parameters: object) -> Argument:
    return Argument("opt1", kind, at, "because", parameters)


def test_runs_are_added(tmp_path: Path) -> None:
    one = read(written(tmp_path, ("toggle/a", 7, "o[1]:0->1", 0), ("branch/a", 9, "if", 3)))
    two = read(written(tmp_path, ("toggle/a", 7, "o[1]:0->1", 2), ("branch/a", 9, "if", 0)))
    assert merge([one, two]) == {
        ("toggle", "opt1.pe", 7, "o[1]:0->1"): 2,
        ("branch", "opt1.pe", 9, "9.3 if"): 3,
    }
    assert merge([]) == {}


@pytest.mark.parametrize(
    "line", ["C 'x' 1", "nothing", LINE.format(page="x", line=1, what="", n=1)]
)
def test_a_damaged_file_is_refused(line: str, tmp_path: Path) -> None:
    path = written(tmp_path, ("line/a", 1, "block", 1))
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match="line 3 is no point of coverage"):
        read(path)


HITS = {
    ("toggle", "opt1.pe", 7, "o[1]:0->1"): 0,
    ("toggle", "opt1.pe", 7, "o[1]:1->0"): 5,
    ("toggle", "opt1.pe", 7, "o[2]:0->1"): 0,
    ("branch", "opt1.pe", 9, "9.3 if"): 0,
    ("line", "opt1.pe", 9, "9.3 block"): 1,
}


def test_holes_are_open_until_they_are_argued() -> None:
    tied = {"opt1.pe": ["o[2]"]}
    part = coverage_part(DESIGN, HITS, tied, [])
    assert part.outcome == FAILED
    assert part.facts["open"] == 2
    assert part.facts["constant"] == 1
    assert part.facts["kinds"]["toggle"] == {"hit": 1, "total": 2}
    assert [row["at"] for row in part.facts["holes"]] == [
        "opt1.pe.o[1]:0->1",
        "opt1.pe line 9.3 if",
    ]
    some = [argument(r"opt1\.pe\.o\[1\]:.*")]
    assert coverage_part(DESIGN, HITS, tied, some).facts["open"] == 1
    every = [*some, argument(r".* if", "branch")]
    part = coverage_part(DESIGN, HITS, tied, every)
    assert (part.outcome, part.facts["open"]) == (PASSED, 0)
    assert {row["argued"] for row in part.facts["holes"]} == {"because"}


def test_an_argument_is_of_its_kind_and_as_a_whole() -> None:
    for one in (argument(r".*o\[1\].*", "line"), argument(r"opt1\.pe")):
        with pytest.raises(UsageError, match="no hole is there"):
            coverage_part(DESIGN, HITS, {}, [one])


def test_arguments_for_what_is_covered_are_refused() -> None:
    with pytest.raises(UsageError, match=r"argument for opt1, toggle .*1->0.*: no hole is there"):
        coverage_part(DESIGN, HITS, {}, [argument(r"opt1\.pe\.o\[1\]:1->0")])


def test_arguments_of_other_parameters_are_not_asked() -> None:
    part = coverage_part(DESIGN, HITS, {}, [argument(".*", a_width=4)])
    assert part.facts["open"] == 3


def test_a_bit_is_constant_in_all_instances_or_not() -> None:
    hits = {("toggle", "opt1.pe*", 7, "o[1]:0->1"): 0}
    both = {"opt1": [], "opt1.pe0": ["o[1]"], "opt1.pe1": ["o[1]"]}
    assert coverage_part(DESIGN, hits, both, []).facts["constant"] == 1
    assert coverage_part(DESIGN, hits, both | {"opt1.pe1": []}, []).facts["open"] == 1


def test_our_arguments_can_be_read() -> None:
    assert all(one.reason for one in read_arguments(ARGUMENTS))


GOOD = {"design": '"opt1"', "kind": '"toggle"', "at": '"x"', "reason": '"y"'}


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"design": '"opt11"'}, "unknown design 'opt11'; did you mean opt1"),
        ({"kind": '"lines"'}, "kind must be line, branch, toggle, not 'lines'"),
        ({"at": '"("'}, "at is no regular expression"),
        ({"reason": '" "'}, "must be texts, none of them empty"),
        ({"reason": "1"}, "must be texts, none of them empty"),
        ({"parameters": "3"}, "parameters must be a table"),
        ({"why": '"z"'}, "keys must be"),
    ],
)
def test_bad_arguments_are_refused(keys: dict[str, str], says: str, tmp_path: Path) -> None:
    path = tmp_path / "arguments.toml"
    lines = [f"{key} = {value}" for key, value in (GOOD | keys).items()]
    path.write_text("\n".join(["[[argument]]", *lines, ""]))
    with pytest.raises(UsageError, match=says):
        read_arguments(path)
    path.write_text("\n".join(["[[argument]]", *(f"{k} = {v}" for k, v in GOOD.items()), ""]))
    assert read_arguments(path) == [Argument("opt1", "toggle", "x", "y", {})]
    path.write_text("nonsense")
    with pytest.raises(UsageError, match="arguments"):
        read_arguments(path)
