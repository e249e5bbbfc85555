"""Coverage of Verilog's lines, branches and toggles, as Verilator's simulators count it."""

import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["KINDS", "Point", "merge", "read"]

KINDS = ("line", "branch", "toggle")
"""What is counted: blocks of statements, sides of a choice, and edges of each bit of a signal."""

Point = tuple[str, str, int, str]
"""Kind, instance or pattern of instances, line of the Verilog, and what is counted there:
``if``, ``else``, or an edge of a bit, ``o_sum[3]:0->1``."""

_FIELD = re.compile("\x01([^\x02]+)\x02([^\x01]*)")
_RECORD = re.compile(r"^C '(.*)' (\d+)$")


def read(path: Path) -> list[list[object]]:
    """Read what a simulator wrote: ``kind instance line what hits`` of each point.

    Raises
    ------
    ValueError
        A line is none of such a file's.
    """
    rows: dict[Point, int] = {}
    text = path.read_text(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        record = _RECORD.match(line)
        facts = dict(_FIELD.findall(record[1])) if record else {}
        kind = facts.get("page", "").partition("/")[0].removeprefix("v_")
        if record is None or kind not in KINDS or not facts.get("l", "").isdigit():
            raise ValueError(f"{path.name}: line {number} is no point of coverage")
        place = f"{facts['l']}.{facts.get('n', '0')} " if kind != "toggle" else ""
        point = kind, facts.get("h", ""), int(facts["l"]), f"{place}{facts.get('o', '')}"
        rows[point] = rows.get(point, 0) + int(record[2])
    return [[*point, hits] for point, hits in rows.items()]


def merge(runs: Iterable[Iterable[Iterable[object]]]) -> dict[Point, int]:
    """Add the hits of runs of the same Verilog.

    Parameters
    ----------
    runs : of each run what :func:`read` returns, as JSON has it.
    """
    total: dict[Point, int] = {}
    for run in runs:
        for kind, instance, line, what, hits in run:
            point = str(kind), str(instance), int(str(line)), str(what)
            total[point] = total.get(point, 0) + int(str(hits))
    return total
